package xss

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/vedette-sec/vedette/internal/webtest/check/kit"
	"github.com/vedette-sec/vedette/internal/webtest/client"
	"github.com/vedette-sec/vedette/internal/webtest/domflow"
	"github.com/vedette-sec/vedette/internal/webtest/message"
	"github.com/vedette-sec/vedette/internal/webtest/proof"
)

// maxScripted are how many pages have the scripts read that ask the server for what was stored.
const maxScripted = 40

// scripted reads out of the scripts of a page what they write of the answers that they ask for, follows the words that
// stand in it, and reports a payload that runs there, twice. What the scripts ask for is asked for as the reader of the
// page. Up to five requests for each page with scripts of its own, and as many for each payload.
func (s *storing) scripted(ctx context.Context, r *message.Request, as *client.User, answer *message.Response) error {
	body := string(answer.Body)
	if !answer.IsHTML() || s.scripts >= maxScripted || !strings.Contains(strings.ToLower(body), "<script") ||
		!s.Once("scripted "+name(as)+scriptsOf(body)) {
		return nil
	}
	s.scripts++
	page := s.reading(ctx, r, as, answer)
	for _, wrote := range page.Writes(r.URL, kit.Word()) {
		for _, word := range planted(wrote.Text) {
			p, ok := s.words[word]
			if !ok || p.Place.Step > 0 { // of a step before, which was sent alone, too
				continue
			}
			key := "scripted " + path(p.Target.Request) + " " + p.Place.String()
			if s.done[key] || len(s.done) >= maxStored {
				continue
			}
			s.done[key] = true
			if err := s.run(ctx, p, r, as, answer); err != nil {
				return err
			}
		}
	}
	return nil
}

// reading are the scripts of a page, with what the server answers to them.
func (s *storing) reading(ctx context.Context, r *message.Request, as *client.User,
	answer *message.Response) *domflow.Page {
	t := &kit.Target{Request: r, Response: answer, User: as}
	loaded := 0
	page := domflow.Read(string(answer.Body), func(src string) string {
		if loaded++; loaded > maxSources {
			return ""
		}
		return scriptAt(ctx, s.World, t, src)
	})
	page.Ask = func(at *url.URL) (string, bool) {
		got, err := s.Ask(ctx, message.From(http.MethodGet, at), as)
		return string(got.Body), err == nil && got.Status == http.StatusOK
	}
	return page
}

// run stores payloads in a place, and looks whether the scripts of a page write one so that it runs.
func (s *storing) run(ctx context.Context, p kit.Planted, shown *message.Request, as *client.User,
	answer *message.Response) error {
	for _, text := range domTexts {
		var wrote domflow.Write
		var stored *message.Response
		for range 2 {
			called := kit.Word()
			var err error
			if stored, err = s.Try(ctx, p.Target, p.Place, fmt.Sprintf(text, called)); err != nil {
				return err
			}
			if wrote = running(s.reading(ctx, shown, as, answer), shown.URL, called); wrote.Sink == "" {
				break
			}
		}
		if wrote.Sink == "" {
			continue
		}
		f := proof.Marker("f")
		user, reader, users := both(p.Target.User, as)
		found := kit.Finding{Request: stored.Request, Place: p.Place, Payload: wrote.Text, Confidence: kit.Proved,
			Detail: "a script of " + shown.URL.Path + " writes it to " + wrote.Sink,
			Evidence: []kit.Evidence{
				{Request: stored.Request, Response: stored, Note: "what is stored"},
				{Request: shown, Response: answer, Match: kit.Around(answer.Body, wrote.Sink),
					Note: "a script of the page asks for it, and writes to " + wrote.Sink + ": " + wrote.Text}},
			Proof: &proof.Program{About: "What is stored in one place is written into another page by its script.", Users: users,
				Vars: []proof.Var{{Name: "f", Kind: proof.Word}}, Steps: []proof.Step{
					{ID: "store", As: user, Send: p.Target.Request.Put(p.Place, fmt.Sprintf(text, f))},
					{ID: "show", As: reader, Send: shown, Calls: f, Expect: []proof.Expect{{What: proof.Executes}}}}}}
		if blocks(answer.Header) {
			found.Confidence, found.Severity = kit.Probable, kit.Low
		}
		s.Found(s.check, found)
		return nil
	}
	return nil
}
