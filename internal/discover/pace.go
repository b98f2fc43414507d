package discover

import (
	"context"
	"sync"
	"time"

	"github.com/vedette-sec/vedette/internal/infra/pause"
)

// Pace bounds how often something is done in a second, by all who share it. nil bounds nothing.
type Pace struct {
	gap time.Duration

	mu   sync.Mutex
	next time.Time // the next free turn
}

// maxCatchUp is how long unused turns may be made up for.
const maxCatchUp = 20 * time.Millisecond

// NewPace makes a pace; nil for 0 and less.
func NewPace(perSecond int) *Pace {
	if perSecond <= 0 {
		return nil
	}
	return &Pace{gap: time.Second / time.Duration(perSecond)}
}

// UntilNext is the time until the next turn.
func (p *Pace) UntilNext(now time.Time) time.Duration {
	if p == nil {
		return 0
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return max(0, p.next.Sub(now))
}

// Reserve takes the next turn, and gives the time until it comes.
func (p *Pace) Reserve(now time.Time) time.Duration {
	if p == nil {
		return 0
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if missed := now.Add(-maxCatchUp); p.next.Before(missed) {
		p.next = missed
	}
	wait := p.next.Sub(now)
	p.next = p.next.Add(p.gap)
	return max(0, wait)
}

// Wait takes the next turn and waits for it, or for the end of ctx, which it returns.
func (p *Pace) Wait(ctx context.Context) error {
	return pause.For(ctx, p.Reserve(time.Now()))
}
