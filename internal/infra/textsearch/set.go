package textsearch

import (
	"encoding/binary"
	"math/bits"
)

// Set looks for many literals in one pass. It costs about a microsecond a literal to
// make, so that it pays for one response, and is safe for any number of goroutines.
//
// Each literal is represented by one window of four of its bytes, the one that is
// rarest among the literals and in pages. A pass takes each window of the text, in lower
// case, asks a small filter whether it can be anyone's, and compares those that can.
// Literals of less than four bytes are searched for one by one.
type Set struct {
	literals []Literal
	short    []int32 // literals without a window

	filter []uint64 // a bit a window
	narrow uint     // shifts a hash to the number of its bit

	// The windows, by the top bits of their hashes: those of bucket b are
	// windows[starts[b]:starts[b+1]].
	windows []window
	starts  []int32
	bucket  uint // shifts a hash to an index of starts
}

// window is where a literal can be recognised.
type window struct {
	bytes   uint32 // four bytes of the literal, bit 5 set in each
	tail    uint32 // its last four bytes, likewise
	at      int32  // where the window is in the literal
	after   int32  // how far behind the window the last four bytes are
	literal int32
}

// foldMask sets bit 5 of four bytes: it makes upper case lower, and confuses some signs,
// which the comparison tells apart.
const foldMask = 0x20202020

// maxWindows bounds how many windows of one literal are weighed.
const maxWindows = 64

// hash spreads a window; its upper half depends on all four bytes.
func hash(w uint32) uint64 { return uint64(w) * 0x9E3779B97F4A7C15 }

// NewSet makes a set. The literals are known by their index from then on; the slice is
// kept.
func NewSet(literals []Literal) *Set {
	s := &Set{literals: literals}
	size := max(bits.Len(uint(len(literals))), 4)
	counts := make([]uint16, 1<<(size+3))
	narrow := uint(64 - size - 3)
	for _, l := range literals {
		for i := range windowsOf(l.Text) {
			if c := &counts[hash(windowAt(l.Text, i))>>narrow]; *c < 1<<16-1 {
				*c++
			}
		}
	}
	weight := weights()
	unsorted := make([]window, 0, len(literals))
	for id, l := range literals {
		if len(l.Text) < 4 {
			s.short = append(s.short, int32(id))
			continue
		}
		best, bestCost := 0, 1<<31
		for i := range windowsOf(l.Text) {
			common := int(weight[l.Text[i]]) + int(weight[l.Text[i+1]]) + int(weight[l.Text[i+2]]) + int(weight[l.Text[i+3]])
			// Eight literals in one bucket are as bad as one letter that is common.
			cost := common + 8*bits.Len16(counts[hash(windowAt(l.Text, i))>>narrow])
			if cost < bestCost {
				best, bestCost = i, cost
			}
		}
		end := len(l.Text) - 4
		unsorted = append(unsorted, window{
			bytes: windowAt(l.Text, best), tail: windowAt(l.Text, end),
			at: int32(best), after: int32(end - best), literal: int32(id),
		})
	}
	s.index(unsorted)
	return s
}

// index fills the filter and sorts the windows into their buckets.
func (s *Set) index(unsorted []window) {
	size := max(bits.Len(uint(len(unsorted))), 4)
	s.bucket = uint(64 - size)
	s.starts = make([]int32, 1<<size+1)
	// 32 to 64 bits a window: two or three in a hundred foreign windows pass. More than
	// 64 KB would leave the nearest cache.
	wide := min(max(size+5, 12), 19)
	s.narrow = uint(64 - wide)
	s.filter = make([]uint64, 1<<(wide-6))
	for _, w := range unsorted {
		h := hash(w.bytes)
		at := h >> s.narrow
		s.filter[at>>6] |= 1 << (at & 63)
		s.starts[h>>s.bucket]++
	}
	sum := int32(0)
	for i, n := range s.starts {
		sum += n
		s.starts[i] = sum
	}
	s.windows = make([]window, len(unsorted))
	for _, w := range unsorted {
		start := &s.starts[hash(w.bytes)>>s.bucket]
		*start--
		s.windows[*start] = w
	}
}

// windowsOf is how many windows of a text are weighed.
func windowsOf(text string) int { return min(max(len(text)-3, 0), maxWindows) }

func windowAt(text string, i int) uint32 {
	return (uint32(text[i]) | uint32(text[i+1])<<8 | uint32(text[i+2])<<16 | uint32(text[i+3])<<24) | foldMask
}

// Len is the number of literals.
func (s *Set) Len() int { return len(s.literals) }

// Find sets the hits to the literals that occur in a text, by index.
func (s *Set) Find(t *Text, hits *Bits) {
	hits.Reset(len(s.literals))
	for _, id := range s.short {
		if l := s.literals[id]; l.Fold && containsFold(t.data, l.Text) || !l.Fold && contains(t.data, l.Text) {
			hits.Set(int(id))
		}
	}
	if len(s.windows) == 0 {
		return
	}
	data, i := t.data, 0
	filter, narrow := s.filter, s.narrow
	for ; i+8 <= len(data); i += 4 {
		// Four windows in eight bytes.
		v := binary.LittleEndian.Uint64(data[i:]) | foldMask<<32 | foldMask
		if passes(filter, narrow, uint32(v)) {
			s.compare(data, i, hits)
		}
		if passes(filter, narrow, uint32(v>>8)) {
			s.compare(data, i+1, hits)
		}
		if passes(filter, narrow, uint32(v>>16)) {
			s.compare(data, i+2, hits)
		}
		if passes(filter, narrow, uint32(v>>24)) {
			s.compare(data, i+3, hits)
		}
	}
	for ; i+4 <= len(data); i++ {
		s.compare(data, i, hits)
	}
}

// passes reports whether a window can be a literal's.
func passes(filter []uint64, narrow uint, w uint32) bool {
	at := hash(w) >> (narrow & 63)
	return filter[at>>6]>>(at&63)&1 != 0
}

// compare sets the hits of the literals of which a window is at i.
func (s *Set) compare(data []byte, i int, hits *Bits) {
	w := binary.LittleEndian.Uint32(data[i:]) | foldMask
	b := hash(w) >> s.bucket
	for _, c := range s.windows[s.starts[b]:s.starts[b+1]] {
		from, last := i-int(c.at), i+int(c.after)
		if c.bytes != w || from < 0 || last+4 > len(data) || hits.Has(int(c.literal)) {
			continue
		}
		if binary.LittleEndian.Uint32(data[last:])|foldMask != c.tail {
			continue
		}
		l := s.literals[c.literal]
		if found := data[from : last+4]; string(found) == l.Text || l.Fold && equalFold(found, l.Text) {
			hits.Set(int(c.literal))
		}
	}
}

// Bits is a set of small numbers. The zero value is empty and has no room.
type Bits struct{ words []uint64 }

// Reset empties the set and makes room for 0 to n-1.
func (b *Bits) Reset(n int) {
	words := (n + 63) / 64
	if cap(b.words) < words {
		b.words = make([]uint64, words)
		return
	}
	b.words = b.words[:words]
	clear(b.words)
}

// Set puts a number in, for which there is room.
func (b *Bits) Set(i int) { b.words[i>>6] |= 1 << (i & 63) }

// Has reports whether a number, for which there is room, is in.
func (b *Bits) Has(i int) bool { return b.words[i>>6]>>(i&63)&1 != 0 }
