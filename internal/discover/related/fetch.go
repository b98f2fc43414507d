package related

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"time"

	"github.com/vedette-sec/vedette/internal/discover"
	"github.com/vedette-sec/vedette/internal/infra/netguard"
)

// The bounds of an exchange.
const (
	maxAnswer    = 64 << 20 // bytes of an answer
	maxTries     = 3
	maxWait      = 5 * time.Second // before another try, whatever the server wishes
	maxRedirects = 5
	userAgent    = "vedette (https://github.com/vedette-sec/vedette)"
)

// trouble is how a place failed us.
type trouble struct {
	state  discover.SourceState
	detail string
}

func (t trouble) Error() string { return t.detail }

func said(state discover.SourceState, detail string) error { return trouble{state, detail} }

func errSkipped(why string) error { return trouble{discover.SourceSkipped, why} }

// errCut is an answer that is longer than we read.
var errCut = said(discover.SourceLimited, fmt.Sprintf("Its answer is longer than %d MB; the rest is left out.", maxAnswer>>20))

// judge gives the state of a source after an error, or without one.
func judge(err error, found bool) (discover.SourceState, string) {
	var t trouble
	var denied *netguard.Denied
	switch {
	case err == nil && found:
		return discover.SourceOK, ""
	case err == nil:
		return discover.SourceEmpty, ""
	case errors.As(err, &t):
		return t.state, t.detail
	case errors.As(err, &denied):
		return discover.SourceBlocked, "Our own rules refuse its address: " + line(denied.Why) + "."
	case isTimeout(err):
		return discover.SourceTimedOut, "It did not answer in time."
	case errors.Is(err, context.Canceled):
		return discover.SourceFailed, "The search was stopped."
	}
	return discover.SourceFailed, line(reason(err))
}

func isTimeout(err error) bool {
	var n net.Error
	return errors.Is(err, context.DeadlineExceeded) || errors.Is(err, os.ErrDeadlineExceeded) || errors.As(err, &n) && n.Timeout()
}

// reason is the innermost of an error of net/http, without the URL.
func reason(err error) string {
	var u *url.Error
	for errors.As(err, &u) {
		err = u.Err
	}
	return "It cannot be asked: " + err.Error()
}

// polite is an HTTP client for a place: what the server puts off is tried again, bodies
// are bounded, redirects are left alone.
func (f *Finder) polite(p place) *http.Client {
	c := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	c.Transport = patient{p.client.Transport, f.c.Backoff}
	if p.name == RDAP || p.name == Bootstrap { // whose servers send one another's clients on; no key goes with them
		c.CheckRedirect = func(_ *http.Request, via []*http.Request) error {
			if len(via) > maxRedirects {
				return errors.New("too many redirects")
			}
			return nil
		}
	}
	return c
}

// patient is a transport that tries again what the server puts off.
type patient struct {
	next    http.RoundTripper
	backoff time.Duration
}

// RoundTrip implements http.RoundTripper.
func (t patient) RoundTrip(r *http.Request) (*http.Response, error) {
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
		resp.Body = &cut{resp.Body, maxAnswer}
		switch resp.StatusCode {
		case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable:
		default:
			return resp, nil
		}
		if try == maxTries {
			return resp, nil
		}
		_ = resp.Body.Close() // what it says besides does not matter
		if err := discover.Pause(r.Context(), t.wait(try, resp.Header.Get("Retry-After"))); err != nil {
			return nil, err
		}
	}
}

// wait is how long to wait after a try: what the server asks for, within reason.
func (t patient) wait(try int, wish string) time.Duration {
	wait := t.backoff << (try - 1)
	if seconds, err := strconv.Atoi(wish); err == nil && seconds > 0 {
		wait = max(wait, time.Duration(min(seconds, int(maxWait.Seconds())))*time.Second)
	}
	return min(wait, maxWait)
}

// cut is a body that ends with errCut where it becomes too long.
type cut struct {
	io.ReadCloser
	left int64
}

// Read implements io.Reader.
func (c *cut) Read(p []byte) (int, error) {
	if c.left <= 0 {
		return 0, errCut
	}
	n, err := c.ReadCloser.Read(p[:min(int64(len(p)), c.left)])
	c.left -= int64(n)
	return n, err
}

// get asks a place for a document and hands the answer's body to read. 404 is an answer
// without anything in it: read is not called.
func (p place) get(ctx context.Context, address string, read func(io.Reader) error) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, address, http.NoBody)
	if err != nil {
		return err
	}
	return p.do(r, read)
}

// do sends a request, with the key where there is one.
func (p place) do(r *http.Request, read func(io.Reader) error) error {
	r.Header.Set("Accept", "application/json")
	switch {
	case p.key == "":
	case p.name == Crunchbase:
		r.Header.Set("X-Cb-User-Key", p.key)
	default:
		r.Header.Set("Authorization", "Bearer "+p.key)
	}
	resp, err := p.client.Do(r)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode == http.StatusNotFound {
		return nil
	}
	if err := p.status(resp.StatusCode); err != nil {
		return err
	}
	body := bufio.NewReader(resp.Body)
	if err := skipSpace(body); err != nil {
		return err
	}
	// Not by the content type: error pages come as JSON, and JSON as anything.
	if first, _ := body.Peek(1); string(first) == "<" {
		return said(discover.SourceFailed, "It answered with a web page instead of data.")
	}
	return read(body)
}

// skipSpace reads up to the first byte that is no white space.
func skipSpace(r *bufio.Reader) error {
	for {
		b, err := r.ReadByte()
		switch {
		case err != nil && errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		case b != ' ' && b != '\n' && b != '\r' && b != '\t':
			return r.UnreadByte()
		}
	}
}

// status is the trouble that an HTTP status means; nil for success.
func (p place) status(code int) error {
	switch {
	case code >= 200 && code < 300:
		return nil
	case code == http.StatusTooManyRequests:
		return said(discover.SourceLimited, "It wants to be asked less (HTTP 429).")
	case (code == http.StatusUnauthorized || code == http.StatusForbidden) && p.key != "":
		return said(discover.SourceKey, fmt.Sprintf("It did not take the key (HTTP %d).", code))
	case code == http.StatusUnauthorized || code == http.StatusForbidden:
		return said(discover.SourceBlocked, fmt.Sprintf("It refuses to answer (HTTP %d).", code))
	}
	return said(discover.SourceFailed, fmt.Sprintf("It answered HTTP %d.", code))
}

// eachOf hands a decoder to fn at each element of a JSON array. null is an empty array.
func eachOf(r io.Reader, fn func(d *json.Decoder) error) error {
	d := json.NewDecoder(r)
	switch token, err := d.Token(); {
	case err != nil && errors.Is(err, io.EOF), err == nil && token == nil:
		return nil
	case err != nil:
		return notJSON(err)
	case token != json.Delim('['):
		return said(discover.SourceFailed, "Its answer is not a list.")
	}
	for n := 0; d.More(); n++ {
		if err := fn(d); err != nil {
			if _, odd := errors.AsType[*json.UnmarshalTypeError](err); odd { // the decoder stands behind this one
				continue
			}
			return broken(err, n)
		}
	}
	if _, err := d.Token(); err != nil {
		return broken(err, -1)
	}
	return nil
}

// broken says what ended a list early.
func broken(err error, after int) error {
	var t trouble
	switch {
	case errors.As(err, &t), isTimeout(err):
		return err
	case after < 0:
		return said(discover.SourceLimited, "Its answer broke off; what came before counts.")
	}
	return said(discover.SourceLimited, fmt.Sprintf("Its answer broke off after %d elements; what came before counts.", after))
}

func notJSON(err error) error {
	var t trouble
	if errors.As(err, &t) || isTimeout(err) {
		return err
	}
	return said(discover.SourceFailed, "Its answer is not JSON.")
}
