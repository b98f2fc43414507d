package textsearch

import (
	"encoding/binary"
	"math/bits"
	"slices"
)

// Set looks for many literals in one pass. Making it takes about 0.3 µs a literal. It is safe for any number of
// goroutines.
//
// Four bytes of each literal, those that are rarest in pages and among the literals, are its window. A pass takes
// every four bytes of the text with letters in lower case, asks a small bitmap whether they can be a window, and
// compares the literals of that window. Literals of less than four bytes are searched for one by one.
type Set struct {
	literals []Literal
	windows  []window // of literals
	short    []int    // literals without a window

	filter      []uint64 // a bit for each window
	filterShift uint     // turns a hash into the number of its bit
	heads       []int32  // first window for each value of the upper hash bits, or -1
	headShift   uint
}

type window struct {
	bytes uint32 // bit 5 is set in each byte
	at    int32  // offset in the literal
	next  int32  // next window with the same upper hash bits, or -1
}

// foldMask sets bit 5 of four bytes: it makes upper case lower, and makes some signs alike, which the comparison of
// the whole literal separates.
const foldMask = 0x20202020

// maxWindows bounds how many windows of one literal are considered.
const maxWindows = 64

// hash spreads a window; its upper half depends on all four bytes.
func hash(w uint32) uint64 { return uint64(w) * 0x9E3779B97F4A7C15 }

// NewSet makes a set, which keeps the slice.
func NewSet(literals []Literal) *Set {
	s := &Set{literals: literals, windows: make([]window, len(literals))}
	size := bits.Len(uint(len(literals))) + 4
	countShift := uint(64 - size)
	counts := make([]int32, 1<<size)
	for _, l := range literals {
		for i := range windowsOf(l.Text) {
			counts[hash(windowAt(l.Text, i))>>countShift]++
		}
	}
	// 32 to 64 bits for each window let two or three in a hundred other windows pass. More than 64 KB would leave
	// the nearest cache.
	wide := min(size+1, 19)
	s.filterShift, s.filter = uint(64-wide), make([]uint64, max(1<<wide>>6, 1))
	s.headShift, s.heads = countShift+3, slices.Repeat([]int32{-1}, 1<<(size-3))
	for id, l := range literals {
		if len(l.Text) < 4 {
			s.short = append(s.short, id)
			continue
		}
		best, bestCost := 0, 1<<31
		for i := range windowsOf(l.Text) {
			t := l.Text[i:]
			common := int(frequency[t[0]]) + int(frequency[t[1]]) + int(frequency[t[2]]) + int(frequency[t[3]])
			// Eight literals with one window are as bad as one common letter.
			cost := common + 8*bits.Len32(uint32(counts[hash(windowAt(l.Text, i))>>countShift]))
			if cost < bestCost {
				best, bestCost = i, cost
			}
		}
		w := windowAt(l.Text, best)
		bit := hash(w) >> s.filterShift
		s.filter[bit>>6] |= 1 << (bit & 63)
		head := &s.heads[hash(w)>>s.headShift]
		s.windows[id] = window{bytes: w, at: int32(best), next: *head}
		*head = int32(id)
	}
	return s
}

// windowsOf is how many windows of a text are considered.
func windowsOf(text string) int { return min(max(len(text)-3, 0), maxWindows) }

func windowAt(text string, i int) uint32 {
	return (uint32(text[i]) | uint32(text[i+1])<<8 | uint32(text[i+2])<<16 | uint32(text[i+3])<<24) | foldMask
}

// Find reports for each literal whether a text contains it.
func (s *Set) Find(t *Text) []bool {
	found := make([]bool, len(s.literals))
	for _, id := range s.short {
		found[id] = t.Contains(s.literals[id])
	}
	if len(s.short) == len(s.literals) {
		return found
	}
	data, filter, shift := t.data, s.filter, s.filterShift&63
	for i := 0; i+4 <= len(data); i++ {
		w := binary.LittleEndian.Uint32(data[i:]) | foldMask
		if bit := hash(w) >> shift; filter[bit>>6]>>(bit&63)&1 != 0 {
			s.compare(data, i, w, found)
		}
	}
	return found
}

// compare marks the literals that occur with their window w at i.
func (s *Set) compare(data []byte, i int, w uint32, found []bool) {
	for id := s.heads[hash(w)>>s.headShift]; id >= 0; id = s.windows[id].next {
		c, text := &s.windows[id], s.literals[id].Text
		from := i - int(c.at)
		if c.bytes != w || found[id] || from < 0 || from+len(text) > len(data) {
			continue
		}
		found[id] = s.literals[id].equal(data[from : from+len(text)])
	}
}
