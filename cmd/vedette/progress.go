package main

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/vedette-sec/vedette/cmd/vedette/cli"
	"github.com/vedette-sec/vedette/cmd/vedette/client"
)

// progress shows a person the progress of a task: a bar on a terminal, lines elsewhere.
type progress struct {
	w io.Writer
	*cli.Bar
}

func newProgress(w io.Writer) *progress {
	b := cli.NewBar(w)
	return &progress{b.Above(w), b}
}

// print shows one event of a task's stream. Unknown data of newer servers is ignored.
func (p *progress) print(e client.Event) {
	var data struct {
		Understood           []string
		NotUnderstood        []string `json:"not_understood"`
		NotDone              []string `json:"not_done"`
		Tool, Summary, Error string
		Done, Total          int64
		Severity, Title      string
		MatchedAt            string `json:"matched_at"`
	}
	_ = json.Unmarshal(e.Data, &data)
	switch e.Type {
	case "plan":
		p.lines("plan      ", data.Understood...)
		p.lines("not used  ", data.NotUnderstood...)
		p.lines("not done  ", data.NotDone...)
	case "step-started":
		p.End()
		p.lines(data.Tool+"…", "")
	case "progress":
		p.Show(data.Tool, data.Done, data.Total)
	case "issue":
		p.lines("found     ", fmt.Sprintf("[%s] %s at %s", data.Severity, data.Title, data.MatchedAt))
	case "step-finished":
		p.End()
		if data.Summary != "" {
			p.lines("", data.Summary)
		}
		if data.Error != "" {
			p.lines("failed    ", data.Error)
		}
	}
}

func (p *progress) lines(label string, texts ...string) {
	for _, text := range texts {
		fmt.Fprintf(p.w, "%s%s\n", label, cli.Printable(text))
	}
}
