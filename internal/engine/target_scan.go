package engine

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/vedette-sec/vedette/internal/engine/board"
	"github.com/vedette-sec/vedette/internal/engine/coverage"
	"github.com/vedette-sec/vedette/internal/engine/prober"
	"github.com/vedette-sec/vedette/internal/engine/program"
	"github.com/vedette-sec/vedette/internal/engine/sender"
	"github.com/vedette-sec/vedette/internal/engine/syntax"
	"github.com/vedette-sec/vedette/internal/engine/targets"
	"github.com/vedette-sec/vedette/internal/engine/tasks"
)

// targetScan tests one target in one scan.
type targetScan struct {
	requester
	run       *run
	targetErr error // why the target could not be read or reached
	plan      *program.Plan
	report    *TargetReport
	tasks     tasks.Queue
	answers   sender.Answers
	finalPass bool // requests without a response are not retried any more

	mu      sync.Mutex // guards what follows, and report
	queued  []bool     // by request of the plan
	pending []int      // entries without a result, by program; -1 for a program that is not run
	stops   map[[2]int]*stopping
	retries []tasks.Task // what to do at the end about requests without a response
	matched map[int]bool // programs
	severe  int          // of them, those with a severity above info
	global  map[globalMatch]bool
	over    map[[2]int]bool // programs and blocks that an interaction has ended at their first match
}

// stopping is the progress of a block that stops at its first match: its entries are evaluated in order, however
// their responses arrive.
type stopping struct {
	next   int            // the next entry to evaluate; all before it did not match
	over   bool           // an entry matched: later ones do not count
	result map[int]result // of entries that were answered early
}

// result is the result of one planned entry.
type result struct {
	coverage.End
	matched bool
	events  []Event
}

// newTargetScan prepares the test of a target as it was given; nil stands for that of self-contained programs.
func (r *run) newTargetScan(input *string) *targetScan {
	var target targets.Target
	var targetErr error
	if input != nil {
		if target, targetErr = r.engine.readTarget(*input); targetErr != nil {
			target.Input = *input
		}
	}
	t := &targetScan{run: r, report: &TargetReport{Target: target.Input}, targetErr: targetErr}
	t.requester = requester{
		engine: r.engine, target: target, recorded: r.scan.Requests[target.Input], send: t.answers.Of(r.send),
		beforeSend: r.beforeSend, tupleSlots: r.engine.tupleSlots(), budget: &r.budget, frequency: &r.frequency,
		begin: r.begin, dials: &prober.Dials{},
	}
	switch {
	case targetErr != nil:
	case t.targetless():
		t.plan = program.SelfContainedPlan(r.programs, r.makesRequests)
	default:
		t.plan = r.planFor(target)
	}
	return t
}

// targetless reports whether this is the run of self-contained programs.
func (t *targetScan) targetless() bool { return t.target.Input == "" && t.targetErr == nil }

// runs reports whether a program makes requests for the target.
func (t *targetScan) runs(i int) bool {
	return t.run.programs[i].SelfContained == t.targetless() && t.run.makesRequests(i)
}

// testTarget tests the target; afterwards every cell has its state.
func (t *targetScan) testTarget(ctx context.Context) {
	r := t.run
	t.pending, t.report.cells = make([]int, len(r.programs)), coverage.NewCells(len(r.programs))
	t.skipDone()
	if t.targetErr == nil && ctx.Err() == nil && !t.targetless() {
		t.targetErr = t.find(ctx)
	}
	switch {
	case ctx.Err() != nil:
		t.endAll(coverage.End{State: Skipped, Reason: Interrupted})
	case t.targetErr != nil:
		end := endOf(t.targetErr)
		t.report.Reason = end.Reason
		t.endAll(end)
		if t.plan != nil {
			r.counts.errors.Add(1)
			r.counts.done.Add(int64(t.plan.Total))
		}
	default:
		t.sendAll(ctx)
	}
	t.mu.Lock()
	if down := t.answers.Down(); down != "" && !t.targetless() {
		t.report.cells.Doubt(down, t.provesNothing)
	}
	t.report.Matched, t.report.Marks = len(t.matched), t.marks(true)
	t.mu.Unlock()
	t.report.cells.Seal()
}

// skipDone takes over the cells that an earlier run has finished.
func (t *targetScan) skipDone() {
	for i, key := range t.run.keys {
		if end, ok := t.run.scan.Done.Done(t.target.Input, key); ok {
			t.report.cells.Set(i, end.State, end.Reason)
			t.pending[i] = -1
		}
	}
}

// endAll sets all cells that are not finished.
func (t *targetScan) endAll(end coverage.End) {
	for i := range t.run.programs {
		if t.pending[i] < 0 {
			continue
		}
		if t.runs(i) || !t.run.makesRequests(i) && !t.targetless() {
			t.report.cells.Set(i, end.State, end.Reason)
		}
		t.checkpoint(i)
	}
}

// checkpoint writes the final state of a program's cell. The caller holds mu, or no other goroutine runs.
func (t *targetScan) checkpoint(i int) {
	if t.run.checkpoint != nil {
		t.run.checkpoint.Cell(t.target.Input, i, t.report.cells.Cell(i))
	}
}

// locate finds out where the target answers, and how it answers for missing paths.
func (t *targetScan) locate(ctx context.Context) error {
	address, canary, err := t.engine.locate(ctx, t.target, t.run.canaries, t.answers.Of(t.run.probe))
	if err != nil {
		return err
	}
	t.address = address
	t.report.Alive, t.report.URL, t.report.Canary = true, address.String(), canary
	return nil
}

// sendAll sends the plan's requests and runs the sessions; at the end it retries what had no response.
func (t *targetScan) sendAll(ctx context.Context) {
	t.queued = make([]bool, len(t.plan.Requests))
	t.stops = map[[2]int]*stopping{}
	t.matched = map[int]bool{}
	t.work(ctx, t.start)
	t.finalPass = true
	t.work(ctx, func() {
		for _, retry := range t.retries {
			t.tasks.Add(retry)
		}
	})
	for i, queued := range t.queued {
		if !queued {
			t.run.counts.done.Add(1)
			for _, e := range t.plan.Requests[i].SessionStarts { // of sessions that never started
				t.run.counts.done.Add(int64(t.run.programs[e.Program].Requests() - 1))
			}
		}
	}
	t.endGlobals(ctx)
	for i, left := range t.pending {
		if left > 0 { // only an interruption leaves entries without a result
			t.report.cells.Set(i, Skipped, Interrupted)
		}
	}
}

// work runs the tasks that start adds, and those that they add, several at a time.
func (t *targetScan) work(ctx context.Context, start func()) {
	t.tasks.Open() // until start is over
	start()
	var workers sync.WaitGroup
	for range min(t.engine.cfg.PerHost, len(t.plan.Requests)+len(t.plan.Sessions)) {
		workers.Go(func() {
			on := t.run.scan.Board.Take()
			defer on.Release()
			ctx := board.With(ctx, on)
			for {
				next, ok := t.tasks.Next()
				if !ok {
					return
				}
				next(ctx)
				t.tasks.Done()
			}
		})
	}
	t.tasks.Done()
	workers.Wait()
}

// retryLater schedules a retry for the end; false when the error is no reason for one or the end has come.
func (t *targetScan) retryLater(err error, retry tasks.Task) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.finalPass || !sender.Unanswered(err) && !errors.Is(err, sender.ErrSilent) {
		return false
	}
	t.retries = append(t.retries, retry)
	return true
}

// recovered reports whether the host of the target was in doubt and answers again.
func (t *targetScan) recovered() bool { return t.run.hostOf(t.address.HostPort()).Recovered() }

// start queues all requests and sessions that need no other response first. Blocks that need TLS end at once on plain
// http.
func (t *targetScan) start() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for i, bound := range t.run.programs {
		switch {
		case t.pending[i] < 0:
		case !t.runs(i):
			if t.run.makesRequests(i) {
				t.checkpoint(i)
			}
		case bound.Problem != "":
			t.report.cells.Set(i, Skipped, bound.Problem)
			t.checkpoint(i)
		case !bound.Plannable:
			t.pending[i] = 1 // the session as a whole
		default:
			t.expect(i, bound)
		}
	}
	for n := range t.plan.Requests {
		if t.wantsNow(&t.plan.Requests[n]) {
			t.queue(n)
		}
	}
	for _, i := range t.plan.Sessions {
		if t.pending[i] > 0 {
			t.tasks.Add(func(ctx context.Context) { t.session(ctx, i, nil) })
		}
	}
}

// expect counts the entries of a plain program. The caller holds mu.
func (t *targetScan) expect(i int, bound *program.Bound) {
	for j := range bound.Blocks {
		if b := &bound.Blocks[j]; !t.idle(b) {
			t.pending[i] += len(b.Entries)
			if b.Stops() {
				t.stops[[2]int{i, j}] = &stopping{result: map[int]result{}}
			}
		}
	}
	if t.pending[i] == 0 {
		t.checkpoint(i)
	}
}

// idle reports whether a block has nothing to do on the target.
func (t *targetScan) idle(b *program.Block) bool { return b.NeedsTLS && t.address.Scheme != "https" }

// wantsNow reports whether an entry needs a request without waiting for another response. The caller holds mu.
func (t *targetScan) wantsNow(r *program.PlannedRequest) bool {
	for _, e := range r.SessionStarts {
		if t.pending[e.Program] > 0 {
			return true
		}
	}
	for _, e := range r.Entries {
		if t.pending[e.Program] > 0 && !t.idle(t.block(e)) && (e.Entry == 0 || !t.block(e).Stops()) {
			return true
		}
	}
	return false
}

// queue queues a request of the plan, once. The caller holds mu.
func (t *targetScan) queue(n int) {
	if !t.queued[n] {
		t.queued[n] = true
		t.tasks.Add(func(ctx context.Context) { t.request(ctx, n) })
	}
}

// applyResult records the result of an entry and returns the events that are certain now. The caller holds mu.
func (t *targetScan) applyResult(e program.EntryIndex, got result) []Event {
	if t.pending[e.Program] <= 0 || t.idle(t.block(e)) {
		return nil
	}
	s := t.stops[[2]int{e.Program, e.Block}]
	if s == nil {
		t.record(e.Program, got.End)
		return got.events
	}
	if s.over || e.Entry < s.next {
		return nil
	}
	s.result[e.Entry] = got
	var events []Event
	entries := len(t.block(e).Entries)
	for !s.over && s.next < entries {
		one, ok := s.result[s.next]
		if !ok { // possibly not requested yet
			t.queue(t.plan.RequestOf[program.EntryIndex{Program: e.Program, Block: e.Block, Entry: s.next}])
			break
		}
		delete(s.result, s.next)
		events = append(events, one.events...)
		s.next++
		if one.matched {
			s.over = true
			t.pending[e.Program] -= entries - s.next
		}
		t.record(e.Program, one.End)
	}
	return events
}

// record counts the result of one entry. The caller holds mu.
func (t *targetScan) record(program int, end coverage.End) {
	t.pending[program]--
	t.report.cells.Set(program, end.State, end.Reason)
}

// matchedBy records that a program has matched. The caller holds mu.
func (t *targetScan) matchedBy(i, events int) {
	if t.run.costs[i].Events(events); t.matched[i] {
		return
	}
	t.matched[i] = true
	if t.run.programs[i].Info.Severity.Rank() > syntax.SeverityInfo.Rank() {
		t.severe++
	}
}

func (t *targetScan) block(e program.EntryIndex) *program.Block {
	return &t.run.programs[e.Program].Blocks[e.Block]
}

// panicked is the end of a cell whose template made the engine panic.
func panicked(cause any) coverage.End {
	return coverage.End{State: Failed, Reason: fmt.Sprintf("the template cannot be run: %v", cause)}
}
