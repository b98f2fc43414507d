// Package service finds out which service listens on a port, with product and version when it says so. It reads
// greetings and asks questions that change nothing.
package service

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"slices"
	"time"

	"github.com/vedette-sec/vedette/internal/discover"
	"github.com/vedette-sec/vedette/internal/infra/tlsfacts"
)

// Result describes a service.
type Result struct {
	Name    string // http, https, ssh, redis …; tls for one that hides behind TLS; "" when not known
	Product string // OpenSSH, nginx …
	Version string
	TLS     bool
	Note    string // what went wrong, in words

	misdirected bool // it speaks HTTP only to say that it wants TLS
}

// Dial makes one more connection to the port.
type Dial func(ctx context.Context) (net.Conn, error)

const (
	greeting  = 800 * time.Millisecond // for a service to speak first, and for an answer
	maxAnswer = 4096                   // bytes of an answer that are read
	maxRefuse = 2                      // connections that may fail before no more are made
)

// Web reports whether a port is one where web servers listen, rather than others.
func Web(port uint16) bool { return slices.Contains(questions[0].ports, port) }

type identifier struct {
	dial   Dial
	port   uint16
	host   string // for the name in a hello
	secure bool   // dial makes TLS connections
	failed int
}

// Identify identifies the service behind dial, within a time for all questions together. port decides what is
// tried first, not the conclusion. host is the name in TLS hellos.
func Identify(ctx context.Context, host string, port uint16, within time.Duration, dial Dial) Result {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	id := &identifier{dial: dial, port: port, host: host}
	r := id.plain(ctx)
	if r.Name == "" && r.Note == "" {
		r.Note = id.silence(ctx)
	}
	return r
}

func (id *identifier) silence(ctx context.Context) string {
	switch {
	case id.failed > maxRefuse:
		return "it hangs up, or takes no more connections"
	case ctx.Err() != nil:
		return "it was too slow to be identified"
	}
	return "it answers nothing that is known"
}

// plain asks the questions, the likeliest first.
func (id *identifier) plain(ctx context.Context) Result {
	for _, q := range id.questions() {
		if ctx.Err() != nil || id.failed > maxRefuse {
			break
		}
		if q.hello {
			if r, ok := id.encrypted(ctx); ok {
				return r
			}
			continue
		}
		r, ok := id.ask(ctx, q)
		if ok && r.misdirected && !id.secure {
			if inside, ok := id.encrypted(ctx); ok {
				return inside
			}
		}
		if ok {
			return r
		}
	}
	return Result{}
}

// questions are those for the port, then the general ones.
func (id *identifier) questions() []question {
	var list []question
	for _, q := range questions {
		if slices.Contains(q.ports, id.port) {
			list = append(list, q)
		}
	}
	for _, q := range questions {
		if q.general && !slices.Contains(q.ports, id.port) {
			list = append(list, q)
		}
	}
	if !id.secure {
		return list
	}
	// Inside TLS a web server is likeliest; a service that greets first does so before it answers.
	list = slices.DeleteFunc(list, func(q question) bool { return q.hello })
	if i := slices.IndexFunc(list, func(q question) bool { return q.send == "" }); i >= 0 &&
		!slices.Contains(list[i].ports, id.port) {
		listening := list[i]
		list = append(slices.Delete(list, i, i+1), listening)
	}
	return list
}

func (id *identifier) ask(ctx context.Context, q question) (Result, bool) {
	answer, err := id.exchange(ctx, q.send)
	if err != nil {
		id.failed++
		return Result{}, false
	}
	if len(answer) == 0 {
		return Result{}, false
	}
	return read(answer, id.port)
}

// exchange gives the first bytes of a new connection; none and no error is silence.
func (id *identifier) exchange(ctx context.Context, send string) ([]byte, error) {
	conn, err := id.dial(ctx)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })()
	_ = conn.SetDeadline(time.Now().Add(greeting))
	if send != "" {
		if _, err := io.WriteString(conn, send); err != nil {
			return nil, err
		}
	}
	return gather(conn)
}

// gather reads what comes first, and what follows at once.
func gather(conn net.Conn) ([]byte, error) {
	const more = 50 * time.Millisecond
	b := make([]byte, 0, maxAnswer)
	for len(b) < maxAnswer {
		n, err := conn.Read(b[len(b):cap(b)])
		b = b[:len(b)+n]
		var timeout net.Error
		switch {
		case err == nil:
		case len(b) > 0, errors.As(err, &timeout) && timeout.Timeout(), errors.Is(err, io.EOF):
			return b, nil
		default:
			return nil, err
		}
		if complete(b) {
			break
		}
		_ = conn.SetReadDeadline(time.Now().Add(more))
	}
	return b, nil
}

// complete reports whether bytes are a whole line of text, which is enough to know the service.
func complete(b []byte) bool { return len(b) > 4 && b[len(b)-1] == '\n' && b[0] >= ' ' && b[0] < 0x7f }

func (id *identifier) encrypted(ctx context.Context) (Result, bool) {
	inside := func(ctx context.Context) (net.Conn, error) {
		conn, err := id.dial(ctx)
		if err != nil {
			return nil, err
		}
		ctx, cancel := context.WithTimeout(ctx, 2*greeting)
		defer cancel()
		over := tls.Client(conn, tlsfacts.Lenient(id.host))
		if err := over.HandshakeContext(ctx); err != nil {
			_ = conn.Close()
			return nil, err
		}
		return over, nil
	}
	conn, err := inside(ctx)
	if err != nil {
		if _, ok := errors.AsType[tls.AlertError](err); ok { // it speaks TLS, but not with us
			return Result{Name: "tls", TLS: true, Note: discover.Clean("the TLS handshake failed: "+err.Error(), 200)}, true
		}
		return Result{}, false
	}
	_ = conn.Close()
	inner := &identifier{dial: inside, port: id.port, host: id.host, secure: true}
	r := inner.plain(ctx)
	r.TLS = true
	if secured, ok := overTLS[r.Name]; ok {
		r.Name = secured
	} else if r.Name == "" {
		r.Name = "tls"
	}
	return r, true
}

// overTLS are the names of services over TLS; others keep theirs.
var overTLS = map[string]string{
	"http": "https", "smtp": "smtps", "imap": "imaps", "pop3": "pop3s", "ftp": "ftps", "ldap": "ldaps",
	"amqp": "amqps", "mqtt": "mqtts", "irc": "ircs", "telnet": "telnets", "nntp": "nntps", "sip": "sips",
}
