package main

import (
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
)

// How a scan uses its heap. GOGC, when it is set, wins over all of it.
//
// While templates are loaded little is garbage at first: the heap is left alone until it has
// loadRoom, where Go would begin with minHeap, and then grows as Go lets it. During the scan
// nearly all of the heap are templates, which stay, and little is made a request: garbage is
// collected when the heap has grown by heapGrowth percent, half of Go's own, or else by
// heapRoom bytes.
const (
	loadRoom   = 38 << 20
	minHeap    = 4 << 20
	goGrowth   = 100
	heapGrowth = 50
	heapRoom   = 12 << 20
)

// delayCollection leaves the heap alone until it has loadRoom; what it gives brings Go's own
// growth back then, and is for settleMemory.
func delayCollection() (after runtime.Cleanup) {
	if os.Getenv("GOGC") != "" {
		return after
	}
	debug.SetGCPercent(goGrowth * loadRoom / minHeap)
	first := new([]byte) // gone with the first collection
	return runtime.AddCleanup(first, func(percent int) { debug.SetGCPercent(percent) }, goGrowth)
}

// settleMemory gives back what loading the templates took, and bounds the garbage of the scan.
func settleMemory(delayed runtime.Cleanup) {
	delayed.Stop()
	debug.FreeOSMemory()
	releaseImage()
	if os.Getenv("GOGC") != "" {
		return
	}
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(live)
	debug.SetGCPercent(max(heapGrowth, int(100*heapRoom/max(1, live[0].Value.Uint64()))))
}
