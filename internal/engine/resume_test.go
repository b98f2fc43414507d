package engine_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/vedette-sec/vedette/internal/engine"
	"github.com/vedette-sec/vedette/internal/engine/coverage"
	"github.com/vedette-sec/vedette/internal/engine/program"
	"github.com/vedette-sec/vedette/internal/infra/errs"
)

// mixed is templates of all kinds: plain ones, payloads, sessions and a flow.
func mixed(t testing.TB) (programs []*program.Program) {
	for i := range 20 {
		programs = append(programs, found(t, fmt.Sprintf("plain%d", i), fmt.Sprintf("/%d", i)))
	}
	return append(programs,
		template(t, "payloads", "  - path: ['{{BaseURL}}/p/{{n}}']\n    payloads: {n: [1, 2, 3, 5, 15, 25]}\n    matchers: [{type: status, status: [200]}]\n"),
		template(t, "session", `  - raw: ["GET /token HTTP/1.1\nHost: {{Hostname}}\n\n", "POST /use/{{token}}5 HTTP/1.1\nHost: {{Hostname}}\n\n"]
    extractors: [{type: regex, name: token, internal: true, regex: ['t\w+']}]
    matchers: [{type: dsl, dsl: ['status_code_2 == 200']}]
`),
		template(t, "stops", "  - path: ['{{BaseURL}}/a', '{{BaseURL}}/5', '{{BaseURL}}/15']\n    stop-at-first-match: true\n    matchers: [{type: status, status: [200]}]\n"),
		template(t, "redirected", "  - path: ['{{BaseURL}}/go']\n    redirects: true\n    matchers: [{type: status, status: [200, 302]}]\n"),
	)
}

// mixedSite answers 200 to paths that end with 5.
func mixedSite(w http.ResponseWriter, r *http.Request) {
	switch {
	case r.URL.Path == "/token":
		http.SetCookie(w, &http.Cookie{Name: "c", Value: "1"})
		fmt.Fprint(w, "token")
	case r.URL.Path == "/go":
		http.Redirect(w, r, "/5", http.StatusFound)
	case !strings.HasSuffix(r.URL.Path, "5"):
		http.NotFound(w, r)
	}
}

// said is what an event says, in a line.
func said(ev engine.Event) string {
	return fmt.Sprint(ev.Target, " ", ev.TemplateID, " ", ev.MatchedAt, " ", ev.Meta, " ", ev.ExtractedResults)
}

// A scan that is interrupted and resumed, again and again, tells each event once, runs
// what has ended no more, and ends with the report of one that was not interrupted.
func TestResume(t *testing.T) {
	t.Parallel()
	var targets []string
	for range 3 {
		targets = append(targets, serve(t, mixedSite))
	}
	e := newEngine(t, engine.Config{Concurrency: 4, PerHost: 2})
	scan := engine.Scan{Targets: targets, Programs: mixed(t)}
	whole, events, _ := run(t, e, scan)
	var want []string
	for _, ev := range events {
		want = append(want, said(ev))
	}
	for stopAfter := 1; stopAfter < 6; stopAfter++ {
		var file bytes.Buffer
		var got []string
		requests := 0
		for round := 0; ; round++ {
			if round > len(want) {
				t.Fatal("the scan does not come to an end")
			}
			ledger, err := coverage.ReadCheckpoint(bytes.NewReader(file.Bytes()))
			if err != nil {
				t.Fatal(err)
			}
			ctx, stop := context.WithCancel(t.Context())
			again, n := scan, 0
			again.Done, again.Checkpoint = ledger, &file
			again.OnEvent = func(ev engine.Event) {
				got = append(got, said(ev))
				if n++; n == stopAfter {
					stop()
				}
			}
			report, err := e.Run(ctx, again)
			if err != nil {
				t.Fatal(err)
			}
			interrupted := ctx.Err() != nil
			stop()
			requests += report.Requests
			if interrupted && report.Partial() {
				continue
			}
			if !slices.Equal(cells(report), cells(whole)) {
				t.Errorf("the report of the last round differs: %v", report.Counts())
			}
			break
		}
		slices.Sort(want)
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Errorf("stopped after %d events a round:\n got %d %q\nwant %d %q", stopAfter, len(got), got, len(want), want)
		}
		if requests > 8*whole.Requests {
			t.Errorf("%d requests in all; one scan needs %d", requests, whole.Requests)
		}
		ledger, _ := coverage.ReadCheckpoint(bytes.NewReader(file.Bytes()))
		again := scan
		again.Done = ledger
		report, events, _ := run(t, e, again)
		if len(events) > 0 || !slices.Equal(cells(report), cells(whole)) || report.Requests != 9 {
			t.Errorf("%d events, %d requests of a scan that was over; 9 canaries are right", len(events), report.Requests)
		}
	}
}

// What is not finished, or is another template by now, runs again.
func TestResumeRunsAgain(t *testing.T) {
	target := serve(t, mixedSite)
	e := newEngine(t, engine.Config{})
	var file bytes.Buffer
	failing := template(t, "fails", "  - path: ['http://127.0.0.1:1/x']\n    matchers: [{type: status, status: [200]}]\n")
	scan := engine.Scan{Targets: []string{target}, Programs: []*program.Program{found(t, "a", "/5"), failing},
		Checkpoint: &file}
	run(t, e, scan)
	ledger := func() *coverage.Checkpoint {
		l, err := coverage.ReadCheckpoint(bytes.NewReader(file.Bytes()))
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	if l := ledger(); l.Len() != 1 || !slices.Equal(l.Severities(), []string{"low"}) {
		t.Errorf("%d cells are done, severities %q; the failed one is not done", l.Len(), l.Severities())
	}
	for name, change := range map[string]func(*engine.Scan){
		"a changed template": func(s *engine.Scan) { s.Programs = []*program.Program{found(t, "a", "/15")} },
		"another variable": func(s *engine.Scan) {
			s.Vars = map[string]string{"x": "y"}
			s.Targets = []string{target +
				"/"}
		},
		"another target": func(s *engine.Scan) { s.Targets = []string{target + "/x"} },
	} {
		again := scan
		again.Checkpoint, again.Done = nil, ledger()
		change(&again)
		if report, _, _ := run(t, e, again); report.Requests < 4 {
			t.Errorf("%s: %d requests", name, report.Requests)
		}
	}
	file.WriteString(`{"target":"cut of`)
	if ledger().Len() != 1 {
		t.Error("a record that was cut off harms the others")
	}
	if _, err := coverage.ReadCheckpoint(strings.NewReader("Dear diary\n")); !errs.Is(err, errs.Invalid) {
		t.Errorf("a diary is no checkpoint: %v", err)
	}
}

// failingWriter fails after some writes.
type failingWriter struct{ left int }

func (w *failingWriter) Write(p []byte) (int, error) {
	if w.left--; w.left < 0 {
		return 0, errors.New("the disk is full")
	}
	return len(p), nil
}

// A checkpoint that cannot be written does not stop the scan, and is told of.
func TestCheckpointThatFails(t *testing.T) {
	target := serve(t, mixedSite)
	events := 0
	report, err := newEngine(t, engine.Config{}).Run(t.Context(), engine.Scan{
		Targets: []string{target}, Programs: mixed(t), Checkpoint: &failingWriter{1},
		OnEvent: func(engine.Event) { events++ },
	})
	if err == nil || !strings.Contains(err.Error(), "the disk is full") || report == nil || events == 0 {
		t.Errorf("%v, %d events", err, events)
	}
}

func FuzzReadCheckpoint(f *testing.F) {
	var file bytes.Buffer
	target := serve(f, mixedSite)
	run(f, newEngine(f, engine.Config{}), engine.Scan{Targets: []string{target}, Programs: mixed(f), Checkpoint: &file})
	f.Add(file.Bytes())
	f.Add([]byte(`{"templates":["a b"]}` + "\n" + `{"target":"x","state":"tested","in":"OjAAAAEAAAAAAAAAEAAAAAAA"}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		if l, err := coverage.ReadCheckpoint(bytes.NewReader(data)); err == nil && l.Len() < 0 {
			t.Error("negative")
		}
	})
}
