package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/vedette-sec/vedette/internal/engine/proto/rawurl"
	"github.com/vedette-sec/vedette/internal/engine/proto/web"
)

// host is what all requests to one host and port share: how many may be in flight, when
// the next may go, and whether the host answers at all.
type host struct {
	refs int           // scans that use it; guarded by Engine.mu
	pace *rate.Limiter // nil without a limit

	mu    sync.Mutex
	most  int             // requests in flight, when the host does not complain
	limit int             // now
	busy  int             // in flight
	line  []chan struct{} // who waits for a place, first come first

	resume     time.Time     // nothing goes out before
	paused     time.Duration // by all pauses so far
	calm       int           // answers since the last complaint
	complaints int           // in a row
	about      []string      // the first requests that it complained about, each once

	misses int           // requests in a row without an answer
	doubt  chan struct{} // open while someone finds out whether the host is there; else nil
	came   bool          // it was in doubt, and answered then
	dead   error         // why it was given up
	until  time.Time     // when it is asked again whether it is back
}

// The bounds of patience with one host.
const (
	maxMisses     = 8                      // requests without an answer before the host is in doubt
	deadFor       = 30 * time.Second       // until a host that was given up is asked again
	calmAnswers   = 16                     // answers after which one more request may be in flight
	stallAfter    = 3                      // complaints in a row that stop all requests to the host; requests that it must have complained about before it is their number
	firstPause    = 500 * time.Millisecond // after a complaint that names no time; doubled each time
	longestPause  = 10 * time.Second
	allPauses     = time.Minute // together, for one host
	maxComplaints = 3           // about one request, before its last answer is taken as it is
)

// errSilent is why a host was given up in the middle of a scan.
var errSilent = errors.New("the host stopped answering")

// lend gives the shared state of a host and port; giveBack must follow.
func (e *Engine) lend(hostPort string) *host {
	e.mu.Lock()
	defer e.mu.Unlock()
	h := e.hosts[hostPort]
	if h == nil {
		h = &host{most: e.cfg.PerHost, limit: e.cfg.PerHost}
		if e.cfg.HostRate > 0 {
			h.pace = e.cfg.limiter(e.cfg.HostRate)
		}
		e.hosts[hostPort] = h
	}
	h.refs++
	return h
}

func (e *Engine) giveBack(hostPort string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	h := e.hosts[hostPort]
	if h.refs--; h.refs == 0 {
		delete(e.hosts, hostPort)
	}
}

// hands are places for as many payload tuples of one target as requests may be in flight.
func (e *Engine) hands() chan struct{} { return make(chan struct{}, e.cfg.PerHost) }

// enter waits for a place among the requests to a host, and until the next may go. It
// fails when the host was given up. leave must follow when it does not fail.
func (h *host) enter(ctx context.Context) error {
	for {
		if err := h.place(ctx); err != nil {
			return err
		}
		h.mu.Lock()
		doubt, dead, resume := h.doubt, h.verdict(), h.resume
		h.mu.Unlock()
		err := dead
		switch {
		case err != nil:
		case doubt != nil:
			h.leave()
			select {
			case <-doubt:
				continue
			case <-ctx.Done():
				return ctx.Err()
			}
		default:
			if err = pause(ctx, time.Until(resume)); err == nil {
				err = wait(ctx, h.pace)
			}
		}
		if err != nil {
			h.leave()
		}
		return err
	}
}

// place waits for a place, first come first served.
func (h *host) place(ctx context.Context) error {
	h.mu.Lock()
	if h.busy < h.limit && len(h.line) == 0 {
		h.busy++
		h.mu.Unlock()
		return nil
	}
	turn := make(chan struct{})
	h.line = append(h.line, turn)
	h.mu.Unlock()
	select {
	case <-turn:
		return nil
	case <-ctx.Done():
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if i := slices.Index(h.line, turn); i >= 0 {
		h.line = slices.Delete(h.line, i, i+1)
	} else { // the turn came meanwhile: it goes to the next
		h.busy--
		h.call()
	}
	return ctx.Err()
}

// verdict is why the host was given up; nil while it is not, and again when it is time to
// see whether it is back. The caller holds mu.
func (h *host) verdict() error {
	if h.dead != nil && time.Now().After(h.until) {
		h.dead, h.misses = nil, maxMisses-1 // the next miss puts it in doubt again
	}
	return h.dead
}

// leave gives the place to the next.
func (h *host) leave() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.busy--
	h.call()
}

// call hands free places to those in the line. The caller holds mu.
func (h *host) call() {
	for h.busy < h.limit && len(h.line) > 0 {
		h.busy++
		close(h.line[0])
		h.line = h.line[1:]
	}
}

// answered notes that the host is there and content.
func (h *host) answered() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.misses, h.complaints = 0, 0
	if h.calm++; h.calm >= calmAnswers && h.limit < h.most {
		h.calm = 0
		h.limit++
		h.call()
	}
}

// complained notes that the host wants fewer requests, and says how long the one that
// was turned away shall wait before it is sent again; not at all when it is about this
// request alone, or the host's pauses are used up. what names the request, asked is what
// the host wants, n is how often it turned this one away.
func (h *host) complained(what string, asked time.Duration, n int) (time.Duration, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.misses = 0
	h.complaints++
	if len(h.about) < stallAfter && !slices.Contains(h.about, what) {
		h.about = append(h.about, what)
	}
	if n > maxComplaints || n > 1 && len(h.about) < stallAfter {
		return 0, false
	}
	d := min(longestPause, firstPause<<(n-1))
	if asked > 0 {
		d = min(longestPause, asked)
	}
	if h.paused+d > allPauses {
		return 0, false
	}
	h.paused += d
	h.calm = 0
	if asked > 0 || h.complaints >= stallAfter {
		h.limit = max(1, h.limit/2)
		h.resume = time.Now().Add(d)
	}
	return d, true
}

// missed notes that a request had no answer. first is true for the one who shall now
// find out about the host (examine); everybody else waits for that in enter. reset says
// that the host itself broke the connection off.
func (h *host) missed(reset bool) (first bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if reset {
		h.limit, h.calm = max(1, h.limit/2), 0
	}
	if h.misses++; h.misses < maxMisses || h.doubt != nil || h.dead != nil {
		return false
	}
	h.doubt = make(chan struct{})
	return true
}

// doubted says whether the host is in doubt, or was given up.
func (h *host) doubted() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.doubt != nil || h.dead != nil
}

// examine asks a host that left too many requests unanswered for its root, after longer
// and longer pauses. It is given up when it never answers.
func (e *Engine) examine(ctx context.Context, h *host, at rawurl.URL, gate gateFunc) {
	root := web.Request{Address: rawurl.URL{Scheme: at.Scheme, Host: at.Host, Path: "/"}, Fresh: true, Timeout: e.cfg.Timeout}
	var err error
	for _, d := range e.cfg.Patience {
		if err = pause(ctx, d); err != nil {
			break
		}
		if err = gate(ctx); err != nil {
			break
		}
		if _, err = e.client.Do(ctx, root); err == nil {
			break
		}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.misses = 0
	switch {
	case ctx.Err() != nil:
		h.misses = maxMisses - 1 // nobody knows: the next miss decides who finds out
	case err != nil:
		h.dead, h.until = fmt.Errorf("%w (%s)", errSilent, web.Reason(err)), time.Now().Add(deadFor)
	}
	h.came = h.came || err == nil
	close(h.doubt)
	h.doubt = nil
}

// back says whether the host was in doubt and is there again.
func (h *host) back() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.came && h.dead == nil
}
