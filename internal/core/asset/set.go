package asset

import (
	"math/bits"
	"runtime"
	"slices"
	"sync"

	"github.com/RoaringBitmap/roaring/v2"
)

// set is assets by their numbers, a bit each. A million is 125 kB: sets are joined faster
// than it could be decided how to do it cleverly.
type set []uint64

func newSet(numbers int) set { return make(set, (numbers+63)/64) }

func (s *set) add(no uint32) {
	if need := int(no/64) + 1; need > len(*s) {
		*s = append(*s, make(set, need-len(*s))...)
	}
	(*s)[no/64] |= 1 << (no % 64)
}

func (s set) remove(no uint32) {
	if int(no/64) < len(s) {
		s[no/64] &^= 1 << (no % 64)
	}
}

func (s set) has(no uint32) bool { return int(no/64) < len(s) && s[no/64]&(1<<(no%64)) != 0 }

func (s *set) put(no uint32, in bool) {
	if in {
		s.add(no)
	} else {
		s.remove(no)
	}
}

// bytes is what a set takes in memory.
func (s set) bytes() int { return 8 * len(s) }

// before removes the numbers that are not below a bound.
func (s set) before(no int64) {
	word := no / 64
	if word >= int64(len(s)) {
		return
	}
	s[word] &= 1<<(no%64) - 1
	clear(s[word+1:])
}

// and keeps what other has too.
func (s set) and(other set) {
	n := min(len(s), len(other))
	for i := range s[:n] {
		s[i] &= other[i]
	}
	clear(s[n:])
}

// not removes what other has.
func (s set) not(other set) {
	for i := range s[:min(len(s), len(other))] {
		s[i] &^= other[i]
	}
}

// or adds what other has within the length of s.
func (s set) or(other set) {
	for i := range s[:min(len(s), len(other))] {
		s[i] |= other[i]
	}
}

func (s set) count() (n int) {
	for _, word := range s {
		n += bits.OnesCount64(word)
	}
	return n
}

// each calls do with every number, growing, until it returns false.
func (s set) each(do func(no uint32) bool) {
	for i, word := range s {
		for ; word != 0; word &= word - 1 {
			if !do(uint32(i*64 + bits.TrailingZeros64(word))) {
				return
			}
		}
	}
}

// keep removes what does not hold.
func (s set) keep(holds func(no uint32) bool) {
	for i, word := range s {
		for ; word != 0; word &= word - 1 {
			if bit := bits.TrailingZeros64(word); !holds(uint32(i*64 + bit)) {
				s[i] &^= 1 << bit
			}
		}
	}
}

// fewTogether is how many of something are not worth a second processor.
const fewTogether = 1 << 14

// split has a range of n gone through by all processors at once, each a part of it. What
// the parts come to is in their order.
func split[T any](n int, do func(from, until int) T) []T {
	parts := max(min(runtime.GOMAXPROCS(0), n/fewTogether), 1)
	out := make([]T, parts)
	var work sync.WaitGroup
	for i := range parts {
		work.Go(func() { out[i] = do(n*i/parts, n*(i+1)/parts) })
	}
	work.Wait()
	return out
}

// splitSet is split of the words of a set.
func splitSet[T any](s set, do func(word, words int) T) []T {
	return split(64*len(s), func(from, until int) T { return do(from/64, until/64) })
}

func (s set) numbers() []uint32 {
	out := make([]uint32, 0, s.count())
	s.each(func(no uint32) bool {
		out = append(out, no)
		return true
	})
	return out
}

// span is the numbers from one place among them on and before another.
func (s set) span(low, high int) []uint32 {
	out := make([]uint32, 0, high-low)
	word := 0
	for ; word < len(s); word++ {
		n := bits.OnesCount64(s[word])
		if low < n {
			break
		}
		low -= n
	}
	s[word:].each(func(no uint32) bool {
		if low > 0 {
			low--
			return true
		}
		out = append(out, no+uint32(word*64))
		return len(out) < cap(out)
	})
	return out
}

// posting is the assets that have a value: most values have few.
type posting struct {
	few  []uint32
	many *roaring.Bitmap // then few is nil
}

const manyFrom = 48

func (p *posting) add(no uint32) {
	if p.many != nil {
		p.many.Add(no)
		return
	}
	if at, found := slices.BinarySearch(p.few, no); !found {
		p.few = slices.Insert(p.few, at, no)
	}
	if len(p.few) >= manyFrom {
		p.many, p.few = roaring.BitmapOf(p.few...), nil
	}
}

func (p *posting) remove(no uint32) {
	if p.many != nil {
		p.many.Remove(no)
	} else if at, found := slices.BinarySearch(p.few, no); found {
		p.few = slices.Delete(p.few, at, at+1)
	}
}

// denseFrom is how many assets are put into a set by a copy of all bits, and not one by
// one.
const denseFrom = 1 << 14

// size is how many assets there are.
func (p *posting) size() int {
	if p.many != nil {
		return int(p.many.GetCardinality())
	}
	return len(p.few)
}

// cost is how long it takes to put them all into a set, in looks at one asset of a walk
// through all: each posting is somewhere else in memory.
func (p *posting) cost() int {
	const jump = 8
	if p.many != nil {
		return jump + 2*min(int(p.many.GetCardinality()), denseFrom)
	}
	return jump + len(p.few)
}

// into adds the assets to a set that is long enough.
func (p *posting) into(s set) {
	if p.many != nil && p.many.GetCardinality() > denseFrom {
		s.or(p.many.ToDense())
		return
	}
	p.each(func(no uint32) bool {
		s[no/64] |= 1 << (no % 64)
		return true
	})
}

// within is which of the assets are in a set.
func (p *posting) within(s set) (out []uint32) {
	p.each(func(no uint32) bool {
		if s.has(no) {
			out = append(out, no)
		}
		return true
	})
	return out
}

// each calls do with every number, growing, until it returns false.
func (p *posting) each(do func(no uint32) bool) {
	for _, no := range p.few {
		if !do(no) {
			return
		}
	}
	if p.many != nil {
		p.many.Iterate(do)
	}
}
