package web

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"syscall"
)

// Kind says at which point, and how, an exchange failed.
type Kind int

// The kinds.
const (
	KindRequest   Kind = iota // the request cannot be put on the wire; nothing was sent
	KindDial                  // no connection; nothing was sent
	KindTLS                   // the TLS handshake failed; nothing was sent
	KindTimeout               // the response's head did not come in time
	KindReset                 // the connection was reset
	KindClosed                // the connection ended before the response's head did
	KindMalformed             // what came is no HTTP, or its head is beyond the bounds
)

// Error is why a request had no response. Errors of Config.Dial are inside it; what ends
// with its context is the context's own error instead.
type Error struct {
	Kind Kind
	Err  error

	silent bool // not one byte of a response came
	second bool // what came is HTTP/2
}

// Error is the reason as text.
func (e *Error) Error() string { return e.Err.Error() }

// Unwrap returns the error below.
func (e *Error) Unwrap() error { return e.Err }

// Timeout reports whether time ran out, as net.Error wants it.
func (e *Error) Timeout() bool {
	var t net.Error
	return e.Kind == KindTimeout || errors.As(e.Err, &t) && t.Timeout()
}

// Temporary is what net.Error still asks for; it is the same as Timeout.
func (e *Error) Temporary() bool { return e.Timeout() }

// RetrySafe reports whether a request may be sent again after an error without doing twice
// what it does: nothing of it reached the server, or its method asks without changing
// anything. It is false for errors that would only come again, and for raw bytes: what a
// server makes of those is not known.
func (r *Request) RetrySafe(err error) bool {
	e, ok := errors.AsType[*Error](err)
	if !ok || e.Kind == KindRequest {
		return false
	}
	return e.Kind == KindDial || e.Kind == KindTLS || r.Raw == nil && idempotent(r.Method)
}

// idempotent reports whether a method asks without changing anything; "" is GET.
func idempotent(method string) bool {
	switch method {
	case "", "GET", "HEAD", "OPTIONS", "TRACE":
		return true
	}
	return false
}

// failure returns an error of reading or writing its kind.
func failure(err error) *Error {
	e := &Error{Kind: KindReset, Err: err}
	switch {
	case errors.As(err, &e):
	case errors.Is(err, errHeadTooLong):
		e.Kind = KindMalformed
	case errors.Is(err, os.ErrDeadlineExceeded), errors.Is(err, context.DeadlineExceeded):
		e.Kind = KindTimeout
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, net.ErrClosed), errors.Is(err, syscall.EPIPE):
		e.Kind = KindClosed
	}
	return e
}

// Reason says in few words why a request had no response, without addresses and ports
// that would make each reason different.
func Reason(err error) string {
	var dns *net.DNSError
	var op *net.OpError
	var timeout net.Error
	switch {
	case err == nil:
		return ""
	case errors.As(err, &dns):
		return "the name does not resolve"
	case errors.As(err, &timeout) && timeout.Timeout():
		return "timed out"
	case errors.As(err, &op):
		return op.Op + ": " + op.Err.Error()
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return "the connection ended without an answer"
	}
	return clip(err.Error())
}

func clip(s string) string {
	if len(s) > 80 {
		return s[:80] + "…"
	}
	return s
}
