package engine

import (
	"iter"
	"maps"
	"sync"
	"time"

	"github.com/vedette-sec/vedette/internal/engine/canary"
	"github.com/vedette-sec/vedette/internal/engine/coverage"
	"github.com/vedette-sec/vedette/internal/engine/event"
)

// State is how the testing of one target with one template ended; see package coverage.
type State = coverage.State

// The states, and the reason of cells that a cancelled scan left, for callers that run scans.
const (
	NotApplicable = coverage.NotApplicable
	Tested        = coverage.Tested
	Skipped       = coverage.Skipped
	Budget        = coverage.Budget
	Denied        = coverage.Denied
	Failed        = coverage.Failed
	Interrupted   = coverage.Interrupted
)

// Report is the result of a scan.
type Report struct {
	Started   time.Time         `json:"started"`
	Ended     time.Time         `json:"ended"`
	Templates []string          `json:"-"`        // ids, in the order of Scan.Programs and Scan.Workflows
	Targets   []*TargetReport   `json:"targets"`  // none with Scan.OnTarget
	Timings   []coverage.Timing `json:"timings"`  // by template; those that waited longest come first
	Requests  int               `json:"requests"` // sent, with redirects, retries and canaries
	Events    int               `json:"-"`

	TargetCount int `json:"-"` // distinct targets
	counts      map[State]int
}

// TargetReport is what a scan found out about one target.
type TargetReport struct {
	Target  string        `json:"target"`           // as given; "" without a target
	URL     string        `json:"url"`              // where it answered; "" without an answer
	Alive   bool          `json:"alive"`            // something answered
	Reason  string        `json:"reason,omitempty"` // why not, when not
	Canary  canary.Canary `json:"-"`
	Matched int           `json:"matched"`         // templates that matched
	Marks   []event.Mark  `json:"marks,omitempty"` // reasons to doubt findings

	cells coverage.Cells
}

// Progress is the progress of a scan.
type Progress struct {
	Targets, TargetsDone int
	Total, Done          int // expected requests; shared ones count once, unnecessary ones as done
	Requests             int // sent
	Matched              int // events
	Errors               int // requests without a response
	Elapsed              time.Duration
	Final                bool // the last of this scan
}

const progressEvery = 250 * time.Millisecond

// reportProgress calls OnProgress regularly until stop is called, and once more then.
func (r *run) reportProgress() (stop func()) {
	if r.scan.OnProgress == nil {
		return func() {}
	}
	report := func(final bool) {
		c := &r.counts
		r.scan.OnProgress(Progress{
			Targets: r.report.TargetCount, TargetsDone: int(c.targetsDone.Load()), Total: r.total, Done: int(c.done.Load()),
			Requests: int(c.requests.Load()), Matched: int(c.matched.Load()), Errors: int(c.errors.Load()),
			Elapsed: time.Since(r.report.Started), Final: final,
		})
	}
	over := make(chan struct{})
	var watcher sync.WaitGroup
	watcher.Go(func() {
		tick := time.NewTicker(progressEvery)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				report(false)
			case <-over:
				report(true)
				return
			}
		}
	})
	return func() {
		close(over)
		watcher.Wait()
	}
}

// Cell is the state of a template, by its index in Report.Templates, and its reason if any.
func (t *TargetReport) Cell(template int) (State, string) {
	end := t.cells.Cell(template)
	return end.State, end.Reason
}

// Counts is the number of templates in each state that occurs.
func (t *TargetReport) Counts() map[State]int { return t.cells.Counts() }

// Reasons are the reasons of the cells, each with its templates.
func (t *TargetReport) Reasons() []coverage.Reason { return t.cells.Reasons() }

// In are the templates in a state, as ascending indices in Report.Templates.
func (t *TargetReport) In(state State) iter.Seq[int] { return t.cells.In(state) }

// Cell is one target × template.
type Cell struct {
	Target   string `json:"target"` // as given; "" without a target
	Template string `json:"template"`
	State    State  `json:"state"`
	Reason   string `json:"reason,omitempty"`
}

// Cells are the target × all templates, whose ids are given in the order of the scan's.
func (t *TargetReport) Cells(templates []string) iter.Seq[Cell] {
	return func(yield func(Cell) bool) {
		for i, id := range templates {
			state, reason := t.Cell(i)
			if !yield(Cell{Target: t.Target, Template: id, State: state, Reason: reason}) {
				return
			}
		}
	}
}

// Cells are all targets × templates, in order.
func (r *Report) Cells() iter.Seq[Cell] {
	return func(yield func(Cell) bool) {
		for _, t := range r.Targets {
			for cell := range t.Cells(r.Templates) {
				if !yield(cell) {
					return
				}
			}
		}
	}
}

// Counts is the number of cells in each state that occurs.
func (r *Report) Counts() map[State]int { return maps.Clone(r.counts) }

// Partial reports whether a cell failed, was skipped or denied, or came after the end of the budget.
func (r *Report) Partial() bool {
	counts := r.Counts()
	return counts[Skipped]+counts[Budget]+counts[Denied]+counts[Failed] > 0
}
