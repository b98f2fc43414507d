package engine

import (
	"slices"

	"github.com/vedette-sec/vedette/internal/engine/match"
	"github.com/vedette-sec/vedette/internal/engine/program"
)

// ask is an entry of a block that wants an answer.
type ask struct{ program, block, entry int }

// plan is what a scan sends to each target of one kind: every distinct request of plain
// programs once, with all who ask for it, and the sessions of all others. It is not
// changed after it is made.
type plan struct {
	probes   []probe
	probeOf  map[ask]int // of blocks that stop at their first match
	sessions []int       // programs whose sessions begin by themselves
	total    int         // requests that are expected on a target
}

// probe is one request, and who waits for its answer; the first of them renders it.
type probe struct {
	asks    []ask
	openers []ask // of sessions
	group   *match.Group
	follows []follow // by how redirects are followed
}

// follow is those askers of a probe that follow redirects alike.
type follow struct {
	how   program.Follow
	asks  []int // by place in probe.asks
	group *match.Group
}

// first is who renders a probe.
func (p *probe) first() ask {
	if len(p.asks) > 0 {
		return p.asks[0]
	}
	return p.openers[0]
}

// planner makes a plan.
type planner struct {
	plan
	programs   []*program.Bound
	rootTarget bool
	byKey      map[string]int
	key        []byte // of the request at hand
}

// newPlan joins equal requests, in the order of the programs. rootTarget is for targets
// without a path.
func newPlan(programs []*program.Bound, runs func(i int) bool, rootTarget bool) *plan {
	p := planner{programs: programs, rootTarget: rootTarget, byKey: map[string]int{}}
	p.probeOf = map[ask]int{}
	for i, bound := range programs {
		switch {
		case !runs(i) || bound.SelfContained:
		case bound.Plain:
			p.plain(i, bound)
		default:
			p.session(i, bound)
		}
	}
	p.total += len(p.probes)
	for i := range p.probes {
		p.probes[i].split(programs)
	}
	made := p.plan // on its own: the keys of all requests are not needed any more
	return &made
}

// alonePlan is the plan of programs that need no target.
func (r *run) alonePlan() *plan {
	p := &plan{}
	for i, b := range r.programs {
		if b.SelfContained && !r.isGlobal(i) {
			p.sessions = append(p.sessions, i)
			p.total += b.Requests()
		}
	}
	return p
}

func (p *planner) plain(i int, bound *program.Bound) {
	for j := range bound.Blocks {
		for k := range bound.Blocks[j].Entries {
			a := ask{i, j, k}
			at := p.probeFor(a)
			p.probes[at].asks = append(p.probes[at].asks, a)
			if bound.Blocks[j].Stops() {
				p.probeOf[a] = at
			}
		}
	}
}

// session plans a program that runs by itself. When its first request depends on the
// target alone, it begins with the answer to the probe that makes it.
func (p *planner) session(i int, bound *program.Bound) {
	p.total += bound.Requests()
	if j, k, ok := bound.Opener(); ok {
		a := ask{i, j, k}
		at := p.probeFor(a)
		p.probes[at].openers = append(p.probes[at].openers, a)
		p.total--
		return
	}
	p.sessions = append(p.sessions, i)
}

func (p *planner) probeFor(a ask) int {
	p.key = p.programs[a.program].AppendKey(p.key[:0], a.block, a.entry, p.rootTarget)
	at, ok := p.byKey[string(p.key)]
	if !ok {
		at = len(p.probes)
		p.byKey[string(p.key)] = at
		p.probes = append(p.probes, probe{})
	}
	return at
}

// split sorts the askers of a probe by how they follow redirects.
func (p *probe) split(programs []*program.Bound) {
	all := make([]*match.Operators, len(p.asks))
	for n, a := range p.asks {
		all[n] = programs[a.program].Blocks[a.block].Operators
		how := programs[a.program].Follow(a.block, a.entry)
		at := slices.IndexFunc(p.follows, func(f follow) bool { return f.how == how })
		if at < 0 {
			at = len(p.follows)
			p.follows = append(p.follows, follow{how: how})
		}
		p.follows[at].asks = append(p.follows[at].asks, n)
	}
	p.group = match.NewGroup(all)
	for i := range p.follows {
		f := &p.follows[i]
		if f.group = p.group; len(p.follows) == 1 {
			break
		}
		some := make([]*match.Operators, len(f.asks))
		for n, at := range f.asks {
			some[n] = all[at]
		}
		f.group = match.NewGroup(some)
	}
	// Who follows furthest comes first: its chain holds those of the others.
	slices.SortStableFunc(p.follows, func(a, b follow) int { return b.how.Reach() - a.how.Reach() })
}
