package related

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"

	"github.com/vedette-sec/vedette/internal/discover"
	"github.com/vedette-sec/vedette/internal/infra/pause"
)

// The bounds of an exchange.
const (
	maxAnswer    = 64 << 20 // bytes of an answer
	maxTries     = 3
	maxWait      = 5 * time.Second // before another try, whatever the server wishes
	maxRedirects = 5
	userAgent    = "vedette (https://github.com/vedette-sec/vedette)"
)

func failed(state discover.SourceState, format string, args ...any) error {
	return discover.SourceError{State: state, Detail: fmt.Sprintf(format, args...)}
}

// errTooLong is an answer that is longer than we read.
var errTooLong = failed(discover.SourceLimited, "Its answer is longer than %d MB; the rest is left out.", maxAnswer>>20)

// retrying is an HTTP client for an endpoint: what the server puts off is tried again, bodies are bounded, redirects
// are not followed.
func (f *Finder) retrying(e endpoint) *http.Client {
	c := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	c.Transport = retrier{e.client.Transport, f.c.Backoff}
	if e.name == RDAP || e.name == Bootstrap { // these servers redirect to one another; no key goes with them
		c.CheckRedirect = func(_ *http.Request, via []*http.Request) error {
			if len(via) > maxRedirects {
				return errors.New("too many redirects")
			}
			return nil
		}
	}
	return c
}

// retrier is a transport that tries again what the server puts off.
type retrier struct {
	next    http.RoundTripper
	backoff time.Duration
}

// RoundTrip implements http.RoundTripper.
func (t retrier) RoundTrip(r *http.Request) (*http.Response, error) {
	for try := 1; ; try++ {
		again := r.Clone(r.Context())
		if r.GetBody != nil {
			body, err := r.GetBody()
			if err != nil {
				return nil, err
			}
			again.Body = body
		}
		again.Header.Set("User-Agent", userAgent)
		resp, err := t.next.RoundTrip(again)
		if err != nil {
			return nil, err
		}
		resp.Body = &boundedBody{resp.Body, maxAnswer}
		switch resp.StatusCode {
		case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable:
		default:
			return resp, nil
		}
		if try == maxTries {
			return resp, nil
		}
		_ = resp.Body.Close()
		wait := t.backoff << (try - 1)
		if seconds, err := strconv.Atoi(resp.Header.Get("Retry-After")); err == nil && seconds > 0 {
			wait = max(wait, time.Duration(min(seconds, int(maxWait.Seconds())))*time.Second)
		}
		if err := pause.For(r.Context(), min(wait, maxWait)); err != nil {
			return nil, err
		}
	}
}

// boundedBody is a body that ends with errTooLong where it becomes too long.
type boundedBody struct {
	io.ReadCloser
	left int64
}

// Read implements io.Reader.
func (c *boundedBody) Read(p []byte) (int, error) {
	if c.left <= 0 {
		return 0, errTooLong
	}
	n, err := c.ReadCloser.Read(p[:min(int64(len(p)), c.left)])
	c.left -= int64(n)
	return n, err
}

// get fetches a document and has its body read. 404 is an empty answer: read is not called.
func (e endpoint) get(ctx context.Context, address string, read func(io.Reader) error) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, address, http.NoBody)
	if err != nil {
		return err
	}
	return e.do(r, read)
}

// do sends a request, with the key where there is one.
func (e endpoint) do(r *http.Request, read func(io.Reader) error) error {
	r.Header.Set("Accept", "application/json")
	switch {
	case e.key == "":
	case e.name == Crunchbase:
		r.Header.Set("X-Cb-User-Key", e.key)
	default:
		r.Header.Set("Authorization", "Bearer "+e.key)
	}
	resp, err := e.client.Do(r)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode == http.StatusNotFound {
		return nil
	}
	if err := e.status(resp.StatusCode); err != nil {
		return err
	}
	body := bufio.NewReader(resp.Body)
	for {
		first, err := body.Peek(1)
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		switch string(first) {
		case " ", "\n", "\r", "\t":
			_, _ = body.Discard(1)
			continue
		case "<": // content types say little: error pages come as JSON, and JSON as anything
			return failed(discover.SourceFailed, "It answered with a web page instead of data.")
		}
		return read(body)
	}
}

// status is the failure that an HTTP status means; nil for success.
func (e endpoint) status(code int) error {
	switch {
	case code >= 200 && code < 300:
		return nil
	case code == http.StatusTooManyRequests:
		return failed(discover.SourceLimited, "It wants fewer requests (HTTP 429).")
	case (code == http.StatusUnauthorized || code == http.StatusForbidden) && e.key != "":
		return failed(discover.SourceKey, "It did not take the key (HTTP %d).", code)
	case code == http.StatusUnauthorized || code == http.StatusForbidden:
		return failed(discover.SourceBlocked, "It refuses to answer (HTTP %d).", code)
	}
	return failed(discover.SourceFailed, "It answered HTTP %d.", code)
}

// eachOf decodes the elements of a JSON array, up to maxCertificates. null is an empty array; elements of another type
// are left out.
func eachOf[T any](r io.Reader, each func(T)) error {
	d := json.NewDecoder(r)
	switch token, err := d.Token(); {
	case err != nil && errors.Is(err, io.EOF), err == nil && token == nil:
		return nil
	case err != nil:
		return notJSON(err)
	case token != json.Delim('['):
		return failed(discover.SourceFailed, "Its answer is not a list.")
	}
	for n := 0; d.More(); n++ {
		if n == maxCertificates {
			return failed(discover.SourceLimited, "It listed more than %d certificates; the rest is left out.", n)
		}
		var one T
		if err := d.Decode(&one); err == nil {
			each(one)
		} else if _, other := errors.AsType[*json.UnmarshalTypeError](err); !other {
			return incomplete(err)
		}
	}
	if _, err := d.Token(); err != nil {
		return incomplete(err)
	}
	return nil
}

// incomplete is the failure of a list that ended early.
func incomplete(err error) error {
	if _, known := errors.AsType[discover.SourceError](err); known || discover.IsTimeout(err) {
		return err
	}
	return failed(discover.SourceLimited, "Its answer broke off; what came before counts.")
}

func decode(r io.Reader, doc any) error {
	if err := json.NewDecoder(r).Decode(doc); err != nil {
		return notJSON(err)
	}
	return nil
}

func notJSON(err error) error {
	if _, known := errors.AsType[discover.SourceError](err); known || discover.IsTimeout(err) {
		return err
	}
	return failed(discover.SourceFailed, "Its answer is not JSON.")
}
