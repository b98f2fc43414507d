package engine_test

import (
	"context"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/vedette-sec/vedette/internal/engine"
	"github.com/vedette-sec/vedette/internal/engine/program"
)

// quiet is a log that nobody reads: servers here are meant to fail now and then.
func quiet() *log.Logger { return log.New(io.Discard, "", 0) }

// serve starts a site on loopback for the time of the test.
func serve(t testing.TB, h http.HandlerFunc) string {
	t.Helper()
	s := httptest.NewUnstartedServer(h)
	s.Config.ErrorLog = quiet()
	s.Start()
	t.Cleanup(s.Close)
	return s.URL
}

// newEngine makes an engine for the time of the test.
func newEngine(t testing.TB, cfg engine.Config) *engine.Engine {
	t.Helper()
	if cfg.Timeout == 0 {
		cfg.Timeout = time.Minute
	}
	e := engine.New(cfg)
	t.Cleanup(e.Close)
	return e
}

// template compiles a template with this id and http block.
func template(t testing.TB, id, http string) *program.Program {
	t.Helper()
	p, err := compile(id+".yaml", []byte("id: "+id+"\ninfo: {name: N, author: a, severity: low}\nhttp:\n"+http))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// found makes a template that finds what answers 200 at a path.
func found(t testing.TB, id, path string) *program.Program {
	return template(t, id, "  - path: ['{{BaseURL}}"+path+"']\n    matchers: [{type: status, status: [200]}]\n")
}

// run runs a scan to its end and gives the report, the events and the last progress.
func run(t testing.TB, e *engine.Engine, scan engine.Scan) (*engine.Report, []engine.Event, engine.Progress) {
	t.Helper()
	return runIn(t, t.Context(), e, scan)
}

func runIn(
	t testing.TB, ctx context.Context, e *engine.Engine, scan engine.Scan,
) (*engine.Report, []engine.Event, engine.Progress) {
	t.Helper()
	var events []engine.Event
	var last engine.Progress
	scan.OnEvent = func(ev engine.Event) { events = append(events, ev) }
	scan.OnProgress = func(p engine.Progress) { last = p }
	report, err := e.Run(ctx, scan)
	if err != nil {
		t.Fatal(err)
	}
	if !last.Final {
		t.Error("the last progress is not marked as final")
	}
	return report, events, last
}

// cells are the states of a report, "template state reason", in order.
func cells(r *engine.Report) (all []string) {
	for c := range r.Cells() {
		line := c.Template + " " + string(c.State)
		if c.Reason != "" {
			line += " " + c.Reason
		}
		all = append(all, line)
	}
	return all
}

func wantCells(t *testing.T, r *engine.Report, want ...string) {
	t.Helper()
	if got := cells(r); !slices.Equal(got, want) {
		t.Errorf("cells\n got %q\nwant %q", got, want)
	}
}

// counter counts by key, from any goroutine.
type counter struct {
	mu sync.Mutex
	n  map[string]int
}

func (c *counter) add(key string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.n == nil {
		c.n = map[string]int{}
	}
	c.n[key]++
	return c.n[key]
}

func (c *counter) get(key string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.n[key]
}
