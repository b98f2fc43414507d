package scan

import (
	"os"
	"runtime/debug"
	"runtime/metrics"

	"github.com/vedette-sec/vedette/cmd/vedette/cli"
)

// During a scan nearly all of the heap are templates, which stay, and each request makes
// little garbage: it is collected when the heap has grown by heapGrowth percent, half of
// Go's default, or by heapRoom bytes where the heap is small.
const (
	heapGrowth = 50
	heapRoom   = 12 << 20
)

// settleMemory returns to the system what loading the templates took, and bounds the garbage
// of the scan. GOGC in the environment wins.
func settleMemory() {
	debug.FreeOSMemory()
	cli.ReleaseImage()
	if os.Getenv("GOGC") != "" {
		return
	}
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(live)
	debug.SetGCPercent(max(heapGrowth, int(100*heapRoom/max(1, live[0].Value.Uint64()))))
}
