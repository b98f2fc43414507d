package logic

import (
	"context"
	"errors"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"github.com/vedette-sec/vedette/internal/webtest/check/kit"
	"github.com/vedette-sec/vedette/internal/webtest/client"
	"github.com/vedette-sec/vedette/internal/webtest/message"
)

var (
	codeName = regexp.MustCompile(`(?i)coupon|voucher|promo|gift|discount|rebate|bonus|referral` + codeWords)
	// codeOrCard are names of codes where the address says so.
	codeOrCard = regexp.MustCompile(`(?i)^(?:the_?)?(?:code|card|key|number|serial|pin)(?:_?(?:code|number|no))?$`)
	codePage   = regexp.MustCompile(`(?i)coupon|voucher|promo|gift|discount|rebate|bonus|redeem` + codeWords)
	codeText   = regexp.MustCompile(`\b[A-Z]{3,}[A-Z0-9]*(?:-[A-Z0-9]+)*-?\d+[A-Z0-9]*(?:-[A-Z0-9]+)*\b`)
)

// codeWords are words for such codes in other languages.
const codeWords = `|gutschein|rabat|kup[oó]n|cup[oó]n|cupom|descuento|desconto|sconto|buono|remise|korting|kedvezm|slev[ay]|alennus`

const (
	maxCodes = 3  // that pages name beside that of the form
	maxRead  = 60 // pages that are read for them
)

// usedTwice is the check for codes, such as those of coupons, that may be used again: sent three times, a number with a
// name in the answer, or in the page that it leads to, grows by the same each time, and a code that does not exist
// leaves it. A code that counts once is tried in other letters, small and capital, as well: each of them must count
// again. Codes are the one of the form, and words in capitals with a number that the pages of the user show. Up to
// eighteen requests for a form with such a field and each code; at level active alone.
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
				u := &uses{World: w, Target: t, place: p, as: t.User}
				if !kit.Known(u.as) {
					u.as = client.NewUser("") // a visitor of their own, whose basket is kept
				}
				found, err := u.try(ctx, &c, []string{code, code, code}, "each time it counts again")
				if err == nil && !found && strings.ToLower(code) != code {
					found, err = u.try(ctx, &c, otherwise(code), "in other letters it counts again")
				}
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

// otherwise are a code and the same in small letters, and in small letters after the first.
func otherwise(code string) []string {
	small := strings.ToLower(code)
	return []string{code, small, code[:1] + small[1:]}
}

// uses are those of codes in one field.
type uses struct {
	*kit.World
	*kit.Target

	place message.Place
	as    *client.User
}

// try uses three codes, which are one: tests before may have used it.
func (u *uses) try(ctx context.Context, c *kit.Check, codes []string, about string) (found bool, err error) {
	var pages []*message.Response
	var numbers []map[string]int
	for _, value := range append(slices.Clone(codes), "NONE"+kit.Word()) {
		page, err := u.after(ctx, u.Request.Put(u.place, value))
		if err != nil || page == nil {
			return false, err
		}
		pages, numbers = append(pages, page), append(numbers, numbersByName(page))
	}
	last := numbers[3]
	if again := pages[2].Request; again.Method == http.MethodGet && pages[3].Status >= http.StatusBadRequest {
		page, err := u.Ask(ctx, again, u.as) // the refusal has no numbers
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
		u.Found(c, kit.Finding{Request: u.Request.Put(u.place, codes[1]), Place: u.place, Payload: codes[1],
			Detail: about + ", in the number after \"" + name + "\"",
			Evidence: []kit.Evidence{
				{Request: pages[0].Request, Response: pages[0], Note: codes[0] + " is used"},
				{Request: pages[1].Request, Response: pages[1], Note: "then " + codes[1]},
				{Request: pages[2].Request, Response: pages[2], Note: "and " + codes[2]},
				{Request: pages[3].Request, Response: pages[3], Note: "a code that does not exist changes nothing"}}})
		return true, nil
	}
	return false, nil
}

// after sends a code and is the page that shows what became of it: the one that the answer leads to, or the answer; nil
// where the code is not sent.
func (u *uses) after(ctx context.Context, r *message.Request) (*message.Response, error) {
	answer, err := u.Client.Send(ctx, r, client.Options{As: u.as, Writes: true})
	if errors.Is(err, client.ErrScope) {
		return nil, nil //nolint:nilnil // it is not sent
	}
	if answer, err = kit.Broken(ctx, r, answer, err); err != nil || answer.Status == 0 || answer.Status >= 500 {
		return nil, err
	}
	if at := answer.Redirect(); at != nil && at.Host == r.URL.Host {
		return u.Ask(ctx, message.From(http.MethodGet, at), u.as)
	}
	return answer, nil
}
