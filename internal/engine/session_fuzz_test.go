package engine_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/vedette-sec/vedette/internal/engine"
	"github.com/vedette-sec/vedette/internal/engine/program"
)

// fuzzed is a site that counts the requests that were fuzzed, and a program that fuzzes
// a part with two payloads.
func fuzzed(t *testing.T, part string) (site string, sent *atomic.Int32, p *program.Program) {
	t.Helper()
	sent = new(atomic.Int32)
	site = serve(t, func(w http.ResponseWriter, r *http.Request) {
		if strings.Contains(r.RequestURI+r.UserAgent(), "payload") {
			sent.Add(1)
			fmt.Fprint(w, r.URL.Query().Get("b"))
		}
	})
	return site, sent, template(t, "t", `
  - fuzzing:
      - {part: `+part+`, mode: single, fuzz: [payload, payload2]}
    matchers:
      - {type: word, words: [payload]}
`)
}

// A parameter that was fuzzed in vain on ten requests, or as many as were asked for, is left alone for the rest of the
// scan, and the coverage says so.
func TestFuzzingInVainEnds(t *testing.T) {
	for frequency, want := range map[int]int{0: 10, 3: 3} {
		site, sent, p := fuzzed(t, "header")
		scan := engine.Scan{Programs: []*program.Program{p}, FuzzFrequency: frequency}
		for i := range 14 {
			scan.Targets = append(scan.Targets, fmt.Sprintf("%s/%d", site, i))
		}
		report, events, _ := run(t, newEngine(t, engine.Config{Concurrency: 1}), scan)
		if got := sent.Load(); got != int32(2*want) || len(events) != 0 {
			t.Errorf("%d requests were fuzzed, %d events", got, len(events))
		}
		for i, cell := range cells(report) {
			said := "t tested"
			if i >= want {
				said = "t skipped fuzzed on enough pages without a match: header User-Agent"
			}
			if cell != said {
				t.Errorf("target %d: %q, want %q", i, cell, said)
			}
		}
	}
}

// Confirming a finding makes the one request again that found it.
func TestFuzzingIsConfirmed(t *testing.T) {
	site, sent, p := fuzzed(t, "query")
	e := newEngine(t, engine.Config{})
	target := site + "/?a=1&b=2"
	_, events, _ := run(t, e, engine.Scan{Targets: []string{target}, Programs: []*program.Program{p}})
	if len(events) != 2 || sent.Load() != 4 {
		t.Fatal(len(events), sent.Load())
	}
	for i, ev := range events {
		again, ok, err := e.Confirm(t.Context(), target, p, ev)
		if err != nil || !ok || again.MatchedAt != ev.MatchedAt || again.FuzzingParameter != "b" {
			t.Errorf("%s: %v %v %s", ev.MatchedAt, ok, err, again.MatchedAt)
		}
		if got := sent.Load(); got != int32(5+i) {
			t.Errorf("%d requests were fuzzed", got)
		}
	}
}

// A payload's control is the address without it, also for an event that was stored in
// between; the event is confirmed by its own parameter only.
func TestFuzzingIsControlled(t *testing.T) {
	site := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/always" || strings.Contains(r.FormValue("b"), "payload") {
			fmt.Fprint(w, "an error")
		}
	})
	p := template(t, "t", `
  - fuzzing:
      - {part: query, mode: single, fuzz: [payload]}
    matchers:
      - {type: word, words: [an error]}
`)
	e := newEngine(t, engine.Config{})
	for path, everywhere := range map[string]bool{"/item": false, "/always": true} {
		target := site + path + "?a=1&b=2"
		_, events, _ := run(t, e, engine.Scan{Targets: []string{target}, Programs: []*program.Program{p}})
		if len(events) == 0 {
			t.Fatalf("nothing is found at %s", path)
		}
		for _, ev := range events {
			data, err := json.Marshal(ev)
			if err != nil {
				t.Fatal(err)
			}
			var stored engine.Event
			if err := json.Unmarshal(data, &stored); err != nil {
				t.Fatal(err)
			}
			for name, ev := range map[string]engine.Event{"fresh": ev, "stored": stored} {
				_, alike, err := e.Control(t.Context(), target, p, ev)
				if err != nil || alike != everywhere || !engine.HasControl(p, ev) {
					t.Errorf("%s, %s: the same without the payload: %v (%v)", path, name, alike, err)
				}
			}
			if stored.FuzzingParameter = "a"; path == "/item" {
				if _, ok, err := e.Confirm(t.Context(), target, p, stored); err != nil || ok {
					t.Errorf("the finding of b confirms one of a (%v)", err)
				}
			}
		}
	}
}

// TestBlindFindingHasBothRequests: a finding that an analyzer confirmed by comparing has a request that was answered
// otherwise; what it reflects has nothing to compare with.
func TestBlindFindingHasBothRequests(t *testing.T) {
	site := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if q := r.FormValue("q"); !strings.Contains(q, "=0") && !strings.Contains(q, "'") {
			fmt.Fprint(w, "three items")
		}
	})
	p := template(t, "t", `
  - fuzzing:
      - {part: query, mode: single, type: postfix, fuzz: [" AND [INFERENCE]"]}
    analyzer: {name: true_false}
    matchers:
      - {type: word, part: analyzer, words: ["true"]}
`)
	_, events, _ := run(t, newEngine(t, engine.Config{}), engine.Scan{Targets: []string{site + "/?q=1"}, Programs: []*program.Program{p}})
	if len(events) != 1 || len(events[0].Compared) != 1 || !strings.HasSuffix(events[0].Response, "three items") {
		t.Fatalf("%+v", events)
	}
	if c := events[0].Compared[0]; !strings.Contains(c.Request, "=0 HTTP/1.1") || strings.Contains(c.Response, "items") || c.Note == "" {
		t.Errorf("compared with %+v", c)
	}
}
