// Command testreport reads `go test -json` and prints the result line of each top-level test and each
// package, the output of failed tests and builds, and at the end the slowest tests and a count.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"
)

func main() {
	in := bufio.NewReaderSize(os.Stdin, 1<<16)
	failed, err := report(in, os.Stdout)
	if err != nil {
		fmt.Fprintln(os.Stderr, "testreport:", err)
	}
	if failed || err != nil {
		os.Exit(1)
	}
}

// event is one line of `go test -json` (see `go doc test2json`).
type event struct {
	Action     string
	Package    string
	ImportPath string // of build output
	Test       string
	Elapsed    float64 // seconds
	Output     string
}

// The summary names up to slowest tests that took at least slowFrom.
const (
	slowest  = 5
	slowFrom = 2.0 // seconds
)

type counts struct {
	passed, failed, skipped int // top-level tests
	badPackages             []string
}

// report copies in to out as described above and returns whether anything failed. A line that is not a
// test event (such as an error of the go command) is printed unchanged.
func report(in *bufio.Reader, out io.Writer) (failed bool, err error) {
	var (
		n     counts
		slow  []event
		t     = transcript{out: out}
		began = time.Now()
	)
	for {
		line, err := in.ReadBytes('\n')
		if err == io.EOF && len(line) == 0 {
			break
		} else if err != nil && err != io.EOF {
			return true, fmt.Errorf("reading test events: %w", err)
		}
		var e event
		if json.Unmarshal(line, &e) != nil {
			fmt.Fprintf(out, "%s", line)
			continue
		}
		e.Package += e.ImportPath
		n.count(e)
		t.take(e)
		if e.Test != "" && !e.sub() && e.Elapsed >= slowFrom {
			slow = append(slow, e)
		}
	}
	n.summary(out, slow, time.Since(began))
	return n.failed > 0 || len(n.badPackages) > 0, nil
}

func (e event) sub() bool { return strings.Contains(e.Test, "/") }

func (n *counts) count(e event) {
	switch {
	case e.sub():
	case e.Test == "" && e.Action == "fail":
		n.badPackages = append(n.badPackages, e.Package)
	case e.Test == "":
	case e.Action == "pass":
		n.passed++
	case e.Action == "skip":
		n.skipped++
	case e.Action == "fail":
		n.failed++
	}
}

// transcript keeps the output of builds, packages, tests and subtests until it is known whether they
// failed or never ended; only then it is printed. What the race detector says is printed at once: it comes as the
// output of whichever test wrote last, which may pass.
type transcript struct {
	out   io.Writer
	parts []*output // in the order in which they began
	race  string    // the package whose race is being told of
}

const (
	raceBegin = "WARNING: DATA RACE\n"
	raceEnd   = "==================\n"
)

type output struct {
	pkg, test string
	lines     []string
}

func (t *transcript) take(e event) {
	switch e.Action {
	case "output", "build-output":
		switch {
		case e.Output == raceBegin:
			t.race = e.Package
			fmt.Fprintf(t.out, "%s, beside %s:\n%s", e.Package, e.Test, e.Output)
			return
		case t.race == e.Package && e.Output == raceEnd:
			t.race = ""
		case t.race == e.Package && !strings.HasPrefix(e.Output, "--- "):
			fmt.Fprint(t.out, e.Output)
			return
		}
		if !strings.HasPrefix(e.Output, "=== ") {
			s := t.of(e)
			s.lines = append(s.lines, e.Output)
		}
	case "build-fail":
		t.print(e, func(*output) bool { return true }, all)
	case "pass", "skip":
		keep := result
		switch {
		case e.sub():
			keep = none
		case e.Test != "" && e.Action == "skip":
			keep = all // the log of a skipped test is its reason
		}
		t.print(e, isTest(e.Test), keep)
	case "fail":
		switch {
		case e.Test == "": // with its tests that never ended
			t.print(e, func(*output) bool { return true }, all)
		case !e.sub(): // with its failed subtests
			t.print(e, func(s *output) bool { return strings.HasPrefix(s.test, e.Test+"/") }, all)
			t.print(e, isTest(e.Test), all)
		}
	}
}

func (t *transcript) of(e event) *output {
	i := slices.IndexFunc(t.parts, func(s *output) bool { return s.pkg == e.Package && s.test == e.Test })
	if i < 0 {
		t.parts = append(t.parts, &output{pkg: e.Package, test: e.Test})
		i = len(t.parts) - 1
	}
	return t.parts[i]
}

func isTest(name string) func(*output) bool { return func(s *output) bool { return s.test == name } }

// print prints the lines to keep of the parts that match in e's package, and drops these parts.
func (t *transcript) print(e event, match func(*output) bool, keep func(line string) bool) {
	t.parts = slices.DeleteFunc(t.parts, func(s *output) bool {
		if s.pkg != e.Package || !match(s) {
			return false
		}
		for _, line := range s.lines {
			if keep(line) {
				fmt.Fprint(t.out, line)
			}
		}
		return true
	})
}

func all(string) bool  { return true }
func none(string) bool { return false }

func result(line string) bool {
	return strings.HasPrefix(line, "--- ") || strings.HasPrefix(line, "ok ") || strings.HasPrefix(line, "? ")
}

func (n *counts) summary(out io.Writer, slow []event, took time.Duration) {
	slices.SortFunc(slow, func(a, b event) int { return int(1000 * (b.Elapsed - a.Elapsed)) })
	for i, e := range slow {
		if i == 0 {
			fmt.Fprintln(out, "\nslowest tests:")
		}
		if i == slowest {
			break
		}
		fmt.Fprintf(out, "  %6.1fs %s %s\n", e.Elapsed, e.Package, e.Test)
	}
	fmt.Fprintf(out, "\ntotal time %s\n", took.Round(time.Second))
	if len(n.badPackages) > 0 {
		fmt.Fprintf(out, "failed packages: %s\n", strings.Join(n.badPackages, " "))
	}
	fmt.Fprintf(out, "%d passed, %d failed, %d skipped\n", n.passed, n.failed, n.skipped)
}
