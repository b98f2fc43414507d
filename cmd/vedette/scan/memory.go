package scan

import (
	"os"
	"runtime/debug"
	"runtime/metrics"
	"sync"

	"github.com/vedette-sec/vedette/cmd/vedette/cli"
)

// During a scan most of the heap is templates, which stay, and each request makes little garbage: collect when the
// heap has grown by heapGrowth percent, half of Go's default, or by heapRoom bytes if it is small.
const (
	heapGrowth = 50
	heapRoom   = 12 << 20
)

// trimMemory returns memory that loading the templates needed, and bounds garbage during the scan, unless GOGC is
// set.
func trimMemory() {
	debug.FreeOSMemory()
	cli.ReleaseImage()
	if os.Getenv("GOGC") != "" {
		return
	}
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(live)
	debug.SetGCPercent(max(heapGrowth, int(100*heapRoom/max(1, live[0].Value.Uint64()))))
}

// trimAside trims memory in a goroutine of its own; wait waits for its end.
func trimAside() (wait func()) {
	var trimming sync.WaitGroup
	trimming.Go(trimMemory)
	return trimming.Wait
}
