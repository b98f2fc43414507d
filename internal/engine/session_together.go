package engine

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/vedette-sec/vedette/internal/engine/program"
	"github.com/vedette-sec/vedette/internal/engine/proto/web"
)

// together makes the requests of a race or of a pipeline.
func (s *session) together(ctx context.Context, j int) (gate bool, err error) {
	b := &s.bound.Blocks[j]
	places := lineup(b)
	reqs := make([]program.Request, len(places))
	for n, at := range places {
		in := s.input(ctx)
		in.Tuple, in.Carried = at.tuple, s.memory.carried(0)
		if reqs[n], err = s.bound.Request(j, at.entry, in); err != nil {
			s.take(s.unmade(err))
			return false, ctx.Err()
		}
	}
	results, err := s.sendTogether(ctx, b, reqs)
	if err != nil {
		return false, err
	}
	for n, r := range results {
		var got turn
		if r.Err != nil {
			got.state, got.reason = outcome(r.Err)
		} else {
			s.requests.Add(1)
			if s.seen != nil {
				s.seen(r.Exchange)
			}
			got = s.judge(ctx, j, places[n].entry, places[n].tuple, &reqs[n], []*web.Exchange{r.Exchange})
		}
		s.take(got)
		if gate = gate || got.gate; got.over {
			break
		}
	}
	return gate, ctx.Err()
}

// place is an entry of a block with a tuple of payloads.
type place struct{ entry, tuple int }

// lineup is what a block sends together, in order.
func lineup(b *program.Block) []place {
	if b.Race > 0 {
		return make([]place, min(b.Race, maxTogether))
	}
	var all []place
	for t := range min(b.Tuples(), maxTogether) {
		for k := range b.Entries {
			if !b.Entries[k].Once || t == 0 {
				all = append(all, place{k, t})
			}
		}
	}
	return all[:min(len(all), maxTogether)]
}

// maxTogether bounds the requests of a race or of a pipeline.
const maxTogether = 1000

// sendTogether sends requests at the same moment, or one behind the other on a few
// connections. The error is that of the context, or the budget's.
func (s *session) sendTogether(ctx context.Context, b *program.Block, reqs []program.Request) ([]web.Result, error) {
	all := make([]web.Request, len(reqs))
	for i := range reqs {
		if err := s.gate(ctx); err != nil {
			if errors.Is(err, errBudget) {
				s.note(overBudget, err.Error())
			}
			return nil, err
		}
		if !s.engine.allows(reqs[i].Address) {
			s.note(denied, errExcluded.Error())
			return nil, nil
		}
		all[i] = reqs[i].Request
	}
	if b.Pipeline == nil {
		return s.race(ctx, b, all), ctx.Err()
	}
	results := make([]web.Result, len(all))
	lines := make(chan struct{}, b.Pipeline.Connections)
	var over sync.WaitGroup
	for from := 0; from < len(all); from += b.Pipeline.Requests {
		to := min(len(all), from+b.Pipeline.Requests)
		lines <- struct{}{}
		over.Go(func() {
			copy(results[from:to], s.engine.client.Pipeline(ctx, all[from:to]))
			<-lines
		})
	}
	over.Wait()
	return results, ctx.Err()
}

// race sends requests at the same moment; where a block names a number of threads, so many
// at a time, and the next when those are answered.
func (s *session) race(ctx context.Context, b *program.Block, all []web.Request) (results []web.Result) {
	width := max(1, len(all))
	if b.Gate && b.Threads > 0 {
		width = b.Threads
	}
	for some := range slices.Chunk(all, width) {
		results = append(results, s.engine.client.Race(ctx, some)...)
	}
	return results
}

// abreast makes the requests of several payload tuples at the same time, and takes what
// came of them in the order of the tuples. Each tuple has cookies of its own. On one
// target there are no more tuples under way than requests may be. A budget goes to the
// tuples in their order.
func (s *session) abreast(ctx context.Context, j int) (gate bool, err error) {
	b := &s.bound.Blocks[j]
	width := b.Threads
	if width <= 0 || width > s.engine.cfg.PerHost {
		width = s.engine.cfg.PerHost
	}
	ctx, stop := context.WithCancel(ctx)
	var workers sync.WaitGroup
	defer workers.Wait()
	defer stop()
	turns := make(chan chan turn, width-1)
	workers.Go(func() {
		defer close(turns)
		for t := range b.Tuples() {
			one := make(chan turn, 1)
			select {
			case turns <- one:
			case <-ctx.Done():
				return
			}
			select {
			case s.hands <- struct{}{}:
			case <-ctx.Done():
				one <- turn{err: ctx.Err()}
				return
			}
			ctx, giveBack, err := s.budget.reserve(ctx)
			if err != nil {
				<-s.hands
				one <- unanswered(ctx, err)
				return
			}
			workers.Go(func() {
				one <- s.tuple(ctx, j, t)
				giveBack()
				<-s.hands
			})
		}
	})
	for one := range turns {
		got := <-one
		s.take(got)
		gate = gate || got.gate
		switch {
		case errors.Is(got.err, errBudget): // what is under way has been paid for
			err = got.err
		case got.over || got.err != nil:
			return gate, got.err
		}
	}
	return gate, err
}

// tuple makes all entries of one payload tuple.
func (s *session) tuple(ctx context.Context, j, t int) (all turn) {
	defer func() {
		if cause := recover(); cause != nil {
			all.state, all.reason, all.over = failed, broke(cause), true
		}
	}()
	b := &s.bound.Blocks[j]
	jar := web.NewJar()
	for k := range b.Entries {
		if b.Entries[k].Once && t > 0 {
			continue
		}
		got := s.entry(ctx, j, k, t, 0, jar)
		all.gate, all.matched = all.gate || got.gate, all.matched || got.matched
		all.events, all.learned = append(all.events, got.events...), append(all.learned, got.learned...)
		all.found = append(all.found, got.found...)
		if got.state > all.state {
			all.state, all.reason = got.state, got.reason
		}
		// The other tuples are under way: one that cannot be made costs them nothing.
		if all.over, all.err = got.over && !got.unmade, got.err; got.over || got.err != nil {
			break
		}
	}
	return all
}
