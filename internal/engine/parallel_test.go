package engine_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/vedette-sec/vedette/internal/engine"
	"github.com/vedette-sec/vedette/internal/engine/program"
)

// A rate counts over its window: one in a millisecond is a thousand in a second.
func TestRateWindow(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		cfg              engine.Config
		shortest, longer time.Duration
	}{
		// one in a second would take eight
		"short":    {engine.Config{RateLimit: 1, RateWindow: time.Millisecond}, 0, 7 * time.Second},
		"long":     {engine.Config{RateLimit: 100, RateWindow: 5 * time.Second}, 400 * time.Millisecond, time.Minute},
		"per host": {engine.Config{HostRate: 100, RateWindow: 5 * time.Second}, 400 * time.Millisecond, time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			target := serve(t, func(http.ResponseWriter, *http.Request) {})
			var programs []*program.Program
			for i := range 8 {
				programs = append(programs, found(t, fmt.Sprintf("p%d", i), fmt.Sprintf("/%d", i)))
			}
			start := time.Now()
			run(t, newEngine(t, c.cfg), engine.Scan{Targets: []string{target}, Programs: programs})
			if took := time.Since(start); took < c.shortest || took > c.longer {
				t.Errorf("%s", took)
			}
		})
	}
}

// raise keeps the largest value that it was given.
func raise(most *atomic.Int32, n int32) {
	for {
		old := most.Load()
		if old >= n || most.CompareAndSwap(old, n) {
			return
		}
	}
}

// Scan.Parallel bounds how many targets are visited at a time, and that many are.
func TestParallel(t *testing.T) {
	t.Parallel()
	var now, most atomic.Int32
	var both sync.WaitGroup // the first requests of two targets wait for each other
	both.Add(2)
	var first [6]sync.Once
	var targets []string
	for i := range first {
		targets = append(targets, serve(t, func(_ http.ResponseWriter, r *http.Request) {
			raise(&most, now.Add(1))
			defer now.Add(-1)
			if i < 2 && r.URL.Path == "/x" {
				first[i].Do(both.Done)
				both.Wait()
			}
		}))
	}
	report, _, _ := run(t, newEngine(t, engine.Config{PerHost: 1}), engine.Scan{
		Targets: targets, Programs: []*program.Program{found(t, "p", "/x")}, Parallel: 2,
	})
	if n := most.Load(); n != 2 {
		t.Errorf("%d requests at once, not 2", n)
	}
	if n := report.Counts()[engine.Tested]; n != len(targets) {
		t.Errorf("%d cells are tested", n)
	}
}

// A race with threads sends so many at the same moment, and the rest after them.
// A payload that cannot be sent says nothing about the others: the template was tested with them.
func TestPayloadsThatCannotBeSent(t *testing.T) {
	for _, c := range []struct{ block, payloads, end string }{
		{"path: ['{{BaseURL}}/x'], headers: {X: '{{p}}'}", `[a, "b\nc", "d\ne", f]`,
			"p tested 2 of its payloads cannot be sent: a line break in the request line or in a header"},
		{"threads: 1, path: ['{{BaseURL}}/x'], headers: {X: '{{p}}'}", `[a, "b\nc", f]`,
			"p tested 1 of its payloads cannot be sent: a line break in the request line or in a header"},
		{"threads: 1, path: ['{{p}}'], redirects: true", `['http://', '{{BaseURL}}/a', '{{BaseURL}}/b']`,
			`p tested 1 of its payloads cannot be sent: "http://" names no host`},
		{"path: ['{{BaseURL}}/x'], headers: {X: '{{p}}'}", `["b\nc", "d\ne"]`,
			"p failed a line break in the request line or in a header"},
	} {
		var answered atomic.Int32
		target := serve(t, func(_ http.ResponseWriter, r *http.Request) {
			if len(r.URL.Path) == 2 {
				answered.Add(1)
			}
		})
		p := template(t, "p", "  - {"+c.block+", payloads: {p: "+c.payloads+
			"}, matchers: [{type: status, status: [200]}]}\n")
		report, events, _ := run(t, newEngine(t, engine.Config{}), engine.Scan{Targets: []string{target},
			Programs: []*program.Program{p}})
		wantCells(t, report, c.end)
		if want := int32(len(events)); answered.Load() != want || (want == 0) != strings.Contains(c.end, "failed") {
			t.Errorf("%s: %d requests, %d events", c.block, answered.Load(), want)
		}
	}
}

func TestRaceInThreads(t *testing.T) {
	t.Parallel()
	var now, most atomic.Int32
	var pair sync.WaitGroup // the first two wait for each other
	pair.Add(2)
	var count atomic.Int32
	target := serve(t, func(_ http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/race" {
			return
		}
		raise(&most, now.Add(1))
		defer now.Add(-1)
		if count.Add(1) <= 2 {
			pair.Done()
			pair.Wait()
		}
	})
	raw := `"GET /race HTTP/1.1\nHost: {{Hostname}}\n\n"`
	race := template(t, "race", fmt.Sprintf("  - race: true\n    threads: 2\n    raw: [%s, %s, %s]\n    matchers: [{type: status, status: [200]}]\n", raw, raw, raw))
	_, events, _ := run(t, newEngine(t, engine.Config{}),
		engine.Scan{Targets: []string{target}, Programs: []*program.Program{race}})
	if len(events) != 3 || most.Load() != 2 {
		t.Errorf("%d findings, %d at a time", len(events), most.Load())
	}
}
