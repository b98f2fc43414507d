package scan

import (
	"context"
	"fmt"
	"net/netip"
	"net/url"
	"sync"
	"time"

	"github.com/vedette-sec/vedette/internal/core/finding"
	"github.com/vedette-sec/vedette/internal/core/run"
	"github.com/vedette-sec/vedette/internal/engine"
	"github.com/vedette-sec/vedette/internal/engine/program"
	"github.com/vedette-sec/vedette/internal/engine/templates"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/queue"
)

// progressInterval bounds how often a chunk writes its progress.
const progressInterval = 250 * time.Millisecond

// RunChunk tests the targets of a chunk with its templates, except in denied networks, and stores findings at once.
// It leaves alone a chunk that has ended or that another worker has.
func (ss *Scans) RunChunk(ctx context.Context, a ChunkArgs, deny []netip.Prefix) error {
	storeCtx := context.WithoutCancel(ctx) // what was found is stored although ctx ends
	chunk, err := ss.StartChunk(storeCtx, a)
	if err == nil {
		err = chunk.test(ctx, storeCtx, deny)
	}
	return run.IgnoreLate(err)
}

func (c *Chunk) test(ctx, storeCtx context.Context, deny []netip.Prefix) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	cells := NewCells(c.Targets, c.Templates)
	programs, indices, err := c.programs(ctx, cells)
	if err != nil {
		return err
	}
	if len(programs) == 0 {
		return c.Finish(storeCtx, cells, 0)
	}
	o, err := c.scans.Options(ctx, c.TeamID, c.Config)
	if err != nil {
		return queue.Abandon(err)
	}
	if o.Engine.RateLimit > 0 { // each chunk has its own engine: two at a time would send twice as fast
		unlock, err := lock(ctx, &c.scans.limited, c.ID)
		if err != nil {
			return err
		}
		defer unlock()
	}
	e, err := o.Open(c.Targets, deny, c.scans.settings.Guard())
	if err != nil {
		return queue.Abandon(err)
	}
	defer e.Close()
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	found := collect(func(seen []finding.Sighting) {
		if err := c.Found(storeCtx, seen); err != nil {
			stop(fmt.Errorf("storing a finding: %w", err))
		}
	})
	reported := time.Now()
	matched := map[[3]string]bool{} // target, template's id and path
	report, err := e.Run(ctx, engine.Scan{
		Targets: c.Targets, Programs: programs, Vars: o.Scan.Vars, Parallel: o.Scan.Parallel,
		StopAtFirstMatch: o.Scan.StopAtFirstMatch,
		OnEvent: func(e engine.Event) {
			target := targetOf(c.Targets, e)
			matched[[3]string{target, e.TemplateID, e.TemplatePath}] = true
			found.put(finding.Sighting{Event: e, Target: target})
		},
		OnProgress: func(p engine.Progress) {
			if p.Final || time.Since(reported) < progressInterval {
				return
			}
			reported = time.Now()
			if err := c.Progress(ctx, p.Done, p.Total); err != nil {
				stop(err)
			}
		},
	})
	found.close() // before the chunk ends
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	if err != nil {
		return err
	}
	byTarget := map[string]*engine.TargetReport{}
	for _, t := range report.Targets {
		byTarget[t.Target] = t
	}
	for i, target := range c.Targets {
		for n, p := range programs {
			state, reason := engine.Failed, "the target was not visited"
			if t := byTarget[target]; t != nil {
				state, reason = t.Cell(n)
			}
			cells.Set(i, indices[n], state, reason)
			if matched[[3]string{target, p.ID, p.Path}] {
				cells.Match(i, indices[n])
			}
		}
	}
	return c.Finish(storeCtx, cells, report.Requests)
}

// programs are the programs of a chunk's templates, with the index of each template. A template that was deleted is
// failed, one that this build cannot run is skipped.
func (c *Chunk) programs(ctx context.Context, cells *Cells) (programs []*program.Program, indices []int, err error) {
	inline := map[string]*program.Program{}
	for _, in := range c.Config.Inline {
		if _, p, err := templates.Compile(in.Name, []byte(in.Contents), nil); err == nil {
			inline[p.ID] = p
		}
	}
	known, err := c.scans.catalog.Programs(ctx, c.TeamID, c.Templates)
	if err != nil {
		return nil, nil, err
	}
	for j, id := range c.Templates {
		p := inline[id]
		if p == nil {
			p = known[id].Program
		}
		if p != nil {
			programs, indices = append(programs, p), append(indices, j)
			continue
		}
		state, why := engine.Failed, "the template is not in the catalogue any more"
		if err := known[id].Err; err != nil {
			state, why = engine.Skipped, errs.From(err).Message
		}
		for i := range c.Targets {
			cells.Set(i, j, state, why)
		}
	}
	return programs, indices, nil
}

// targetOf is the target, as it was given, of an event.
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

// collector stores sightings in the background: those that arrive during one transaction go into the next together.
type collector struct {
	store   func([]finding.Sighting)
	mu      sync.Mutex
	waiting []finding.Sighting
	wake    chan struct{} // something may be waiting; closed at the end
	done    sync.WaitGroup
}

func collect(store func([]finding.Sighting)) *collector {
	c := &collector{store: store, wake: make(chan struct{}, 1)}
	c.done.Go(func() {
		for range c.wake {
			c.flush()
		}
		c.flush()
	})
	return c
}

func (c *collector) put(s finding.Sighting) {
	c.mu.Lock()
	c.waiting = append(c.waiting, s)
	c.mu.Unlock()
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

func (c *collector) flush() {
	c.mu.Lock()
	seen := c.waiting
	c.waiting = nil
	c.mu.Unlock()
	if len(seen) > 0 {
		c.store(seen)
	}
}

// close returns when everything is stored, or has failed.
func (c *collector) close() {
	close(c.wake)
	c.done.Wait()
}

// lock waits until a key is unlocked, or for the end of ctx, and locks it. locks has a channel for each locked key,
// which unlock closes.
func lock(ctx context.Context, locks *sync.Map, key string) (unlock func(), err error) {
	mine := make(chan struct{})
	for {
		held, locked := locks.LoadOrStore(key, mine)
		if !locked {
			return func() { locks.Delete(key); close(mine) }, nil
		}
		waiting, _ := held.(chan struct{})
		select {
		case <-waiting:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}
