package client

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/vedette-sec/vedette/internal/infra/pause"
	"github.com/vedette-sec/vedette/internal/webtest/message"
)

// The pace at a host.
const (
	startInFlight = 4
	sampleSize    = 50                    // answers that are compared
	minSlow       = 50 * time.Millisecond // below, twice as long says nothing
	patience      = 5                     // failures in a row, after which there are pauses between tries
	maxPause      = 8 * time.Second
	maxFailures   = 12              // in a row, after which a host counts as gone
	maxRetryAfter = 2 * time.Minute // that is waited for
	maxSlow       = 4               // in flight that were asked to wait: each keeps a worker of the application
)

// lane is the turn of requests to one host.
type lane struct {
	mu       sync.Mutex
	changed  chan struct{} // closed when there may be room
	inFlight int
	slow     int // of those in flight
	alone    bool
	waiting  int // for being alone: others let them pass
	limit    int
	most     int

	took     []time.Duration
	usual    time.Duration // the median of the first sample
	bad      int           // failures and 5xx in the sample
	failures int           // in a row
	until    time.Time     // when it may be asked again
	now      func() time.Time
	refusals refusals
}

func (c *Client) lane(u *url.URL) *lane {
	c.mu.Lock()
	defer c.mu.Unlock()
	l := c.lanes[u.Host]
	if l == nil {
		l = &lane{changed: make(chan struct{}), limit: min(startInFlight, c.InFlight), most: c.InFlight, now: c.Now}
		c.lanes[u.Host] = l
	}
	return l
}

// enter waits for a turn, as o says.
func (l *lane) enter(ctx context.Context, o Options) error {
	alone, slow := o.Alone, o.Slow
	l.mu.Lock()
	if alone {
		l.waiting++
		defer func() {
			l.mu.Lock()
			l.waiting--
			l.signal()
			l.mu.Unlock()
		}()
	}
	for {
		if l.failures >= maxFailures || l.refusals.blocked {
			blocked := l.refusals.blocked
			l.mu.Unlock()
			if blocked {
				return ErrBlocked
			}
			return ErrDown
		}
		wait := l.until.Sub(l.now())
		free := !l.alone && (alone && l.inFlight == 0 || !alone && l.waiting == 0 && l.inFlight-l.slow < l.limit)
		if slow && !alone {
			free = free && l.slow < maxSlow
		}
		if free && wait <= 0 {
			l.inFlight++
			l.alone = alone
			if slow {
				l.slow++
			}
			l.mu.Unlock()
			return nil
		}
		changed := l.changed
		l.mu.Unlock()
		if free {
			if err := pause.For(ctx, wait); err != nil {
				return err
			}
		} else {
			select {
			case <-changed:
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		}
		l.mu.Lock()
	}
}

// signal wakes those who wait; the lane is locked.
func (l *lane) signal() {
	close(l.changed)
	l.changed = make(chan struct{})
}

// leave ends a turn and learns from its answer. A request that its caller gave up says nothing about the host.
func (l *lane) leave(o Options, r *message.Response, err error, givenUp bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.inFlight--
	if o.Alone {
		l.alone = false
	}
	if o.Slow {
		l.slow--
	}
	if !givenUp && !isRefusal(err) {
		l.learn(o.Alone || o.Slow, r, err)
	}
	l.signal()
}

func (l *lane) learn(slow bool, r *message.Response, err error) {
	if err != nil && slow {
		return // it waited for longer than the answer may take
	}
	if err != nil {
		l.failures++
		l.bad++
		if l.failures > patience {
			l.limit = 1
			l.until = l.now().Add(min(time.Second<<(l.failures-patience-1), maxPause))
		}
	} else {
		l.failures = 0
		if r.Status == http.StatusTooManyRequests || r.Status == http.StatusServiceUnavailable {
			l.limit = max(1, l.limit/2)
			l.until = l.now().Add(retryAfter(r.Header))
		}
		if r.Status >= http.StatusInternalServerError {
			l.bad++ // tests provoke errors, too: only many of them count
		}
		if slow { // such answers are slow on purpose
			return
		}
		l.took = append(l.took, r.Took)
	}
	if len(l.took)+l.failures < sampleSize {
		return
	}
	l.judge()
}

// gone reports whether the last failure was one too many.
func (l *lane) gone() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.failures == maxFailures
}

// revive lets requests pass again.
func (l *lane) revive() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.failures, l.until = 0, time.Time{}
	l.signal()
}

// judge changes how many may be in flight, at the end of a sample.
func (l *lane) judge() {
	slices.Sort(l.took)
	median := time.Duration(0)
	if len(l.took) > 0 {
		median = l.took[len(l.took)/2]
	}
	if l.usual == 0 {
		l.usual = max(median, time.Millisecond)
	}
	switch {
	case median > 2*l.usual && median > minSlow, l.failures > 0 && l.bad > sampleSize/20:
		l.limit = max(1, l.limit/2)
	case l.limit < l.most:
		l.limit += max(1, l.limit/2)
		l.limit = min(l.limit, l.most)
	}
	l.took, l.bad = l.took[:0], 0
}

// retryAfter is how long an answer asks to wait.
func retryAfter(h http.Header) time.Duration {
	seconds, err := strconv.Atoi(h.Get("Retry-After"))
	if err != nil || seconds < 0 {
		return time.Second
	}
	return min(time.Duration(seconds)*time.Second, maxRetryAfter)
}

// maxOften are how many answers in a row may say that an address is asked too often. Then it is let alone: a login that
// counts wrong passwords answers so for minutes, and each of its answers is a pause for the whole host. Of a login that
// sends a password maxOftenLogin say enough.
const maxOften, maxOftenLogin = 8, 2

func oftenKey(r *message.Request) string { return r.Method + " " + r.URL.Host + r.URL.Path }

// countOften counts answers that an address is asked too often.
func (c *Client) countOften(r *message.Request, response *message.Response) {
	if response == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if response.Status != http.StatusTooManyRequests {
		delete(c.often, oftenKey(r))
		return
	}
	if c.often == nil {
		c.often = map[string]int{}
	}
	c.often[oftenKey(r)]++
}

// isTooOften reports whether an address is let alone.
func (c *Client) isTooOften(r *message.Request) bool {
	c.mu.Lock()
	times := c.often[oftenKey(r)]
	c.mu.Unlock()
	return times >= maxOften || times >= maxOftenLogin && intentOf(r).passwords > 0
}

// pace waits until the rate allows one request more.
func (c *Client) pace(ctx context.Context) error {
	if c.Rate <= 0 {
		return nil
	}
	c.mu.Lock()
	now := c.Now()
	at := c.next
	if at.Before(now) {
		at = now
	}
	c.next = at.Add(time.Duration(float64(time.Second) / c.Rate))
	c.mu.Unlock()
	if at.After(now) {
		return pause.For(ctx, at.Sub(now))
	}
	return nil
}
