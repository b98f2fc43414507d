// Command testreport reads `go test -json` and prints what a person wants of it: the
// standard result line of each top-level test and of each package, everything that a
// failed test or build said, and at the end the slowest tests and a count.
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

// slowest is how many tests the summary names, when they took long.
const (
	slowest  = 5
	slowFrom = 2.0 // seconds
)

type counts struct {
	passed, failed, skipped int // top-level tests
	badPackages             []string
}

// report copies in to out as described above and tells whether anything failed. A line
// that is no test event (a go command that could not start) is printed as it is.
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

// transcript keeps what a build, a package, a test or a subtest says until it is known
// whether that matters: it does if it failed, or never came to its end.
type transcript struct {
	out  io.Writer
	said []*speech // in the order in which they began
}

type speech struct {
	pkg, test string
	lines     []string
}

func (t *transcript) take(e event) {
	switch e.Action {
	case "output", "build-output":
		if !strings.HasPrefix(e.Output, "=== ") {
			s := t.of(e)
			s.lines = append(s.lines, e.Output)
		}
	case "build-fail":
		t.tell(e, func(*speech) bool { return true }, all)
	case "pass", "skip":
		worth := result
		switch {
		case e.sub():
			worth = none
		case e.Test != "" && e.Action == "skip":
			worth = all // the log of a skipped test is its reason
		}
		t.tell(e, isTest(e.Test), worth)
	case "fail":
		switch {
		case e.Test == "": // with all its tests that never ended
			t.tell(e, func(*speech) bool { return true }, all)
		case !e.sub(): // with its subtests that failed
			t.tell(e, func(s *speech) bool { return strings.HasPrefix(s.test, e.Test+"/") }, all)
			t.tell(e, isTest(e.Test), all)
		}
	}
}

func (t *transcript) of(e event) *speech {
	i := slices.IndexFunc(t.said, func(s *speech) bool { return s.pkg == e.Package && s.test == e.Test })
	if i < 0 {
		t.said = append(t.said, &speech{pkg: e.Package, test: e.Test})
		i = len(t.said) - 1
	}
	return t.said[i]
}

func isTest(name string) func(*speech) bool { return func(s *speech) bool { return s.test == name } }

// tell prints what is worth it of those that match in e's package, and forgets them.
func (t *transcript) tell(e event, match func(*speech) bool, worth func(line string) bool) {
	t.said = slices.DeleteFunc(t.said, func(s *speech) bool {
		if s.pkg != e.Package || !match(s) {
			return false
		}
		for _, line := range s.lines {
			if worth(line) {
				fmt.Fprint(t.out, line)
			}
		}
		return true
	})
}

func all(string) bool  { return true }
func none(string) bool { return false }

// result picks the standard line of a test or a package.
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
	fmt.Fprintf(out, "\nall of it in %s\n", took.Round(time.Second))
	if len(n.badPackages) > 0 {
		fmt.Fprintf(out, "failed packages: %s\n", strings.Join(n.badPackages, " "))
	}
	fmt.Fprintf(out, "%d passed, %d failed, %d skipped\n", n.passed, n.failed, n.skipped)
}
