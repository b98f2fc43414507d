package oast

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
)

// maxLDAP is how long one LDAP message may be, in bytes.
const maxLDAP = 16 << 10

// The LDAP operations that are answered, by their tag (RFC 4511).
const (
	ldapBind     = 0x60
	ldapUnbind   = 0x42
	ldapSearch   = 0x63
	ldapAbandon  = 0x50
	ldapExtended = 0x77
)

var errLDAP = errors.New("no LDAP message")

// ldapMessage is what is read of a message: its id, its operation, and the name it asks for.
type ldapMessage struct {
	id   []byte
	op   byte
	name string // of a bind, the base of a search
	body []byte
}

// serveLDAP answers binds and searches, with nothing found, and records those with an identifier.
func (s *Server) serveLDAP(c net.Conn) {
	in := bufio.NewReader(c)
	for range maxTurns {
		raw, err := readBER(in)
		if err != nil {
			return
		}
		m, err := parseLDAP(raw)
		if err != nil || m.op == ldapUnbind {
			return
		}
		var reply []byte
		switch m.op {
		case ldapBind:
			reply = ldapResult(m.id, 0x61, 0)
		case ldapSearch:
			reply = ldapResult(m.id, 0x65, 0)
		case ldapExtended:
			reply = ldapResult(m.id, 0x78, 2) // protocolError: no extension is known here
		case ldapAbandon:
			continue
		default:
			return
		}
		s.record(find(m.name+" "+string(m.body), s.store.known), Interaction{
			Protocol: "ldap", RawRequest: m.text(), RawResponse: fmt.Sprintf("% x", reply), RemoteAddress: remote(c),
		})
		if _, err := c.Write(reply); err != nil {
			return
		}
	}
}

func (m ldapMessage) text() string {
	switch m.op {
	case ldapBind:
		return fmt.Sprintf("Type=Bind\nName=%q\nMessage=%q\n", m.name, m.body)
	case ldapSearch:
		return fmt.Sprintf("Type=Search\nBaseDn=%s\nMessage=%q\n", m.name, m.body)
	default:
		return fmt.Sprintf("Type=Extended\nMessage=%q\n", m.body)
	}
}

// readBER reads one sequence of up to maxLDAP bytes and returns its content.
func readBER(in *bufio.Reader) ([]byte, error) {
	head, err := in.Peek(2)
	if err != nil {
		return nil, err
	}
	if head[0] != 0x30 {
		return nil, errLDAP
	}
	if wide := int(head[1]) - 0x80; wide >= 1 && wide <= 4 {
		if head, err = in.Peek(2 + wide); err != nil {
			return nil, err
		}
	}
	n, at, err := length(head)
	if err != nil || n > maxLDAP {
		return nil, errLDAP
	}
	if _, err := in.Discard(at); err != nil {
		return nil, err
	}
	raw := make([]byte, n)
	_, err = io.ReadFull(in, raw)
	return raw, err
}

// length reads the definite length of the element at the beginning of b, and where its content begins.
func length(b []byte) (n, at int, err error) {
	if len(b) < 2 {
		return 0, 0, errLDAP
	}
	wide := int(b[1]) - 0x80
	if wide < 0 {
		return int(b[1]), 2, nil
	}
	if wide < 1 || wide > 4 || len(b) < 2+wide {
		return 0, 0, errLDAP
	}
	for _, c := range b[2 : 2+wide] {
		n = n<<8 | int(c)
	}
	return n, 2 + wide, nil
}

// element takes one element from the beginning of b.
func element(b []byte) (tag byte, content, rest []byte, err error) {
	n, at, err := length(b)
	if err != nil || n > len(b)-at {
		return 0, nil, nil, errLDAP
	}
	return b[0], b[at : at+n], b[at+n:], nil
}

// parseLDAP reads the content of a message.
func parseLDAP(raw []byte) (m ldapMessage, err error) {
	tag, id, rest, err := element(raw)
	if err != nil || tag != 0x02 || len(id) == 0 || len(id) > 4 {
		return m, errLDAP
	}
	m.id = id
	if m.op, m.body, _, err = element(rest); err != nil {
		return m, err
	}
	rest = m.body
	switch m.op {
	case ldapBind:
		if tag, _, rest, err = element(rest); err != nil || tag != 0x02 {
			return m, errLDAP
		}
	case ldapSearch:
	default:
		return m, nil
	}
	tag, name, _, err := element(rest)
	if err != nil || tag != 0x04 {
		return m, errLDAP
	}
	m.name = string(name)
	return m, nil
}

// ldapResult is an LDAPResult with neither name nor message.
func ldapResult(id []byte, op, code byte) []byte {
	out := append([]byte{0x02, byte(len(id))}, id...)
	out = append(out, op, 7, 0x0a, 1, code, 0x04, 0, 0x04, 0)
	return append([]byte{0x30, byte(len(out))}, out...)
}
