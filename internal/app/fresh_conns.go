package app

import (
	"net"
	"net/http"
	"sync"
)

// freshConns are the connections on which no request has begun. A stop of net/http waits more than five seconds for
// each of them, as if its request were under way; browsers and proxies open such connections ahead of need.
type freshConns struct {
	mu     sync.Mutex
	conns  map[net.Conn]bool
	closed bool
}

// note is the http.Server's ConnState.
func (f *freshConns) note(conn net.Conn, state http.ConnState) {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case state != http.StateNew:
		delete(f.conns, conn)
	case f.closed:
		_ = conn.Close() // taken in a moment before the listener was closed
	default:
		if f.conns == nil {
			f.conns = map[net.Conn]bool{}
		}
		f.conns[conn] = true
	}
}

// close closes them, and those that come later.
func (f *freshConns) close() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.closed = true
	for conn := range f.conns {
		_ = conn.Close() // nobody waits for anything on it
	}
}
