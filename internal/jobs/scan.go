package jobs

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"sync"
	"time"

	"github.com/vedette-sec/vedette/internal/core/finding"
	"github.com/vedette-sec/vedette/internal/core/scan"
	"github.com/vedette-sec/vedette/internal/engine"
	"github.com/vedette-sec/vedette/internal/engine/program"
	"github.com/vedette-sec/vedette/internal/engine/templates"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/netguard"
	"github.com/vedette-sec/vedette/internal/infra/queue"
)

// handleScans tells the queue who plans scans, works on their chunks and looks at their
// findings again.
func (w worker) handleScans(q *queue.Queue) {
	queue.Handle(q, queue.Handler[scan.BeginArgs]{
		Quick: true,
		Work:  func(ctx context.Context, job queue.Job[scan.BeginArgs]) error { return w.Scans.Begin(ctx, job.Args) },
		GiveUp: func(ctx context.Context, tx *db.Tx, job queue.Job[scan.BeginArgs], cause error) error {
			w.Logger.ErrorContext(ctx, "giving up planning a scan", "scan_id", job.Args.ScanID, "error", cause)
			return w.Scans.GiveUpBegin(ctx, tx, job)
		},
	})
	queue.Handle(q, queue.Handler[scan.ChunkArgs]{
		Work: w.runChunk,
		GiveUp: func(ctx context.Context, tx *db.Tx, job queue.Job[scan.ChunkArgs], cause error) error {
			w.Logger.ErrorContext(ctx, "giving up a part of a scan", "scan_id", job.Args.ScanID, "part", job.Args.N, "error", cause)
			return w.Scans.GiveUpChunk(ctx, tx, job.Args)
		},
	})
	queue.Handle(q, queue.Handler[finding.RetestArgs]{Work: w.retest, GiveUp: w.giveUpRetest})
}

// runChunk tests the targets of a chunk with its templates. What was seen is stored at
// once; the ledger and the end are one transaction.
func (w worker) runChunk(ctx context.Context, job queue.Job[scan.ChunkArgs]) error {
	kept := context.WithoutCancel(ctx)
	chunk, err := w.Scans.StartChunk(kept, job.Args)
	if err == nil {
		err = w.test(ctx, kept, chunk)
	}
	if errors.Is(err, scan.ErrLate) {
		return nil // the scan has ended, or another worker has the chunk
	}
	return err
}

func (w worker) test(ctx, kept context.Context, chunk *scan.Chunk) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	ledger := scan.NewLedger(chunk.Targets, chunk.Templates)
	programs, at, err := w.programsOf(ctx, chunk, ledger)
	if err != nil {
		return err
	}
	if len(programs) == 0 {
		return chunk.Finish(kept, ledger, 0)
	}
	o, err := w.Scans.Options(ctx, chunk.TeamID, chunk.Config)
	if err != nil {
		return queue.Abandon(err)
	}
	release, err := w.turns.take(ctx, chunk.ScanID, o)
	if err != nil {
		return err
	}
	defer release()
	run, err := w.engineFor(chunk.Targets, o.Config())
	if err != nil {
		return queue.Abandon(err)
	}
	defer run.Close()
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	out := newOutlet(func(seen []finding.Sighting) error { return chunk.Found(kept, seen) }, stop)
	told := time.Now()
	matched := map[[3]string]bool{} // target, template's id and path
	report, err := run.Run(ctx, engine.Scan{
		Targets: chunk.Targets, Programs: programs, Vars: o.Scan.Vars, Parallel: o.Scan.Parallel, StopAtFirstMatch: o.Scan.StopAtFirstMatch,
		OnEvent: func(e engine.Event) {
			target := targetOf(chunk.Targets, e)
			matched[[3]string{target, e.TemplateID, e.TemplatePath}] = true
			out.put(finding.Sighting{Event: e, Target: target})
		},
		OnProgress: func(p engine.Progress) {
			if p.Final || time.Since(told) < progressEvery {
				return
			}
			told = time.Now()
			if err := chunk.Progress(ctx, p.Done, p.Total); err != nil {
				stop(err)
			}
		},
	})
	out.close() // before the chunk ends, all it saw is stored
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	if err != nil {
		return err
	}
	note(ledger, chunk, report, programs, at, matched)
	return chunk.Finish(kept, ledger, report.Requests)
}

// note takes the states of a report into a chunk's ledger.
func note(ledger *scan.Ledger, chunk *scan.Chunk, report *engine.Report, programs []*program.Program, at []int, matched map[[3]string]bool) {
	byTarget := map[string]*engine.TargetReport{}
	for _, t := range report.Targets {
		byTarget[t.Target] = t
	}
	for i, target := range chunk.Targets {
		t := byTarget[target]
		for n, j := range at {
			state, reason := engine.Failed, "the target was not visited"
			if t != nil {
				state, reason = t.Cell(n)
			}
			ledger.Set(i, j, state, reason)
			if p := programs[n]; matched[[3]string{target, p.ID, p.Path}] {
				ledger.Match(i, j)
			}
		}
	}
}

// programsOf are the programs of a chunk's templates, and for each its place among them.
// A template that is gone is failed in the ledger; one that this build cannot run is
// skipped.
func (w worker) programsOf(ctx context.Context, chunk *scan.Chunk, ledger *scan.Ledger) (programs []*program.Program, at []int, err error) {
	inline := map[string]*program.Program{}
	for _, in := range chunk.Inline {
		if _, p, err := templates.Compile(in.Name, []byte(in.Contents), nil); err == nil {
			inline[p.ID] = p
		}
	}
	known, err := w.Catalog.Programs(ctx, chunk.TeamID, chunk.Templates)
	if err != nil {
		return nil, nil, err
	}
	for j, id := range chunk.Templates {
		p := inline[id]
		if p == nil {
			p = known[id].Program
		}
		if p == nil {
			state, why := engine.Failed, "the template is not in the catalogue any more"
			if err := known[id].Err; err != nil {
				state, why = engine.Skipped, errs.From(err).Message
			}
			for i := range chunk.Targets {
				ledger.Set(i, j, state, why)
			}
			continue
		}
		programs, at = append(programs, p), append(at, j)
	}
	return programs, at, nil
}

// engineFor makes an engine that reaches these targets and nothing else.
func (w worker) engineFor(targets []string, c engine.Config) (*engine.Engine, error) {
	reach := make([]netguard.Target, 0, len(targets))
	for _, text := range targets {
		t, err := netguard.ParseTarget(text)
		if err != nil {
			return nil, err
		}
		reach = append(reach, t)
	}
	scope, err := netguard.NewScope(reach, netguard.Limits{Deny: w.Deny})
	if err != nil {
		return nil, err
	}
	c.Dial, c.Allow = scope.Dial, func(u *url.URL) bool { return scope.AllowsURL(u) }
	return engine.New(c), nil
}

// targetOf is the target, as it was named, that an event is about.
func targetOf(targets []string, e engine.Event) string {
	best := ""
	for _, text := range targets {
		t, err := engine.ParseTarget(text)
		if err != nil {
			continue
		}
		u, err := url.Parse(t.URL())
		if err != nil || u.Hostname() != e.Host || u.Port() != "" && u.Port() != e.Port {
			continue
		}
		if best == "" || u.Path == e.Path {
			best = text
		}
	}
	return best
}

// outlet stores what comes while more comes: all that waits goes into one transaction.
type outlet struct {
	store func([]finding.Sighting) error
	fail  context.CancelCauseFunc

	mu      sync.Mutex
	waiting []finding.Sighting
	more    chan struct{} // there may be something waiting; closed at the end
	done    sync.WaitGroup
}

func newOutlet(store func([]finding.Sighting) error, fail context.CancelCauseFunc) *outlet {
	o := &outlet{store: store, fail: fail, more: make(chan struct{}, 1)}
	o.done.Go(func() {
		for range o.more {
			o.flush()
		}
		o.flush()
	})
	return o
}

func (o *outlet) put(s finding.Sighting) {
	o.mu.Lock()
	o.waiting = append(o.waiting, s)
	o.mu.Unlock()
	select {
	case o.more <- struct{}{}:
	default: // it is known already
	}
}

func (o *outlet) flush() {
	o.mu.Lock()
	seen := o.waiting
	o.waiting = nil
	o.mu.Unlock()
	if len(seen) == 0 {
		return
	}
	if err := o.store(seen); err != nil {
		o.fail(fmt.Errorf("storing a finding: %w", err))
	}
}

// close returns when everything is stored, or has failed.
func (o *outlet) close() {
	close(o.more)
	o.done.Wait()
}

// retest looks at one finding again: its template, its target, nothing else.
func (w worker) retest(ctx context.Context, job queue.Job[finding.RetestArgs]) error {
	f, err := w.Findings.ForRetest(ctx, job.Args)
	if errs.Is(err, errs.NotFound) {
		return nil // it was deleted meanwhile
	}
	if err != nil {
		return err
	}
	result, err := w.look(ctx, job.Args.TeamID, f)
	if err != nil {
		return err
	}
	return w.Findings.EndRetest(context.WithoutCancel(ctx), nil, job.Args, result)
}

// look runs the template of a finding on its target.
func (w worker) look(ctx context.Context, teamID string, f finding.Finding) (finding.RetestResult, error) {
	cannot := func(why string) (finding.RetestResult, error) {
		return finding.RetestResult{State: finding.RetestFailed, Note: why}, nil
	}
	known, err := w.Catalog.Programs(ctx, teamID, []string{f.TemplateID})
	if err != nil {
		return finding.RetestResult{}, err
	}
	p := known[f.TemplateID].Program
	if p == nil {
		return cannot("The template is not in the catalogue, or cannot be run.")
	}
	target := f.Target
	if _, err := engine.ParseTarget(target); err != nil {
		return cannot("The finding does not say where to look.")
	}
	if excluded, err := w.Scans.Excludes(ctx, teamID, f.ScanID, target, f.TemplateID); err != nil || excluded {
		if err != nil {
			return finding.RetestResult{}, err
		}
		return cannot("The target or the template is excluded.")
	}
	config, err := w.Scans.ConfigOf(ctx, f.ScanID)
	if err != nil {
		return finding.RetestResult{}, err
	}
	o, err := w.Scans.Options(ctx, teamID, config)
	if err != nil {
		return cannot(errs.From(err).Message)
	}
	run, err := w.engineFor([]string{target}, o.Config())
	if err != nil {
		return cannot(errs.From(err).Message)
	}
	defer run.Close()
	found := false
	report, err := run.Run(ctx, engine.Scan{Targets: []string{target}, Programs: []*program.Program{p}, Vars: o.Scan.Vars, OnEvent: func(e engine.Event) {
		found = found || finding.Fingerprint(e, "") == f.Hash
	}})
	if err == nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		return finding.RetestResult{}, err
	}
	if found {
		return finding.RetestResult{State: finding.Matched}, nil
	}
	if state, reason := report.Targets[0].Cell(0); state != engine.Tested {
		return cannot(fmt.Sprintf("It could not be tested (%s): %s.", state, reason))
	}
	return finding.RetestResult{State: finding.NotMatched}, nil
}

func (w worker) giveUpRetest(ctx context.Context, tx *db.Tx, job queue.Job[finding.RetestArgs], cause error) error {
	w.Logger.ErrorContext(ctx, "giving up a retest", "vuln_id", job.Args.FindingID, "error", cause)
	return w.Findings.EndRetest(ctx, tx, job.Args, finding.RetestResult{State: finding.RetestFailed, Note: "The retest could not be run. The server's log says why."})
}
