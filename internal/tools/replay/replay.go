// Package replay sends captured requests again, within a scope.
package replay

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"maps"
	"net/http"
	"time"

	"github.com/vedette-sec/vedette/internal/core/network"
	wire "github.com/vedette-sec/vedette/internal/engine/proto/web"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/netguard"
	"github.com/vedette-sec/vedette/internal/infra/traffic"
	"github.com/vedette-sec/vedette/internal/tools/scope"
)

const timeout = 30 * time.Second

// Send sends a request once, and follows no redirect. The error says why nothing was sent: Forbidden for what is not in
// scope. Where a request was sent and not answered, the exchange says why.
func Send(ctx context.Context, s *scope.Scope, o network.Outgoing) (x traffic.Exchange, err error) {
	if err := s.Allows(o.Method, o.URL); err != nil {
		return x, err
	}
	headers := map[string][]string{"Host": {cmp.Or(o.Host, o.URL.Host)}}
	maps.Copy(headers, o.Header)
	for name, values := range headers {
		for _, value := range values {
			for _, host := range wire.HeaderNames(o.URL.Hostname(), name, value) {
				if !s.AllowsName(host) {
					return x, errs.New(errs.Forbidden, netguard.CodeOutOfScope, "The header %.60s is refused: %.200s is not in scope.",
						name, host)
				}
			}
		}
	}
	if err := s.Take(); err != nil {
		return x, err
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, o.Method, o.URL.String(), bytes.NewReader(o.Body))
	if err != nil {
		return x, errs.Field("path", "path: the request cannot be made: %v.", err)
	}
	r.URL, r.Host, r.Header = o.URL, o.Host, o.Header
	if len(o.Body) == 0 {
		r.Body, r.ContentLength = http.NoBody, 0
	}
	if r.Header.Get("User-Agent") == "" {
		r.Header["User-Agent"] = []string{""} // net/http would send its own
	}
	transport := &http.Transport{
		DialContext: s.Dial, DisableKeepAlives: true, TLSHandshakeTimeout: timeout,
		MaxResponseHeaderBytes: traffic.MaxResponse,
		TLSClientConfig:        &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS10}, //nolint:gosec // targets are looked at as they are
	}
	x = traffic.Exchange{At: time.Now(), Method: o.Method, URL: o.URL.String()}
	x.Request, x.RequestCut = traffic.Message(head(r, o), o.Body, traffic.MaxRequest)
	resp, err := transport.RoundTrip(r)
	x.Took = time.Since(x.At)
	if refused := errs.From(err); err != nil && refused.Kind == errs.Forbidden {
		return x, refused
	}
	if err != nil {
		x.Error = err.Error()
		return x, nil
	}
	defer resp.Body.Close()
	var first bytes.Buffer
	fmt.Fprintf(&first, "%s %s\r\n", resp.Proto, resp.Status)
	_ = resp.Header.Write(&first) // memory does not fail
	first.WriteString("\r\n")
	body, err := io.ReadAll(io.LimitReader(resp.Body, traffic.MaxResponse+1))
	x.Status = resp.StatusCode
	x.Response, x.ResponseCut = traffic.Message(first.Bytes(), body, traffic.MaxResponse)
	if err != nil {
		x.Error = err.Error()
	}
	return x, nil
}

// head is the request without its body.
func head(r *http.Request, o network.Outgoing) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s %s HTTP/1.1\r\nHost: %s\r\n", o.Method, o.URL.RequestURI(), cmp.Or(o.Host, o.URL.Host))
	if len(o.Body) > 0 {
		fmt.Fprintf(&b, "Content-Length: %d\r\n", len(o.Body))
	}
	_ = r.Header.WriteSubset(&b, map[string]bool{ // memory does not fail
		"Content-Length": true, "User-Agent": r.Header.Get("User-Agent") == "",
	})
	b.WriteString("\r\n")
	return b.Bytes()
}
