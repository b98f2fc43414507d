package program

import (
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/vedette-sec/vedette/internal/engine/dsl"
	"github.com/vedette-sec/vedette/internal/engine/match"
)

// History is what a session has learned from responses so far (template language 2.7, 2.8 and 7.2): extracted and set
// values, and the fields of responses. The zero value is ready; any number of goroutines may use it.
type History struct {
	mu       sync.Mutex
	values   map[string]any        // by name; []string for what was extracted
	blocks   map[string]dsl.Lookup // the last response to each block, by the block's id
	numbered map[int]dsl.Lookup    // the last response to each entry of the current block, by its number
}

// Extract adds the values of internal extractors.
func (h *History) Extract(all []match.Values) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, v := range all {
		known, _ := h.values[v.Name].([]string)
		list := slices.Clone(known)
		for _, value := range v.Values {
			if !slices.Contains(list, value) {
				list = append(list, value)
			}
		}
		h.store(v.Name, list)
	}
}

// Set sets the value of a name.
func (h *History) Set(name string, value any) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.store(name, value)
}

func (h *History) store(name string, value any) {
	if h.values == nil {
		h.values = map[string]any{}
	}
	h.values[name] = value
}

// AddResponse keeps the fields of the response to an entry of a block.
func (h *History) AddResponse(block string, number int, fields dsl.Lookup) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.blocks == nil {
		h.blocks, h.numbered = map[string]dsl.Lookup{}, map[int]dsl.Lookup{}
	}
	h.blocks[block], h.numbered[number] = fields, fields
}

// BeginBlock drops the numbered responses: they belong to one block.
func (h *History) BeginBlock() {
	h.mu.Lock()
	defer h.mu.Unlock()
	clear(h.numbered)
}

// Rounds is how many times an entry that iterates over all values is sent.
func (h *History) Rounds() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	n := 1
	for _, v := range h.values {
		if list, ok := v.([]string); ok {
			n = max(n, len(list))
		}
	}
	return n
}

// Lookup finds the variables of the requests that follow in one round: extracted values, and response fields named
// after their block's id.
func (h *History) Lookup(round int) dsl.Lookup {
	return func(name string) (any, bool) {
		h.mu.Lock()
		value, ok := h.value(name, round)
		h.mu.Unlock()
		if ok {
			return value, true
		}
		return h.Field(name)
	}
}

// Field is a field of the last response to a block: login_body is the body of block "login".
func (h *History) Field(name string) (any, bool) {
	var fields dsl.Lookup
	field := ""
	h.mu.Lock()
	for id, lookup := range h.blocks {
		rest, ok := strings.CutPrefix(name, id+"_")
		if ok && rest != "" && (fields == nil || len(rest) < len(field)) {
			fields, field = lookup, rest
		}
	}
	h.mu.Unlock()
	if fields == nil {
		return nil, false
	}
	return fields(field)
}

// Value is a value that was extracted or set, by its exact name.
func (h *History) Value(name string) (any, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if _, ok := h.values[name]; !ok {
		return nil, false
	}
	return h.value(name, 0)
}

// value finds "name" of the round, or its last value, and "name1" for the second. The caller holds mu.
func (h *History) value(name string, round int) (any, bool) {
	if v, ok := h.values[name]; ok {
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
	list, ok := h.values[stem].([]string)
	if !ok || stem == name {
		return nil, false
	}
	if n, err := strconv.Atoi(name[len(stem):]); err == nil && n < len(list) {
		return list[n], true
	}
	return nil, false
}

// Numbered is a field of an earlier response in the block: body_2 is the body of its second entry.
func (h *History) Numbered(name string) (any, bool) {
	at := strings.LastIndexByte(name, '_')
	if at < 1 || at == len(name)-1 || name[at+1]-'0' > 9 {
		return nil, false
	}
	n, err := strconv.Atoi(name[at+1:])
	if err != nil {
		return nil, false
	}
	h.mu.Lock()
	fields := h.numbered[n]
	h.mu.Unlock()
	if fields == nil {
		return nil, false
	}
	return fields(name[:at])
}

// Snapshot copies all values for a flow: a single value as itself, several as a list.
func (h *History) Snapshot(into map[string]any) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for name, v := range h.values {
		if list, ok := v.([]string); ok && len(list) == 1 {
			v = list[0]
		}
		into[name] = v
	}
}
