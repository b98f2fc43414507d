package app

import (
	"container/list"
	"net"
	"net/http"
	"sync"
	"syscall"
	"time"
)

// mostConns bounds the connections of clients where the process may have many descriptors: each takes some memory.
const mostConns = 16_384

// tooMany is the answer to a client for whom there is no connection.
const tooMany = "HTTP/1.1 503 Service Unavailable\r\nRetry-After: 5\r\nConnection: close\r\n" +
	"Content-Type: application/json\r\nContent-Length: 66\r\n\r\n" +
	`{"code":"too_many_open_files","message":"Too many connections."}` + "\r\n"

// clientConns are the connections of clients. They have at most half of the descriptors that the process may have, so
// that the database, the engine's children and files always find one. A client beyond that takes the place of the one
// that has not been asking anything for longest; where all ask something, it is refused.
//
// It also knows the connections on which no request has begun. A stop of net/http waits more than five seconds for each
// of them, as if its request were under way; browsers and proxies open such connections ahead of need.
type clientConns struct {
	most func() int // connections

	mu     sync.Mutex
	open   map[net.Conn]*list.Element // nil: a request is under way
	idle   list.List                  // of idleConn, the longest idle one first
	closed bool
}

type idleConn struct {
	conn  net.Conn
	fresh bool // no request has begun
}

// note is the http.Server's ConnState.
func (c *clientConns) note(conn net.Conn, state http.ConnState) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.open == nil {
		c.open = map[net.Conn]*list.Element{}
	}
	if at := c.open[conn]; at != nil {
		c.idle.Remove(at)
		c.open[conn] = nil
	}
	switch state {
	case http.StateNew:
		if c.closed { // taken in a moment before the listener was closed
			_ = conn.Close()
			return
		}
		if len(c.open) >= c.most() && !c.closeOldest() {
			refuse(conn)
			return
		}
		c.open[conn] = c.idle.PushBack(idleConn{conn, true})
	case http.StateIdle:
		c.open[conn] = c.idle.PushBack(idleConn{conn, false})
	case http.StateActive:
		c.open[conn] = nil
	case http.StateClosed, http.StateHijacked:
		delete(c.open, conn)
	}
}

// closeOldest closes the connection that has been idle for longest, if there is one. It needs no longer be counted.
func (c *clientConns) closeOldest() bool {
	oldest := c.idle.Front()
	if oldest == nil {
		return false
	}
	conn := oldest.Value.(idleConn).conn //nolint:forcetypeassert // the list has nothing else
	c.idle.Remove(oldest)
	delete(c.open, conn)
	_ = conn.Close()
	return true
}

// refuse answers a client in words before its request is read.
func refuse(conn net.Conn) {
	_ = conn.SetWriteDeadline(time.Now().Add(time.Second)) // it has room for so little
	_, _ = conn.Write([]byte(tooMany))
	_ = conn.Close()
}

// close closes the connections on which no request has begun, and those that come later.
func (c *clientConns) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	for at := c.idle.Front(); at != nil; at = at.Next() {
		if one := at.Value.(idleConn); one.fresh { //nolint:forcetypeassert // the list has nothing else
			_ = one.conn.Close() // nobody waits for anything on it
		}
	}
}

// clientShare is how many connections clients may have: half of the descriptors. It is asked for each time, as an
// operator may change the limit of a process that runs.
func clientShare() int {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return mostConns
	}
	return int(min(limit.Cur/2, mostConns))
}
