package scan

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"text/tabwriter"

	"github.com/vedette-sec/vedette/cmd/vedette/cli"
	"github.com/vedette-sec/vedette/internal/engine"
)

// coverageFile is the file of --coverage. It is written while targets end, so that a scan of many takes no more memory
// than one of few: as a table if its name ends with .txt, else as JSON.
type coverageFile struct {
	file  *os.File
	out   *bufio.Writer
	table *table // nil for JSON
	json  *jsonCoverage
	err   error // the first of a write
}

// createCoverage creates the file, or returns nil without a name.
func createCoverage(name string) (*coverageFile, error) {
	if name == "" {
		return nil, nil
	}
	file, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return nil, cli.Usagef("--coverage: %w", err)
	}
	c := &coverageFile{file: file, out: bufio.NewWriter(file)}
	if strings.HasSuffix(name, ".txt") {
		c.table = newTable(c.out)
		return c, nil
	}
	if c.json, err = newJSONCoverage(c.out); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return c, nil
}

// add writes one target. A nil file writes nothing, here and below.
func (c *coverageFile) add(t *engine.TargetReport, templates []string) {
	switch {
	case c == nil || c.err != nil:
	case c.table != nil:
		c.table.target(t)
	default:
		c.err = c.json.target(t, templates)
	}
}

// close writes the end, from the report of the scan if there is one, and returns the error of all writes.
func (c *coverageFile) close(r *engine.Report) error {
	if c == nil {
		return nil
	}
	if c.table != nil {
		c.table.flush()
	} else {
		c.err = errors.Join(c.err, c.json.close(r))
	}
	if err := errors.Join(c.err, c.out.Flush(), c.file.Close()); err != nil {
		return fmt.Errorf("writing the coverage: %w", err)
	}
	return nil
}

// jsonCoverage writes coverage as one JSON document: cells, a line for each target × template; targets, a line for
// each; and the counts and timings of the scan. The targets wait in a temporary file until all cells are written.
type jsonCoverage struct {
	out     *bufio.Writer
	targets *os.File
	waiting *bufio.Writer // into targets
	cells   int
	count   int // of targets
}

func newJSONCoverage(out *bufio.Writer) (*jsonCoverage, error) {
	targets, err := os.CreateTemp("", "vedette-coverage-*")
	if err != nil {
		return nil, err
	}
	_, err = out.WriteString(`{"cells": [`)
	return &jsonCoverage{out: out, targets: targets, waiting: bufio.NewWriter(targets)}, err
}

// target writes the cells of a target, and the target itself into the file that waits.
func (j *jsonCoverage) target(t *engine.TargetReport, templates []string) error {
	for cell := range t.Cells(templates) {
		if err := appendLine(j.out, j.cells, cell); err != nil {
			return err
		}
		j.cells++
	}
	line := struct {
		*engine.TargetReport
		Alike  bool                 `json:"answers_alike"`
		Counts map[engine.State]int `json:"counts"`
	}{t, t.Canary.AnswersAlike, t.Counts()}
	j.count++
	return appendLine(j.waiting, j.count-1, line)
}

// appendLine appends an element to an array of JSON that has n already, on a line of its own.
func appendLine(to *bufio.Writer, n int, element any) error {
	separator := ",\n"
	if n == 0 {
		separator = "\n"
	}
	text, err := json.Marshal(element)
	if err != nil {
		return err
	}
	_, _ = to.WriteString(separator) // a bufio.Writer keeps its error
	_, err = to.Write(text)
	return err
}

// close writes the targets and the figures of the scan, and removes the file of the targets.
func (j *jsonCoverage) close(r *engine.Report) error {
	defer func() { _ = os.Remove(j.targets.Name()) }()
	defer j.targets.Close()
	if r == nil {
		return nil
	}
	if err := j.waiting.Flush(); err != nil {
		return err
	}
	if _, err := j.targets.Seek(0, io.SeekStart); err != nil {
		return err
	}
	_, _ = j.out.WriteString("\n],\n\"targets\": [")
	if _, err := io.Copy(j.out, j.targets); err != nil {
		return err
	}
	figures, err := json.Marshal(struct {
		*engine.Report
		Partial bool                 `json:"partial"`
		Counts  map[engine.State]int `json:"counts"`
		Targets []any                `json:"targets,omitempty"` // instead of the report's
	}{Report: r, Partial: r.Partial(), Counts: r.Counts()})
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(j.out, "\n],\n%s\n", bytes.TrimPrefix(figures, []byte("{")))
	return err
}

// tableRows are how many targets a table aligns together.
const tableRows = 1000

// table writes coverage as text: a line for each target with its counts, below it what was not tested and why.
type table struct {
	to   *tabwriter.Writer // keeps its first error
	rows int
}

func newTable(to io.Writer) *table { return &table{to: tabwriter.NewWriter(to, 0, 4, 2, ' ', 0)} }

func (t *table) flush() { _ = t.to.Flush() }

func (t *table) target(r *engine.TargetReport) {
	if t.rows++; t.rows%tableRows == 0 {
		t.flush()
	}
	name := cmp.Or(printable(r.Target), "without a target")
	fmt.Fprintf(t.to, "%s\t%s\t%s\n", name, stateWords(r.Counts()), printable(r.Reason))
	for _, m := range r.Marks {
		fmt.Fprintf(t.to, "  %s\n", m.Description())
	}
	reasons := r.Reasons()
	for i, why := range reasons {
		if i == maxReasons {
			fmt.Fprintf(t.to, "  and %d more reasons\n", len(reasons)-i)
			break
		}
		if why.Text != r.Reason {
			fmt.Fprintf(t.to, "  %d because %s\n", why.Count(), printable(why.Text))
		}
	}
}

// printable replaces characters that control a terminal, line breaks and marks of direction among them.
func printable(s string) string {
	return strings.Map(func(c rune) rune {
		if cli.IsControl(c) || c == 0x200e || c == 0x200f {
			return '\ufffd'
		}
		return c
	}, s)
}
