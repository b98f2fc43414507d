package script

import (
	"fmt"
	"sync"
	"time"

	"github.com/vedette-sec/vedette/internal/infra/cputime"
	"github.com/vedette-sec/vedette/internal/infra/membudget"
)

// Clock interrupts a script that computes for too long, or while the process grows by too much. Calls do not count,
// nor does the time that a busy machine gives to other processes: a script has computed for as long as it ran, but for
// no longer than its process had the processor.
type Clock struct {
	interrupt func(any)
	limit     time.Duration

	mu      sync.Mutex
	timer   *time.Timer
	running bool
	resumed cputime.Moment
	spent   time.Duration // before resumed
	heap    uint64        // bytes at the first tick since resumed; 0 before
}

const (
	tick    = 10 * time.Millisecond
	maxHeap = 192 << 20 // bytes of heap growth while a script computes
)

// StartClock starts a clock; interrupt is called with an *Error when the limit is reached.
func StartClock(limit time.Duration, interrupt func(any)) *Clock {
	c := &Clock{interrupt: interrupt, limit: limit, running: true, resumed: cputime.Now()}
	c.mu.Lock()
	c.timer = time.AfterFunc(tick, c.check)
	c.mu.Unlock()
	return c
}

// Pause stops the clock while the script waits. A script that calls more often than the clock ticks is stopped here.
func (c *Clock) Pause() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.timer.Stop()
	c.running = false
	c.spent += c.resumed.Computed()
	if c.spent > c.limit {
		c.stop()
	}
}

// stop ends a script that has computed for too long.
func (c *Clock) stop() {
	c.interrupt(&Error{Message: fmt.Sprintf("stopped after computing for %v", c.limit)})
}

// Resume starts it again.
func (c *Clock) Resume() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.running, c.resumed, c.heap = true, cputime.Now(), 0
	c.timer.Reset(tick)
}

func (c *Clock) check() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.running {
		return
	}
	heap := membudget.Heap()
	if c.heap == 0 {
		c.heap = heap
	}
	switch {
	case c.spent+c.resumed.Computed() > c.limit:
		c.stop()
	case heap > c.heap+maxHeap:
		c.interrupt(&Error{Message: fmt.Sprintf("stopped after using more than %d MiB", maxHeap>>20)})
	default:
		c.timer.Reset(tick)
	}
}
