package port

import (
	"net/netip"
	"time"
)

// The bounds of one host.
const (
	firstWindow  = 64   // of a host that answers
	silentWindow = 128  // of a host that has not answered: is it dead?
	leastWindow  = 8    // after losses
	sampled      = 128  // so many second tries without one answer end the second tries
	maxCounts    = 50.0 // connections that one answer may count for
)

type host struct {
	Result
	Target

	network  *roundTrip    // of its network
	patience time.Duration // the least to wait for an answer
	ports    []uint16      // not tried yet
	again    []uint16      // to be tried a second time
	budget   int           // ports that are tried before anything has answered
	trip     roundTrip
	window   window
	flying   int
	answers  int
	retried  int // second tries that ended
	lost     int // second tries that were answered: the first was lost
	lastLoss time.Time
	started  time.Time
	queued   bool // it is in the scan's queue
	over     bool
}

// timeout is how long to wait for the host's next answer.
func (h *host) timeout() time.Duration {
	if h.trip.known {
		return h.trip.timeout(h.patience)
	}
	return h.network.timeout(max(h.patience, neighbour))
}

// room reports whether one more connection may be made now.
func (h *host) room() bool {
	limit := silentWindow
	if h.Alive {
		limit = int(h.window.size)
	}
	return h.flying < limit && h.work()
}

// work reports whether there is a port left to try.
func (h *host) work() bool {
	return !h.over && (h.fresh() || h.Alive && len(h.again) > 0)
}

// fresh reports whether there is a port to try for the first time: all of a host that has answered, of others up to the
// budget.
func (h *host) fresh() bool { return len(h.ports) > 0 && (h.Alive || h.Tried < h.budget) }

// next takes the next port. First tries come before second ones, so that a congestion may pass.
func (h *host) next() (port uint16, second bool) {
	if h.fresh() {
		port, h.ports = h.ports[0], h.ports[1:]
		h.Tried++
		return port, false
	}
	port, h.again = h.again[0], h.again[1:]
	return port, true
}

// answered handles an answer. It reports whether one before it was lost, for which the whole scan should slow down.
func (h *host) answered(took time.Duration, second bool, now time.Time) (loss bool) {
	h.Alive = true
	h.answers++
	h.trip.observe(took)
	h.network.observe(took)
	h.window.grow(min(float64(h.Tried)/float64(h.answers), maxCounts))
	if !second {
		return false
	}
	h.lost++
	if now.Sub(h.lastLoss) < h.timeout() {
		return false // the losses of one moment count once
	}
	h.lastLoss = now
	h.window.lose(leastWindow)
	return true
}

// silent handles a missing answer. The port is kept for a second try also while the host seems dead: if it answers
// later, earlier answers were perhaps lost.
func (h *host) silent(port uint16, second bool) {
	if !second {
		h.again = append(h.again, port)
		return
	}
	h.retried++
	if h.retried >= sampled && h.lost == 0 {
		h.again = nil
	}
}

func (h *host) stop(note string) {
	if !h.over {
		h.over, h.Note = true, note
	}
}

func (h *host) open(port uint16) {
	h.Open = append(h.Open, port)
	if len(h.Open) > maxOpen {
		h.stop("it accepts connections on every port that is tried: what answers is no service")
	}
}

func (h *host) deny(err error) {
	if h.Denied++; h.Why == "" {
		h.Why = err.Error()
	}
}

// putBack undoes next.
func (h *host) putBack(port uint16, second bool) {
	if second {
		h.again = append(h.again, port)
		return
	}
	h.Tried--
	h.ports = append([]uint16{port}, h.ports...)
}

// neighbourhood is the network whose hosts are assumed to be equally far away.
func neighbourhood(a netip.Addr) netip.Prefix {
	bits := 24
	if a.Is6() {
		bits = 64
	}
	p, err := a.Prefix(bits)
	if err != nil { // an address with a zone
		return netip.PrefixFrom(a.WithZone(""), a.BitLen())
	}
	return p
}
