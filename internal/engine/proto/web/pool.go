package web

import (
	"slices"
	"sync"
	"time"
)

// origin is the key of kept connections.
type origin struct {
	scheme, hostPort, sni string
}

// pool keeps idle connections; of one origin, the last used is used first.
type pool struct {
	perHost, max int

	mu     sync.Mutex
	idle   map[origin][]*conn // oldest first
	ring   conn               // next is idle longest, prev shortest
	total  int
	sweep  *time.Timer // runs while connections are idle
	closed bool
}

// Some servers close each connection after its answer without saying so. What cannot be sent twice would be lost on
// such a connection: it has to have carried so many exchanges, or to have been open for so long after one.
const (
	provenServed = 2
	provenIdle   = 100 * time.Millisecond
)

func newPool(perHost, all int) *pool {
	p := &pool{perHost: perHost, max: all, idle: map[origin][]*conn{}}
	p.ring.next, p.ring.prev = &p.ring, &p.ring
	return p
}

// get takes the connection that was used last, with proven of those only that their server surely keeps; nil if there
// is none.
func (p *pool) get(o origin, proven bool) *conn {
	p.mu.Lock()
	defer p.mu.Unlock()
	list := p.idle[o]
	for i, c := range slices.Backward(list) {
		if !proven || c.served >= provenServed || time.Since(c.since) > provenIdle {
			p.idle[o] = slices.Delete(list, i, i+1)
			p.unlink(c)
			return c
		}
	}
	return nil
}

func (p *pool) put(c *conn) {
	c.served, c.since = c.served+1, time.Now()
	c.release()
	p.mu.Lock()
	drop := p.add(c)
	p.mu.Unlock()
	if drop != nil {
		drop.close()
	}
}

// add keeps a connection and returns the one to close instead, if any. The caller holds mu.
func (p *pool) add(c *conn) (drop *conn) {
	if p.closed || len(p.idle[c.origin]) >= p.perHost {
		return c
	}
	if p.total >= p.max {
		drop = p.oldest()
	}
	p.idle[c.origin] = append(p.idle[c.origin], c)
	c.prev, c.next = p.ring.prev, &p.ring
	c.prev.next, c.next.prev = c, c
	p.total++
	if p.sweep == nil {
		p.sweep = time.AfterFunc(idleTimeout, p.expire)
	}
	return drop
}

// oldest removes the connection that was idle longest; there must be one. The caller holds mu.
func (p *pool) oldest() *conn {
	c := p.ring.next
	p.idle[c.origin] = slices.Delete(p.idle[c.origin], 0, 1)
	p.unlink(c)
	return c
}

func (p *pool) unlink(c *conn) {
	c.prev.next, c.next.prev = c.next, c.prev
	c.prev, c.next = nil, nil
	p.total--
}

// expire closes connections that were idle too long, and runs again while any are idle.
func (p *pool) expire() {
	var old []*conn
	p.mu.Lock()
	before := time.Now().Add(-idleTimeout)
	for p.total > 0 && p.ring.next.since.Before(before) {
		old = append(old, p.oldest())
	}
	for o, list := range p.idle {
		if len(list) == 0 {
			delete(p.idle, o)
		}
	}
	if p.sweep = nil; p.total > 0 {
		p.sweep = time.AfterFunc(idleTimeout/2, p.expire)
	}
	p.mu.Unlock()
	for _, c := range old {
		c.close()
	}
}

// close closes idle connections, and later ones at once.
func (p *pool) close() {
	var all []*conn
	p.mu.Lock()
	for p.closed = true; p.total > 0; {
		all = append(all, p.oldest())
	}
	if p.sweep != nil {
		p.sweep.Stop()
	}
	p.mu.Unlock()
	for _, c := range all {
		c.close()
	}
}
