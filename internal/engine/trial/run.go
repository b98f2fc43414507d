package trial

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"

	"github.com/vedette-sec/vedette/internal/engine"
	"github.com/vedette-sec/vedette/internal/engine/program"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/recorded"
)

// Answer is the case of one response, with which every request is answered: text as recorded.ReadStored takes it.
func Answer(name string, positive bool, text []byte) (Case, error) {
	s, err := recorded.ReadStored(text)
	if err != nil {
		return Case{}, errs.Field("response", "%s %v.", name, err)
	}
	return Case{Name: name, Positive: positive, routes: []route{{method: "*", path: "*", stored: s.Response}}}, nil
}

// Site is the case of recorded exchanges: each request is answered with the first response that was recorded for its
// method, path and query, or else for its method and path. All hosts of the record are one site.
func Site(name string, positive bool, exchanges []recorded.Exchange) (Case, error) {
	c := Case{Name: name, Positive: positive}
	var loose []route
	for _, x := range exchanges {
		u, err := url.Parse(x.URL)
		if err != nil || x.Response == nil {
			continue
		}
		r := route{method: x.Method, path: cmp.Or(u.Path, "/"), query: u.RawQuery, stored: x.Response}
		c.routes = append(c.routes, r)
		r.query = ""
		loose = append(loose, r)
	}
	c.routes = slices.DeleteFunc(c.routes, func(r route) bool { return r.query == "" }) // those are in loose
	c.routes = append(c.routes, loose...)
	if len(c.routes) == 0 {
		return c, errs.Field("recorded", "%s has no request with a response.", name)
	}
	return c, nil
}

// Server is a case that listens on loopback.
type Server struct {
	URL string // with the case's target

	address string
	server  *http.Server
	serving sync.WaitGroup

	mu   sync.Mutex
	lost []string // requests for which the case has no answer
}

// Serve starts the server of a case.
func (c Case) Serve(ctx context.Context) (*Server, error) {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listening on loopback: %w", err)
	}
	s := &Server{address: listener.Addr().String(), URL: "http://" + listener.Addr().String() + c.Target}
	s.server = &http.Server{
		ReadHeaderTimeout: within, ErrorLog: log.New(io.Discard, "", 0), Protocols: new(http.Protocols),
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if c.answer(w, r) {
				return
			}
			s.mu.Lock()
			defer s.mu.Unlock()
			if line := r.Method + " " + r.URL.RequestURI(); len(s.lost) < maxLost && !slices.Contains(s.lost, line) {
				s.lost = append(s.lost, line)
			}
		}),
	}
	s.server.Protocols.SetHTTP1(true) // HTTP/2 would refuse the odd configurations of TLS
	if c.TLS != "" {
		s.URL = "https" + strings.TrimPrefix(s.URL, "http")
		if s.server.TLSConfig, err = tlsConfig(c.TLS); err != nil {
			return nil, fmt.Errorf("making a certificate: %w", err)
		}
		s.serving.Go(func() { _ = s.server.ServeTLS(listener, "", "") })
		return s, nil
	}
	s.serving.Go(func() { _ = s.server.Serve(listener) })
	return s, nil
}

// maxLost bounds the requests that a failure names.
const maxLost = 5

// Lost are the first requests for which the case has no answer.
func (s *Server) Lost() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.lost)
}

// Close ends the server.
func (s *Server) Close() {
	_ = s.server.Close()
	s.serving.Wait()
}

// Outcome is how a case ended.
type Outcome struct {
	Found     bool
	Extracted []string // by all findings, in their order
	Reason    string   // why the case failed; empty: it passed
}

// protocols are those that a server of HTTP can try.
var protocols = []string{"http"}

// Check tells whether a template can be tried, by the keys of its blocks.
func Check(path string, kinds []string) error {
	for _, kind := range kinds {
		if !slices.Contains(protocols, kind) {
			return errs.Field("template", "%s: only http templates can be tried on answers, and it has %s.", path, kind)
		}
	}
	return nil
}

// Run scans the server of a case with a template. The error is not about the template.
func Run(ctx context.Context, p *program.Program, c Case) (o Outcome, err error) {
	s, err := c.Serve(ctx)
	if err != nil {
		return o, err
	}
	defer s.Close()
	ctx, cancel := context.WithTimeout(ctx, 4*within)
	defer cancel()
	e := engine.New(engine.Config{Timeout: within, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "tcp", s.address)
	}})
	defer e.Close()
	var mu sync.Mutex
	var untested []string
	report, err := e.Run(ctx, engine.Scan{
		Targets: []string{s.URL}, Programs: []*program.Program{p}, SelfContained: true,
		OnEvent: func(ev engine.Event) {
			mu.Lock()
			defer mu.Unlock()
			o.Found = true
			o.Extracted = append(o.Extracted, ev.ExtractedResults...)
		},
		OnTarget: func(t *engine.TargetReport) {
			mu.Lock()
			defer mu.Unlock()
			if state, why := t.Cell(0); state != engine.Tested {
				untested = append(untested, strings.TrimSuffix(string(state)+": "+why, ": "))
			}
		},
	})
	if err != nil {
		return o, err
	}
	o.Reason = c.judge(o, report.Partial(), untested, s.Lost())
	return o, nil
}

// judge is why a case failed; "" when it passed.
func (c Case) judge(o Outcome, partial bool, untested, lost []string) string {
	switch {
	case partial || len(untested) > 0 && !o.Found:
		return "it was not tested: " + cmp.Or(strings.Join(untested, "; "), "the scan was partial")
	case o.Found && !c.Positive:
		return "it matched, and must not"
	case !o.Found && c.Positive:
		reason := "it did not match"
		if len(lost) > 0 {
			reason += "; the case has no answer to " + strings.Join(lost, ", ")
		}
		return reason
	}
	for _, want := range c.Extracts {
		if !slices.Contains(o.Extracted, want) {
			return fmt.Sprintf("it extracted %q, and not %q", o.Extracted, want)
		}
	}
	return ""
}
