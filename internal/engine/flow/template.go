package flow

import (
	"maps"
	"slices"

	"github.com/dop251/goja"
)

// template is the object of that name: the host's values as they were at the last call, what the script put there,
// and, by name only, the fields of responses. There are too many of those to copy them after every call.
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

// Has reports whether Get would give a value.
func (t *template) Has(name string) bool { return t.Get(name) != nil }

// Delete forgets a value until the next call.
func (t *template) Delete(name string) bool {
	delete(t.values, name)
	if t.deleted == nil {
		t.deleted = map[string]bool{}
	}
	t.deleted[name] = true
	return true
}

// Keys names the values, in the order of their names; of fields only those that were asked for.
func (t *template) Keys() []string { return slices.Sorted(maps.Keys(t.values)) }
