package mcp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/netguard"
)

// wire is the transport below the protocol: it adds the credentials, bounds every answer and remembers failures, which
// the library does not report.
type wire struct {
	header map[string]string
	next   http.RoundTripper
	broken context.Context // ends with an answer that is too large, and with the session
	end    func()
	stop   context.CancelCauseFunc

	program *program // nil: over HTTP

	mu   sync.Mutex
	last lastRequest
}

// lastRequest is the result of the last request.
type lastRequest struct {
	status   int   // of an HTTP error
	denied   error // by the guard
	noAnswer bool  // no answer
}

func newWire(c Config) *wire {
	w := &wire{header: c.Header}
	w.broken, w.stop = context.WithCancelCause(context.Background())
	w.end = func() { w.stop(errEnded) }
	return w
}

// client is the given client with wire as its transport.
func (w *wire) client(given *http.Client) *http.Client {
	own := *given
	if w.next = given.Transport; w.next == nil {
		w.next = http.DefaultTransport
	}
	own.Transport = w
	own.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &own
}

// bound ends ctx when the wire breaks.
func (w *wire) bound(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(w.broken, func() { cancel(context.Cause(w.broken)) })
	return ctx, func() { stop(); cancel(nil) }
}

var errTooLarge = errors.New("the answer is too large")

func (w *wire) RoundTrip(r *http.Request) (*http.Response, error) {
	ctx, release := w.bound(r.Context())
	r = r.Clone(ctx)
	for name, value := range w.header {
		r.Header.Set(name, value)
	}
	resp, err := w.next.RoundTrip(r)
	if err != nil {
		release()
		w.remember(requestOf(err))
		return nil, err
	}
	w.remember(lastRequest{status: resp.StatusCode})
	resp.Body = &body{ReadCloser: resp.Body, wire: w, left: maxExchange, release: release}
	return resp, nil
}

// requestOf is the result of a request without an answer.
func requestOf(err error) lastRequest {
	if denied, ok := errors.AsType[*netguard.Denied](err); ok {
		return lastRequest{denied: denied}
	}
	if url, ok := errors.AsType[*errs.Error](err); ok { // refused before a lookup
		return lastRequest{denied: url}
	}
	return lastRequest{noAnswer: true}
}

func (w *wire) remember(f lastRequest) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.last = f
}

// body breaks the wire when it is too long.
type body struct {
	io.ReadCloser
	wire    *wire
	left    int
	release func()
}

func (b *body) Read(p []byte) (int, error) {
	if b.left <= 0 {
		b.wire.stop(errTooLarge)
		return 0, errTooLarge
	}
	n, err := b.ReadCloser.Read(p[:min(len(p), b.left)])
	b.left -= n
	return n, err
}

func (b *body) Close() error {
	err := b.ReadCloser.Close()
	b.release()
	return err
}

// failure describes an error without the server's own text.
func (w *wire) failure(ctx context.Context, err error) error {
	w.mu.Lock()
	last := w.last
	w.mu.Unlock()
	var own *jsonrpc.Error
	var timeout net.Error
	code, text := CodeProtocol, "The server does not speak the Model Context Protocol over streamable HTTP at this address."
	switch cause := context.Cause(ctx); {
	case errors.Is(context.Cause(w.broken), errTooLarge): // ctx may end later
		code, text = CodeTooLarge, fmt.Sprintf("The server's answer is larger than %d MiB.", maxExchange>>20)
	case errors.Is(cause, context.Canceled):
		return cause
	case cause != nil, errors.As(err, &timeout) && timeout.Timeout():
		code, text = CodeUnreachable, "The server did not answer in time."
	case w.program != nil:
		return w.program.failure(err)
	case last.denied != nil:
		code, text = CodeBlocked, errs.From(last.denied).Message
	case last.status == http.StatusUnauthorized || last.status == http.StatusForbidden:
		code, text = CodeCredentials, fmt.Sprintf("The server rejected the credentials (HTTP %d).", last.status)
	case last.status >= http.StatusMultipleChoices && last.status < http.StatusBadRequest:
		text = fmt.Sprintf("The server redirects elsewhere (HTTP %d), which is not followed: use the address that it names.",
			last.status)
	case last.noAnswer:
		code, text = CodeUnreachable, "The server cannot be reached."
	case errors.As(err, &own) && own.Code != libraryError:
		code, text = CodeRefused, fmt.Sprintf("The server refused (error %d of the protocol).", own.Code)
	case last.status >= http.StatusBadRequest:
		text = fmt.Sprintf("The server answered with HTTP %d.", last.status)
	}
	return errs.New(errs.Invalid, code, "%s", text).Because(err)
}

// libraryError is the code of the library's own errors.
const libraryError = -32005
