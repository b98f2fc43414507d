package web

import (
	"sync"
	"time"
)

// origin is what connections are kept by.
type origin struct {
	scheme, hostPort, sni string
}

// pool keeps idle connections, the last used first.
type pool struct {
	perHost, max int

	mu     sync.Mutex
	idle   map[origin][]*conn // oldest first
	total  int
	sweep  *time.Timer // runs while connections are idle
	closed bool
}

func newPool(perHost, all int) *pool {
	return &pool{perHost: perHost, max: all, idle: map[origin][]*conn{}}
}

// get takes the connection that was used last, or nil.
func (p *pool) get(o origin) *conn {
	p.mu.Lock()
	defer p.mu.Unlock()
	list := p.idle[o]
	if len(list) == 0 {
		return nil
	}
	c := list[len(list)-1]
	list[len(list)-1] = nil
	p.idle[o] = list[:len(list)-1]
	p.total--
	return c
}

// put keeps a connection, or closes it when there are enough.
func (p *pool) put(c *conn) {
	c.used, c.since = true, time.Now()
	c.release()
	p.mu.Lock()
	drop := p.add(c)
	p.mu.Unlock()
	if drop != nil {
		drop.close()
	}
}

// add keeps a connection and gives the one to close for it, if any. The caller holds mu.
func (p *pool) add(c *conn) (drop *conn) {
	if p.closed || len(p.idle[c.origin]) >= p.perHost {
		return c
	}
	if p.total >= p.max {
		drop = p.oldest()
	}
	p.idle[c.origin] = append(p.idle[c.origin], c)
	p.total++
	if p.sweep == nil {
		p.sweep = time.AfterFunc(idleTimeout, p.expire)
	}
	return drop
}

// oldest takes out the connection that was idle longest. The caller holds mu.
func (p *pool) oldest() *conn {
	var from origin
	var c *conn
	for o, list := range p.idle {
		if len(list) > 0 && (c == nil || list[0].since.Before(c.since)) {
			from, c = o, list[0]
		}
	}
	p.idle[from] = p.idle[from][1:]
	p.total--
	return c
}

// expire closes what was idle for too long and comes again while something is idle.
func (p *pool) expire() {
	var old []*conn
	p.mu.Lock()
	before := time.Now().Add(-idleTimeout)
	for o, list := range p.idle {
		n := 0
		for n < len(list) && list[n].since.Before(before) {
			n++
		}
		old = append(old, list[:n]...)
		if p.total -= n; n == len(list) {
			delete(p.idle, o)
		} else {
			p.idle[o] = list[n:]
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

// close closes all that is idle; what comes later is closed at once.
func (p *pool) close() {
	p.mu.Lock()
	all := p.idle
	p.idle, p.total, p.closed = map[origin][]*conn{}, 0, true
	if p.sweep != nil {
		p.sweep.Stop()
	}
	p.mu.Unlock()
	for _, list := range all {
		for _, c := range list {
			c.close()
		}
	}
}
