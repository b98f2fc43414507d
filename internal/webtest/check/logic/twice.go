package logic

import (
	"context"
	"errors"
	"net/http"
	"regexp"

	"github.com/vedette-sec/vedette/internal/webtest/check/kit"
	"github.com/vedette-sec/vedette/internal/webtest/client"
	"github.com/vedette-sec/vedette/internal/webtest/message"
)

var (
	codeName = regexp.MustCompile(`(?i)coupon|voucher|promo|gift|discount|rebate|bonus|referral`)
	// codeOrCard are names of codes where the address says so.
	codeOrCard = regexp.MustCompile(`(?i)^(?:the_?)?(?:code|card|key|number|serial|pin)(?:_?(?:code|number|no))?$`)
	codePage   = regexp.MustCompile(`(?i)coupon|voucher|promo|gift|discount|rebate|bonus|redeem`)
	codeText   = regexp.MustCompile(`\b[A-Z]{3,}[A-Z0-9]*(?:-[A-Z0-9]+)*-?\d+[A-Z0-9]*(?:-[A-Z0-9]+)*\b`)
)

const (
	maxCodes = 3  // that pages name beside that of the form
	maxRead  = 60 // pages that are read for them
)

// usedTwice is the check for codes, such as those of coupons, that may be used again: sent three times, a number with a
// name in the answer, or in the page that it leads to, grows by the same each time, and a code that does not exist
// leaves it. Codes are the one of the form, and words in capitals with a number that the pages of the user show. Up to
// nine requests for a form with such a field and each code; at level active alone.
func usedTwice() kit.Check {
	c := kit.Check{ID: "code-used-twice", Class: "business-logic", Level: client.Active,
		Title: "A code can be used more than once"}.Describe()
	c.Request = func(ctx context.Context, w *kit.World, t *kit.Target) error {
		if t.Request.Method != http.MethodPost {
			return nil
		}
		for _, p := range message.Places(t.Request) {
			if !isCode(t.Request, p) {
				continue
			}
			for _, code := range codes(ctx, w, t, p) {
				found, err := useTwice(ctx, w, &c, t, p, code)
				if err != nil || found {
					return err
				}
			}
		}
		return nil
	}
	return c
}

// isCode reports whether a place is that of a code, by its name, or by its name and the address.
func isCode(r *message.Request, p message.Place) bool {
	return p.Component == message.Body && !p.Key &&
		(codeName.MatchString(p.Name) || codeOrCard.MatchString(p.Name) && codePage.MatchString(r.URL.Path))
}

// codes are the code of a form, and those that pages of the user show.
func codes(ctx context.Context, w *kit.World, t *kit.Target, p message.Place) (all []string) {
	seen := map[string]bool{"": true, "test": true, "tester": true, "1": true}
	if !seen[p.Value] {
		all, seen[p.Value] = append(all, p.Value), true
	}
	looked := 0
	for _, r := range w.Pages() {
		if r.Method != http.MethodGet || looked >= maxRead || len(all) > maxCodes {
			continue
		}
		looked++
		answer, err := w.Ask(ctx, r, t.User)
		if err != nil || !answer.IsHTML() {
			continue
		}
		for _, code := range codeText.FindAllString(string(answer.Body), 20) {
			if !seen[code] && len(all) <= maxCodes {
				all, seen[code] = append(all, code), true
			}
		}
	}
	return all
}

// useTwice uses one code three times, as tests before may have used it once.
func useTwice(ctx context.Context, w *kit.World, c *kit.Check, t *kit.Target, p message.Place, code string) (bool,
	error) {
	var pages []*message.Response
	var numbers []map[string]int
	for _, value := range []string{code, code, code, "NONE" + kit.Word()} {
		page, err := afterCode(ctx, w, t, t.Request.Put(p, value))
		if err != nil || page == nil {
			return false, err
		}
		pages, numbers = append(pages, page), append(numbers, numbersByName(page))
	}
	last := numbers[3]
	if again := pages[2].Request; again.Method == http.MethodGet && pages[3].Status >= http.StatusBadRequest {
		page, err := w.Ask(ctx, again, t.User) // the refusal has no numbers
		if err != nil {
			return false, err
		}
		last = numbersByName(page)
	}
	for name, third := range numbers[2] {
		first, isFirst := numbers[0][name]
		second, isSecond := numbers[1][name]
		after, isAfter := last[name]
		if !isFirst || !isSecond || third == second || third-second != second-first || isAfter && after != third {
			continue
		}
		w.Found(c, kit.Finding{Request: t.Request.Put(p, code), Place: p, Payload: code,
			Detail: "each time it counts again, in the number after \"" + name + "\"",
			Evidence: []kit.Evidence{
				{Request: pages[0].Request, Response: pages[0], Note: "the code is used"},
				{Request: pages[1].Request, Response: pages[1], Note: "again"},
				{Request: pages[2].Request, Response: pages[2], Note: "and again"},
				{Request: pages[3].Request, Response: pages[3], Note: "a code that does not exist changes nothing"}}})
		return true, nil
	}
	return false, nil
}

// afterCode sends a code and is the page that shows what became of it: the one that the answer leads to, or the answer;
// nil where the code is not sent.
func afterCode(ctx context.Context, w *kit.World, t *kit.Target, r *message.Request) (*message.Response, error) {
	answer, err := w.Client.Send(ctx, r, client.Options{As: t.User, Writes: true})
	if errors.Is(err, client.ErrScope) {
		return nil, nil //nolint:nilnil // it is not sent
	}
	if answer, err = kit.Broken(ctx, r, answer, err); err != nil || answer.Status == 0 || answer.Status >= 500 {
		return nil, err
	}
	if at := answer.Redirect(); at != nil && at.Host == r.URL.Host {
		return w.Ask(ctx, message.From(http.MethodGet, at), t.User)
	}
	return answer, nil
}
