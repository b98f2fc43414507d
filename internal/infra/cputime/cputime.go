// Package cputime bounds computing by how long it may have computed, on a machine that is busy with other things, too.
//
// The time since a moment is what the clock says, but no more than its process has used the processor since then. A
// process whose threads all compute has used more than the clock says, one that others keep waiting less; the lesser of
// both is at most what one of its threads can have computed. So no work is ended early because the machine is busy, and
// none lasts longer on one that is not.
package cputime

import (
	"context"
	"sync"
	"time"
)

// Moment is a point in time and in the work of this process.
type Moment struct {
	at   time.Time
	used time.Duration // of the processor; 0 where the system does not tell
}

// Now is this moment.
func Now() Moment { return Moment{time.Now(), used()} }

// IsZero reports whether m is no moment.
func (m Moment) IsZero() bool { return m.at.IsZero() }

// Without is m as if a wait since then had not been.
func (m Moment) Without(wait time.Duration) Moment { return Moment{m.at.Add(wait), m.used} }

// Earlier is a moment with so much work behind it more.
func (m Moment) Earlier(work time.Duration) Moment { return Moment{m.at.Add(-work), m.used - work} }

// Computed is how long one thread of the process may have computed since m at most.
func (m Moment) Computed() time.Duration {
	if m.used == 0 {
		return time.Since(m.at)
	}
	return min(time.Since(m.at), used()-m.used)
}

// Over reports whether that is more than a limit.
func (m Moment) Over(limit time.Duration) bool {
	return time.Since(m.at) > limit && m.Computed() > limit // the system is asked when it matters
}

// Limit is a context that ends with a cause when more than a limit may have been computed since now.
func Limit(ctx context.Context, limit time.Duration, cause error) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	const least = time.Millisecond // between two looks
	begin := Now()
	var mu sync.Mutex // guards timer, which may fire before it is known
	var timer *time.Timer
	mu.Lock()
	defer mu.Unlock()
	timer = time.AfterFunc(limit, func() {
		mu.Lock()
		defer mu.Unlock()
		switch left := limit - begin.Computed(); {
		case left <= 0:
			cancel(cause)
		case ctx.Err() == nil:
			timer.Reset(max(left, least))
		}
	})
	return ctx, func() {
		timer.Stop()
		cancel(nil)
	}
}
