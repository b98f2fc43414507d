package match

import (
	"sync"
	"sync/atomic"

	"github.com/vedette-sec/vedette/internal/engine/dsl"
	"github.com/vedette-sec/vedette/internal/infra/textsearch"
)

// Group is all the operators that wait for one response. When there is much to look for,
// it looks for all literals of a part in one pass. It is safe for any number of
// goroutines.
type Group struct {
	operators []*Operators

	counted sync.Once
	bases   []int // of each operators' sites in the group's
	sites   int

	asked atomic.Int64 // literals looked for one by one because the sets were not made
	once  sync.Once
	made  atomic.Bool
	ids   []int32 // of the literals, in the set of their part, by site; -1 when in none
	sets  [numViews]*textsearch.Set
}

const (
	// minLiterals is how many different literals of one part are worth a pass.
	minLiterals = 16
	// patience is how many literals are looked for in a part before the pass.
	patience = 8
	// patienceShare of all sites must have been asked before the sets are made.
	patienceShare = 32
)

// NewGroup makes a group; operators are known by their index from then on. It does no
// work: sets are made when they are worth it.
func NewGroup(operators []*Operators) *Group { return &Group{operators: operators} }

// Eval evaluates one response by all operators, in order, and calls each with the outcomes of
// those that match or have extracted something.
// vars returns the variables of the operators with an index, when they ask; nil for none.
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
		if o.refuse(r) {
			continue
		}
		at = i
		rules := o.rules()
		r.work.group, r.work.member = g, i
		r.begin(rules, lookup)
		if out := rules.eval(r); out.FlowMatched || len(out.Internal) > 0 {
			each(i, out)
		}
	}
	r.work.group = nil
}

// count numbers the sites of all operators one after the other.
func (g *Group) count() {
	g.bases = make([]int, len(g.operators))
	for i, o := range g.operators {
		g.bases[i] = g.sites
		g.sites += len(o.rules().sites)
	}
}

// hit knows whether a literal of a member is in a view, if its set was worth a pass.
func (g *Group) hit(v *view, member int, at site) (hit, known bool) {
	if v.passedBy != g {
		if v.tests++; v.tests <= patience {
			return false, false
		}
		if g.counted.Do(g.count); g.sites < minLiterals {
			return false, false
		}
		if !g.made.Load() {
			if g.asked.Add(1) < int64(g.sites/patienceShare) {
				return false, false
			}
			g.once.Do(g.make)
		}
	}
	id := g.ids[g.bases[member]+int(at)]
	if id < 0 {
		return false, false
	}
	if v.passedBy != g {
		g.sets[v.index].Find(v.text, &v.hits)
		v.passedBy = g
	}
	return v.hits.Has(int(id)), true
}

// make makes the sets.
func (g *Group) make() {
	g.ids = make([]int32, 0, g.sites)
	var known [numViews]map[textsearch.Literal]int32
	var literals [numViews][]textsearch.Literal
	for _, o := range g.operators {
		for _, s := range o.rules().sites {
			if s.view == viewNamed {
				g.ids = append(g.ids, -1)
				continue
			}
			if known[s.view] == nil {
				known[s.view] = map[textsearch.Literal]int32{}
			}
			id, ok := known[s.view][s.literal]
			if !ok {
				id = int32(len(literals[s.view]))
				literals[s.view] = append(literals[s.view], s.literal)
				known[s.view][s.literal] = id
			}
			g.ids = append(g.ids, id)
		}
	}
	for i := range g.sets {
		if len(literals[i]) >= minLiterals {
			g.sets[i] = textsearch.NewSet(literals[i])
		}
	}
	at := 0
	for _, o := range g.operators {
		for _, s := range o.rules().sites {
			if s.view != viewNamed && g.sets[s.view] == nil {
				g.ids[at] = -1
			}
			at++
		}
	}
	g.made.Store(true)
}
