package engine

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/vedette-sec/vedette/internal/engine/coverage"
)

// WriteJSON writes the coverage of a scan as one JSON document with counts, targets, timings by template, and a cell
// for each target × template.
func (r *Report) WriteJSON(to io.Writer) error {
	type target struct {
		*TargetReport
		Alike  bool          `json:"answers_alike"`
		Counts map[State]int `json:"counts"`
	}
	doc := struct {
		*Report
		Partial bool          `json:"partial"`
		Counts  map[State]int `json:"counts"`
		Targets []target      `json:"targets"`
	}{r, r.Partial(), r.Counts(), []target{}}
	for _, t := range r.Targets {
		doc.Targets = append(doc.Targets, target{t, t.Canary.AnswersAlike, t.Counts()})
	}
	head, err := json.MarshalIndent(doc, "", "  ")
	if err != nil {
		return err
	}
	// The cells, which may be millions, are written one by one; out keeps its first error.
	out := bufio.NewWriter(to)
	fmt.Fprintf(out, "%s,\n  \"cells\": [", bytes.TrimSuffix(head, []byte("\n}")))
	separator := "\n    "
	for cell := range r.Cells() {
		text, err := json.MarshalIndent(cell, "    ", "  ")
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "%s%s", separator, text)
		separator = ",\n    "
	}
	fmt.Fprint(out, "\n  ]\n}\n")
	return out.Flush()
}

// maxReasons bounds the reasons that WriteTable shows for one target.
const maxReasons = 10

// WriteTable writes the coverage as text: a line per target with its counts, below it what was not tested and why.
func (r *Report) WriteTable(to io.Writer) error {
	t := tabwriter.NewWriter(to, 0, 4, 2, ' ', 0) // it keeps its first error
	for _, target := range r.Targets {
		name, counts := printable(target.Target), target.Counts()
		if name == "" {
			name = "without a target"
		}
		var words []string
		for _, s := range coverage.States {
			if counts[s] > 0 {
				words = append(words, fmt.Sprintf("%d %s", counts[s], strings.ReplaceAll(string(s), "_", " ")))
			}
		}
		fmt.Fprintf(t, "%s\t%s\t%s\n", name, strings.Join(words, ", "), printable(target.Reason))
		for _, m := range target.Marks {
			fmt.Fprintf(t, "  %s\n", m.Description())
		}
		reasons := target.cells.Reasons()
		for i, why := range reasons {
			if i == maxReasons {
				fmt.Fprintf(t, "  and %d more reasons\n", len(reasons)-i)
				break
			}
			if why.Text != target.Reason {
				fmt.Fprintf(t, "  %d because %s\n", why.Count(), printable(why.Text))
			}
		}
	}
	return t.Flush()
}

// printable replaces characters that control a terminal.
func printable(s string) string {
	return strings.Map(func(c rune) rune {
		if c < ' ' || c >= 0x7f && c < 0xa0 || c >= 0x200e && c <= 0x200f || c >= 0x2028 && c <= 0x202e || c >= 0x2066 &&
			c <= 0x2069 {
			return '\ufffd'
		}
		return c
	}, s)
}
