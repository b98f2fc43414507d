// Package service finds out which service listens on a port, and which product and version
// when it says so. It reads greetings, and asks questions that change nothing.
package service

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"slices"
	"time"

	"github.com/vedette-sec/vedette/internal/discover/probe/web"
)

// Result is what a service is known by.
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

// Times is how long a service may take.
type Times struct {
	Greeting time.Duration // to speak first, and to answer a question; 0 is 800 ms
	All      time.Duration // for all questions together; 0 is ten seconds
}

const (
	greeting  = 800 * time.Millisecond
	allTime   = 10 * time.Second
	maxAnswer = 4096 // bytes of an answer that are looked at
	maxRefuse = 2    // connections that may fail before the service is let alone
)

// Web reports whether a port is one where web servers listen, rather than others.
func Web(port uint16) bool { return slices.Contains(questions[0].ports, port) }

// identifier looks at one port.
type identifier struct {
	dial   Dial
	port   uint16
	host   string // for the name in a hello
	times  Times
	secure bool // dial speaks TLS already
	failed int
}

// Identify asks the service behind dial who it is. port says what is tried first, not what
// is concluded. host is the name in TLS hellos.
func Identify(ctx context.Context, host string, port uint16, times Times, dial Dial) Result {
	if times.Greeting <= 0 {
		times.Greeting = greeting
	}
	if times.All <= 0 {
		times.All = allTime
	}
	ctx, cancel := context.WithTimeout(ctx, times.All)
	defer cancel()
	id := &identifier{dial: dial, port: port, host: host, times: times}
	r := id.plain(ctx)
	if r.Name == "" && r.Note == "" {
		r.Note = id.silence(ctx)
	}
	return r
}

// silence says why nothing was learned.
func (id *identifier) silence(ctx context.Context) string {
	switch {
	case id.failed > maxRefuse:
		return "it hangs up, or takes no more connections"
	case ctx.Err() != nil:
		return "it was too slow to be identified"
	}
	return "it answers nothing that is known"
}

// plain goes through the questions, the likeliest first.
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

// questions are those for the port, then those that many services answer.
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
	// Inside TLS is most likely a web server; one that greets first does so before it answers.
	list = slices.DeleteFunc(list, func(q question) bool { return q.hello })
	if i := slices.IndexFunc(list, func(q question) bool { return q.send == "" }); i >= 0 && !slices.Contains(list[i].ports, id.port) {
		listening := list[i]
		list = append(slices.Delete(list, i, i+1), listening)
	}
	return list
}

// ask sends one question, or listens when there is none to send, and reads the answer.
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

// exchange gives the first bytes that come on a connection of its own. No error and no
// bytes is silence.
func (id *identifier) exchange(ctx context.Context, send string) ([]byte, error) {
	conn, err := id.dial(ctx)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })()
	_ = conn.SetDeadline(time.Now().Add(id.times.Greeting))
	if send != "" {
		if _, err := io.WriteString(conn, send); err != nil {
			return nil, err
		}
	}
	return gather(conn)
}

// gather reads what comes in one go: once something came, only what follows at once.
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

// complete reports whether nothing more is needed to know the service: a line of text that
// has ended.
func complete(b []byte) bool { return len(b) > 4 && b[len(b)-1] == '\n' && b[0] >= ' ' && b[0] < 0x7f }

// encrypted tries TLS, and when that succeeds identifies what is inside.
func (id *identifier) encrypted(ctx context.Context) (Result, bool) {
	inside := func(ctx context.Context) (net.Conn, error) {
		conn, err := id.dial(ctx)
		if err != nil {
			return nil, err
		}
		ctx, cancel := context.WithTimeout(ctx, 2*id.times.Greeting)
		defer cancel()
		over := tls.Client(conn, web.Lenient(id.host))
		if err := over.HandshakeContext(ctx); err != nil {
			_ = conn.Close()
			return nil, err
		}
		return over, nil
	}
	conn, err := inside(ctx)
	if err != nil {
		if _, ok := errors.AsType[tls.AlertError](err); ok { // it speaks TLS, but not with us
			return Result{Name: "tls", TLS: true, Note: web.Clean("the TLS handshake failed: "+err.Error(), 200)}, true
		}
		return Result{}, false
	}
	_ = conn.Close()
	inner := &identifier{dial: inside, port: id.port, host: id.host, times: id.times, secure: true}
	r := inner.plain(ctx)
	r.TLS = true
	if secured, ok := overTLS[r.Name]; ok {
		r.Name = secured
	} else if r.Name == "" {
		r.Name = "tls"
	}
	return r, true
}

// overTLS are the names of services when they are spoken over TLS; others keep theirs.
var overTLS = map[string]string{
	"http": "https", "smtp": "smtps", "imap": "imaps", "pop3": "pop3s", "ftp": "ftps", "ldap": "ldaps",
	"amqp": "amqps", "mqtt": "mqtts", "irc": "ircs", "telnet": "telnets", "nntp": "nntps", "sip": "sips",
}
