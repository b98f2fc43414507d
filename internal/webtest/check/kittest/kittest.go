// Package kittest runs checks against small applications in the same process, for tests.
package kittest

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/vedette-sec/vedette/internal/webtest/check/kit"
	"github.com/vedette-sec/vedette/internal/webtest/client"
	"github.com/vedette-sec/vedette/internal/webtest/message"
)

// Lab is an application and what checks find in it.
type Lab struct {
	World *kit.World
	URL   string
	Sent  atomic.Int64 // requests that the application got

	mu       sync.Mutex
	findings []kit.Finding
	skipped  []string
}

// New starts an application.
func New(t *testing.T, app http.Handler) *Lab {
	t.Helper()
	return newLab(t, app, httptest.NewServer)
}

// NewTLS starts an application that is reached by HTTPS.
func NewTLS(t *testing.T, app http.Handler) *Lab {
	t.Helper()
	return newLab(t, app, httptest.NewTLSServer)
}

func newLab(t *testing.T, app http.Handler, start func(http.Handler) *httptest.Server) *Lab {
	t.Helper()
	l := &Lab{}
	server := start(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		l.Sent.Add(1)
		app.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	l.URL = server.URL
	sender := client.New(client.Config{Level: client.Active, InFlight: 4,
		Dial: func(ctx context.Context, network, addr string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, network, addr)
		}})
	t.Cleanup(sender.Close)
	l.World = &kit.World{Client: sender, Level: client.Active,
		Pages: func() []*message.Request { return nil },
		Skip: func(_ *kit.Target, class, why string) {
			l.mu.Lock()
			defer l.mu.Unlock()
			l.skipped = append(l.skipped, class+": "+why)
		},
		Report: func(f kit.Finding) {
			l.mu.Lock()
			defer l.mu.Unlock()
			l.findings = append(l.findings, f)
		}}
	return l
}

// Findings are those that were reported since the last call.
func (l *Lab) Findings() []kit.Finding {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := l.findings
	l.findings = nil
	return all
}

// Skipped is what was said not to be tested.
func (l *Lab) Skipped() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.skipped
}

// Target asks for a request of the application and makes a target of it. The request is METHOD PATH, and body with it
// its type: a form, or JSON if it begins with a brace, XML with a <.
func (l *Lab) Target(t *testing.T, method, path, body string) *kit.Target {
	t.Helper()
	r, err := message.New(method, l.URL+path)
	if err != nil {
		t.Fatal(err)
	}
	if body != "" {
		r.Body = []byte(body)
		kind := "application/x-www-form-urlencoded"
		switch body[0] {
		case '{', '[':
			kind = "application/json"
		case '<':
			kind = "application/xml"
		}
		r.Header.Set("Content-Type", kind)
	}
	answer, err := l.World.Client.Send(t.Context(), r, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return &kit.Target{Request: r, Places: message.Places(r), Response: answer}
}

// Run runs a check on a target, on all its places, and returns what it reported.
func (l *Lab) Run(t *testing.T, c kit.Check, target *kit.Target) []kit.Finding {
	t.Helper()
	var err error
	switch {
	case c.Passive != nil:
		c.Passive(l.World, target)
	case c.Message != nil:
		err = c.Message(t.Context(), l.World, target)
	case c.Request != nil:
		err = c.Request(t.Context(), l.World, target)
	case c.Place != nil:
		for _, p := range target.Places {
			if p.Component != message.Path {
				err = c.Place(t.Context(), l.World, target, p)
			}
		}
	case c.Site != nil:
		err = c.Site(t.Context(), l.World, target.Request.URL)
	case c.After != nil:
		err = c.After(t.Context(), l.World)
	}
	if err != nil {
		t.Fatal(err)
	}
	return l.Findings()
}

// Titles are the findings in short.
func Titles(all []kit.Finding) string {
	var out []string
	for _, f := range all {
		out = append(out, f.Check+" "+f.Place.Name+" "+string(f.Confidence)+" "+f.Payload)
	}
	return strings.Join(out, "\n")
}
