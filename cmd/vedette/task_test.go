package main

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/vedette-sec/vedette/cmd/vedette/cli"
	"github.com/vedette-sec/vedette/cmd/vedette/client"
)

// A task of which the scope refused all targets, or some, does not end like one that
// tested them.
func TestVerdictOfRefusedTargets(t *testing.T) {
	const (
		begin = `{"seq": 1, "tool": "probe"}`
		done  = `{"seq": 1, "tool": "probe", "done": 2, "total": 2}`
	)
	denied := func(host int) client.Event {
		return client.Event{Type: "denied", Data: fmt.Appendf(nil, `{"place": "http://192.0.2.%d/x", "why": "it is not in scope"}`,
			host)}
	}
	probed := func(refused int) (all []client.Event) {
		all = append(all, client.Event{Type: "step-started", Data: []byte(begin)})
		for host := range refused {
			all = append(all, denied(host), denied(host))
		}
		return append(all, client.Event{Type: "progress", Data: []byte(done)}, client.Event{Type: "step-finished", Data: []byte(begin)})
	}
	for name, c := range map[string]struct {
		events []client.Event
		want   int
	}{
		"none":           {probed(0), 0},
		"some":           {probed(1), cli.ExitPartial},
		"all":            {probed(2), cli.ExitOutOfScope},
		"a page on them": {append(probed(0), denied(9)), 0},
	} {
		d := detail{}
		d.Task.Status = "completed"
		for _, e := range c.events {
			d.reach.observe(e)
		}
		code := 0
		if s, ok := errors.AsType[cli.Silent](d.exit("")); ok {
			code = int(s)
		}
		if code != c.want {
			t.Errorf("%s: exit code %d, want %d", name, code, c.want)
		}
	}
}

// The findings are printed with the worst first, and those of one severity as they were found.
func TestFindingsWorstFirst(t *testing.T) {
	d := detail{Issues: []issue{
		{Title: "one", Severity: "info"}, {Title: "two", Severity: "high"}, {Title: "three", Severity: "novel"},
		{Title: "four", Severity: "critical"}, {Title: "five", Severity: "high"},
	}}
	var out strings.Builder
	if err := printDetail(&out, "text", d); err != nil {
		t.Fatal(err)
	}
	var titles []string
	for line := range strings.Lines(out.String()) {
		if words := strings.Fields(line); len(words) == 2 {
			titles = append(titles, words[1])
		}
	}
	if got := strings.Join(titles, " "); got != "four two five one three" || d.Issues[0].Title != "one" {
		t.Errorf("%s, from %+v", got, d.Issues)
	}
}
