package engine

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/vedette-sec/vedette/internal/engine/board"
	"github.com/vedette-sec/vedette/internal/engine/coverage"
	"github.com/vedette-sec/vedette/internal/engine/event"
	"github.com/vedette-sec/vedette/internal/engine/fuzz"
	"github.com/vedette-sec/vedette/internal/engine/program"
	"github.com/vedette-sec/vedette/internal/engine/proto/web"
	"github.com/vedette-sec/vedette/internal/engine/sender"
	"github.com/vedette-sec/vedette/internal/engine/targets"
	"github.com/vedette-sec/vedette/internal/engine/workflow"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/recorded"
)

// Scan is what to test with what.
type Scan struct {
	Targets  []string // as targets.Parse reads them; duplicates count once
	Programs []*program.Program

	// Workflows run on every target, each as one more template. The findings of their steps have the ids of the
	// steps; the cell has the worst state of them.
	Workflows []*workflow.Workflow
	// Requests are recorded ones, by the target that stands for each; fuzzing rules change them.
	Requests map[string]*recorded.Request
	Vars     map[string]string   // replace a template's own variables
	Lists    map[string][]string // payloads of the requests that name them

	SelfContained    bool // also run templates that name their own hosts, once
	GlobalMatchers   bool // evaluate every response for templates with global matchers
	StopAtFirstMatch bool // of each template, on each target
	MaxRequests      int  // the scan ends after so many; 0 means no limit
	FuzzFrequency    int  // a parameter is fuzzed so often without a match, then skipped; 0 means fuzz.DefaultFrequency
	Parallel         int  // targets at a time; default: as many as requests may be in flight

	// Done is what an earlier run of the same scan has finished; see coverage.ReadCheckpoint.
	Done *coverage.Checkpoint
	// Checkpoint receives what coverage.ReadCheckpoint reads while the scan runs, a batch of lines per Write; nil for
	// none.
	Checkpoint io.Writer
	// Board shows which template is worked for; nil for none.
	Board *board.Board

	// Expect is given each request with out-of-band names whose operators read interactions; nil when nobody can tell of
	// them. Settle ends when no interaction is waited for any more; nil: none is.
	Expect func(*Pending)
	Settle func(ctx context.Context)

	OnEvent    func(Event)        // one call at a time; may be nil
	OnProgress func(Progress)     // one call at a time, also at the end; may be nil
	OnLog      func(event.Logged) // one call at a time, and none during OnEvent; may be nil

	// OnTarget receives each target's report when the target ends, and none is kept in the Report: the memory of a scan
	// does not grow with its targets. One call at a time, and none during OnEvent; may be nil.
	OnTarget func(*TargetReport)
}

// run is the state of a running scan.
type run struct {
	engine     *Engine
	scan       Scan
	programs   []*program.Bound
	keys       []string               // of the programs in checkpoints; none without one
	plans      map[bool]*program.Plan // by "the target has no path"
	canaries   bool                   // a program depends on how missing paths are answered
	budget     sender.Budget
	frequency  fuzz.Frequency
	workflows  map[int]*boundWorkflow // by the index of their placeholders in programs
	globals    []globalBlock
	total      int // expected requests
	report     *Report
	checkpoint *coverage.Writer // nil without

	emitting sync.Mutex     // one call of OnEvent and OnTarget at a time; guards the report, too
	emitted  map[string]int // events so far, by fingerprint; only of a scan that is resumed
	counts   counts
	costs    []coverage.Cost // by program

	mu    sync.Mutex // guards hosts
	hosts map[string]*sender.Host
}

// counts are the figures of Progress while they change.
type counts struct{ targetsDone, done, requests, matched, errors atomic.Int64 }

// Run tests every target with every program and gives every cell a state. When ctx ends, Run stops at once, marks the
// rest Skipped (Interrupted) and returns the report without an error. The error is an *errs.Error when there is
// nothing to do; an error of Scan.Checkpoint comes with the report.
func (e *Engine) Run(ctx context.Context, scan Scan) (*Report, error) {
	r, err := e.newRun(scan)
	if err != nil {
		return nil, err
	}
	distinct := r.distinctTargets()
	stop := r.reportProgress()
	r.each(distinct, func(t *targetScan) { t.testTarget(ctx) })
	if scan.Settle != nil {
		scan.Settle(ctx)
	}
	stop()
	for hostPort := range r.hosts {
		e.sender.Release(hostPort)
	}
	r.report.Ended = time.Now().UTC()
	r.report.Requests, r.report.Events = int(r.counts.requests.Load()), int(r.counts.matched.Load())
	r.report.Timings = coverage.Timings(r.report.Templates, r.costs)
	return r.report, r.checkpoint.Close()
}

func (e *Engine) newRun(scan Scan) (*run, error) {
	vars := program.Vars{Texts: scan.Vars, Lists: scan.Lists, StopAtFirstMatch: scan.StopAtFirstMatch}
	r := &run{
		engine: e, scan: scan, budget: sender.Budget{Limit: int64(scan.MaxRequests)}, plans: map[bool]*program.Plan{},
		hosts: map[string]*sender.Host{}, emitted: map[string]int{}, workflows: map[int]*boundWorkflow{},
		report:    &Report{Started: time.Now().UTC(), counts: map[State]int{}},
		frequency: fuzz.Frequency{Limit: scan.FuzzFrequency},
		costs:     make([]coverage.Cost, len(scan.Programs)+len(scan.Workflows)),
	}
	selfContained := false
	for i, p := range scan.Programs {
		b := p.Bind(vars)
		r.add(b, vars)
		r.canaries = r.canaries || p.PathSpecific()
		selfContained = selfContained || p.SelfContained && scan.SelfContained
		r.addGlobals(i, b)
	}
	for _, w := range scan.Workflows {
		r.addWorkflow(w, vars)
	}
	switch {
	case len(r.programs) == 0:
		return nil, errs.Field("templates", "there is no template to test with.")
	case len(scan.Targets) == 0 && !selfContained:
		return nil, errs.Field("targets", "there is no target to test.")
	}
	if scan.Checkpoint != nil {
		r.checkpoint = coverage.NewWriter(scan.Checkpoint, r.keys)
	}
	return r, nil
}

// add adds a program, with its key when there is a checkpoint to write or to resume from.
func (r *run) add(b *program.Bound, vars program.Vars) {
	r.programs = append(r.programs, b)
	r.report.Templates = append(r.report.Templates, b.ID)
	if r.scan.Checkpoint != nil || r.scan.Done != nil {
		r.keys = append(r.keys, keyOf(b.Program, vars))
	}
}

// keyOf identifies a template for later runs: by id, content and variables of the scan.
func keyOf(p *program.Program, vars program.Vars) string {
	h := sha256.New()
	fmt.Fprint(h, p.Digest)
	for _, name := range slices.Sorted(maps.Keys(vars.Texts)) {
		fmt.Fprintf(h, "\x00%q=%q", name, vars.Texts[name])
	}
	for _, name := range slices.Sorted(maps.Keys(vars.Lists)) {
		fmt.Fprintf(h, "\x00%q=%q", name, vars.Lists[name])
	}
	return p.ID + " " + hex.EncodeToString(h.Sum(nil)[:8])
}

// distinctTargets are the targets of the scan without duplicates, and nil for the run of self-contained programs,
// which comes first. It counts the requests that are expected.
func (r *run) distinctTargets() (distinct []*string) {
	if r.scan.SelfContained && slices.ContainsFunc(r.programs, func(b *program.Bound) bool { return b.SelfContained }) {
		distinct = append(distinct, nil)
		r.total += program.SelfContainedPlan(r.programs, r.makesRequests).Total
	}
	seen := map[string]bool{}
	for i := range r.scan.Targets {
		target, err := r.engine.readTarget(r.scan.Targets[i])
		if err != nil {
			target.Input = r.scan.Targets[i]
		}
		if seen[target.Input] {
			continue
		}
		seen[target.Input] = true
		distinct = append(distinct, &r.scan.Targets[i])
		if err == nil {
			r.total += r.planFor(target).Total
		}
	}
	r.report.TargetCount = len(distinct)
	if r.scan.OnTarget == nil {
		r.report.Targets = make([]*TargetReport, len(distinct))
	}
	return distinct
}

// readTarget reads a target, which may be a path where files may be read.
func (e *Engine) readTarget(input string) (targets.Target, error) {
	if e.cfg.Files && targets.IsPath(input) {
		return targets.Target{Input: input, Path: true}, nil
	}
	return targets.Parse(input)
}

// planFor is the plan that all targets of the same kind share. After distinctTargets, it only reads.
func (r *run) planFor(t targets.Target) *program.Plan {
	root := t.Address.Path == "" || t.Address.Path == "/"
	if r.plans[root] == nil {
		r.plans[root] = program.NewPlan(r.programs, r.makesRequests, root)
	}
	return r.plans[root]
}

// each tests the targets, several at a time. What a target needs is made when its turn comes, and freed at its end.
func (r *run) each(distinct []*string, test func(*targetScan)) {
	next := make(chan int)
	var workers sync.WaitGroup
	for range min(len(distinct), cmp.Or(r.scan.Parallel, r.engine.cfg.Concurrency)) {
		workers.Go(func() {
			for i := range next {
				t := r.newTargetScan(distinct[i])
				test(t)
				r.targetEnded(i, t.report)
			}
		})
	}
	for i := range distinct {
		next <- i
	}
	close(next)
	workers.Wait()
}

// targetEnded counts the cells of a target and hands its report on.
func (r *run) targetEnded(i int, report *TargetReport) {
	r.emitting.Lock()
	defer r.emitting.Unlock()
	for state, n := range report.Counts() {
		r.report.counts[state] += n
	}
	if r.scan.OnTarget != nil {
		r.scan.OnTarget(report)
	} else {
		r.report.Targets[i] = report
	}
	r.counts.targetsDone.Add(1)
}

// hostOf is the shared state of a host and port.
func (r *run) hostOf(hostPort string) *sender.Host {
	r.mu.Lock()
	defer r.mu.Unlock()
	h := r.hosts[hostPort]
	if h == nil {
		h = r.engine.sender.Acquire(hostPort)
		r.hosts[hostPort] = h
	}
	return h
}

// send sends one request within all limits.
func (r *run) send(ctx context.Context, req web.Request) (*web.Exchange, error) {
	x, err := r.engine.sender.Send(ctx, r.hostOf(req.Address.HostPort()), req, r.beforeSend)
	r.countError(ctx, err)
	return x, err
}

// probe is send for the first requests to a target.
func (r *run) probe(ctx context.Context, req web.Request) (*web.Exchange, error) {
	x, err := r.engine.sender.Probe(ctx, r.hostOf(req.Address.HostPort()), req, r.beforeSend)
	r.countError(ctx, err)
	return x, err
}

func (r *run) countError(ctx context.Context, err error) {
	if err != nil && ctx.Err() == nil && !errors.Is(err, sender.ErrBudget) {
		r.counts.errors.Add(1)
	}
}

// begin waits until a probe may send one request.
func (r *run) begin(ctx context.Context, hostPort string) (end func(), err error) {
	return r.engine.sender.Begin(ctx, r.hostOf(hostPort), r.beforeSend)
}

// beforeSend applies the engine's rate and the scan's budget to a request, and counts it.
func (r *run) beforeSend(ctx context.Context) error {
	if err := r.engine.sender.Wait(ctx); err != nil {
		return err
	}
	if err := r.budget.Spend(ctx); err != nil {
		return err
	}
	r.counts.requests.Add(1)
	return nil
}

// emit reports findings, one at a time, except those that an earlier run has reported.
func (r *run) emit(events []Event) {
	if len(events) == 0 {
		return
	}
	r.emitting.Lock()
	defer r.emitting.Unlock()
	for i := range events {
		if r.reported(&events[i]) {
			continue
		}
		r.counts.matched.Add(1)
		if r.scan.OnEvent != nil {
			r.scan.OnEvent(events[i])
		}
		if r.checkpoint != nil {
			r.checkpoint.Event(events[i].Fingerprint(), string(events[i].Info.Severity))
		}
	}
}

// reported reports whether the run that this one resumes has reported an event. The caller holds emitting.
func (r *run) reported(e *Event) bool {
	if r.scan.Done == nil {
		return false
	}
	key := e.Fingerprint()
	r.emitted[key]++
	return r.emitted[key] <= r.scan.Done.Reported(key)
}
