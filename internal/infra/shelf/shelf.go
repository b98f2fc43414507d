// Package shelf keeps the texts that rows of lists were written as lately, for lists are
// asked for again and again. What stands there is told by its revision: a row that
// changed is written anew.
package shelf

import "sync"

// Shelf keeps a text for each key, as it was at one revision. It has two boards: when the
// new one is full, what nobody took since the last time goes. The zero value is empty;
// many goroutines may use it.
type Shelf[K, R comparable, T ~[]byte] struct {
	mu       sync.Mutex
	new, old map[K]book[R, T]
	bytes    int // on the new board
}

// BoardBytes bounds the texts on one of the two boards.
const BoardBytes = 24 << 20

type book[R comparable, T ~[]byte] struct {
	rev  R
	text T
}

// Take gives what stands for n keys at their revisions, in their order; nil where nothing
// stands. Nobody may change it.
func (s *Shelf[K, R, T]) Take(n int, asked func(i int) (K, R)) []T {
	out := make([]T, n)
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range out {
		key, rev := asked(i)
		b, ok := s.new[key]
		if !ok {
			if b, ok = s.old[key]; ok && b.rev == rev {
				s.put(key, b)
			}
		}
		if ok && b.rev == rev {
			out[i] = b.text
		}
	}
	return out
}

// Put puts a text in the place of what stands for its key.
func (s *Shelf[K, R, T]) Put(key K, rev R, text T) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.put(key, book[R, T]{rev, text})
}

func (s *Shelf[K, R, T]) put(key K, b book[R, T]) {
	if s.bytes += len(b.text); s.new == nil || s.bytes > BoardBytes {
		s.new, s.old, s.bytes = map[K]book[R, T]{}, s.new, len(b.text)
	}
	s.new[key] = b
}
