package membudget

import (
	"runtime/metrics"
	"sync/atomic"
	"time"
)

// tick is how often a watch looks.
const tick = 10 * time.Millisecond

// Heap is how many bytes the objects on the heap take, those included that nobody uses any more.
func Heap() uint64 {
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}

// WatchHeap calls stop once when the heap has grown by more than limit bytes, until end is called. It is for work that
// cannot count what it takes; what others take meanwhile counts, too.
func WatchHeap(limit uint64, stop func()) (end func()) {
	begin := Heap()
	var ended atomic.Bool
	var look func()
	look = func() {
		switch {
		case ended.Load():
		case Heap() > begin+limit:
			stop()
		default:
			time.AfterFunc(tick, look)
		}
	}
	time.AfterFunc(tick, look)
	return func() { ended.Store(true) }
}
