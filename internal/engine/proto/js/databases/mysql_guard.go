package databases

import (
	"bufio"
	"errors"
	"io"
	"net"
)

// mysqlGuard reads the packets of a MySQL server for the driver, which makes room for as many columns as the server
// says it will send, up to 2^63: after the login, a packet may not begin with a number above 65,535. (That also refuses
// rows whose first value is longer.)
type mysqlGuard struct {
	net.Conn
	in       *bufio.Reader
	rest     int // of the packet
	loggedIn bool
	head     []byte
	refused  error
}

var errTooLong = errors.New("the server says that it sends too much")

// Write implements net.Conn. A command begins with the sequence number 0; all of the login is later.
func (g *mysqlGuard) Write(b []byte) (int, error) {
	if len(b) > 4 && b[3] == 0 {
		g.loggedIn = true
	}
	return g.Conn.Write(b)
}

// Read implements net.Conn.
func (g *mysqlGuard) Read(b []byte) (int, error) {
	if g.in == nil {
		g.in = bufio.NewReader(g.Conn)
	}
	for len(g.head) == 0 && g.rest == 0 {
		if err := g.next(); err != nil {
			return 0, err
		}
	}
	if len(g.head) > 0 {
		n := copy(b, g.head)
		g.head = g.head[n:]
		return n, nil
	}
	n, err := g.in.Read(b[:min(len(b), g.rest)])
	g.rest -= n
	return n, err
}

// next begins a packet.
func (g *mysqlGuard) next() error {
	head := make([]byte, 4)
	if _, err := io.ReadFull(g.in, head); err != nil {
		return err
	}
	g.rest, g.head = int(head[0])|int(head[1])<<8|int(head[2])<<16, head
	if g.rest > maxMessage {
		g.refused = errTooLong
		return errTooLong
	}
	if !g.loggedIn || g.rest == 0 {
		return nil
	}
	first, err := g.in.Peek(1)
	if err != nil {
		return err
	}
	if first[0] == 0xfd && g.rest >= 4 || first[0] == 0xfe && g.rest >= 9 {
		g.refused = errTooLong
	}
	return g.refused
}
