package asset

import (
	"bytes"
	"slices"
	"strings"
	"sync"
)

// facet is one thing to filter and to sort by: the values of a column, and who has each.
// A column of several words is one value; who has a word is who has a value with it.
type facet struct {
	ids    map[string]uint32 // the position of each value
	values []string
	last   uint32           // the position that was asked for last: what was seen together is alike
	byInt  map[int64]uint32 // of numbers, the same as ids
	posts  []posting
	of     []uint32            // by asset: the position of its value
	words  map[string][]uint32 // lower case: values of which it is a word, where it is not all of it
	parts  func(value string) []string
	key    func(value string) string // what it is sorted by; nil: the value
	sorted []uint32                  // positions in order
	rank   []uint32                  // by position: its place in the order
	text   texts
}

// A facet's value is as it is stored, or as parts makes words of it, which are searched
// for in lower case.
func newFacet(parts func(string) []string) *facet {
	return &facet{ids: map[string]uint32{}, byInt: map[int64]uint32{}, words: map[string][]uint32{}, parts: parts}
}

// id is the position of a value, which is added if need be.
func (f *facet) id(value string) uint32 {
	if int(f.last) < len(f.values) && f.values[f.last] == value {
		return f.last
	}
	id, ok := f.ids[value]
	if f.last = id; ok {
		return id
	}
	value = strings.Clone(value)
	id = uint32(len(f.values))
	f.ids[value], f.last = id, id
	f.values, f.posts = append(f.values, value), append(f.posts, posting{})
	for _, word := range f.parts(value) {
		if word != value {
			f.words[word] = append(f.words[word], id)
		}
	}
	return id
}

// number is id of a number.
func (f *facet) number(n int64) uint32 {
	id, ok := f.byInt[n]
	if !ok {
		id = f.id(number(n))
		f.byInt[n] = id
	}
	return id
}

// put gives an asset the value at a position, and takes the one that it has.
func (f *facet) put(no, id uint32, had bool) {
	for len(f.of) <= int(no) {
		f.of = append(f.of, 0)
	}
	if had {
		if f.of[no] == id {
			return
		}
		f.posts[f.of[no]].remove(no)
	}
	f.of[no] = id
	f.posts[id].add(no)
}

func (f *facet) drop(no uint32) { f.posts[f.of[no]].remove(no) }

// place is where an asset's value stands in the order.
func (f *facet) place(no uint32) uint32 { return f.rank[f.of[no]] }

// with is the positions of values that have a word.
func (f *facet) with(word string) []uint32 {
	out := f.words[word]
	if id, ok := f.ids[word]; ok {
		out = append(slices.Clip(out), id)
	}
	return out
}

func (f *facet) sortKey(id uint32) string {
	if f.key != nil {
		return f.key(f.values[id])
	}
	return f.values[id]
}

// order makes the places of values that came since. What is new is sorted, and put where
// it belongs among the others.
func (f *facet) order() {
	from := len(f.sorted)
	if from == len(f.values) {
		return
	}
	type keyed struct {
		key string
		id  uint32
	}
	fresh := make([]keyed, 0, len(f.values)-from)
	for id := from; id < len(f.values); id++ {
		fresh = append(fresh, keyed{f.sortKey(uint32(id)), uint32(id)})
	}
	slices.SortFunc(fresh, func(a, b keyed) int { return strings.Compare(a.key, b.key) })
	merged := make([]uint32, 0, cap(f.sorted)+len(fresh))
	rest := f.sorted
	for _, k := range fresh {
		at, _ := slices.BinarySearchFunc(rest, k.key, func(id uint32, key string) int { return strings.Compare(f.sortKey(id), key) })
		merged = append(append(merged, rest[:at]...), k.id)
		rest = rest[at:]
	}
	merged = append(merged, rest...)
	f.sorted = merged
	f.rank = slices.Grow(f.rank[:0], len(f.sorted))[:len(f.sorted)]
	for place, id := range f.sorted {
		f.rank[id] = uint32(place)
	}
}

// between is the places of the values from one sort key on and before another.
func (f *facet) between(from, until string) (low, high int) {
	at := func(key string) int {
		i, _ := slices.BinarySearchFunc(f.sorted, key, func(id uint32, key string) int { return strings.Compare(f.sortKey(id), key) })
		return i
	}
	low = at(from)
	return low, max(low, at(until))
}

// texts are the values of a facet in lower case, in one piece, to be searched; and what
// was found before.
type texts struct {
	mu    sync.Mutex
	all   []byte
	ends  []uint32
	pairs []uint64 // a bit for each two bytes that stand side by side in all
	found map[string]*match
	kept  int // positions in found
}

// match is the values that contain a text, of the first n.
type match struct {
	ids []uint32
	n   int
}

// What is remembered of searches: positions of values in all, 4 bytes each.
const maxKept = 4 << 20

// containing is the positions of the values that contain a text in lower case. The caller
// may read the facet.
func (f *facet) containing(part string) []uint32 {
	return f.text.find(f.values, "~"+part, part, func([]byte) bool { return true })
}

// like is the positions of the values that have a word; in a word with a *, that stands
// for anything.
func (f *facet) like(word string) []uint32 {
	if !strings.Contains(word, "*") {
		return f.with(word)
	}
	longest := ""
	for part := range strings.SplitSeq(word, "*") {
		if len(part) > len(longest) {
			longest = part
		}
	}
	return f.text.find(f.values, "*"+word, longest, func(value []byte) bool {
		for line := range bytes.SplitSeq(value, []byte("\n")) {
			if matches(word, line) {
				return true
			}
		}
		return false
	})
}

// find is the positions of the values in lower case that contain a part and hold. What
// was found under a name is remembered, and only new values are looked at again.
func (t *texts) find(values []string, name, part string, holds func(value []byte) bool) []uint32 {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.take(values)
	m := t.found[name]
	if m == nil {
		if m = new(match); t.found == nil || t.kept > maxKept {
			t.found, t.kept = map[string]*match{}, 0
		}
		t.found[strings.Clone(name)] = m
	}
	had := len(m.ids)
	t.search(m, []byte(part), holds)
	t.kept += len(m.ids) - had + 16
	return m.ids
}

// take adds the values that are new to what is searched. The caller holds the lock.
func (t *texts) take(values []string) {
	if t.pairs == nil {
		t.pairs = make([]uint64, 1<<16/64)
	}
	for _, value := range values[len(t.ends):] {
		before := byte(0)
		for _, c := range []byte(strings.ToLower(value)) {
			pair := uint16(before)<<8 | uint16(c)
			t.pairs[pair/64] |= 1 << (pair % 64)
			t.all, before = append(t.all, c), c
		}
		t.all = append(t.all, 0)
		t.ends = append(t.ends, uint32(len(t.all)))
	}
}

// mayHave reports whether any value can contain a part: that it cannot is often known, as
// of a word among addresses.
func (t *texts) mayHave(part []byte) bool {
	for i := 1; i < len(part); i++ {
		if pair := uint16(part[i-1])<<8 | uint16(part[i]); t.pairs[pair/64]>>(pair%64)&1 == 0 {
			return false
		}
	}
	return true
}

// search looks at the values that a match does not know yet.
func (t *texts) search(m *match, part []byte, holds func(value []byte) bool) {
	known := m.n
	m.n = len(t.ends)
	if !t.mayHave(part) {
		return
	}
	for _, ids := range split(len(t.ends)-known, func(from, until int) []uint32 { return t.among(known+from, known+until, part, holds) }) {
		m.ids = append(m.ids, ids...)
	}
}

// among is the positions of the values that contain a part and hold, from one position on
// and before another.
func (t *texts) among(from, until int, part []byte, holds func(value []byte) bool) (ids []uint32) {
	if from == until {
		return nil
	}
	all := t.all[:t.ends[until-1]]
	for id, at := from, t.begin(from); id < until; id++ {
		next := bytes.Index(all[at:], part)
		if next < 0 {
			break
		}
		for end := at + uint32(next); t.ends[id] <= end; {
			id++
		}
		if holds(all[t.begin(id) : t.ends[id]-1]) {
			ids = append(ids, uint32(id))
		}
		at = t.ends[id]
	}
	return ids
}

// begin is where the value at a position begins.
func (t *texts) begin(id int) uint32 {
	if id == 0 {
		return 0
	}
	return t.ends[id-1]
}
