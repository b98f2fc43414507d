package flow

import (
	"maps"
	"slices"

	"github.com/dop251/goja"
)

// template is the object of that name: the host's values at the last call, what the script set, and, by name only,
// the fields of responses, which are too many to copy after every call.
type template struct {
	run     *run
	values  map[string]goja.Value
	deleted map[string]bool
}

// Get returns a value by its name.
func (t *template) Get(name string) goja.Value {
	if v, ok := t.values[name]; ok || t.deleted[name] || t.run.host.Field == nil {
		return v
	}
	v, ok := t.run.host.Field(name)
	if !ok {
		return nil
	}
	t.values[name] = t.run.value(v)
	return t.values[name]
}

// Set keeps a value until the next call.
func (t *template) Set(name string, v goja.Value) bool {
	t.values[name] = v
	return true
}

// Has reports whether Get returns a value.
func (t *template) Has(name string) bool { return t.Get(name) != nil }

// Delete hides a value until the next call.
func (t *template) Delete(name string) bool {
	delete(t.values, name)
	if t.deleted == nil {
		t.deleted = map[string]bool{}
	}
	t.deleted[name] = true
	return true
}

// Keys are the sorted names of the values, with fields only after their use.
func (t *template) Keys() []string { return slices.Sorted(maps.Keys(t.values)) }
