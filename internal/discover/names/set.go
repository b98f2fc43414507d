package names

import "hash/maphash"

// set remembers names by a hash of 64 bits: a million cost some 20 MB, and the chance
// that one of them is taken for another is 1 in 30 million.
type set struct {
	seed maphash.Seed
	has  map[uint64]struct{}
}

func newSet() *set { return &set{seed: maphash.MakeSeed(), has: map[uint64]struct{}{}} }

// add reports whether name is new.
func (s *set) add(name string) bool {
	h := maphash.String(s.seed, name)
	if _, ok := s.has[h]; ok {
		return false
	}
	s.has[h] = struct{}{}
	return true
}
