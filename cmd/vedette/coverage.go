package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"text/tabwriter"
	"time"

	"github.com/vedette-sec/vedette/internal/engine"
)

// tellCoverage says what was tested and what was not, a target a line.
func tellCoverage(w io.Writer, r *engine.Report) {
	t := tabwriter.NewWriter(w, 0, 4, 2, ' ', 0)
	for _, target := range r.Targets {
		note := target.Reason
		if target.Canary.AnswersAlike {
			note = "answers with success to every path: findings at paths need a second look"
		}
		counts := map[engine.State]int{}
		for i := range r.Templates {
			state, _ := target.Cell(i)
			counts[state]++
		}
		fmt.Fprintf(t, "%s\t%d tested\t%d not applicable\t%d failed\t%d skipped\t%d denied\t%s\n", printable(target.Target),
			counts[engine.Tested], counts[engine.NotApplicable], counts[engine.Failed], counts[engine.Skipped], counts[engine.Denied], printable(note))
	}
	_ = t.Flush() // talk only
	fmt.Fprintf(w, "%s, %s in %s\n", counted(r.Events, "finding"), counted(r.Requests, "request"), r.Ended.Sub(r.Started).Round(time.Millisecond))
}

// counted is "1 target", or "2 targets".
func counted(n int, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return fmt.Sprintf("%d %s", n, noun)
}

// writeCoverage writes the coverage ledger: every target × template with its end.
func writeCoverage(name string, r *engine.Report) error {
	type target struct {
		Target string `json:"target"`
		URL    string `json:"url"`
		Alive  bool   `json:"alive"`
		Reason string `json:"reason,omitempty"`
		Alike  bool   `json:"answers_alike"`
	}
	doc := struct {
		Started  time.Time            `json:"started"`
		Ended    time.Time            `json:"ended"`
		Requests int                  `json:"requests"`
		Partial  bool                 `json:"partial"`
		Counts   map[engine.State]int `json:"counts"`
		Targets  []target             `json:"targets"`
		Cells    []engine.Cell        `json:"cells"`
	}{r.Started.UTC(), r.Ended.UTC(), r.Requests, r.Partial(), r.Counts(), []target{}, []engine.Cell{}}
	for _, t := range r.Targets {
		doc.Targets = append(doc.Targets, target{t.Target, t.URL, t.Alive, t.Reason, t.Canary.AnswersAlike})
	}
	for cell := range r.Cells() {
		doc.Cells = append(doc.Cells, cell)
	}
	text, err := json.MarshalIndent(doc, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(name, append(text, '\n'), 0o600)
}
