package port

import "time"

// How long an answer is waited for.
const (
	shortest  = 100 * time.Millisecond  // the least
	dialled   = 500 * time.Millisecond  // the least through Dial, whose goroutines wait for the scheduler
	neighbour = 300 * time.Millisecond  // the least for a host of which only the network is known
	longest   = 1200 * time.Millisecond // past the kernel's own second SYN
	unknown   = time.Second             // before anything has answered
)

// roundTrip estimates how long a host's answers take, as TCP does (RFC 6298).
type roundTrip struct {
	mean, deviation time.Duration
	known           bool
}

func (r *roundTrip) observe(took time.Duration) {
	if !r.known {
		r.mean, r.deviation, r.known = took, took/2, true
		return
	}
	r.deviation += ((took - r.mean).Abs() - r.deviation) / 4
	r.mean += (took - r.mean) / 8
}

func (r *roundTrip) timeout(least time.Duration) time.Duration {
	if !r.known {
		return unknown
	}
	return min(max(r.mean+4*r.deviation, least), longest)
}

// window is how many connections may be in flight. It grows with answers, doubling in each round up to its threshold
// and slowly beyond, and is halved by a loss.
type window struct {
	size, threshold, most float64
}

// grow counts an answer for several connections: where few ports answer, it must count for the silent ones around it.
func (w *window) grow(stands float64) {
	if w.size < w.threshold {
		w.size += stands
	} else {
		w.size += stands / w.size
	}
	w.size = min(w.size, w.most)
}

func (w *window) lose(least float64) {
	w.size = max(w.size/2, least)
	w.threshold = w.size
}
