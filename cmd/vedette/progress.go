package main

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/vedette-sec/vedette/cmd/vedette/cli"
)

// teller tells a person how a task goes: a bar on a terminal, lines elsewhere.
type teller struct {
	w io.Writer
	*cli.Bar
}

func newTeller(w io.Writer) *teller {
	b := cli.NewBar(w)
	return &teller{b.Above(w), b}
}

// tell shows one event of a task's stream.
func (t *teller) tell(e event) {
	switch e.Type {
	case "plan":
		var plan struct {
			Understood    []string `json:"understood"`
			NotUnderstood []string `json:"not_understood"`
			NotDone       []string `json:"not_done"`
		}
		t.read(e, &plan)
		t.lines("plan      ", plan.Understood)
		t.lines("not used  ", plan.NotUnderstood)
		t.lines("not done  ", plan.NotDone)
	case "step-started":
		var step struct{ Tool string }
		t.read(e, &step)
		t.End()
		t.lines(step.Tool+"…", []string{""})
	case "progress":
		var p struct {
			Tool, Text  string
			Done, Total int64
		}
		t.read(e, &p)
		t.Show(p.Tool, p.Done, p.Total)
	case "issue":
		var i issue
		t.read(e, &i)
		t.lines("found     ", []string{fmt.Sprintf("[%s] %s at %s", i.Severity, i.Title, i.MatchedAt)})
	case "step-finished":
		var step struct{ Tool, Words, Error string }
		t.read(e, &step)
		t.End()
		if step.Words != "" {
			t.lines("", []string{step.Words})
		}
		if step.Error != "" {
			t.lines("failed    ", []string{step.Error})
		}
	}
}

// read decodes an event's data; what a newer server adds is not ours to show.
func (t *teller) read(e event, into any) { _ = json.Unmarshal(e.Data, into) }

func (t *teller) lines(label string, texts []string) {
	for _, text := range texts {
		fmt.Fprintf(t.w, "%s%s\n", label, cli.Printable(text))
	}
}
