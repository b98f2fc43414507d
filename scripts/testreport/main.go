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
		said  = map[string][]string{} // output of what may yet fail, by package and top-level test
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
		top, _, sub := strings.Cut(e.Test, "/")
		key := e.Package + e.ImportPath + " " + top
		switch {
		case e.Action == "output" || e.Action == "build-output":
			said[key] = append(said[key], e.Output)
		case sub:
		case e.Test != "":
			if n.test(e, said[key], out) {
				delete(said, key)
			}
			if e.Elapsed >= slowFrom {
				slow = append(slow, e)
			}
		case e.Action == "build-fail":
			fmt.Fprint(out, strings.Join(said[key], ""))
		default:
			n.pkg(e, said[key], out)
		}
	}
	n.summary(out, slow, time.Since(began))
	return n.failed > 0 || len(n.badPackages) > 0, nil
}

// test counts and prints the end of one top-level test; false while it still runs.
func (n *counts) test(e event, said []string, out io.Writer) bool {
	switch e.Action {
	case "pass":
		n.passed++
	case "skip":
		n.skipped++
	case "fail":
		n.failed++
		fmt.Fprint(out, strings.Join(said, ""))
		return true
	default:
		return false
	}
	for _, line := range said {
		if strings.HasPrefix(line, "--- ") && !strings.Contains(line, "/") { // not a subtest's
			fmt.Fprint(out, line)
		}
	}
	if e.Action == "skip" {
		fmt.Fprint(out, strings.Join(reasons(said), ""))
	}
	return true
}

// reasons are the lines of a skipped test that say why.
func reasons(said []string) []string {
	return slices.DeleteFunc(slices.Clone(said), func(line string) bool {
		return !strings.HasPrefix(line, "    ") || strings.HasPrefix(strings.TrimSpace(line), "--- ")
	})
}

// pkg prints the end of one package: its standard line, and all it said if it failed.
func (n *counts) pkg(e event, said []string, out io.Writer) {
	switch e.Action {
	case "fail":
		n.badPackages = append(n.badPackages, e.Package)
		fmt.Fprint(out, strings.Join(said, ""))
	case "pass", "skip":
		for _, line := range said {
			if strings.HasPrefix(line, "ok ") || strings.HasPrefix(line, "? ") {
				fmt.Fprint(out, line)
			}
		}
	}
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
