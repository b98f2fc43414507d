// Package coverage notes what was tested of an application and what not, and why, by request and by place.
package coverage

import (
	"cmp"
	"net/url"
	"slices"
	"strings"
	"sync"

	"github.com/vedette-sec/vedette/internal/webtest/check/kit"
	"github.com/vedette-sec/vedette/internal/webtest/client"
	"github.com/vedette-sec/vedette/internal/webtest/message"
	"github.com/vedette-sec/vedette/internal/webtest/sitemap"
)

// maxRows bounds what is kept of a coverage; more is counted.
const maxRows = 200000

// Coverage is what was tested and what not, and why.
type Coverage struct {
	mu      sync.Mutex
	rows    map[rowKey]*Row
	order   []*Row
	gaps    int // checks on places that were not tested although they could have been
	dropped int
	ofMap   map[string]int // requests that the map did not send, by reason
}

// Row is one place of a request, or a whole request where Place is zero.
type Row struct {
	Method  string            `json:"method"`
	URL     string            `json:"url"`
	Place   string            `json:"place,omitempty"`
	Tested  []string          `json:"tested"`            // ids of checks
	Earlier bool              `json:"earlier,omitempty"` // tested before the run was interrupted
	Skipped map[string]string `json:"skipped,omitempty"` // why, by id or class of a check; * is all
}

type rowKey struct {
	method, url string
	place       message.Place
}

// New makes an empty coverage.
func New() *Coverage {
	return &Coverage{rows: map[rowKey]*Row{}, ofMap: map[string]int{}}
}

// Rows are the rows, in the order in which they were tested.
func (c *Coverage) Rows() []*Row {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.order)
}

// Gaps is how often something was not tested that the settings ask for: for lack of budget, time, a browser, a session,
// or because the target failed. What the level does not allow, and what is like something that was tested, is none.
func (c *Coverage) Gaps() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	gaps := c.gaps
	for why, n := range c.ofMap {
		if isMapGap(why) {
			gaps += n
		}
	}
	return gaps
}

// isMapGap reports whether a reason why something is not on the map is a lack, and not that it is known or elsewhere.
func isMapGap(why string) bool {
	for _, lack := range []string{"it is deeper", "the crawl's part", "the budget of", "too much is queued",
		"the map is full",
		"it does not answer", "the browser could not"} {
		if strings.HasPrefix(why, lack) {
			return true
		}
	}
	return strings.Contains(why, client.NotSignedIn)
}

// Count is how many requests and places of them were tested, by how many checks in all.
func (c *Coverage) Count() (requests, places, checks int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	seen := map[string]bool{}
	for _, row := range c.order {
		if len(row.Tested) == 0 && !row.Earlier {
			continue
		}
		seen[row.Method+" "+row.URL] = true
		if row.Place != "" {
			places++
		}
		checks += len(row.Tested)
	}
	requests = len(seen)
	return requests, places, checks
}

// Reason is why something was not tested, and how often.
type Reason struct {
	Why   string `json:"why"`
	Count int    `json:"count"`
}

// Reasons are the reasons, the most frequent first: of the map for requests that were not sent, then for checks.
func (c *Coverage) Reasons() (ofMap, ofChecks []Reason) {
	c.mu.Lock()
	defer c.mu.Unlock()
	count := map[string]int{}
	for _, row := range c.order {
		for _, why := range row.Skipped {
			count[why]++
		}
	}
	return sorted(c.ofMap), sorted(count)
}

func sorted(count map[string]int) []Reason {
	out := make([]Reason, 0, len(count))
	for why, n := range count {
		out = append(out, Reason{why, n})
	}
	slices.SortFunc(out, func(a, b Reason) int { return cmp.Or(b.Count-a.Count, cmp.Compare(a.Why, b.Why)) })
	return out
}

// row is the row of a place; nil if there are too many. The coverage is locked.
func (c *Coverage) row(r *message.Request, p message.Place) *Row {
	p.Value = ""
	key := rowKey{r.Method, r.URL.Redacted(), p}
	if row := c.rows[key]; row != nil {
		return row
	}
	if len(c.order) >= maxRows {
		c.dropped++
		return nil
	}
	row := &Row{Method: key.method, URL: key.url, Tested: []string{}}
	if p.Component != "" {
		row.Place = p.String()
	}
	c.rows[key] = row
	c.order = append(c.order, row)
	return row
}

// Tested notes that a check was made at a place; the zero place is the request as a whole.
func (c *Coverage) Tested(t *kit.Target, p message.Place, check *kit.Check) {
	c.mu.Lock()
	defer c.mu.Unlock()
	row := c.row(t.Request, p)
	if row == nil || row.Skipped[check.ID] != "" || row.Skipped[check.Class] != "" {
		return // it said itself that it could not
	}
	if !slices.Contains(row.Tested, check.ID) {
		row.Tested = append(row.Tested, check.ID)
	}
}

// Cut notes a check that did not run, or did not end; nil is all of them.
func (c *Coverage) Cut(t *kit.Target, p message.Place, check *kit.Check, why string) {
	name := "*"
	if check != nil {
		name = check.ID
	}
	c.Note(t.Request, p, name, why)
}

// Skip notes what a check says that it could not test.
func (c *Coverage) Skip(t *kit.Target, class, why string) {
	if t == nil || t.Request == nil {
		c.mu.Lock()
		defer c.mu.Unlock()
		if row := c.row(&message.Request{Method: "", URL: nowhere}, message.Place{}); row != nil {
			c.set(row, class, why)
		}
		return
	}
	c.Note(t.Request, message.Place{}, class, why)
}

// Note notes why something, by the id or the class of a check or * for all, is not tested.
func (c *Coverage) Note(r *message.Request, p message.Place, name, why string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if row := c.row(r, p); row != nil {
		c.set(row, name, why)
	}
}

func (c *Coverage) set(row *Row, name, why string) {
	if row.Skipped == nil {
		row.Skipped = map[string]string{}
	}
	if _, known := row.Skipped[name]; !known && !isChoice(why) {
		c.gaps++
	}
	row.Skipped[name] = why
}

// Untested notes a request that was not tested at all.
func (c *Coverage) Untested(e *sitemap.Entry, why string) {
	if why == "" {
		why = "it was not sent"
	}
	c.Note(e.Request, message.Place{}, "*", why)
}

// Left notes why places are not tested.
func (c *Coverage) Left(t *kit.Target, places []message.Place, why string) {
	for _, p := range places {
		c.Note(t.Request, p, "*", why)
	}
}

// Earlier notes a request that was tested before the run was interrupted.
func (c *Coverage) Earlier(t *kit.Target) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if row := c.row(t.Request, message.Place{}); row != nil {
		row.Earlier = true
	}
}

// NotMapped notes so many requests that the map did not send.
func (c *Coverage) NotMapped(why string, n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ofMap[why] += n
}

// Why a place is not tested any more, which is no lack.
const (
	Quiet    = "the answer does not depend on it"
	Layout   = "it was tested on pages of its script that are built alike"
	Reaction = "it was tested on other pages of its script, which answer alike"
)

// nowhere is the address of what belongs to no request.
var nowhere = &url.URL{}

// isChoice reports whether something is not tested by what was chosen, and not for a lack.
func isChoice(why string) bool {
	return why == Quiet || why == Layout || why == Reaction ||
		strings.HasPrefix(why, "it needs level ") || strings.Contains(why, "does not allow") ||
		strings.HasPrefix(why, "it would ") || strings.HasPrefix(why, "level passive")
}
