package functions

import (
	"context"
	"math/rand/v2"
	"net"
	"sync"
	"time"

	wappalyzer "github.com/projectdiscovery/wappalyzergo"
)

// Host gives functions access to network, clock and random numbers. One Host serves a whole scan and any number of
// goroutines; it is not copied after first use.
type Host struct {
	// Dial connects within the scope of the scan. nil: functions that connect fail.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	Now  func() time.Time // nil is time.Now
	Rand *rand.Rand       // nil is the generator of the runtime

	random sync.Mutex // guards Rand

	once    sync.Once // makes apps: the fingerprints are many megabytes
	apps    *wappalyzer.Wappalyze
	appsErr error
}

func (h *Host) now() time.Time {
	if h == nil || h.Now == nil {
		return time.Now()
	}
	return h.Now()
}

// intN is a random number from 0 to n-1; n is above 0.
func (h *Host) intN(n int) int {
	if h == nil || h.Rand == nil {
		return rand.IntN(n)
	}
	h.random.Lock()
	defer h.random.Unlock()
	return h.Rand.IntN(n)
}

func (h *Host) bytes(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(h.intN(256))
	}
	return b
}

func (h *Host) fingerprints() (*wappalyzer.Wappalyze, error) {
	h.once.Do(func() { h.apps, h.appsErr = wappalyzer.New() })
	return h.apps, h.appsErr
}
