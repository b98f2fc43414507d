package fuzz

import "sync"

// Bounds of a Frequency.
const (
	frequencyLimit = 10     // requests without a match
	frequencySize  = 10_000 // parameters remembered
)

// Frequency remembers which parameters were fuzzed in vain, over all requests of a scan, so that a header or a
// parameter that every page has is not fuzzed on every page. A parameter counts once for each base request. The zero
// value is ready; it is safe for any number of goroutines.
type Frequency struct {
	mu     sync.Mutex
	misses map[Where]int
	order  []Where // of coming, to forget the oldest
	oldest int
}

// Where names a parameter: of a template, on a host with its port.
type Where struct{ Template, Host, Position, Parameter string }

// Spent reports whether the parameter has been fuzzed in vain often enough.
func (f *Frequency) Spent(w Where) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.misses[w] >= frequencyLimit
}

// Count takes down that a base request was fuzzed at the parameter; a match makes it interesting again.
func (f *Frequency) Count(w Where, matched bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	n, known := f.misses[w]
	switch {
	case known && matched:
		f.misses[w] = 0
	case known:
		f.misses[w] = n + 1
	case !matched:
		f.remember(w)
	}
}

func (f *Frequency) remember(w Where) {
	if f.misses == nil {
		f.misses = map[Where]int{}
	}
	if len(f.order) < frequencySize {
		f.order = append(f.order, w)
	} else {
		delete(f.misses, f.order[f.oldest])
		f.order[f.oldest] = w
		f.oldest = (f.oldest + 1) % frequencySize
	}
	f.misses[w] = 1
}
