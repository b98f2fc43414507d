package xss

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/vedette-sec/vedette/internal/webtest/check/kit"
	"github.com/vedette-sec/vedette/internal/webtest/client"
	"github.com/vedette-sec/vedette/internal/webtest/domflow"
	"github.com/vedette-sec/vedette/internal/webtest/message"
	"github.com/vedette-sec/vedette/internal/webtest/proof"
)

// parameter is how scripts name a parameter of the address that they read.
var parameter = regexp.MustCompile(`\.get\(\s*["'](\w{1,40})["']|["'/?&\]](\w{1,40})=(?:["'(\[])`)

// maxParameters are how many are taken from the scripts of a page.
const maxParameters = 4

// readNames are the parameters that the scripts of a page say they read.
func readNames(body string) (names []string) {
	for _, text := range script.FindAllString(body, -1) {
		for _, m := range parameter.FindAllStringSubmatch(text, -1) {
			if name := m[1] + m[2]; len(names) < maxParameters && !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names
}

// scriptAt is the text of a script that a page names; "" if it is of another host, or cannot be had.
func scriptAt(ctx context.Context, w *kit.World, t *kit.Target, src string) string {
	at, err := t.Request.URL.Parse(src)
	if err != nil || at.Host != t.Request.URL.Host {
		return ""
	}
	key := "script " + at.String()
	if known, ok := w.Memo.Load(key); ok {
		return known.(string) //nolint:forcetypeassert // it is stored below
	}
	text := ""
	if answer, err := w.Client.Send(ctx, message.From(http.MethodGet, at), client.Options{As: t.User}); err == nil &&
		answer.Status == http.StatusOK && !answer.IsHTML() {
		text = string(answer.Body)
	}
	w.Memo.Store(key, text)
	return text
}

// flow is a payload in an address that the scripts of a page write so that it runs.
type flow struct {
	at     *url.URL
	text   string
	wrote  domflow.Write
	answer *message.Response
}

// domRead reads out of the scripts of a page what they write, with payloads in its fragment and its parameters.
func domRead(ctx context.Context, c *kit.Check, w *kit.World, t *kit.Target) error {
	external := false
	read := func(body string) *domflow.Page {
		loaded := 0
		return domflow.Read(body, func(src string) string {
			if external = true; loaded >= maxSources {
				return ""
			}
			loaded++
			return scriptAt(ctx, w, t, src)
		})
	}
	page := read(string(t.Response.Body))
	for _, variant := range append(routes(ctx, w, t), domVariants(t.Request.URL, readNames(string(t.Response.Body)))...) {
		if !touches(page, variant, t.Request.URL) || ctx.Err() != nil {
			continue
		}
		for _, text := range domTexts {
			first, err := flows(ctx, w, t, page, read, variant, text)
			if err != nil {
				return err
			}
			if first == nil {
				continue
			}
			second, err := flows(ctx, w, t, page, read, variant, text)
			if err != nil {
				return err
			}
			if second != nil {
				w.Found(c, flowed(t, variant, text, first, second, external))
				return nil
			}
		}
	}
	w.Skip(t, c.Class, "there is no browser; nothing was found by reading the scripts")
	return nil
}

// touches reports whether the scripts of a page write a word that stands in a part of the address, in whatever way.
func touches(page *domflow.Page, variant domVariant, at *url.URL) bool {
	word := kit.Word()
	return slices.ContainsFunc(page.Writes(variant.with(*at, word), word), func(wrote domflow.Write) bool {
		return strings.Contains(strings.ToLower(wrote.Text), word)
	})
}

// flows is what the scripts of a page write with a payload; nil where it does not run. A parameter is sent, since the
// page may be another one with it.
func flows(ctx context.Context, w *kit.World, t *kit.Target, page *domflow.Page, read func(string) *domflow.Page,
	variant domVariant, text string,
) (*flow, error) {
	name := kit.Word()
	f := &flow{text: fmt.Sprintf(text, name), answer: t.Response}
	f.at = variant.with(*t.Request.URL, f.text)
	f.at.RawQuery = strings.ReplaceAll(f.at.RawQuery, "+", "%20")
	f.wrote = running(page, f.at, name)
	if f.wrote.Sink == "" || variant.place.Component != message.Query {
		return f.orNil(), nil
	}
	r := message.From(http.MethodGet, f.at)
	answer, err := w.Send(ctx, t, r)
	if err != nil {
		return nil, err
	}
	if answer.Status != http.StatusOK || !document(answer) {
		return nil, nil
	}
	f.answer, f.wrote = answer, running(read(string(answer.Body)), f.at, name)
	return f.orNil(), nil
}

func (f *flow) orNil() *flow {
	if f.wrote.Sink == "" {
		return nil
	}
	return f
}

// running is the first text that a page surely writes and that runs a function.
func running(page *domflow.Page, at *url.URL, name string) domflow.Write {
	for _, wrote := range page.Writes(at, name) {
		if wrote.Sure && wrote.Runs(name) {
			return wrote
		}
	}
	return domflow.Write{}
}

// flowed is the finding of a payload that scripts write.
func flowed(t *kit.Target, variant domVariant, text string, first, second *flow, external bool) kit.Finding {
	user, users := kit.Names(t.User)
	with := func(word string) *message.Request {
		at := variant.with(*t.Request.URL, fmt.Sprintf(text, word))
		at.RawQuery = strings.ReplaceAll(at.RawQuery, "+", "%20")
		return opening(at)
	}
	f := proof.Marker("f")
	step := proof.Step{ID: "open", As: user, Send: with(f), Expect: []proof.Expect{{What: proof.Runs, Value: f}}}
	plain := proof.Step{ID: "plain", As: user, Send: opening(variant.with(*t.Request.URL, f)),
		Expect: []proof.Expect{{What: proof.Runs, Value: f, Not: true}}}
	steps := []proof.Step{step, plain}
	if external { // what stands elsewhere is not in the answer
		step.Calls, step.Expect = f, []proof.Expect{{What: proof.Executes}}
		steps = []proof.Step{step}
	}
	found := kit.Finding{Request: opening(first.at), Place: variant.place, Payload: first.text,
		Detail: variant.name + ", which a script writes to " + first.wrote.Sink, Confidence: kit.Proved,
		Evidence: []kit.Evidence{
			{Request: t.Request, Response: first.answer, Match: kit.Around(first.answer.Body, first.wrote.Sink),
				Note: "the script writes to " + first.wrote.Sink + ": " + first.wrote.Text},
			{Request: opening(second.at), Response: second.answer, Note: "with another name, too"}},
		Proof: &proof.Program{About: "A script of the page writes what stands in the address, as a script that runs.",
			Users: users, Vars: []proof.Var{{Name: "f", Kind: proof.Word}}, Steps: steps}}
	if blocks(first.answer.Header) {
		found.Evidence[0].Note += "; the Content-Security-Policy of the page keeps it from running"
		found.Confidence, found.Severity = kit.Probable, kit.Low
	}
	return found
}

// opening is the request for an address with its fragment, which is not sent.
func opening(at *url.URL) *message.Request {
	return &message.Request{Method: http.MethodGet, URL: at, Header: http.Header{}}
}
