package client

import (
	"compress/gzip"
	"compress/zlib"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"strings"
	"sync/atomic"
	"time"

	"github.com/vedette-sec/vedette/internal/infra/netguard"
	"github.com/vedette-sec/vedette/internal/webtest/message"
)

// maxHeader bounds the header of an answer.
const maxHeader = 256 << 10

func (c *Client) transport(fresh bool) *http.Transport {
	return &http.Transport{
		DialContext: c.Dial,
		// The certificate of a target is judged, and refuses no connection.
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS10, //nolint:gosec // see above
			VerifyConnection: c.judge},
		TLSHandshakeTimeout:    10 * time.Second,
		DisableCompression:     true, // done here, so that what is truncated is known
		DisableKeepAlives:      fresh,
		MaxIdleConnsPerHost:    c.InFlight,
		MaxResponseHeaderBytes: maxHeader,
		IdleConnTimeout:        30 * time.Second,
	}
}

// roundTrip sends a request as a user.
func (c *Client) roundTrip(ctx context.Context, r *message.Request, o Options) (*message.Response, error) {
	ctx, cancel := context.WithTimeout(ctx, max(c.Timeout, o.Accept))
	defer cancel()
	if r.IsMessage() {
		return c.talk(ctx, r, o)
	}
	begun := time.Now()
	var written, first atomic.Int64
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		WroteRequest:         func(httptrace.WroteRequestInfo) { written.Store(time.Now().UnixNano()) },
		GotFirstResponseByte: func() { first.Store(time.Now().UnixNano()) },
	})
	wire, err := c.wire(ctx, r, o)
	if err != nil {
		return nil, err
	}
	transport := c.shared
	if o.Fresh {
		transport = c.fresh
	}
	var answer *http.Response
	if known := as(o, r); known != nil {
		var done func()
		answer, done, err = known.send(c, wire, transport)
		defer done()
		wire.Header.Del("Authorization") // where the library looked for them; it was not sent, and is not recorded
	} else {
		answer, err = transport.RoundTrip(wire)
	}
	if denied, ok := errors.AsType[*netguard.Denied](err); ok {
		return nil, refused(denied.Why)
	}
	if err != nil {
		if written.Load() > 0 {
			c.record(begun, wire, r.Body, nil, err)
		}
		return nil, fmt.Errorf("%s %s: %w", r.Method, r.URL.Redacted(), err)
	}
	defer answer.Body.Close()
	out := &message.Response{Status: answer.StatusCode, Header: answer.Header, Request: r,
		Took: time.Duration(max(0, first.Load()-written.Load()))}
	out.Body, out.Truncated, err = c.read(answer)
	c.record(begun, wire, r.Body, out, err)
	if err != nil && len(out.Body) == 0 {
		return nil, fmt.Errorf("%s %s: %w", r.Method, r.URL.Redacted(), err)
	}
	out.Truncated = out.Truncated || err != nil
	return out, nil
}

// as are the credentials with which a request is sent; nil for one that says itself who sends it.
func as(o Options, r *message.Request) *credentials {
	if r.Header.Get("Authorization") != "" {
		return nil
	}
	return o.As.credentialsFor(r.URL.Host)
}

// wire is the request as net/http sends it, with the headers and cookies of the client and the user. What the request
// itself says stands above both.
func (c *Client) wire(ctx context.Context, r *message.Request, o Options) (*http.Request, error) {
	wire, err := http.NewRequestWithContext(ctx, r.Method, "http://host/", strings.NewReader(string(r.Body)))
	if err != nil {
		return nil, err
	}
	at := *r.URL
	wire.URL, wire.Host = &at, at.Host
	header := http.Header{"User-Agent": {c.UserAgent}, "Accept": {"text/html,application/xhtml+xml,*/*;q=0.8"},
		"Accept-Encoding": {"gzip, deflate"}}
	if len(r.Body) == 0 {
		wire.Body, wire.ContentLength = http.NoBody, 0
	}
	given := c.Header
	if o.Bare {
		given = nil
	}
	for _, from := range []http.Header{given, o.As.header(r.URL), r.Header} {
		for name, values := range from {
			header[http.CanonicalHeaderKey(name)] = values
		}
	}
	if host := header.Get("Host"); host != "" { // for checks of what an application does with that line
		wire.Host = host
		header.Del("Host")
	}
	header.Del("Content-Length")
	if line := o.As.cookieLine(r.URL, o.From, r.Header.Get("Cookie"), given.Get("Cookie")); line != "" {
		header["Cookie"] = []string{line}
	}
	wire.Header = header
	return wire, nil
}

// read reads and decompresses a body.
func (c *Client) read(answer *http.Response) (body []byte, truncated bool, err error) {
	var in io.Reader = answer.Body
	if answer.Body == nil || answer.StatusCode == http.StatusNoContent {
		return nil, false, nil
	}
	switch strings.ToLower(answer.Header.Get("Content-Encoding")) {
	case "gzip", "x-gzip":
		in, err = gzip.NewReader(answer.Body)
	case "deflate":
		in, err = zlib.NewReader(answer.Body)
	}
	if errors.Is(err, io.EOF) {
		return nil, false, nil // an empty body, as to HEAD
	}
	if err != nil {
		return nil, false, err
	}
	body, err = io.ReadAll(io.LimitReader(in, c.Body+1))
	if int64(len(body)) > c.Body {
		return body[:c.Body], true, nil
	}
	return body, false, err
}
