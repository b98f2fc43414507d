package web

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"syscall"

	"github.com/vedette-sec/vedette/internal/infra/errs"
)

// maxQuoted bounds what errors quote, in bytes.
const maxQuoted = 80

// Kind is how an exchange failed.
type Kind int

// The kinds.
const (
	KindRequest   Kind = iota // the request is invalid; nothing was sent
	KindDial                  // no connection; nothing was sent
	KindTLS                   // the TLS handshake failed; nothing was sent
	KindTimeout               // the response's head did not come in time
	KindReset                 // the connection was reset
	KindClosed                // the connection ended before the response's head did
	KindMalformed             // the response is not HTTP, or its head is too long
)

// Error is why a request had no response. It wraps errors of Config.Dial. The end of the context is ctx.Err()
// instead.
type Error struct {
	Kind Kind
	Err  error

	silent bool // not one byte of a response came
	http2  bool // what came is HTTP/2
}

// Error is the reason as text.
func (e *Error) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Timeout reports whether time ran out.
func (e *Error) Timeout() bool {
	t, ok := errors.AsType[interface {
		error
		Timeout() bool
	}](e.Err)
	return e.Kind == KindTimeout || ok && t.Timeout()
}

// RetrySafe reports whether a request may be sent again after an error: nothing reached the server, its method changes
// nothing, or the server reset the connection without a word, as it does with what it has not read. It is false for
// errors that would repeat, and for raw requests, whose effect is unknown.
func (r *Request) RetrySafe(err error) bool {
	e, ok := errors.AsType[*Error](err)
	if !ok || e.Kind == KindRequest {
		return false
	}
	return e.Kind == KindDial || e.Kind == KindTLS ||
		r.Raw == nil && (idempotent(r.Method) || e.Kind == KindReset && e.silent)
}

// idempotent reports whether a method changes nothing; "" is GET.
func idempotent(method string) bool {
	switch method {
	case "", "GET", "HEAD", "OPTIONS", "TRACE":
		return true
	}
	return false
}

// failure converts an error of reading or writing to an *Error.
func failure(err error) *Error {
	e := &Error{Kind: KindReset, Err: err}
	switch {
	case errors.As(err, &e):
	case errors.Is(err, errHeadTooLong):
		e.Kind = KindMalformed
	case errors.Is(err, os.ErrDeadlineExceeded), errors.Is(err, context.DeadlineExceeded):
		e.Kind = KindTimeout
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, net.ErrClosed),
		errors.Is(err, syscall.EPIPE):
		e.Kind = KindClosed
	}
	return e
}

// Reason says briefly why a request had no response, without addresses, so that equal reasons are equal texts.
func Reason(err error) string {
	var op *net.OpError
	switch {
	case err == nil:
		return ""
	case errors.As(err, new(*net.DNSError)):
		return "the name does not resolve"
	case (&Error{Kind: KindDial, Err: err}).Timeout():
		return "timed out"
	case errors.As(err, &op):
		return op.Op + ": " + op.Err.Error()
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return "the connection ended without an answer"
	}
	return errs.Clip(err.Error(), maxQuoted)
}
