package engine

import (
	"cmp"
	"context"
	"errors"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/vedette-sec/vedette/internal/engine/fuzz"
	"github.com/vedette-sec/vedette/internal/engine/program"
	"github.com/vedette-sec/vedette/internal/engine/proto/web"
	"github.com/vedette-sec/vedette/internal/engine/workflow"
	"github.com/vedette-sec/vedette/internal/infra/errs"
)

// Scan is what to test with what.
type Scan struct {
	Targets  []string // as ParseTarget reads them; of equal ones the first counts
	Programs []*program.Program

	// Workflows run on every target, too, each as one more template: what its steps find is
	// told under their own ids, and its cell says how the worst of them ended.
	Workflows []*workflow.Workflow

	Vars  map[string]string   // variables for all templates; they win over a template's own
	Lists map[string][]string // variables with several values: payloads of the requests that name them

	SelfContained    bool // run templates that name their own hosts, too: once, not once a target
	GlobalMatchers   bool // judge every answer by the templates that want to see all of them
	StopAtFirstMatch bool // of each template, on each target
	MaxRequests      int  // the scan ends after so many; 0 means no limit
	Parallel         int  // targets at a time; default: as many as requests may be in flight

	// Done is what an earlier run of the same scan has finished; see ReadCheckpoint.
	Done *Ledger
	// Checkpoint takes what ReadCheckpoint reads, a batch of lines a Write, while the
	// scan runs; nil for none.
	Checkpoint io.Writer

	OnEvent    func(Event)    // called for each finding, one call at a time; may be nil
	OnProgress func(Progress) // called now and then, one call at a time, and at the end; may be nil
}

// run is one scan at work.
type run struct {
	engine    *Engine
	scan      Scan
	programs  []*program.Bound
	keys      []string       // what checkpoints call the programs; none where there is no checkpoint
	plans     map[bool]*plan // by "the target has no path"
	specific  bool           // some program is path specific
	budget    budget
	frequency fuzz.Frequency
	workflows map[int]*boundWorkflow // by the place of their stand-ins among programs
	globals   []globalAsk
	report    *Report
	saved     *checkpoint // nil without

	telling sync.Mutex     // one call of OnEvent at a time
	told    map[string]int // events so far, by fingerprint
	counts  counts
	times   []timing // by program

	mu    sync.Mutex // guards what follows
	hosts map[string]*host
}

// counts are the figures of Progress while they change.
type counts struct{ targetsDone, done, requests, matched, errors atomic.Int64 }

// Run tests every target with every program and gives the report, in which every cell
// has a state: what could not be tested is there with the reason. When ctx ends it
// stops at once, marks the rest Skipped (Interrupted) and gives the report with a nil
// error. The error is an *errs.Error when there is nothing to do; an error of
// Scan.Checkpoint comes with the report.
func (e *Engine) Run(ctx context.Context, scan Scan) (*Report, error) {
	r, err := e.newRun(scan)
	if err != nil {
		return nil, err
	}
	visits := r.visits()
	stop := r.watch()
	r.each(visits, func(v *visit) { v.do(ctx) })
	stop()
	r.giveBack()
	r.report.Ended = time.Now().UTC()
	r.report.Requests, r.report.Events = int(r.counts.requests.Load()), int(r.counts.matched.Load())
	r.report.Timings = timings(r.report.Templates, r.times)
	return r.report, r.saved.close()
}

func (e *Engine) newRun(scan Scan) (*run, error) {
	vars := program.Vars{Texts: scan.Vars, Lists: scan.Lists, StopAtFirstMatch: scan.StopAtFirstMatch}
	r := &run{
		engine: e, scan: scan, budget: budget{most: int64(scan.MaxRequests)}, plans: map[bool]*plan{}, hosts: map[string]*host{}, told: map[string]int{},
		report: &Report{Started: time.Now().UTC()}, times: make([]timing, len(scan.Programs)+len(scan.Workflows)),
	}
	alone := false
	for i, p := range scan.Programs {
		b := p.Bind(vars)
		r.programs = append(r.programs, b)
		r.key(p, vars)
		r.report.Templates = append(r.report.Templates, p.ID)
		r.specific = r.specific || p.PathSpecific()
		alone = alone || p.SelfContained && scan.SelfContained
		r.addGlobals(i, b)
	}
	r.addWorkflows(vars)
	switch {
	case len(r.programs) == 0:
		return nil, errs.Field("templates", "there is no template to test with.")
	case len(scan.Targets) == 0 && !alone:
		return nil, errs.Field("targets", "there is no target to test.")
	}
	if scan.Checkpoint != nil {
		r.saved = newCheckpoint(scan.Checkpoint, r.keys)
	}
	return r, nil
}

// key gives the next program its key, when there is a checkpoint to write or to go on from.
func (r *run) key(p *program.Program, vars program.Vars) {
	if r.scan.Checkpoint != nil || r.scan.Done != nil {
		r.keys = append(r.keys, keyOf(p, vars))
	}
}

// visits makes one visit for each distinct target, and one for what is tested without a
// target.
func (r *run) visits() []*visit {
	seen := map[string]bool{}
	var all []*visit
	if r.scan.SelfContained && r.anyAlone() {
		all = append(all, r.newVisit(Target{}, nil))
	}
	for _, input := range r.scan.Targets {
		target, err := ParseTarget(input)
		if err != nil {
			target.Input = input
		}
		if seen[target.Input] {
			continue
		}
		seen[target.Input] = true
		all = append(all, r.newVisit(target, err))
	}
	return all
}

func (r *run) anyAlone() bool {
	for _, b := range r.programs {
		if b.SelfContained {
			return true
		}
	}
	return false
}

// planFor is the plan of all targets that are alike.
func (r *run) planFor(t Target) *plan {
	root := t.address.Path == "" || t.address.Path == "/"
	if r.plans[root] == nil {
		r.plans[root] = newPlan(r.programs, func(i int) bool { return !r.isGlobal(i) }, root)
	}
	return r.plans[root]
}

// each visits targets, several at a time.
func (r *run) each(visits []*visit, do func(*visit)) {
	next := make(chan *visit)
	var workers sync.WaitGroup
	for range min(len(visits), cmp.Or(r.scan.Parallel, cap(r.engine.slots))) {
		workers.Go(func() {
			for v := range next {
				do(v)
				r.counts.targetsDone.Add(1)
			}
		})
	}
	for _, v := range visits {
		next <- v
	}
	close(next)
	workers.Wait()
}

// hostOf is the shared state of a host and port.
func (r *run) hostOf(hostPort string) *host {
	r.mu.Lock()
	defer r.mu.Unlock()
	h := r.hosts[hostPort]
	if h == nil {
		h = r.engine.lend(hostPort)
		r.hosts[hostPort] = h
	}
	return h
}

func (r *run) giveBack() {
	for hostPort := range r.hosts {
		r.engine.giveBack(hostPort)
	}
}

// send sends one request within all limits.
func (r *run) send(ctx context.Context, req web.Request) (*web.Exchange, error) {
	x, err := r.engine.send(ctx, r.hostOf(req.Address.HostPort()), req, r.sent)
	if err != nil && ctx.Err() == nil && !errors.Is(err, errBudget) {
		r.counts.errors.Add(1)
	}
	return x, err
}

// sent is the gate of a scan: its budget, the engine's rate, and a count.
func (r *run) sent(ctx context.Context) error {
	if err := r.engine.gate(ctx); err != nil {
		return err
	}
	if err := r.budget.spend(ctx); err != nil {
		return err
	}
	r.counts.requests.Add(1)
	return nil
}

// emit hands findings on, one at a time, but for those that an earlier run handed on.
func (r *run) emit(events []Event) {
	if len(events) == 0 {
		return
	}
	r.telling.Lock()
	defer r.telling.Unlock()
	for i := range events {
		says := events[i].fingerprint()
		if r.told[says]++; r.told[says] <= r.scan.Done.told(says) {
			continue
		}
		r.counts.matched.Add(1)
		if r.scan.OnEvent != nil {
			r.scan.OnEvent(events[i])
		}
		r.saved.event(says, string(events[i].Info.Severity))
	}
}
