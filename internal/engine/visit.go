package engine

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/vedette-sec/vedette/internal/engine/program"
)

// visit is the testing of one target in one scan.
type visit struct {
	seat
	run    *run
	wrong  error // the target could not be read
	plan   *plan
	report *TargetReport
	work   work
	last   bool // what has no answer now has none

	mu      sync.Mutex // guards what follows, and report
	queued  []bool     // by probe
	left    []int      // unanswered asks, by program; -1 for one that is not run
	stops   map[[2]int]*stopping
	lost    []func(ctx context.Context) // what had no answer, and what to do about it
	matched map[int]bool                // programs
	heavy   int                         // of them, those that are more than information
	global  map[globalHit]bool
}

// stopping is how far a block that stops at its first match has come.
type stopping struct {
	next   int            // the entry to judge next; all before it did not match
	over   bool           // matched: what comes later counts no more
	answer map[int]answer // of entries that were answered before their turn
}

// answer is what came of one ask.
type answer struct {
	matched bool
	events  []Event
	state   uint8
	reason  string
}

func (r *run) newVisit(target Target, wrong error) *visit {
	report := &TargetReport{Target: target.Input}
	r.report.Targets = append(r.report.Targets, report)
	v := &visit{run: r, report: report, wrong: wrong}
	v.seat = seat{engine: r.engine, target: target, send: r.send, gate: r.sent, hands: r.engine.hands(), budget: &r.budget, frequency: &r.frequency}
	switch {
	case wrong != nil:
	case v.targetless():
		v.plan = r.alonePlan()
	default:
		v.plan = r.planFor(target)
	}
	if v.plan != nil {
		report.total = v.plan.total
	}
	return v
}

// targetless says whether the visit is of no target, for self-contained programs.
func (v *visit) targetless() bool { return v.target.Input == "" && v.wrong == nil }

// runs says whether a program has anything to do with the target.
func (v *visit) runs(i int) bool {
	b := v.run.programs[i]
	return b.SelfContained == v.targetless() && !v.run.isGlobal(i)
}

// do visits the target; afterwards every cell of it has its state.
func (v *visit) do(ctx context.Context) {
	r := v.run
	v.left, v.report.cells = make([]int, len(r.programs)), newCells(len(r.programs))
	v.skipDone()
	if v.wrong == nil && ctx.Err() == nil && !v.targetless() {
		v.wrong = v.locate(ctx)
	}
	switch {
	case ctx.Err() != nil:
		v.endAll(skipped, Interrupted)
	case v.wrong != nil:
		state, reason := outcome(v.wrong)
		v.report.Reason = reason
		v.endAll(state, reason)
		if v.plan != nil {
			r.counts.errors.Add(1)
			r.counts.done.Add(int64(v.plan.total))
		}
	default:
		v.test(ctx)
	}
	v.report.Matched = len(v.matched)
	v.mark()
	v.report.cells.seal()
}

// skipDone takes over how an earlier run of the scan ended.
func (v *visit) skipDone() {
	for i, key := range v.run.keys {
		if e, ok := v.run.scan.Done.done(v.target.Input, key); ok {
			v.report.cells.settle(i, e.state, e.reason)
			v.left[i] = -1
		}
	}
}

// endAll gives all programs that are still to be run the same end.
func (v *visit) endAll(state uint8, reason string) {
	for i := range v.run.programs {
		if v.left[i] < 0 {
			continue
		}
		if v.runs(i) || v.run.isGlobal(i) && !v.targetless() {
			v.report.cells.settle(i, state, reason)
		}
		v.ended(i)
	}
}

// ended tells the checkpoint that a program's cell has its final state. The caller
// holds mu, or is alone.
func (v *visit) ended(i int) {
	if v.run.saved != nil {
		v.run.saved.cell(v.target.Input, i, v.end(i))
	}
}

// end is how a program's cell stands. The caller holds mu, or is alone.
func (v *visit) end(i int) ended { return ended{v.report.cells.draft[i], v.report.cells.why[i]} }

// locate finds out where the target answers, and remembers what it says to paths that
// are surely missing.
func (v *visit) locate(ctx context.Context) error {
	address, canary, err := v.run.engine.locate(ctx, v.target, v.run.specific, v.run.send)
	if err != nil {
		return err
	}
	v.address = address
	v.report.Alive, v.report.URL, v.report.Canary = true, address.String(), canary
	return nil
}

// test sends what the plan has, and runs the sessions. What had no answer is tried once
// more at the end, if the host was in doubt in between and came back: then nothing of
// what it missed is lost.
func (v *visit) test(ctx context.Context) {
	v.queued = make([]bool, len(v.plan.probes))
	v.stops = map[[2]int]*stopping{}
	v.matched = map[int]bool{}
	v.drain(ctx, v.prepare)
	v.last = true
	v.drain(ctx, func() {
		for _, again := range v.lost {
			v.work.add(again)
		}
	})
	for i, queued := range v.queued {
		if !queued {
			v.run.counts.done.Add(1)
			v.spare(&v.plan.probes[i])
		}
	}
	v.settleGlobals(ctx)
	for i, left := range v.left {
		if left > 0 { // only an interruption leaves asks unanswered
			v.report.cells.settle(i, skipped, Interrupted)
		}
	}
}

// drain does all the work that begin adds, and what that adds, several things at a time.
func (v *visit) drain(ctx context.Context, begin func()) {
	v.work.open = 1 // held until begin is over
	begin()
	var workers sync.WaitGroup
	for range min(v.run.engine.cfg.PerHost, len(v.plan.probes)+len(v.plan.sessions)) {
		workers.Go(func() {
			for {
				todo, ok := v.work.next()
				if !ok {
					return
				}
				todo(ctx)
				v.work.done()
			}
		})
	}
	v.work.done()
	workers.Wait()
}

// lose puts something off to the end that had no answer; it is not ok when that is no
// reason, or the end is there.
func (v *visit) lose(err error, again func(ctx context.Context)) (ok bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.last || !isMiss(err) && !errors.Is(err, errSilent) {
		return false
	}
	v.lost = append(v.lost, again)
	return true
}

// back says whether the host of the target is there again after it was in doubt.
func (v *visit) back() bool { return v.run.hostOf(v.address.HostPort()).back() }

// spare counts the requests of sessions that never began as done.
func (v *visit) spare(p *probe) {
	for _, a := range p.openers {
		v.run.counts.done.Add(int64(v.run.programs[a.program].Requests() - 1))
	}
}

// prepare queues what waits for nothing. Blocks that need TLS are over at once on plain
// http.
func (v *visit) prepare() {
	v.mu.Lock()
	defer v.mu.Unlock()
	for i, bound := range v.run.programs {
		if v.left[i] < 0 {
			continue
		}
		if !v.runs(i) {
			if !v.run.isGlobal(i) {
				v.ended(i)
			}
			continue
		}
		if bound.Wrong != "" {
			v.report.cells.settle(i, skipped, bound.Wrong)
			v.ended(i)
			continue
		}
		if !bound.Plain {
			v.left[i] = 1 // the session as a whole
			continue
		}
		for j := range bound.Blocks {
			if b := &bound.Blocks[j]; !v.idle(b) {
				v.left[i] += len(b.Entries)
				if b.Stops() {
					v.stops[[2]int{i, j}] = &stopping{answer: map[int]answer{}}
				}
			}
		}
		if v.left[i] == 0 {
			v.ended(i)
		}
	}
	for n := range v.plan.probes {
		if v.wantsNow(&v.plan.probes[n]) {
			v.queue(n)
		}
	}
	for _, i := range v.plan.sessions {
		if v.left[i] > 0 {
			v.work.add(func(ctx context.Context) { v.session(ctx, i, nil) })
		}
	}
}

// idle says whether a block has nothing to do on the target.
func (v *visit) idle(b *program.Block) bool { return b.NeedsTLS && v.address.Scheme != "https" }

// wantsNow says whether a probe is to be sent at once: someone asks for it who does not
// have to wait for another answer first. The caller holds mu.
func (v *visit) wantsNow(p *probe) bool {
	for _, a := range p.openers {
		if v.left[a.program] > 0 {
			return true
		}
	}
	for _, a := range p.asks {
		if v.left[a.program] > 0 && !v.idle(v.block(a)) && (a.entry == 0 || !v.block(a).Stops()) {
			return true
		}
	}
	return false
}

// queue wants a probe sent, once. The caller holds mu.
func (v *visit) queue(n int) {
	if !v.queued[n] {
		v.queued[n] = true
		v.work.add(func(ctx context.Context) { v.probe(ctx, n) })
	}
}

// take puts an answer in its place and gives the events that are certain now. The
// caller holds mu.
func (v *visit) take(a ask, got answer) []Event {
	if v.left[a.program] <= 0 || v.idle(v.block(a)) {
		return nil
	}
	s := v.stops[[2]int{a.program, a.block}]
	if s == nil {
		v.settle(a.program, got)
		return got.events
	}
	if s.over || a.entry < s.next {
		return nil
	}
	s.answer[a.entry] = got
	var events []Event
	entries := len(v.block(a).Entries)
	for !s.over && s.next < entries {
		one, ok := s.answer[s.next]
		if !ok {
			// Nobody else may have asked for this one yet.
			v.queue(v.plan.probeOf[ask{a.program, a.block, s.next}])
			break
		}
		delete(s.answer, s.next)
		events = append(events, one.events...)
		s.next++
		if one.matched {
			s.over = true
			v.left[a.program] -= entries - s.next
		}
		v.settle(a.program, one)
	}
	return events
}

// settle counts one answer, and notes how it ended. The caller holds mu.
func (v *visit) settle(program int, got answer) {
	v.left[program]--
	v.report.cells.settle(program, got.state, got.reason)
}

// note remembers that a program has matched.
func (v *visit) note(i, events int) {
	if v.run.times[i].events.Add(int64(events)); v.matched[i] {
		return
	}
	v.matched[i] = true
	if s := v.run.programs[i].Info.Severity; s == "low" || s == "medium" || s == "high" || s == "critical" {
		v.heavy++
	}
}

func (v *visit) block(a ask) *program.Block { return &v.run.programs[a.program].Blocks[a.block] }

// broke is the reason of a cell whose template made the engine panic.
func broke(cause any) string { return fmt.Sprintf("the template cannot be run: %v", cause) }
