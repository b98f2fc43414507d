package membudget_test

import (
	"testing"
	"time"

	"github.com/vedette-sec/vedette/internal/infra/membudget"
)

var kept [][]byte

// Growth of the heap is seen, and after its end a watch sees no more.
func TestWatchHeap(t *testing.T) {
	defer func() { kept = nil }()
	grown, late := make(chan bool, 1), make(chan bool, 1)
	end := membudget.WatchHeap(32*mib, func() { grown <- true })
	membudget.WatchHeap(32*mib, func() { late <- true })()
	for range 64 {
		kept = append(kept, make([]byte, mib))
	}
	select {
	case <-grown:
	case <-time.After(20 * time.Second):
		t.Error("growth is not seen")
	}
	end()
	select {
	case <-late:
		t.Error("a watch that has ended stops")
	default:
	}
}
