package asset

import "sync"

// memory keeps sets that were dear to find, until something changes: the next page of a
// list, or the same filter with another beside it, is then joined of what is there.
type memory struct {
	mu   sync.Mutex
	sets map[string]set
	kept int // bytes
}

// maxMemory is how many bytes of sets are kept; what is more than that, and all before it,
// is forgotten together.
const maxMemory = 32 << 20

// recall is the set of a name, which is found if need be, and kept if it was dear. Whoever
// gets it only reads it.
func (m *memory) recall(name string, find func() (s set, dear bool)) set {
	m.mu.Lock()
	s, ok := m.sets[name]
	m.mu.Unlock()
	if ok {
		return s
	}
	s, dear := find()
	if !dear {
		return s
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.sets == nil || m.kept+8*len(s) > maxMemory {
		m.sets, m.kept = map[string]set{}, 0
	}
	m.sets[name] = s
	m.kept += 8*len(s) + len(name)
	return s
}

// forget drops everything.
func (m *memory) forget() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.sets, m.kept = nil, 0
}
