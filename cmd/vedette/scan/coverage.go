package scan

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/vedette-sec/vedette/cmd/vedette/cli"
	"github.com/vedette-sec/vedette/internal/engine"
	"github.com/vedette-sec/vedette/internal/engine/coverage"
	"github.com/vedette-sec/vedette/internal/engine/event"
)

// Bounds of what is printed about a scan's coverage.
const (
	maxTargets  = 20   // of which each has its own line
	maxReasons  = 10   // shown of one target, or of all
	maxKnown    = 1000 // different reasons that are counted; an outsider's text may be in one
	maxSilent   = 5    // targets that did not answer, by name
	otherReason = "other reasons"
)

// summary is what a scan prints about its coverage: a line for each target, or when there are many, what they have
// in common. Its memory is bounded.
type summary struct {
	first   []*engine.TargetReport // no more than maxTargets
	targets int
	silent  []string // the first that did not answer
	dead    int
	marks   map[event.Mark]int // targets
	reasons map[string]*reasonCount
}

type reasonCount struct {
	text           string
	cells, targets int
}

func newSummary() *summary {
	return &summary{marks: map[event.Mark]int{}, reasons: map[string]*reasonCount{}}
}

// add counts a target that has ended.
func (s *summary) add(t *engine.TargetReport) {
	if s.targets++; len(s.first) < maxTargets {
		s.first = append(s.first, t)
	}
	if !t.Alive && t.Target != "" {
		if s.dead++; len(s.silent) < maxSilent {
			s.silent = append(s.silent, t.Target)
		}
	}
	for _, m := range t.Marks {
		s.marks[m]++
	}
	for _, why := range t.Reasons() {
		text := why.Text
		if s.reasons[text] == nil && len(s.reasons) >= maxKnown {
			text = otherReason
		}
		if s.reasons[text] == nil {
			s.reasons[text] = &reasonCount{text: text}
		}
		s.reasons[text].cells += why.Count()
		s.reasons[text].targets++
	}
}

// print prints the coverage and the figures of the scan.
func (s *summary) print(w io.Writer, r *engine.Report, listed bool) {
	if s.targets <= maxTargets {
		table := newTable(w)
		for _, t := range s.first {
			table.target(t)
		}
		table.flush() // its errors are those of stderr
	} else {
		s.printTogether(w, r, listed)
	}
	fmt.Fprintf(w, "%s, %s in %s\n", cli.Counted(r.Events, "finding"), cli.Counted(r.Requests, "request"),
		r.Ended.Sub(r.Started).Round(time.Millisecond))
}

// printTogether prints what many targets have in common.
func (s *summary) printTogether(w io.Writer, r *engine.Report, listed bool) {
	fmt.Fprintf(w, "%s: %s\n", cli.Counted(s.targets, "target"), stateWords(r.Counts()))
	if s.dead > 0 {
		names := strings.Join(s.silent, ", ")
		if more := s.dead - len(s.silent); more > 0 {
			names += fmt.Sprintf(" and %d more", more)
		}
		fmt.Fprintf(w, "  %s did not answer: %s\n", cli.Counted(s.dead, "target"), printable(names))
	}
	for _, m := range []event.Mark{event.AnswersAlike, event.MatchDensity} {
		if n := s.marks[m]; n > 0 {
			fmt.Fprintf(w, "  on %s: %s\n", cli.Counted(n, "target"), m.Description())
		}
	}
	var reasons []*reasonCount
	for _, one := range s.reasons {
		reasons = append(reasons, one)
	}
	slices.SortFunc(reasons, func(a, b *reasonCount) int {
		if a.cells != b.cells {
			return b.cells - a.cells
		}
		return strings.Compare(a.text, b.text)
	})
	for i, one := range reasons {
		if i == maxReasons {
			fmt.Fprintf(w, "  and %d more reasons\n", len(reasons)-i)
			break
		}
		fmt.Fprintf(w, "  %d on %s because %s\n", one.cells, cli.Counted(one.targets, "target"), printable(one.text))
	}
	if !listed {
		fmt.Fprintln(w, "  --coverage FILE lists every target")
	}
}

// stateWords is "12 tested, 3 failed".
func stateWords(counts map[engine.State]int) string {
	var words []string
	for _, s := range coverage.States {
		if counts[s] > 0 {
			words = append(words, fmt.Sprintf("%d %s", counts[s], strings.ReplaceAll(string(s), "_", " ")))
		}
	}
	return strings.Join(words, ", ")
}

// openCheckpoint opens the file of --resume and reads what an earlier run recorded.
func openCheckpoint(name string) (*os.File, *coverage.Checkpoint, error) {
	file, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return nil, nil, cli.Usagef("--resume: %w", err)
	}
	checkpoint, err := coverage.ReadCheckpoint(file)
	if err != nil {
		return nil, nil, errors.Join(cli.Usagef("--resume %s: %w", name, err), file.Close())
	}
	return file, checkpoint, nil
}
