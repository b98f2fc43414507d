package windows

import (
	"bufio"
	"errors"
	"io"
	"net"
)

// ldapGuard reads the messages of a server of LDAP for the library, which goes down as many levels of a message as the
// server makes: a message is handed on when it has a size, and no more than maxLevels.
type ldapGuard struct {
	net.Conn
	in      *bufio.Reader
	message []byte
}

const (
	maxLDAP   = 4 << 20 // bytes of a message
	maxLevels = 32
)

var errLDAP = errors.New("the server sends a message that LDAP does not have")

// Read implements net.Conn.
func (g *ldapGuard) Read(b []byte) (int, error) {
	if len(g.message) == 0 {
		if err := g.next(); err != nil {
			return 0, err
		}
	}
	n := copy(b, g.message)
	g.message = g.message[n:]
	return n, nil
}

func (g *ldapGuard) next() error {
	head, err := g.in.Peek(2)
	if err != nil {
		return err
	}
	size := 2
	if head[1] > 0x80 {
		size += int(head[1] & 0x7f)
	}
	if size > 6 {
		return errLDAP
	}
	if head, err = g.in.Peek(size); err != nil {
		return err
	}
	_, n, ok := berHead(head)
	if !ok || n > maxLDAP {
		return errLDAP
	}
	g.message = make([]byte, size+n)
	if _, err := io.ReadFull(g.in, g.message); err != nil {
		return err
	}
	if !berFits(g.message, maxLevels) {
		g.message = nil
		return errLDAP
	}
	return nil
}

// berHead is how long the head of an element is, and how long what follows.
func berHead(b []byte) (head, n int, ok bool) {
	if len(b) < 2 || b[0]&0x1f == 0x1f || b[1] == 0x80 {
		return 0, 0, false // long tags and open lengths are not LDAP's
	}
	if b[1] < 0x80 {
		return 2, int(b[1]), true
	}
	head = 2 + int(b[1]&0x7f)
	if head > 6 || len(b) < head {
		return 0, 0, false
	}
	for _, c := range b[2:head] {
		n = n<<8 | int(c)
	}
	return head, n, true
}

// berFits is whether all elements end within those around them.
func berFits(b []byte, levels int) bool {
	for len(b) > 0 {
		head, n, ok := berHead(b)
		if !ok || levels == 0 || n > len(b)-head {
			return false
		}
		if b[0]&0x20 != 0 && !berFits(b[head:head+n], levels-1) {
			return false
		}
		b = b[head+n:]
	}
	return true
}
