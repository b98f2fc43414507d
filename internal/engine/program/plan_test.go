package program_test

import (
	"testing"

	"github.com/vedette-sec/vedette/internal/engine/program"
	"github.com/vedette-sec/vedette/internal/engine/syntax"
)

func bound(t *testing.T, id, block string) *program.Bound {
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
	return p.Bind(program.Vars{})
}

// TestEqualRequestsAreJoined: two templates that ask for the same are one request, another path
// is another, and a template whose requests depend on responses runs as a session.
func TestEqualRequestsAreJoined(t *testing.T) {
	const status = "matchers: [{type: status, status: [200]}]"
	programs := []*program.Bound{
		bound(t, "a", "path: ['{{BaseURL}}/x'], "+status),
		bound(t, "b", "path: ['{{BaseURL}}/x'], matchers: [{type: word, words: [y]}]"),
		bound(t, "c", "path: ['{{BaseURL}}/other'], "+status),
	}
	all := func(int) bool { return true }
	p := program.NewPlan(programs, all, true)
	if len(p.Requests) != 2 || p.Total != 2 || len(p.Requests[0].Entries) != 2 {
		t.Errorf("%d requests of %d: %+v", len(p.Requests), p.Total, p.Requests)
	}
	if first := p.Requests[1].First(); first != (program.EntryIndex{Program: 2}) {
		t.Errorf("the second request is that of %+v", first)
	}
	if p := program.NewPlan(programs, func(i int) bool { return i == 2 }, true); len(p.Requests) != 1 {
		t.Errorf("of one program there are %d requests", len(p.Requests))
	}
	if p := program.SelfContainedPlan(programs, all); p.Total != 0 || len(p.Sessions) != 0 {
		t.Errorf("programs with a target are planned without: %+v", p)
	}
}
