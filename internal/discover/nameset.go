package discover

import "hash/maphash"

// NameSet is a set of names, kept as hashes of 64 bits: a million cost some 20 MB, and the chance that one of them
// is taken for another is 1 in 30 million.
type NameSet struct {
	seed maphash.Seed
	has  map[uint64]struct{}
}

// NewNameSet makes an empty set.
func NewNameSet() *NameSet { return &NameSet{maphash.MakeSeed(), map[uint64]struct{}{}} }

// Add reports whether name is new.
func (s *NameSet) Add(name string) bool {
	h := maphash.String(s.seed, name)
	before := len(s.has)
	s.has[h] = struct{}{}
	return len(s.has) > before
}
