package engine

import (
	"context"
	"sync"
	"time"

	"github.com/vedette-sec/vedette/internal/engine/program"
	"github.com/vedette-sec/vedette/internal/errs"
)

// Scan is what to test with what.
type Scan struct {
	Targets  []string // as ParseTarget reads them; of equal ones the first counts
	Programs []*program.Program
	Vars     map[string]string // variables for all templates; they win over a template's own

	OnEvent    func(Event)    // called for each finding, one call at a time; may be nil
	OnProgress func(Progress) // called now and then, one call at a time, and at the end; may be nil
}

// run is one scan at work.
type run struct {
	engine   *Engine
	scan     Scan
	programs []*program.Bound
	plans    map[bool]*plan // by "the target has no path"
	specific bool           // some program is path specific
	report   *Report
	slots    chan struct{} // requests in flight

	telling sync.Mutex // one call of OnEvent at a time

	mu       sync.Mutex // guards what follows
	hosts    map[string]*host
	progress Progress
}

// Run tests every target with every program and gives the report, in which every cell
// has a state: what could not be tested is there with the reason. When ctx ends it
// stops at once, marks the rest Skipped (Interrupted) and gives the report with a nil
// error. The error is an *errs.Error when there is nothing to do.
func (e *Engine) Run(ctx context.Context, scan Scan) (*Report, error) {
	switch {
	case len(scan.Targets) == 0:
		return nil, errs.Field("targets", "there is no target to test.")
	case len(scan.Programs) == 0:
		return nil, errs.Field("templates", "there is no template to test with.")
	}
	r := &run{
		engine: e, scan: scan, plans: map[bool]*plan{}, hosts: map[string]*host{},
		slots:  make(chan struct{}, e.cfg.Concurrency),
		report: &Report{Started: time.Now().UTC()},
	}
	for _, p := range scan.Programs {
		r.programs = append(r.programs, p.Bind(scan.Vars))
		r.report.Templates = append(r.report.Templates, p.ID)
		r.specific = r.specific || p.PathSpecific()
	}
	visits := r.visits()
	stop := r.watch()
	r.each(visits, func(v *visit) { v.do(ctx) })
	stop()
	r.report.Ended = time.Now().UTC()
	r.report.Requests, r.report.Events = r.progress.Requests, r.progress.Matched
	return r.report, nil
}

// visits makes one visit for each distinct target.
func (r *run) visits() []*visit {
	seen := map[string]bool{}
	var all []*visit
	for _, input := range r.scan.Targets {
		target, err := ParseTarget(input)
		name := target.Input
		if err != nil {
			name = input
		}
		if seen[name] {
			continue
		}
		seen[name] = true
		report := &TargetReport{Target: name, states: make([]uint8, len(r.programs)), reasons: map[int]string{}}
		r.report.Targets = append(r.report.Targets, report)
		v := &visit{run: r, target: target, report: report, wrong: err}
		if err == nil {
			v.plan = r.planFor(target)
			r.progress.Total += len(v.plan.probes)
		}
		all = append(all, v)
	}
	r.progress.Targets = len(all)
	return all
}

func (r *run) planFor(t Target) *plan {
	root := t.address.Path == "" || t.address.Path == "/"
	if r.plans[root] == nil {
		r.plans[root] = newPlan(r.programs, root)
	}
	return r.plans[root]
}

// each visits targets, as many at a time as requests may be in flight.
func (r *run) each(visits []*visit, do func(*visit)) {
	next := make(chan *visit)
	var workers sync.WaitGroup
	for range min(len(visits), cap(r.slots)) {
		workers.Go(func() {
			for v := range next {
				do(v)
				r.count(func(p *Progress) { p.TargetsDone++ })
			}
		})
	}
	for _, v := range visits {
		next <- v
	}
	close(next)
	workers.Wait()
}

// watch tells of the progress until stop is called, and once more then.
func (r *run) watch() (stop func()) {
	tell := func(final bool) {
		r.mu.Lock()
		p := r.progress
		r.mu.Unlock()
		p.Elapsed, p.Final = time.Since(r.report.Started), final
		r.scan.OnProgress(p)
	}
	if r.scan.OnProgress == nil {
		return func() {}
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

func (r *run) count(change func(*Progress)) {
	r.mu.Lock()
	change(&r.progress)
	r.mu.Unlock()
}

// emit hands findings on, one at a time.
func (r *run) emit(events []Event) {
	if len(events) == 0 {
		return
	}
	r.count(func(p *Progress) { p.Matched += len(events) })
	if r.scan.OnEvent == nil {
		return
	}
	r.telling.Lock()
	defer r.telling.Unlock()
	for _, ev := range events {
		r.scan.OnEvent(ev)
	}
}
