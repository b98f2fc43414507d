package scan

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/vedette-sec/vedette/internal/core/catalog"
	"github.com/vedette-sec/vedette/internal/core/finding"
	"github.com/vedette-sec/vedette/internal/core/finding/chain"
	"github.com/vedette-sec/vedette/internal/engine"
	"github.com/vedette-sec/vedette/internal/engine/child"
	"github.com/vedette-sec/vedette/internal/engine/syntax"
	"github.com/vedette-sec/vedette/internal/infra/queue"
)

// progressInterval bounds how often a chunk writes its progress.
const progressInterval = 250 * time.Millisecond

// Test tests the targets of a chunk with its templates, except in denied networks, and stores findings at once.
func (c *Chunk) Test(ctx, storeCtx context.Context, engines *child.Pool, deny []netip.Prefix) error {
	cells := NewCells(c.Targets, c.Templates)
	texts, sources, indices, err := c.texts(ctx, cells)
	if err != nil {
		return err
	}
	if len(texts) == 0 {
		return c.Finish(storeCtx, cells, 0)
	}
	o, err := c.scans.Options(ctx, c.TeamID, c.Config)
	if err != nil {
		return queue.Abandon(err)
	}
	excluded, err := c.scans.excluded(ctx, c.TeamID, c.ID)
	if err != nil {
		return err
	}
	o.Excluded = slices.Concat(c.Config.Exclusions, excluded.targets)
	if o.Engine.RateLimit > 0 { // each chunk has its own engine: two at a time would send twice as fast
		unlock, err := lock(ctx, &c.scans.limited, c.ID)
		if err != nil {
			return err
		}
		defer unlock()
	}
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	found := collect(func(seen []finding.Sighting) {
		if err := c.Found(storeCtx, seen); err != nil {
			stop(fmt.Errorf("storing a finding: %w", err))
		}
	})
	reported := time.Now()
	type hit struct {
		target   string
		template int
	}
	matched := map[hit]bool{}
	job := c.scans.jobOf(o, c.Targets, texts, deny)
	job.OnTraffic, job.OnDropped = c.Traffic, c.Dropped
	job.OnEvent = func(template int, e engine.Event) {
		matched[hit{e.Target, template}] = true
		seen := sources[template]
		seen.Event, seen.Target = e, e.Target
		found.put(seen)
	}
	c.expectInteractions(ctx, &job, stop)
	job.OnProgress = func(p engine.Progress) {
		if p.Final || time.Since(reported) < progressInterval {
			return
		}
		reported = time.Now()
		if err := c.Progress(ctx, p.Done, p.Total); err != nil {
			stop(err)
		}
	}
	report, err := engines.Run(ctx, job)
	found.close() // before the chunk ends
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	if err != nil {
		return ofEngine(err)
	}
	for _, e := range report.Ended {
		if err := c.scans.SetAside(storeCtx, c.TeamID, texts[e.Template], e.Why); err != nil {
			return err
		}
	}
	for i, target := range c.Targets {
		for n := range texts {
			state, reason := report.Cell(i, n)
			cells.Set(i, indices[n], state, reason)
			if matched[hit{target, n}] {
				cells.Match(i, indices[n])
			}
		}
	}
	return c.Finish(storeCtx, cells, report.Requests)
}

// texts are the texts of a chunk's templates, with sightings that say where each text can be read, and the index of
// each template. One that was deleted is failed, one that was set aside is skipped.
func (c *Chunk) texts(
	ctx context.Context, cells *Cells,
) (texts []child.Template, sources []finding.Sighting, indices []int, err error) {
	inline := c.Config.inline()
	known, err := c.scans.catalog.Texts(ctx, c.TeamID, c.Templates)
	if err != nil {
		return nil, nil, nil, err
	}
	aside, err := c.scans.Aside(ctx, c.TeamID)
	if err != nil {
		return nil, nil, nil, err
	}
	for j, id := range c.Templates {
		t, found := inline[id]
		public := ""
		if !found {
			var text catalog.Text
			if text, found = known[id]; found {
				t, public = TextOf(text), text.PublicPath()
			}
		}
		state, why := engine.Failed, NoTemplate
		if reason, is := aside[t.Digest]; found && is {
			found, state, why = false, engine.Skipped, reason
		}
		if found {
			texts, indices = append(texts, t), append(indices, j)
			sources = append(sources, sourceOf(t, public))
			continue
		}
		for i := range c.Targets {
			cells.Set(i, j, state, why)
		}
	}
	refused, err := c.scans.admit(ctx, c.TeamID, texts)
	for n, j := range slices.Backward(indices) {
		if why, is := refused[n]; is {
			for i := range c.Targets {
				cells.Set(i, j, engine.Skipped, why)
			}
			texts, indices = slices.Delete(texts, n, n+1), slices.Delete(indices, n, n+1)
			sources = slices.Delete(sources, n, n+1)
		}
	}
	return texts, sources, indices, err
}

// admit is signer.Admit.
func (ss *Scans) admit(ctx context.Context, teamID string, texts []child.Template) (map[int]string, error) {
	if ss.Signers == nil {
		return nil, nil
	}
	return ss.Signers.Admit(ctx, teamID, texts)
}

// inline are the templates that came with a scan, by id.
func (c Config) inline() map[string]child.Template {
	out := map[string]child.Template{}
	for _, in := range c.Inline {
		if t, err := syntax.Parse(in.Name, []byte(in.Contents)); err == nil {
			digest := sha256.Sum256([]byte(in.Contents))
			out[t.ID] = child.Template{Path: in.Name, Digest: hex.EncodeToString(digest[:]), Data: []byte(in.Contents)}
		}
	}
	return out
}

// InlineDigests are the digests of the templates that came with a scan, by id.
func (ss *Scans) InlineDigests(ctx context.Context, id string) (map[string]string, error) {
	c, err := ss.config(ctx, ss.db, id)
	out := map[string]string{}
	for id, t := range c.inline() {
		out[id] = t.Digest
	}
	return out, err
}

// maxEncoded is how many bytes of a template come with each finding.
const maxEncoded = 64 << 10

// sourceOf says where the text of a template can be read: at its path on this server when it is public, else in the
// finding itself, because its team may change it.
func sourceOf(t child.Template, public string) finding.Sighting {
	s := finding.Sighting{TemplateURL: public, Proof: &chain.Proof{Digest: t.Digest, Shown: 1, Runs: 1}}
	if public == "" && len(t.Data) <= maxEncoded {
		s.TemplateEncoded = base64.StdEncoding.EncodeToString(t.Data)
	}
	return s
}

// maxWaiting bounds the bytes of requests and responses that wait to be stored; more makes the engine wait.
const maxWaiting = 32 << 20

// collector stores sightings in the background: those that arrive during one transaction go into the next together.
type collector struct {
	store   func([]finding.Sighting)
	mu      sync.Mutex
	waiting []finding.Sighting
	size    int           // of waiting, as maxWaiting counts
	room    *sync.Cond    // of mu: waiting was taken
	wake    chan struct{} // something may be waiting; closed at the end
	done    sync.WaitGroup
}

func collect(store func([]finding.Sighting)) *collector {
	c := &collector{store: store, wake: make(chan struct{}, 1)}
	c.room = sync.NewCond(&c.mu)
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
	for c.size > maxWaiting {
		c.room.Wait()
	}
	c.waiting = append(c.waiting, s)
	c.size += len(s.Event.Request) + len(s.Event.Response)
	c.mu.Unlock()
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

func (c *collector) flush() {
	c.mu.Lock()
	seen := c.waiting
	c.waiting, c.size = nil, 0
	c.room.Broadcast()
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
