package asset

import "sync"

// memory keeps what was dear to find, until something changes: the next page of a list, or
// the same filter with another beside it, is then made of what is there. What several ask
// for at once is found once.
type memory[T any] struct {
	mu    sync.Mutex
	found map[string]*answer[T]
	kept  int // bytes
}

type answer[T any] struct {
	once  sync.Once
	value T
}

// maxMemory is how many bytes a memory keeps; what is more than that, and all before it, is
// forgotten together.
const maxMemory = 32 << 20

// recall is what has a name: it is found if need be, and kept if it is said to have any
// bytes. Whoever gets it only reads it.
func (m *memory[T]) recall(name string, find func() (value T, bytes int)) T {
	m.mu.Lock()
	f := m.found[name]
	if f == nil {
		if f = new(answer[T]); m.found == nil {
			m.found = map[string]*answer[T]{}
		}
		m.found[name] = f
	}
	m.mu.Unlock()
	f.once.Do(func() {
		bytes := 0
		defer func() { m.keep(name, f, bytes) }() // nothing of it, where it panics
		f.value, bytes = find()
	})
	return f.value
}

// keep has an answer that has any bytes stay.
func (m *memory[T]) keep(name string, f *answer[T], bytes int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if bytes == 0 {
		delete(m.found, name)
		return
	}
	if m.kept += bytes + len(name); m.kept > maxMemory {
		m.found, m.kept = map[string]*answer[T]{name: f}, bytes+len(name)
	}
}

// forget drops everything.
func (m *memory[T]) forget() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.found, m.kept = nil, 0
}
