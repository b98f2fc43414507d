package match

import (
	"sync"
	"sync/atomic"

	"github.com/vedette-sec/vedette/internal/engine/dsl"
	"github.com/vedette-sec/vedette/internal/infra/textsearch"
)

// Group is the operators that are evaluated on the same responses. When it has many literals to look for, it searches
// a part for all of them in one pass. It is safe for any number of goroutines.
type Group struct {
	operators []*Operators
	tests     atomic.Int64 // literals that were searched for one by one
	makeSets  sync.Once

	// Of each view: the literals, and their indexes in the set; nil when they are few.
	sets [numViews]*textsearch.Set
	ids  [numViews]map[textsearch.Literal]int
}

const (
	minLiterals = 16 // in one view that are worth a pass
	fewTests    = 8  // searches in a view before the pass
	// The sets are made after one search for every operatorsPerTest operators: before, they may never be needed.
	operatorsPerTest = 8
)

// NewGroup makes a group; operators are known by their index from then on.
func NewGroup(operators []*Operators) *Group { return &Group{operators: operators} }

// Eval evaluates all operators on one response, in order, and calls each with the outcomes of those that match or have
// extracted something, or reached a limit. vars, which may be nil, returns the variables of the i-th operators.
func (g *Group) Eval(r *Response, vars func(i int) dsl.Lookup, each func(i int, out Outcome)) {
	var own dsl.Lookup
	current := -1 // the operators that own is for
	at := 0
	var lookup dsl.Lookup
	if vars != nil {
		lookup = func(name string) (any, bool) {
			if current != at {
				current, own = at, vars(at)
			}
			if own == nil {
				return nil, false
			}
			return own(name)
		}
	}
	for i, o := range g.operators {
		if o.excludedByStatus(r) {
			continue
		}
		at = i
		if r.Before != nil {
			r.Before(i)
		}
		r.evaluation.group = g
		if out := o.rules().eval(r, lookup); out.FlowMatched || len(out.Internal) > 0 || out.Limited != nil {
			each(i, out)
		}
	}
	r.evaluation.group = nil
}

// find reports whether a view contains a literal, if the group has searched the view or it is worth doing.
func (g *Group) find(v *view, l textsearch.Literal) (hit, known bool) {
	if v.index == viewNamed {
		return false, false
	}
	if v.foundBy != g {
		if v.tests++; v.tests <= fewTests {
			return false, false
		}
		if g.tests.Add(1) <= int64(len(g.operators)/operatorsPerTest) {
			return false, false
		}
		g.makeSets.Do(g.newSets)
		if g.sets[v.index] == nil {
			return false, false
		}
		v.found, v.foundBy = g.sets[v.index].Find(v.text), g
	}
	id, known := g.ids[v.index][l]
	return known && v.found[id], known
}

func (g *Group) newSets() {
	var literals [numViews][]textsearch.Literal
	for i := range g.ids {
		g.ids[i] = map[textsearch.Literal]int{}
	}
	for _, o := range g.operators {
		o.rules().literals(func(part partRef, l textsearch.Literal) {
			if view := part.index; view != viewNamed {
				if _, ok := g.ids[view][l]; !ok {
					g.ids[view][l] = len(literals[view])
					literals[view] = append(literals[view], l)
				}
			}
		})
	}
	for i, all := range literals {
		if len(all) >= minLiterals {
			g.sets[i] = textsearch.NewSet(all)
		}
	}
}

// literals calls add with the literals that the operators look for, and the part of each.
func (o *rules) literals(add func(partRef, textsearch.Literal)) {
	patterns := func(part partRef, patterns []*textsearch.Pattern) {
		for _, p := range patterns {
			for _, l := range p.Needs() {
				add(part, l)
			}
		}
	}
	exprs := func(exprs []*dsl.Expr) {
		for _, e := range exprs {
			for _, n := range e.Needles() {
				add(o.names.varOf(n.Var), textsearch.Literal{Text: n.Text, Fold: n.Fold})
			}
		}
	}
	for i := range o.matchers {
		m := &o.matchers[i]
		for _, w := range m.words {
			if w.open == nil && !w.nonASCII {
				add(m.part, w.literal)
			}
		}
		patterns(m.part, m.patterns)
		exprs(m.exprs)
	}
	for i := range o.extractors {
		x := &o.extractors[i]
		patterns(x.part, x.patterns)
		exprs(x.exprs)
	}
}
