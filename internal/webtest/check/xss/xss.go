// Package xss finds cross-site scripting: reflected, stored, and in the browser alone.
//
// A random word shows where in an answer a value comes back, and in which contexts a browser reads it (package markup).
// One text with the characters that mean something says which of them come through. For each context the payloads that
// need only those are tried, in the order of contexts.yaml: what must come back is a call of a function with a random
// name, in a place where a browser runs it. A quoted "<" in an attribute runs nothing and is nothing. The
// control is the word alone, which must not run; a second name must. Where there is a browser, it
// is asked: the function is called there, with the page's own Content-Security-Policy. Where the application writes
// what it is sent in capitals, the name stands in numbers of HTML, which a browser decodes in attributes.
//
// Requests for a clean place: none besides its Reaction if the word does not come back; one more if it does; two for
// each context whose characters come through.
package xss

import (
	"context"
	"fmt"
	"html"
	"net/http"
	"net/url"
	"strings"

	"github.com/vedette-sec/vedette/internal/webtest/check/kit"
	"github.com/vedette-sec/vedette/internal/webtest/markup"
	"github.com/vedette-sec/vedette/internal/webtest/message"
	"github.com/vedette-sec/vedette/internal/webtest/proof"
)

// Checks are those of the package.
func Checks() []kit.Check {
	reflected := kit.Check{ID: "xss-reflected", Class: "xss", Title: "Reflected cross-site scripting", Level: 1}.Describe()
	reflected.Title = "Reflected cross-site scripting"
	reflected.Place = func(ctx context.Context, w *kit.World, t *kit.Target, p message.Place) error {
		_, err := test(ctx, &reflected, w, t, p)
		return err
	}
	return []kit.Check{reflected, stored(), dom(), logLines(), missingPages()}
}

// tries are how many payloads are sent for one context, and for one place.
const tries, placeTries = 18, 40

// test tests one place. It says whether it is weak.
func test(ctx context.Context, c *kit.Check, w *kit.World, t *kit.Target, p message.Place) (bool, error) {
	reaction, err := w.React(ctx, t, p)
	if err != nil || !document(reaction.Unknown) {
		return false, err
	}
	body := string(reaction.Unknown.Body)
	o := &place{World: w, Target: t, place: p, check: c, capitals: !reaction.Echo}
	contexts := markup.Find(body, o.shown(reaction.Word))
	if _, runs := markup.Runs(body, reaction.Word); runs || len(contexts) == 0 {
		return false, nil
	}
	var raw, decoded map[rune]bool // of what comes back in capitals nothing is known
	if !o.capitals {
		show := func(text string) (*message.Response, error) { return w.Try(ctx, t, p, text+kit.Ending(p)) }
		if raw, decoded, err = survivors(show); err != nil {
			return false, err
		}
		if isOpen, err := opens(show, raw, decoded); err != nil {
			return false, err
		} else if isOpen {
			raw['<'], decoded['<'] = true, true
		}
	}
	for _, context := range contexts {
		for _, payload := range payloads(context) {
			if !payload.passes(raw, decoded, body) || o.sent >= placeTries {
				continue
			}
			found, err := o.try(ctx, payload, context)
			if err != nil || found {
				return found, err
			}
		}
	}
	return false, nil
}

// document says whether a browser shows an answer as a document with markup. It goes on at once from one that leads
// elsewhere.
func document(r *message.Response) bool {
	if r.Redirect() != nil {
		return false
	}
	return r.IsXML() || r.IsHTML() && r.Status != http.StatusNoContent &&
		!strings.HasPrefix(strings.ToLower(r.Header.Get("Content-Disposition")), "attachment")
}

// marks are the characters that contexts need. They are sent twice: some filters look at the first of each alone.
const marks = `'"<>\` + "`" + `=/();: ${}`

// survivors are the characters that come back as they are sent, and those that do once entities are decoded, as
// browsers do in attributes; nil if that cannot be said. show sends a text and returns the page that shows it.
func survivors(show func(text string) (*message.Response, error)) (raw, decoded map[rune]bool, err error) {
	before, after := kit.Word(), kit.Word()
	answer, err := show(before + marks + marks + after)
	if err != nil {
		return nil, nil, err
	}
	body := string(answer.Body)
	for {
		at := strings.Index(body, before)
		if at < 0 {
			return raw, decoded, nil
		}
		body = body[at+len(before):]
		end := strings.Index(body, after)
		if end < 0 || end > 40*len(marks) {
			continue
		}
		if raw == nil {
			raw, decoded = map[rune]bool{}, map[rune]bool{}
		}
		for _, c := range marks {
			raw[c] = raw[c] || strings.ContainsRune(body[:end], c)
			decoded[c] = decoded[c] || strings.ContainsRune(html.UnescapeString(body[:end]), c)
		}
	}
}

// opens reports whether a tag comes back that is not closed, where what stands between < and > is taken out.
func opens(show func(text string) (*message.Response, error), raw, decoded map[rune]bool) (bool, error) {
	if raw == nil || decoded['<'] || decoded['>'] {
		return false, nil
	}
	open := "<i " + kit.Word()
	answer, err := show(open)
	return err == nil && strings.Contains(string(answer.Body), open), err
}

// place is a place that is tested.
type place struct {
	*kit.World
	*kit.Target

	place    message.Place
	check    *kit.Check
	sent     int
	capitals bool // the application shows what it is sent in capitals
}

// shown is a word as the application shows it.
func (o *place) shown(word string) string {
	if o.capitals {
		return strings.ToUpper(word)
	}
	return word
}

// run is an answer in which a script runs.
type run struct {
	text   string
	answer *message.Response
	where  markup.Run
}

// try tries a payload. It says whether the place is found to be weak.
func (o *place) try(ctx context.Context, p *payload, c markup.Context) (bool, error) {
	first, err := o.runs(ctx, p)
	if err != nil || first == nil {
		return false, err
	}
	second, err := o.runs(ctx, p)
	if err != nil || second == nil {
		return false, err
	}
	finding := kit.Finding{Request: first.answer.Request, Place: o.place, Payload: first.text, Variant: p.ID,
		Detail: string(c.Kind) + detail(c), Confidence: kit.Proved,
		Evidence: []kit.Evidence{
			{Request: first.answer.Request, Response: first.answer, Match: kit.Around(first.answer.Body, first.text),
				Note: "a script of ours stands in the " + first.where.Where + ", where a browser runs it"},
			{Request: second.answer.Request, Response: second.answer, Note: "with another name, too"},
		},
		Proof: o.proof(p),
	}
	if first.where.Click {
		finding.Evidence[0].Note += " when somebody clicks on it or moves over it"
	}
	if first.where.Basic {
		finding.Evidence[0].Note += " (VBScript: only in old browsers)"
	}
	o.judge(ctx, &finding, p, first)
	o.Found(o.check, finding)
	return true, nil
}

// judge asks the browser, and looks at the page's policy where there is none.
func (o *place) judge(ctx context.Context, f *kit.Finding, p *payload, first *run) {
	if blocks(first.answer.Header) && !first.where.Click {
		f.Evidence[0].Note += "; the Content-Security-Policy of the page keeps it from running"
		f.Confidence, f.Severity = kit.Probable, kit.Low
	}
	if o.Browser == nil || first.where.Click || first.where.Basic || o.place.Component == message.Header ||
		o.place.Component == message.Cookie {
		return
	}
	name := kit.Word()
	called, err := Executes(ctx, o.World, o.User, o.Request.Put(o.place, o.text(p, name)), name)
	switch {
	case err != nil:
		o.Skip(o.Target, "xss", "the browser could not confirm it: "+err.Error())
	case called:
		f.Confidence, f.Severity = kit.Proved, ""
		f.Evidence = append(f.Evidence, kit.Evidence{Note: "the browser has run it"})
	}
}

// blocks says whether a policy keeps scripts in a document from running.
func blocks(h http.Header) bool {
	for _, line := range h.Values("Content-Security-Policy") {
		for directive := range strings.SplitSeq(strings.ToLower(line), ";") {
			name, sources, _ := strings.Cut(strings.TrimSpace(directive), " ")
			if (name == "script-src" || name == "script-src-elem" || name == "default-src") &&
				(!strings.Contains(sources, "'unsafe-inline'") || strings.Contains(sources, "'nonce-")) {
				return true
			}
		}
	}
	return false
}

// runs sends a payload, and returns its answer if a script runs in it; nil otherwise.
func (o *place) runs(ctx context.Context, p *payload) (*run, error) {
	name := kit.Word()
	text := o.text(p, name)
	o.sent++
	answer, err := o.Try(ctx, o.Target, o.place, text)
	if err != nil {
		return nil, err
	}
	where, ok := markup.Runs(string(answer.Body), name)
	if !ok || !document(answer) || answer.IsXML() && !markup.RunsXML(string(answer.Body), name) {
		return nil, nil
	}
	return &run{text, answer, where}, nil
}

// text is the payload with the name of a function.
func (o *place) text(p *payload, name string) string {
	if o.capitals { // a browser decodes it in attributes, where names and schemes may have capitals
		name = decimal(name)
	}
	return strings.NewReplacer("{f}", name, "{v}", kit.Value(o.place)).Replace(p.Text) + kit.Ending(o.place)
}

// decimal is a name in numbers of HTML, which have no letters.
func decimal(name string) string {
	var b strings.Builder
	for _, letter := range name {
		fmt.Fprintf(&b, "&#%d;", letter)
	}
	return b.String()
}

// marked is a payload for a proof, and what has to run. In capitals that is one name: a variable cannot be in numbers.
func (o *place) marked(p *payload) (text, name string) {
	name = proof.Marker("f")
	if o.capitals {
		name = kit.Word()
	}
	return o.text(p, name), name
}

func (o *place) proof(p *payload) *proof.Program {
	user, users := kit.Names(o.User)
	text, f := o.marked(p)
	return &proof.Program{About: "A function of ours is called in the page; the same text escaped is not.",
		Users: users, Vars: []proof.Var{{Name: "f", Kind: proof.Word}},
		Steps: []proof.Step{
			{ID: "plain", As: user, Send: o.Request.Put(o.place, f+kit.Ending(o.place)),
				Expect: []proof.Expect{{What: proof.Runs, Value: f, Not: true}}},
			{ID: "script", As: user, Send: o.Request.Put(o.place, text),
				Expect: []proof.Expect{{What: proof.Runs, Value: f}}},
		}}
}

func detail(c markup.Context) string {
	out := ""
	if c.Tag != "" {
		out += " in <" + c.Tag + ">"
	}
	if c.Attr != "" {
		out += ", " + c.Attr
	}
	if c.State != "" {
		out += ", " + string(c.State)
	}
	return out
}

// address is an address as browsers are given it: a GET request without a body.
func address(r *message.Request) (*url.URL, bool) {
	return r.URL, r.Method == http.MethodGet && len(r.Body) == 0
}
