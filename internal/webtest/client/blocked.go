package client

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/vedette-sec/vedette/internal/infra/pause"
	"github.com/vedette-sec/vedette/internal/webtest/message"
)

// An application, or what stands before it, may refuse a tester everything from some request on. Its answers look like
// those to single tests that a filter refuses. So when many answers in a row refuse, a page that was answered before is
// asked for again: if that is refused, too, even after some pauses, the host counts as gone, and no test that it never
// answered counts as made.
const (
	maxRefused  = 25 // answers in a row, after which the page is asked for
	askedToWait = 5  // how many of those an answer counts that says when to come back
)

// pauses are those before the page is asked for once more.
var pauses = []time.Duration{0, 5 * time.Second, 15 * time.Second, 30 * time.Second}

// ErrBlocked is an ErrDown: the target answers, and refuses everything.
var ErrBlocked = fmt.Errorf("the target refuses everything since then, as if it had blocked the tester: %w", ErrDown)

// refusals are what is known of the refusals of a host; its lane is locked when they are read or changed.
type refusals struct {
	inRow   int
	looking bool
	blocked bool
	asked   int              // answers that asked to come later
	page    *message.Request // that was answered
	as      *User
}

// refuses reports whether an answer refuses, and by how much it counts.
func refuses(r *message.Response) int {
	switch r.Status {
	case http.StatusTooManyRequests, http.StatusServiceUnavailable:
		switch seconds, err := strconv.Atoi(r.Header.Get("Retry-After")); {
		case err != nil:
			return 1
		case seconds > int(maxRetryAfter/time.Second): // than is waited for
			return maxRefused
		}
		return askedToWait
	case http.StatusForbidden, http.StatusNotAcceptable, http.StatusTeapot, http.StatusUnavailableForLegalReasons:
		return 1
	}
	return 0
}

// watch counts the refusals of a host and, when they are many in a row, finds out whether it refuses everything.
func (c *Client) watch(ctx context.Context, l *lane, r *message.Request, o Options, answer *message.Response) {
	if answer == nil || r.IsMessage() {
		return
	}
	n := refuses(answer)
	l.mu.Lock()
	known := &l.refusals
	if n > 1 || answer.Status == http.StatusTooManyRequests {
		known.asked++
	}
	switch {
	case n == 0:
		known.inRow = 0
		if known.page == nil && r.Method == http.MethodGet && r.After == nil && answer.Status == http.StatusOK {
			known.page, known.as = r, o.As
		}
	case !known.looking:
		known.inRow += n
	}
	isDue := known.inRow >= maxRefused && known.page != nil && !known.looking && !known.blocked
	known.looking = known.looking || isDue
	l.mu.Unlock()
	if !isDue {
		return
	}
	isBlocked := c.refusesAll(ctx, l)
	l.mu.Lock()
	defer l.mu.Unlock()
	known.inRow, known.looking, known.blocked = 0, false, isBlocked
	l.signal()
}

// refusesAll asks for the page that was answered before, until it is answered again.
func (c *Client) refusesAll(ctx context.Context, l *lane) bool {
	for _, wait := range pauses {
		if pause.For(ctx, wait) != nil {
			return false
		}
		answer, err := c.exchange(ctx, l.refusals.page, Options{As: l.refusals.as})
		if err != nil || refuses(answer) == 0 {
			return false // what fails otherwise is counted elsewhere
		}
	}
	return true
}

// Refusals says whether a host refuses everything, and how many answers have asked to come later.
func (c *Client) Refusals() (blocked bool, asked int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, l := range c.lanes {
		l.mu.Lock()
		blocked = blocked || l.refusals.blocked
		asked += l.refusals.asked
		l.mu.Unlock()
	}
	return blocked, asked
}
