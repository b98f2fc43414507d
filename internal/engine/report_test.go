package engine

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/vedette-sec/vedette/internal/engine/program"
	"github.com/vedette-sec/vedette/internal/engine/syntax"
)

// quickRun scans one site with templates and returns the report.
func quickRun(t *testing.T, programs []*program.Program, change func(*run)) *Report {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer s.Close()
	e := New(Config{Timeout: time.Minute})
	defer e.Close()
	r, err := e.newRun(Scan{Targets: []string{s.URL}, Programs: programs})
	if err != nil {
		t.Fatal(err)
	}
	targets := r.distinctTargets()
	if change != nil {
		change(r)
	}
	r.each(targets, func(t *targetScan) { t.testTarget(context.Background()) })
	return r.report
}

func compiled(t *testing.T, id, block string) *program.Program {
	t.Helper()
	tree, err := syntax.Parse(id+".yaml",
		[]byte("id: "+id+"\ninfo: {name: N, author: a, severity: low}\nhttp: [{"+block+"}]"))
	if err != nil {
		t.Fatal(err)
	}
	p, err := program.Compile(tree)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// A template that makes the engine panic fails alone, whether it shares its request with
// others or runs by itself.
func TestPanicFailsOneTemplate(t *testing.T) {
	const status, broken = "matchers: [{type: status, status: [200]}]",
		"matchers: [{type: dsl, dsl: ['jarm(\"a.example:443\") == \"\"']}]"
	report := quickRun(t, []*program.Program{
		compiled(t, "good", "path: ['{{BaseURL}}/x'], "+status),
		compiled(t, "shared", "path: ['{{BaseURL}}/x'], "+broken),
		compiled(t, "session", "path: ['{{BaseURL}}/{{n}}'], payloads: {n: [x]}, "+broken),
		compiled(t, "parallel", "path: ['{{BaseURL}}/{{n}}'], payloads: {n: [x, y, z]}, "+broken),
		compiled(t, "late", "path: ['{{BaseURL}}/x'], "+status),
	}, func(r *run) {
		r.engine.host.Dial = func(context.Context, string, string) (net.Conn, error) { panic("no names today") }
	})
	for i, want := range []State{Tested, Failed, Failed, Failed, Tested} {
		state, why := report.Targets[0].Cell(i)
		if state != want || (state == Failed) != (why == "the template cannot be run: no names today") {
			t.Errorf("%s: %s %s", report.Templates[i], state, why)
		}
	}
	if report.Targets[0].Matched != 2 {
		t.Errorf("%d templates matched", report.Targets[0].Matched)
	}
}
