package names

import (
	"sync"
	"sync/atomic"
	"time"
)

// The window of a resolver is how many questions it may have in flight.
const (
	initialWindow      = 100
	minWindow          = 16
	maxLoss            = 0.02 // of a window's questions
	minSpeedup         = 1.05 // times as many answers justify a wider window
	minPeriod          = 50 * time.Millisecond
	failuresBeforeRest = 20 // failures in a row before a resolver rests
	firstRest          = time.Second
	maxRest            = 30 * time.Second
)

type server struct {
	address    string
	sockets    []*socket
	nextSocket atomic.Uint32

	meanTime, timeVariation atomic.Int64 // of the time to an answer, smoothed

	// The pool's, under its lock.
	used, limit int
	done, lost  int  // of this window
	full        bool // the window was used up: a wider one might be faster
	since       time.Time
	rate        float64 // answers a second with the best window so far
	failures    int     // in a row
	restUntil   time.Time
}

// minWait is the least time before a question is asked again.
const minWait = 250 * time.Millisecond

func (s *server) measure(took time.Duration) {
	t := int64(took)
	usual := s.meanTime.Load() // of two at a time one may be lost: it is an estimate
	s.timeVariation.Add((max(t-usual, usual-t) - s.timeVariation.Load()) / 8)
	s.meanTime.Add((t - usual) / 8)
}

// retryAfter is how long to wait before asking again (RFC 6298).
func (s *server) retryAfter() time.Duration {
	return max(minWait, time.Duration(s.meanTime.Load()+4*s.timeVariation.Load()))
}

// pool distributes questions. Each resolver has a window that grows while answers come and shrinks when questions
// are lost. A question counts as lost when asking again brought an answer; a name that no server answers for is the
// name's fault. A resolver that only fails rests for a while, unless all do.
type pool struct {
	maxWindow int // questions in flight to a resolver

	mu      sync.Mutex
	servers []*server
	queue   []waiter
}

// waiter waits for a server with room.
type waiter struct {
	tried []*server
	got   chan *server
}

// acquire waits for a resolver with room, preferably one that was not tried. It ignores the context: after the end of a
// run questions are released soon.
func (p *pool) acquire(tried []*server) *server {
	p.mu.Lock()
	if len(p.queue) == 0 {
		if s := p.choose(tried); s != nil {
			p.occupy(s)
			p.mu.Unlock()
			return s
		}
	}
	w := waiter{tried, make(chan *server, 1)}
	p.queue = append(p.queue, w)
	p.mu.Unlock()
	return <-w.got
}

// choose is the resolver with most room, or nil. Those at rest serve only when all rest.
func (p *pool) choose(tried []*server) (best *server) {
	var room float64
	now := time.Time{}
	if len(p.servers) > 1 {
		now = time.Now()
	}
	for _, awake := range []bool{true, false} {
		anyAwake := false
		for _, s := range p.servers {
			rests := now.Before(s.restUntil) && len(p.servers) > 1
			anyAwake = anyAwake || !rests
			if awake && rests {
				continue
			}
			r := float64(s.limit-s.used) / float64(s.limit)
			for _, one := range tried {
				if one == s {
					r /= 1000 // others first
				}
			}
			if s.used < s.limit && r > room {
				best, room = s, r
			}
		}
		if best != nil || anyAwake {
			return best
		}
	}
	return best
}

func (p *pool) occupy(s *server) {
	s.used++
	s.full = s.full || s.used == s.limit
}

// release ends a question at a resolver. good says whether the resolver did its part.
func (p *pool) release(s *server, good bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	s.used--
	if good {
		s.failures = 0
	} else if s.failures++; s.failures >= failuresBeforeRest {
		rest := firstRest << min(s.failures/failuresBeforeRest-1, 5)
		s.restUntil = time.Now().Add(min(rest, maxRest))
	}
	if s.done++; s.done >= s.limit {
		p.adapt(s, time.Now())
	}
	p.dispatch()
}

func (p *pool) dispatch() {
	for len(p.queue) > 0 {
		w := p.queue[0]
		s := p.choose(w.tried)
		if s == nil {
			return
		}
		p.occupy(s)
		w.got <- s
		p.queue = p.queue[1:]
	}
}

// adapt sets the next window of a resolver: narrower when questions were lost, wider while that brings more answers.
func (p *pool) adapt(s *server, now time.Time) {
	took := now.Sub(s.since)
	if took < minPeriod {
		return
	}
	rate := float64(s.done) / took.Seconds()
	switch {
	case float64(s.lost) > maxLoss*float64(s.done):
		s.limit = max(minWindow, s.limit*7/10)
	case s.full && rate > s.rate*minSpeedup:
		s.limit = min(p.maxWindow, s.limit+s.limit/4+1)
		s.rate = rate
	case s.full:
		s.limit = max(min(initialWindow, p.maxWindow), s.limit-s.limit/8)
		s.rate *= 0.95 // so that a wider window is tried again some time
	}
	s.done, s.lost, s.full, s.since = 0, 0, false, now
}

// countLost counts a question as lost at a resolver that left it unanswered: it had an answer after all.
func (p *pool) countLost(s *server) {
	p.mu.Lock()
	defer p.mu.Unlock()
	s.lost++
}
