package tools

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/vedette-sec/vedette/internal/engine"
	wire "github.com/vedette-sec/vedette/internal/engine/proto/web"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/membudget"
	"github.com/vedette-sec/vedette/internal/infra/netguard"
	"github.com/vedette-sec/vedette/internal/tools/brief"
	"github.com/vedette-sec/vedette/internal/tools/scope"
)

const (
	webTimeout = 20 * time.Second
	maxBody    = 512 << 10 // bytes read
	maxShown   = 64 << 10  // bytes returned
)

// web sends HTTP requests within a scope and follows no redirect.
type web struct {
	scope     *scope.Scope
	transport *http.Transport

	mu   sync.Mutex
	jars map[string]http.CookieJar // by session
}

func newWeb(s *scope.Scope) *web {
	return &web{scope: s, jars: map[string]http.CookieJar{}, transport: &http.Transport{
		Proxy: nil, DialContext: s.Dial, TLSClientConfig: &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS10}, //nolint:gosec // targets are looked at as they are
		TLSHandshakeTimeout: webTimeout, MaxResponseHeaderBytes: maxBody, IdleConnTimeout: webTimeout, MaxIdleConns: 16,
	}}
}

func (w *web) close() { w.transport.CloseIdleConnections() }

// webRequest is one request. Requests of a session share cookies.
type webRequest struct {
	Method  string            `json:"method"`
	URL     string            `json:"url"`
	Headers map[string]string `json:"headers"`
	Body    string            `json:"body"`
	Session string            `json:"session"`
}

type webAnswer struct {
	Status  int
	Proto   string
	Header  http.Header
	Body    []byte
	Cut     bool // there is more
	Request string
}

func (w *web) send(ctx context.Context, r webRequest) (*webAnswer, error) {
	r.Method = cmp.Or(r.Method, http.MethodGet)
	u, err := url.Parse(r.URL)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, errors.New("url must begin with http:// or https:// and name a host")
	}
	for _, method := range r.methods() {
		if err := w.scope.Allows(method, u); err != nil {
			return nil, err
		}
	}
	if err := w.checkNames(u, r.Headers); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, webTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, r.Method, u.String(), strings.NewReader(r.Body))
	if err != nil {
		return nil, fmt.Errorf("the request: %w", err)
	}
	req.Header.Set("User-Agent", "Mozilla/5.0 (compatible; Vedette)")
	for name, value := range r.Headers {
		if http.CanonicalHeaderKey(name) == "Host" {
			req.Host = value
			continue
		}
		req.Header.Set(name, value)
	}
	client := &http.Client{Transport: w.transport, Jar: w.jar(r.Session),
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	if err := w.scope.Take(); err != nil {
		return nil, err
	}
	begun := time.Now()
	resp, err := client.Do(req)
	if err != nil {
		w.record(begun, req, r.Body, nil, err)
		return nil, err
	}
	defer resp.Body.Close()
	share := membudget.Process().Share()
	defer share.Release()
	body, err := share.ReadAll(ctx, resp.Body, maxBody+1)
	if err != nil && len(body) == 0 {
		return nil, fmt.Errorf("reading the answer: %w", err)
	}
	a := &webAnswer{Status: resp.StatusCode, Proto: resp.Proto, Header: resp.Header, Body: body,
		Request: requestText(req, r.Body)}
	if len(body) > maxBody {
		a.Body, a.Cut = body[:maxBody], true
	}
	w.record(begun, req, r.Body, a, err)
	return a, nil
}

// checkNames refuses headers that name another site than the URL's, unless it is in scope or nobody's.
func (w *web) checkNames(u *url.URL, headers map[string]string) error {
	for name, value := range headers {
		for _, host := range wire.HeaderNames(u.Hostname(), name, value) {
			if !w.scope.AllowsName(host) {
				return errs.New(errs.Forbidden, netguard.CodeOutOfScope, "The header %s is refused: %s is not in scope.",
					errs.Clip(name, maxHeaderName), errs.Clip(host, brief.MaxReason))
			}
		}
	}
	return nil
}

const maxHeaderName = 60 // bytes shown

func (w *web) jar(session string) http.CookieJar {
	if session == "" {
		return nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.jars[session] == nil {
		w.jars[session], _ = cookiejar.New(nil) // it never fails
	}
	return w.jars[session]
}

func requestText(r *http.Request, body string) string {
	return fmt.Sprintf("%s %s HTTP/1.1\r\nHost: %s\r\n%s\r\n%s",
		r.Method, r.URL.RequestURI(), cmp.Or(r.Host, r.URL.Host), headerText(r.Header), body)
}

func headerText(h http.Header) string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(h)) {
		for _, value := range h[name] {
			b.WriteString(name + ": " + value + "\r\n")
		}
	}
	return b.String()
}

// text is the answer with at most most bytes of body.
func (a *webAnswer) text(most int) string {
	body, cut := a.Body, a.Cut
	if len(body) > most {
		body, cut = body[:most], true
	}
	text := fmt.Sprintf("%s %d %s\r\n%s\r\n%s", a.Proto, a.Status, http.StatusText(a.Status), headerText(a.Header),
		bytes.ToValidUTF8(body, []byte("\uFFFD")))
	if cut {
		text += "\n… (cut)"
	}
	return engine.Clean(text)
}
