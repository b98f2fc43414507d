package remote

import (
	"context"
	"regexp"

	"github.com/vedette-sec/vedette/internal/webtest/check/kit"
	"github.com/vedette-sec/vedette/internal/webtest/client"
	"github.com/vedette-sec/vedette/internal/webtest/diff"
	"github.com/vedette-sec/vedette/internal/webtest/message"
	"github.com/vedette-sec/vedette/internal/webtest/proof"
)

// unopened are the words of parsers and systems for a file that is not there, around its name.
func unopened(name string) *regexp.Regexp {
	const fault = `(?:FileNotFound|No such file|not found|cannot find|can't find|could not (?:load|open|find)` +
		`|failed to (?:load|open)|cannot open)`
	return regexp.MustCompile(`(?i)` + name + `[\w/.]*["')]*:?\s*\(?` + fault + `|` + fault + `[^\n<]{0,120}` + name)
}

// fails reports an entity that the parser tries to read: the error says of each of two files with names of ours that it
// is not there, and does not when the address is the text of the document. Three requests.
func (e *entities) fails(ctx context.Context) (bool, error) {
	var evidence []kit.Evidence
	var shown *message.Request
	last := ""
	for range 2 {
		last = kit.Word()
		shown = e.with("file:///" + last + "/none")
		answer, err := e.Send(ctx, e.Target, shown)
		if err != nil {
			return false, err
		}
		match := unopened(last).FindString(message.Shown(answer.Body))
		if match == "" {
			return false, nil
		}
		evidence = append(evidence, kit.Evidence{Request: shown, Response: answer, Match: match,
			Note: "the error says that the file is not there"})
	}
	control, err := e.Try(ctx, e.Target, e.place, "file:///"+last+"/none")
	if err != nil || unopened(last).MatchString(message.Shown(control.Body)) {
		return false, err
	}
	evidence = append(evidence, kit.Evidence{Request: control.Request, Response: control,
		Note: "of the same text it says nothing"})
	user, users := kit.Names(e.User)
	e.Found(e.c, kit.Finding{Request: shown, Place: e.place, Payload: "file:///" + last + "/none", Evidence: evidence,
		Detail: "the parser reads the file that an entity names",
		Proof: &proof.Program{About: "The parser says that the file of an external entity is not there.", Users: users,
			Steps: []proof.Step{
				{ID: "entity", As: user, Send: shown, Writes: e.writes, Expect: []proof.Expect{{What: proof.Matches,
					Value: unopened(last).String()}}},
				{ID: "text", As: user, Send: control.Request, Writes: e.writes,
					Expect: []proof.Expect{{What: proof.Matches, Value: unopened(last).String(), Not: true}}}}}})
	return true, nil
}

// inclusion is an element of XInclude that brings a file as text.
func inclusion(address string) string {
	return `<x:include xmlns:x="http://www.w3.org/2001/XInclude" parse="text" href="` + address + `"/>`
}

// xinclude is the check for values that an application writes into a document of XML, and whose parser includes files.
// One request for each place of a form or a query where odd characters are answered otherwise than words; two more
// where the file comes.
func xinclude() kit.Check {
	c := kit.Check{ID: "xinclude", Class: "xxe", Level: client.Safe,
		Title: "A value is read as XML, and includes files"}.Describe()
	c.Place = func(ctx context.Context, w *kit.World, t *kit.Target, p message.Place) error {
		if p.Key || p.File || p.Component != message.Query &&
			p.Component != message.Body || p.Format == message.XML || client.IsPassword(p.Name) {
			return nil
		}
		reaction, err := w.React(ctx, t, p)
		if err != nil || diff.Same(reaction.WordPage, reaction.OddPage, diff.Noise{}) {
			return err
		}
		e := entities{World: w, Target: t, c: &c, place: p, includes: true, with: func(address string) *message.Request {
			return t.Request.Put(p, inclusion(address))
		}}
		_, err = e.contents(ctx)
		return err
	}
	return c
}
