package oob

import (
	"slices"
	"sync"

	"github.com/vedette-sec/vedette/internal/oast"
)

// Heard is what requests with the same payloads share: a name that one told a target may be contacted because of
// another.
type Heard struct {
	ids []string // guarded by the mutex of Tuples

	mu       sync.Mutex // guards what follows
	all      []oast.Interaction
	reported map[[2]string]bool // matchers and extractors
}

// Tuples have the Heard of each tuple of payloads of a session. The zero value is ready.
type Tuples struct {
	mu  sync.Mutex
	all map[[2]int]*Heard // by block and tuple
}

// Drop forgets the names of requests with a tuple of payloads.
func (t *Tuples) Drop(block, tuple int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.all, [2]int{block, tuple})
}

// Add adds the names of a request, and returns all of its tuple; nil when there are none.
func (t *Tuples) Add(block, tuple int, ids []string) (h *Heard, all []string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	at := [2]int{block, tuple}
	if h = t.all[at]; h == nil {
		if len(ids) == 0 {
			return nil, nil
		}
		if h = (&Heard{reported: map[[2]string]bool{}}); t.all == nil {
			t.all = map[[2]int]*Heard{}
		}
		t.all[at] = h
	}
	h.ids = append(h.ids, ids...)
	return h, slices.Clone(h.ids)
}

// maxHeard bounds the interactions that are kept for later requests with the same payloads.
const maxHeard = 20

// Hear judges an interaction.
func (h *Heard) Hear(one oast.Interaction, judge func(oast.Interaction)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.all) < maxHeard {
		h.all = append(h.all, one)
	}
	judge(one)
}

// Again judges the interactions so far once more, for a later request.
func (h *Heard) Again(judge func(oast.Interaction)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, one := range h.all {
		judge(one)
	}
}

// First reports whether nothing was reported yet for a matcher and an extractor. Within judge alone.
func (h *Heard) First(matcher, extractor string) bool {
	known := h.reported[[2]string{matcher, extractor}]
	h.reported[[2]string{matcher, extractor}] = true
	return !known
}

// Found notes that the answer alone has shown something.
func (h *Heard) Found(matcher, extractor string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.First(matcher, extractor)
}
