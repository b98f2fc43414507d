package match

import (
	"slices"
	"strings"

	"github.com/vedette-sec/vedette/internal/engine/dsl"
)

// Names are the parts and variables that the operators may read, each once. PartAll, PartBody and the like are named as
// in Response, the default part of a protocol as Spec has it.
func (o *Operators) Names() (names []string) {
	add := func(all ...string) {
		for _, name := range all {
			if name != "" && !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	exprs := func(all []*dsl.Expr) {
		for _, e := range all {
			add(e.Names()...)
		}
	}
	rules := o.rules()
	for i := range rules.matchers {
		m := &rules.matchers[i]
		if m.kind != kindDSL {
			add(m.part.name)
		}
		for _, w := range m.words {
			if w.open != nil {
				add(w.open.Names()...)
			}
		}
		exprs(m.exprs)
	}
	for i := range rules.extractors {
		x := &rules.extractors[i]
		add(x.part.name)
		for _, key := range x.keys {
			add(key, strings.ReplaceAll(key, "-", "_"))
		}
		add(x.written...)
		exprs(x.exprs)
	}
	return names
}
