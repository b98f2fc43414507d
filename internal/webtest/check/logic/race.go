package logic

import (
	"context"
	"html"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"sync"

	"github.com/vedette-sec/vedette/internal/webtest/check/kit"
	"github.com/vedette-sec/vedette/internal/webtest/client"
	"github.com/vedette-sec/vedette/internal/webtest/message"
)

const (
	atOnce   = 4 // requests with one code
	needRace = 2 // codes with which it must work
	maxRaces = 4 // codes that are tried
)

// racing is the check for codes that count once, and more than once when several requests with one come together: two
// codes of the form's fields, or else words in capitals with a number that pages of the user show, each sent four times
// at once, must each be taken at least twice, where one of them that is sent once more is refused, as an invented one
// is. Ten requests for a form with such a field, and five for each further code; at level active alone.
func racing() kit.Check {
	c := kit.Check{ID: "race-of-codes", Class: "race-condition", Level: client.Active}.Describe()
	c.Request = func(ctx context.Context, w *kit.World, t *kit.Target) error {
		if t.Request.Method != http.MethodPost {
			return nil
		}
		for _, p := range message.Places(t.Request) {
			if !isCode(t.Request, p) && (p.Component != message.Body || p.Key || p.Name != "code") {
				continue
			}
			unused, err := offered(ctx, w, t, p)
			if err != nil {
				return err
			}
			if len(unused) < needRace {
				unused = codes(ctx, w, t, p)
			}
			if len(unused) < needRace {
				return nil
			}
			return race(ctx, w, &c, t, p, unused)
		}
		return nil
	}
	return c
}

// offered are the codes in the fields of the page that has the form, newest last.
func offered(ctx context.Context, w *kit.World, t *kit.Target, p message.Place) (all []string, err error) {
	page, err := url.Parse(t.From)
	if err != nil || page.Host != t.Request.URL.Host {
		return nil, nil //nolint:nilerr // it stands on no page that is known
	}
	answer, err := w.Ask(ctx, message.From(http.MethodGet, page), t.User)
	if err != nil {
		return nil, err
	}
	field := regexp.MustCompile(`(?i)<(?:input|option|button)\b[^>]*\bname="` + regexp.QuoteMeta(p.Name) +
		`"[^>]*\bvalue="([^"]{3,80})"`)
	for _, m := range field.FindAllSubmatch(answer.Body, 50) {
		if code := html.UnescapeString(string(m[1])); !slices.Contains(all, code) {
			all = append(all, code)
		}
	}
	slices.Reverse(all) // what was tested before has used the first
	return all, nil
}

// race sends codes several times at once.
func race(ctx context.Context, w *kit.World, c *kit.Check, t *kit.Target, p message.Place, unused []string) error {
	one := func(code string) (*message.Response, error) {
		r := t.Request.Put(p, code)
		answer, err := w.Client.Send(ctx, r, client.Options{As: t.User, Writes: true})
		return kit.Broken(ctx, r, answer, err)
	}
	invented, err := one("NONE" + kit.Word())
	if err != nil {
		return err
	}
	won := 0
	var evidence []kit.Evidence
	for _, code := range unused[:min(len(unused), maxRaces)] {
		answers, errs := make([]*message.Response, atOnce), make([]error, atOnce)
		var wait sync.WaitGroup
		for i := range atOnce {
			wait.Go(func() { answers[i], errs[i] = one(code) })
		}
		wait.Wait()
		for _, err := range errs {
			if err != nil {
				return err
			}
		}
		later, err := one(code)
		if err != nil {
			return err
		}
		var taken []*message.Response
		for _, a := range answers {
			if a.Status != 0 && a.Status < 400 && !kit.Same(a, later) && !kit.Same(a, invented) {
				taken = append(taken, a)
			}
		}
		if len(taken) < 2 || !kit.Same(taken[0], taken[1]) {
			continue
		}
		won++
		evidence = append(evidence,
			kit.Evidence{Request: taken[0].Request, Response: taken[0], Note: "of four requests at once one takes the code"},
			kit.Evidence{Request: taken[1].Request, Response: taken[1], Note: "and so does another"},
			kit.Evidence{Request: later.Request, Response: later, Note: "afterwards it is refused"})
		if won < needRace {
			continue
		}
		w.Found(c, kit.Finding{Request: taken[0].Request, Place: p, Payload: code, Evidence: evidence,
			Detail: "a code that counts once counts more often when its requests come together"})
		return nil
	}
	return nil
}
