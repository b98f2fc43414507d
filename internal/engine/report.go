package engine

import (
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/vedette-sec/vedette/internal/engine/proto/web"
	"github.com/vedette-sec/vedette/internal/infra/errs"
)

// Report says what a scan did: for each target and template, how it ended.
type Report struct {
	Started, Ended time.Time
	Templates      []string // ids, in the order of Scan.Programs and Scan.Workflows
	Targets        []*TargetReport
	Timings        []Timing // by template; those that waited longest come first
	Requests       int      // sent, with redirects, retries and canaries
	Events         int
}

// TargetReport is what is known of one target after a scan.
type TargetReport struct {
	Target  string // as it was given; "" for what is tested without a target
	URL     string // what it was taken for; "" when it could not be reached or read
	Alive   bool   // something answered
	Reason  string // why not, when not
	Canary  Canary
	Matched int    // templates that matched
	Marks   []Mark // reasons to doubt what was found

	total int // requests that are expected
	cells cells
}

// Timing is what a template cost on all targets together. The answer to a request that
// several templates share counts for each of them.
type Timing struct {
	Template string
	Requests int
	Waited   time.Duration // for answers
	Events   int
}

// timing is a Timing while it grows.
type timing struct{ requests, waited, events atomic.Int64 }

func (t *timing) add(x *web.Exchange) {
	t.requests.Add(1)
	t.waited.Add(int64(x.Duration))
}

func timings(templates []string, times []timing) []Timing {
	var all []Timing
	for i := range times {
		t := Timing{templates[i], int(times[i].requests.Load()), time.Duration(times[i].waited.Load()), int(times[i].events.Load())}
		if t.Requests > 0 {
			all = append(all, t)
		}
	}
	slices.SortStableFunc(all, func(a, b Timing) int { return int(min(1, max(-1, b.Waited-a.Waited))) })
	return all
}

// outcome is the state and the reason that an error of a request means.
func outcome(err error) (uint8, string) {
	if errors.Is(err, errBudget) {
		return overBudget, err.Error()
	}
	if refused, ok := errors.AsType[*errs.Error](err); ok && refused.Kind == errs.Forbidden {
		return denied, refused.Message
	}
	return failed, web.Reason(err)
}

// isMiss says whether an error means that a host gave no sign of life.
func isMiss(err error) bool {
	sent, ok := errors.AsType[*web.Error](err)
	return ok && sent.Kind != web.KindRequest && !errs.Is(err, errs.Forbidden)
}

// isReset says whether an error means that a host broke a connection off.
func isReset(err error) bool {
	sent, ok := errors.AsType[*web.Error](err)
	return ok && (sent.Kind == web.KindReset || sent.Kind == web.KindClosed)
}

// Progress is how far a scan is.
type Progress struct {
	Targets, TargetsDone int
	Total, Done          int // requests that are expected: one that several templates share is one, what is not needed after all is done
	Requests             int // sent
	Matched              int // events
	Errors               int // requests without an answer
	Elapsed              time.Duration
	Final                bool // the last of this scan
}

// watch tells of the progress until stop is called, and once more then.
func (r *run) watch() (stop func()) {
	if r.scan.OnProgress == nil {
		return func() {}
	}
	total := 0
	for _, t := range r.report.Targets {
		total += t.total
	}
	tell := func(final bool) {
		c := &r.counts
		r.scan.OnProgress(Progress{
			Targets: len(r.report.Targets), TargetsDone: int(c.targetsDone.Load()), Total: total, Done: int(c.done.Load()),
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
				tell(false)
			case <-over:
				tell(true)
				return
			}
		}
	})
	return func() {
		close(over)
		watcher.Wait()
	}
}
