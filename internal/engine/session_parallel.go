package engine

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"sync"

	"github.com/vedette-sec/vedette/internal/engine/board"
	"github.com/vedette-sec/vedette/internal/engine/coverage"
	"github.com/vedette-sec/vedette/internal/engine/program"
	"github.com/vedette-sec/vedette/internal/engine/proto/web"
	"github.com/vedette-sec/vedette/internal/engine/sender"
)

// raceOrPipeline sends the requests of a race or of a pipeline.
func (s *session) raceOrPipeline(ctx context.Context, j int) (matched bool, err error) {
	b := &s.bound.Blocks[j]
	all := combinations(b)
	reqs := make([]program.Request, len(all))
	size := 0
	for n, at := range all {
		in := s.input(ctx)
		in.Tuple, in.Earlier = at.tuple, s.history.Lookup(0)
		if reqs[n], err = s.bound.Request(j, at.entry, in); err != nil {
			s.apply(s.notMade(err))
			return false, ctx.Err()
		}
		if size += len(reqs[n].Raw) + len(reqs[n].Body); size > maxBytesAtOnce {
			s.addEnd(coverage.End{State: Failed, Reason: "the requests that are sent at once are larger than " +
				strconv.Itoa(maxBytesAtOnce>>20) + " MiB"})
			return false, ctx.Err()
		}
	}
	board.Of(ctx).Waits(s.index)
	results, err := s.sendRaceOrPipeline(ctx, b, reqs)
	board.Of(ctx).At(s.index)
	if err != nil {
		return false, err
	}
	for n, r := range results {
		var got entryResult
		if r.Err != nil {
			got.End = endOf(r.Err)
		} else {
			s.requests.Add(1)
			if s.onReceive != nil {
				s.onReceive(r.Exchange)
			}
			got = s.evaluate(ctx, j, all[n].entry, all[n].tuple, &reqs[n], []*web.Exchange{r.Exchange})
		}
		s.apply(got)
		if matched = matched || got.flowMatched; got.over {
			break
		}
	}
	return matched, ctx.Err()
}

// combination is an entry of a block with a tuple of payloads.
type combination struct{ entry, tuple int }

// combinations are what a block sends together, in order.
func combinations(b *program.Block) []combination {
	if b.Race > 0 {
		return make([]combination, min(b.Race, maxAtOnce))
	}
	var all []combination
	for t := range min(b.Tuples(), maxAtOnce) {
		for k := range b.Entries {
			if !b.Entries[k].Once || t == 0 {
				all = append(all, combination{k, t})
			}
		}
	}
	return all[:min(len(all), maxAtOnce)]
}

// Bounds of a race or of a pipeline: requests, and bytes of all of them.
const (
	maxAtOnce      = 1000
	maxBytesAtOnce = 32 << 20
)

// sendRaceOrPipeline sends requests at the same moment, or pipelined on a few connections. The error is that of the
// context, or sender.ErrBudget.
func (s *session) sendRaceOrPipeline(
	ctx context.Context, b *program.Block, reqs []program.Request,
) ([]web.Result, error) {
	all := make([]web.Request, len(reqs))
	for i := range reqs {
		if err := s.beforeSend(ctx); err != nil {
			if errors.Is(err, sender.ErrBudget) {
				s.addEnd(endOf(err))
			}
			return nil, err
		}
		if err := s.engine.sender.Check(&reqs[i].Request); err != nil {
			s.addEnd(endOf(err))
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

// race sends requests at the same moment; with a number of threads, so many at a time.
func (s *session) race(ctx context.Context, b *program.Block, all []web.Request) (results []web.Result) {
	width := max(1, len(all))
	if b.AllAtOnce && b.Threads > 0 {
		width = b.Threads
	}
	for some := range slices.Chunk(all, width) {
		results = append(results, s.engine.client.Race(ctx, some)...)
	}
	return results
}

// parallel sends the requests of several payload tuples at the same time, each with its own cookies; results are
// applied and the budget is spent in the order of the tuples. The tuples in progress on a target are as few as its
// requests in flight.
func (s *session) parallel(ctx context.Context, j int) (matched bool, err error) {
	b := &s.bound.Blocks[j]
	width := b.Threads
	if width <= 0 || width > s.engine.cfg.PerHost {
		width = s.engine.cfg.PerHost
	}
	ctx, stop := context.WithCancel(ctx)
	var workers sync.WaitGroup
	defer workers.Wait()
	defer stop()
	results := make(chan chan entryResult, width-1)
	workers.Go(func() {
		defer close(results)
		for t := range b.Tuples() {
			one := make(chan entryResult, 1)
			select {
			case results <- one:
			case <-ctx.Done():
				return
			}
			select {
			case s.tupleSlots <- struct{}{}:
			case <-ctx.Done():
				one <- entryResult{err: ctx.Err()}
				return
			}
			ctx, release, err := s.budget.Reserve(ctx)
			if err != nil {
				<-s.tupleSlots
				one <- unanswered(ctx, err)
				return
			}
			workers.Go(func() {
				on := board.Of(ctx).Beside(s.index)
				defer on.Release()
				one <- s.tuple(board.With(ctx, on), j, t)
				release()
				<-s.tupleSlots
			})
		}
	})
	for one := range results {
		board.Of(ctx).Waits(s.index)
		got := <-one
		board.Of(ctx).At(s.index)
		s.apply(got)
		matched = matched || got.flowMatched
		switch {
		case errors.Is(got.err, sender.ErrBudget): // tuples in progress go on
			err = got.err
		case got.over || got.err != nil:
			return matched, got.err
		}
	}
	return matched, err
}

// tuple sends all entries of one payload tuple.
func (s *session) tuple(ctx context.Context, j, t int) (all entryResult) {
	defer func() {
		if cause := recover(); cause != nil {
			all.End, all.over = panicked(cause), true
		}
	}()
	b := &s.bound.Blocks[j]
	jar := web.NewJar()
	for k := range b.Entries {
		if b.Entries[k].Once && t > 0 {
			continue
		}
		got := s.entry(ctx, j, k, t, 0, jar)
		all.flowMatched, all.matched = all.flowMatched || got.flowMatched, all.matched || got.matched
		all.events, all.extracted = append(all.events, got.events...), append(all.extracted, got.extracted...)
		all.outcomes, all.pending = append(all.outcomes, got.outcomes...), append(all.pending, got.pending...)
		if all.unsent = got.unsent; got.unsent || got.State.WorseThan(all.State) {
			all.End = got.End
		}
		if got.unsent {
			break
		}
		// A tuple that cannot be made does not affect the others, which are in progress.
		if all.over, all.err = got.over && !got.notMade, got.err; got.over || got.err != nil {
			break
		}
	}
	return all
}
