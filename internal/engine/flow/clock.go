package flow

import (
	"fmt"
	"runtime/metrics"
	"sync"
	"time"
)

// clock interrupts a script that computes for too long, or while the process grows by too much. Calls do not count.
type clock struct {
	interrupt func(any)
	limit     time.Duration

	mu      sync.Mutex
	timer   *time.Timer
	running bool
	resumed time.Time
	spent   time.Duration // before resumed
	heap    uint64        // bytes at the first tick since resumed; 0 before
}

const tick = 10 * time.Millisecond

func startClock(limit time.Duration, interrupt func(any)) *clock {
	c := &clock{interrupt: interrupt, limit: limit, running: true, resumed: time.Now()}
	c.mu.Lock()
	c.timer = time.AfterFunc(tick, c.check)
	c.mu.Unlock()
	return c
}

func (c *clock) pause() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.timer.Stop()
	c.running = false
	c.spent += time.Since(c.resumed)
}

func (c *clock) resume() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.running, c.resumed, c.heap = true, time.Now(), 0
	c.timer.Reset(tick)
}

func (c *clock) check() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.running {
		return
	}
	heap := heapBytes()
	if c.heap == 0 {
		c.heap = heap
	}
	switch {
	case c.spent+time.Since(c.resumed) > c.limit:
		c.interrupt(&Error{Message: fmt.Sprintf("stopped after computing for %v", c.limit)})
	case heap > c.heap+maxHeap:
		c.interrupt(&Error{Message: fmt.Sprintf("stopped after using more than %d MiB", maxHeap>>20)})
	default:
		c.timer.Reset(tick)
	}
}

func heapBytes() uint64 {
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}
