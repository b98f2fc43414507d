package fuzz

import (
	"cmp"
	"sync"
)

// DefaultFrequency is how often a parameter is fuzzed without a match before it is skipped, as in nuclei.
const DefaultFrequency = 10

// frequencySize is how many parameters are remembered.
const frequencySize = 10_000

// Frequency counts requests that fuzzed a parameter without a match, so that a parameter of every page is not fuzzed
// on every page. It counts once per base request. The zero value is ready; any number of goroutines may use it.
type Frequency struct {
	Limit int // requests without a match; 0 means DefaultFrequency

	mu     sync.Mutex
	misses map[ParameterKey]int
	order  []ParameterKey // in order of arrival
	oldest int
}

// ParameterKey identifies a parameter of a template on a host with its port.
type ParameterKey struct{ Template, Host, Position, Parameter string }

// Exhausted reports whether the parameter was fuzzed without a match often enough.
func (f *Frequency) Exhausted(w ParameterKey) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.misses[w] >= cmp.Or(f.Limit, DefaultFrequency)
}

// Count counts a base request; a match resets the count.
func (f *Frequency) Count(w ParameterKey, matched bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	n, known := f.misses[w]
	switch {
	case known && matched:
		f.misses[w] = 0
	case known:
		f.misses[w] = n + 1
	case !matched:
		f.add(w)
	}
}

func (f *Frequency) add(w ParameterKey) {
	if f.misses == nil {
		f.misses = map[ParameterKey]int{}
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
