package e2e

import (
	"slices"
	"sync"
	"time"
)

// breakpoints pause an enumeration of the lab at named steps: a request that belongs to a
// step waits until the step is released. A released step never waits again.
type breakpoints struct {
	hits chan string // the first request at each breakpoint since the last waitHit

	mu   sync.Mutex
	held map[string]chan struct{} // by step; closed on release
}

func newBreakpoints(steps ...string) *breakpoints {
	b := &breakpoints{hits: make(chan string, 1000), held: map[string]chan struct{}{}}
	for _, step := range steps {
		b.held[step] = make(chan struct{})
	}
	return b
}

// hit waits until the step is released; a step without a breakpoint does not wait.
func (b *breakpoints) hit(step string) {
	b.mu.Lock()
	wait := b.held[step]
	b.mu.Unlock()
	if wait == nil {
		return
	}
	select {
	case b.hits <- step:
	default: // the buffer is full: waitHit has enough to report
	}
	<-wait
}

// remaining are the steps that are not released, sorted.
func (b *breakpoints) remaining() (steps []string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for step := range b.held {
		steps = append(steps, step)
	}
	slices.Sort(steps)
	return steps
}

// release ends the waiting at these steps for good.
func (b *breakpoints) release(steps ...string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, step := range steps {
		if held := b.held[step]; held != nil {
			close(held)
			delete(b.held, step)
		}
	}
}

// waitHit waits until a request waits at a breakpoint, and returns the steps; nil after within.
func (b *breakpoints) waitHit(within time.Duration) (steps []string) {
	select {
	case step := <-b.hits:
		steps = append(steps, step)
	case <-time.After(within):
		return nil
	}
	for {
		select {
		case step := <-b.hits:
			steps = append(steps, step)
		default:
			return steps
		}
	}
}

// drain discards hits of a process that was killed since.
func (b *breakpoints) drain() {
	for len(b.hits) > 0 {
		<-b.hits
	}
}
