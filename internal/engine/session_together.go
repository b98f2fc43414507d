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
