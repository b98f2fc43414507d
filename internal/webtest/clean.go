package webtest

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/vedette-sec/vedette/internal/webtest/cleanup"
	"github.com/vedette-sec/vedette/internal/webtest/client"
)

// leftNamed are the pages with texts of tests that a note names; the report has all.
const leftNamed = 5

// cleanShare is the part of the budget that is kept for removing what tests have written, and cleanTime at most.
const (
	cleanShare = 20
	cleanTime  = 2 * time.Minute
)

// forTests is the budget of tests, without the part that is kept.
func forTests(c client.Config) (requests int64, until time.Time) {
	requests, until = c.Requests, c.Until
	if requests > 0 {
		requests -= requests / cleanShare
	}
	if !until.IsZero() {
		until = until.Add(-min(cleanTime, max(0, until.Sub(c.Now())/cleanShare)))
	}
	return requests, until
}

// clean removes what tests at level active have written, as far as the application's own links, forms and requests do
// that, and notes what was done and what is left.
func (r *run) clean(ctx context.Context) error {
	r.report.Written = r.client.Written()
	if r.Client.Level < client.Active || len(r.report.Written) == 0 {
		return nil
	}
	r.report.Over = r.client.Over()
	r.client.Bound(r.Client.Requests, r.Client.Until)
	cfg := cleanup.Config{Client: r.client}
	r.restore(ctx)
	left := map[string]bool{}
	for _, e := range slices.Concat(r.report.Map.Entries, r.report.Map.Others) {
		page := cleanup.Page{Request: e.Request, Before: e.Response, User: r.userOf(e)}
		switch {
		case page.User.Lost() != nil:
			left[page.User.Name] = true
		case e.Request.Method == http.MethodDelete:
			cfg.Removals = append(cfg.Removals, page)
		case e.Request.Method == http.MethodGet && e.Request.After == nil && e.Response != nil:
			cfg.Pages = append(cfg.Pages, page)
		case e.Request.Method != http.MethodGet && !e.Request.IsMessage():
			cfg.Updates = append(cfg.Updates, page)
		}
	}
	done, err := cleanup.Run(ctx, cfg)
	r.report.Left = done.Left
	var said []string
	if n := done.Removed; n > 0 {
		said = append(said, fmt.Sprintf("objects of tests were removed with %d requests", n))
	}
	if n := done.Restored; n > 0 {
		said = append(said, fmt.Sprintf("%d forms and objects have their values again", n))
	}
	if n := len(done.Left); n > 0 {
		said = append(said, fmt.Sprintf("%d pages still show what tests have written: %s", n,
			strings.Join(done.Left[:min(n, leftNamed)], ", ")))
	}
	for name := range left {
		said = append(said, "what tests have written as "+name+", who is not logged in any more, is not removed")
	}
	if err != nil || done.Over {
		said = append(said, "not all pages were looked at")
	}
	if len(said) > 0 {
		text := strings.Join(said, "; ")
		r.note(strings.ToUpper(text[:1]) + text[1:] + ".")
	}
	if endsRun(err) || errors.Is(err, client.ErrSignedOut) {
		return nil
	}
	return err
}
