package engine

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/vedette-sec/vedette/internal/engine/program"
	"github.com/vedette-sec/vedette/internal/engine/syntax"
)

// Packing changes nothing of what is said about a cell.
func TestSealKeepsEverything(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 300).Draw(t, "templates")
		c := newCells(n)
		for range rapid.IntRange(0, 600).Draw(t, "settled") {
			state := rapid.Uint8Range(0, numStates-1).Draw(t, "state")
			c.settle(rapid.IntRange(0, n-1).Draw(t, "template"), state, rapid.SampledFrom([]string{"", "a", "b"}).Draw(t, "why"))
		}
		type cell struct {
			state State
			why   string
		}
		want := make([]cell, n)
		counts := map[State]int{}
		for i := range n {
			want[i].state, want[i].why = c.cell(i)
			counts[want[i].state]++
		}
		c.seal()
		report := TargetReport{cells: c}
		for i, w := range want {
			if state, why := report.Cell(i); state != w.state || why != w.why {
				t.Fatalf("%d: %s %q, want %+v", i, state, why, w)
			}
		}
		total := 0
		for state, n := range report.Counts() {
			if in := slices.Collect(report.In(state)); len(in) != n || counts[state] != n || !slices.IsSorted(in) || want[in[0]].state != state {
				t.Fatalf("%s: %d, and %v", state, n, in)
			}
			total += n
		}
		if total != n {
			t.Fatalf("%d cells of %d have a state", total, n)
		}
	})
}

// The worst state counts, with its first reason.
func TestSettle(t *testing.T) {
	c := newCells(1)
	for _, step := range []struct {
		state uint8
		why   string
		want  string
	}{{tested, "", "tested "}, {skipped, "first", "skipped first"}, {skipped, "second", "skipped first"}, {tested, "", "skipped first"}, {failed, "", "failed "}, {failed, "late", "failed late"}} {
		c.settle(0, step.state, step.why)
		if state, why := c.cell(0); string(state)+" "+why != step.want {
			t.Errorf("%s %s, want %s", state, why, step.want)
		}
	}
}

// quickRun scans one site with templates and gives the report.
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
	visits := r.visits()
	if change != nil {
		change(r)
	}
	r.each(visits, func(v *visit) { v.do(context.Background()) })
	r.giveBack()
	return r.report
}

func compiled(t *testing.T, id, block string) *program.Program {
	t.Helper()
	tree, err := syntax.Parse(id+".yaml", []byte("id: "+id+"\ninfo: {name: N, author: a, severity: low}\nhttp: [{"+block+"}]"))
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
func TestPanicIsOfOneTemplate(t *testing.T) {
	const status, broken = "matchers: [{type: status, status: [200]}]", "matchers: [{type: dsl, dsl: ['resolve(\"a.example\") == \"\"']}]"
	report := quickRun(t, []*program.Program{
		compiled(t, "good", "path: ['{{BaseURL}}/x'], "+status),
		compiled(t, "shared", "path: ['{{BaseURL}}/x'], "+broken),
		compiled(t, "session", "path: ['{{BaseURL}}/{{n}}'], payloads: {n: [x]}, "+broken),
		compiled(t, "abreast", "path: ['{{BaseURL}}/{{n}}'], payloads: {n: [x, y, z]}, "+broken),
		compiled(t, "late", "path: ['{{BaseURL}}/x'], "+status),
	}, func(r *run) {
		r.engine.world.Resolver = func(context.Context, string) (net.Conn, error) { panic("no names today") }
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

// The ledger as JSON is one document with every cell.
func TestLedger(t *testing.T) {
	report := quickRun(t, []*program.Program{
		compiled(t, "a", "path: ['{{BaseURL}}/x'], matchers: [{type: status, status: [200]}]"),
		compiled(t, "b", "path: ['{{BaseURL}}/{{unknown}}'], matchers: [{type: status, status: [200]}]"),
	}, nil)
	report.Targets[0].Target = "evil\x1b[2J\u202e"
	var text bytes.Buffer
	if err := report.WriteJSON(&text); err != nil {
		t.Fatal(err)
	}
	var doc struct {
		Partial bool
		Counts  map[State]int
		Targets []struct {
			Alive  bool
			Counts map[State]int
		}
		Cells []Cell
	}
	if err := json.Unmarshal(text.Bytes(), &doc); err != nil {
		t.Fatalf("%v\n%s", err, text.String())
	}
	if !doc.Partial || fmt.Sprint(doc.Counts) != "map[skipped:1 tested:1]" || len(doc.Targets) != 1 || !doc.Targets[0].Alive || len(doc.Cells) != 2 ||
		doc.Cells[1] != (Cell{report.Targets[0].Target, "b", Skipped, "the variable {{unknown}} has no value"}) {
		t.Errorf("%+v", doc)
	}
	text.Reset()
	if err := report.WriteTable(&text); err != nil || strings.ContainsAny(text.String(), "\x1b\u202e") || !strings.Contains(text.String(), "1 tested, 1 skipped") {
		t.Errorf("%v %q", err, text.String())
	}
}

// A million cells are a few bytes.
func BenchmarkSeal(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		c := newCells(10_000)
		for i := range c.draft {
			c.settle(i, tested, "")
		}
		c.settle(77, failed, "no answer")
		c.seal()
	}
}
