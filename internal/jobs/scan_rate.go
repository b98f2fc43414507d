package jobs

import (
	"context"
	"sync"

	"github.com/vedette-sec/vedette/internal/engine/options"
)

// turns lets the parts of a scan whose rate is limited run one after the other: each has
// an engine of its own, and two at a time would send twice as fast.
type turns struct {
	mu    sync.Mutex
	scans map[string]*turn
}

// turn is one scan's; whoever has put something into busy runs.
type turn struct {
	busy    chan struct{}
	waiting int // and running
}

func newTurns() *turns { return &turns{scans: map[string]*turn{}} }

// take waits for a scan's turn, if its options limit the rate, and gives what ends it.
func (ts *turns) take(ctx context.Context, scanID string, o options.Options) (release func(), err error) {
	if o.Engine.RateLimit == 0 {
		return func() {}, nil
	}
	ts.mu.Lock()
	t := ts.scans[scanID]
	if t == nil {
		t = &turn{busy: make(chan struct{}, 1)}
		ts.scans[scanID] = t
	}
	t.waiting++
	ts.mu.Unlock()
	leave := func() {
		ts.mu.Lock()
		defer ts.mu.Unlock()
		if t.waiting--; t.waiting == 0 {
			delete(ts.scans, scanID)
		}
	}
	select {
	case t.busy <- struct{}{}:
		return func() { <-t.busy; leave() }, nil
	case <-ctx.Done():
		leave()
		return nil, context.Cause(ctx)
	}
}
