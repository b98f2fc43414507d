package engine

import (
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/vedette-sec/vedette/internal/engine/dsl"
	"github.com/vedette-sec/vedette/internal/engine/match"
)

// memory is what a session has learned from the answers so far (template language 2.7,
// 2.8 and 7.2): values that were extracted or set, by name, and the facts of answers.
// It is safe for any number of goroutines.
type memory struct {
	mu       sync.Mutex
	values   map[string]any        // []string for what was extracted
	names    []string              // of values, in the order they came
	blocks   map[string]dsl.Lookup // the last answer to each block, by the block's id
	numbered map[int]dsl.Lookup    // the last answer to each entry of the block at work, by its number
}

// extract adds what internal extractors took out.
func (m *memory) extract(all []match.Values) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, v := range all {
		known, _ := m.values[v.Name].([]string)
		list := slices.Clone(known)
		for _, value := range v.Values {
			if !slices.Contains(list, value) {
				list = append(list, value)
			}
		}
		m.put(v.Name, list)
	}
}

// set gives a name a value.
func (m *memory) set(name string, value any) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.put(name, value)
}

func (m *memory) put(name string, value any) {
	if m.values == nil {
		m.values = map[string]any{}
	}
	if _, known := m.values[name]; !known {
		m.names = append(m.names, name)
	}
	m.values[name] = value
}

// answered remembers the facts of an answer to an entry.
func (m *memory) answered(block string, number int, facts dsl.Lookup) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.blocks == nil {
		m.blocks, m.numbered = map[string]dsl.Lookup{}, map[int]dsl.Lookup{}
	}
	m.blocks[block], m.numbered[number] = facts, facts
}

// begin forgets the numbered answers: they belong to one block.
func (m *memory) begin() {
	m.mu.Lock()
	defer m.mu.Unlock()
	clear(m.numbered)
}

// rounds is how many times an entry is made that iterates over all values.
func (m *memory) rounds() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	n := 1
	for _, v := range m.values {
		if list, ok := v.([]string); ok {
			n = max(n, len(list))
		}
	}
	return n
}

// carried is what names mean to the requests that follow, in one round: a value that was
// extracted, or a field of the last answer to a block under the block's id.
func (m *memory) carried(round int) dsl.Lookup {
	return func(name string) (any, bool) {
		m.mu.Lock()
		value, ok := m.value(name, round)
		m.mu.Unlock()
		if ok {
			return value, true
		}
		return m.field(name)
	}
}

// field is a field of the last answer to a block, under the block's id.
func (m *memory) field(name string) (any, bool) {
	m.mu.Lock()
	facts, field := m.ofBlock(name)
	m.mu.Unlock()
	if facts == nil {
		return nil, false
	}
	return facts(field)
}

// learned is a value that was extracted or set before, by its name alone.
func (m *memory) learned(name string) (any, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, ok := m.values[name]; !ok {
		return nil, false
	}
	return m.value(name, 0)
}

// value is a value by its name. Of several, "name" is the one of the round, or the last
// one there is, and "name1" the second. The caller holds mu.
func (m *memory) value(name string, round int) (any, bool) {
	if v, ok := m.values[name]; ok {
		list, several := v.([]string)
		switch {
		case !several:
			return v, true
		case len(list) == 0:
			return nil, false
		}
		return list[min(round, len(list)-1)], true
	}
	stem := strings.TrimRight(name, "0123456789")
	list, ok := m.values[stem].([]string)
	if !ok || stem == name {
		return nil, false
	}
	if n, err := strconv.Atoi(name[len(stem):]); err == nil && n < len(list) {
		return list[n], true
	}
	return nil, false
}

// ofBlock takes a name like login_body apart. The caller holds mu.
func (m *memory) ofBlock(name string) (facts dsl.Lookup, field string) {
	for id, lookup := range m.blocks {
		if len(name) > len(id)+1 && name[len(id)] == '_' && strings.HasPrefix(name, id) && len(name)-len(id) > 0 {
			if rest := name[len(id)+1:]; facts == nil || len(rest) < len(field) {
				facts, field = lookup, rest
			}
		}
	}
	return facts, field
}

// history is what names with a number mean to operators: body_2 is the body of the
// block's second entry.
func (m *memory) history(name string) (any, bool) {
	at := strings.LastIndexByte(name, '_')
	if at < 1 || at == len(name)-1 || name[at+1]-'0' > 9 {
		return nil, false
	}
	n, err := strconv.Atoi(name[at+1:])
	if err != nil {
		return nil, false
	}
	m.mu.Lock()
	facts := m.numbered[n]
	m.mu.Unlock()
	if facts == nil {
		return nil, false
	}
	return facts(name[:at])
}

// snapshot is all values, for a flow: one value as itself, several as a list.
func (m *memory) snapshot(into map[string]any) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for name, v := range m.values {
		if list, ok := v.([]string); ok && len(list) == 1 {
			v = list[0]
		}
		into[name] = v
	}
}
