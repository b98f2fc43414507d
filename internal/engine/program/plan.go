package program

import (
	"slices"

	"github.com/vedette-sec/vedette/internal/engine/match"
)

// EntryIndex identifies an entry.
type EntryIndex struct{ Program, Block, Entry int }

// Plan says which requests a scan sends to all targets of one kind: equal requests of different programs once.
// Programs that cannot be planned run as sessions.
type Plan struct {
	Requests  []PlannedRequest
	RequestOf map[EntryIndex]int // of blocks that stop at their first match
	Sessions  []int              // programs whose sessions start without a planned request
	Total     int                // requests to expect on a target
}

// PlannedRequest is one distinct request.
type PlannedRequest struct {
	Entries       []EntryIndex
	SessionStarts []EntryIndex // of sessions that start with this response
	Group         *match.Group
	Chains        []Chain
}

// Chain is the entries of a PlannedRequest that follow redirects in the same way.
type Chain struct {
	Follow  Follow
	Entries []int // by index in PlannedRequest.Entries
	Group   *match.Group
}

// First is the entry that renders the request.
func (r *PlannedRequest) First() EntryIndex {
	if len(r.Entries) > 0 {
		return r.Entries[0]
	}
	return r.SessionStarts[0]
}

type planner struct {
	plan       Plan
	programs   []*Bound
	rootTarget bool
	byKey      map[string]int
	key        []byte // of the current request
}

// NewPlan plans the programs that include accepts. rootTarget is for targets without a path.
func NewPlan(programs []*Bound, include func(i int) bool, rootTarget bool) *Plan {
	p := planner{programs: programs, rootTarget: rootTarget, byKey: map[string]int{}}
	p.plan.RequestOf = map[EntryIndex]int{}
	for i, bound := range programs {
		switch {
		case !include(i) || bound.SelfContained:
		case bound.Plannable:
			p.addPlannable(i, bound)
		default:
			p.addSession(i, bound)
		}
	}
	p.plan.Total += len(p.plan.Requests)
	for i := range p.plan.Requests {
		p.plan.Requests[i].split(programs)
	}
	made := p.plan // a copy, so that the keys of all requests can be collected
	return &made
}

// SelfContainedPlan is the plan of programs that need no target.
func SelfContainedPlan(programs []*Bound, include func(i int) bool) *Plan {
	p := &Plan{}
	for i, b := range programs {
		if b.SelfContained && include(i) {
			p.Sessions = append(p.Sessions, i)
			p.Total += b.Requests()
		}
	}
	return p
}

func (p *planner) addPlannable(i int, bound *Bound) {
	for j := range bound.Blocks {
		for k := range bound.Blocks[j].Entries {
			e := EntryIndex{i, j, k}
			at := p.requestFor(e)
			p.plan.Requests[at].Entries = append(p.plan.Requests[at].Entries, e)
			if bound.Blocks[j].Stops() {
				p.plan.RequestOf[e] = at
			}
		}
	}
}

// addSession plans a session. If its first request depends on the target alone, the session starts with the response to
// the planned request.
func (p *planner) addSession(i int, bound *Bound) {
	p.plan.Total += bound.Requests()
	if block, ok := bound.firstRequest(); ok {
		e := EntryIndex{i, block, 0}
		at := p.requestFor(e)
		p.plan.Requests[at].SessionStarts = append(p.plan.Requests[at].SessionStarts, e)
		p.plan.Total--
		return
	}
	p.plan.Sessions = append(p.plan.Sessions, i)
}

func (p *planner) requestFor(e EntryIndex) int {
	p.key = p.programs[e.Program].AppendKey(p.key[:0], e.Block, e.Entry, p.rootTarget)
	at, ok := p.byKey[string(p.key)]
	if !ok {
		at = len(p.plan.Requests)
		p.byKey[string(p.key)] = at
		p.plan.Requests = append(p.plan.Requests, PlannedRequest{})
	}
	return at
}

// split sorts the entries by how they follow redirects.
func (r *PlannedRequest) split(programs []*Bound) {
	all := make([]*match.Operators, len(r.Entries))
	for n, e := range r.Entries {
		all[n] = programs[e.Program].Blocks[e.Block].Operators
		follow := programs[e.Program].Follow(e.Block, e.Entry)
		at := slices.IndexFunc(r.Chains, func(c Chain) bool { return c.Follow == follow })
		if at < 0 {
			at = len(r.Chains)
			r.Chains = append(r.Chains, Chain{Follow: follow})
		}
		r.Chains[at].Entries = append(r.Chains[at].Entries, n)
	}
	r.Group = match.NewGroup(all)
	for i := range r.Chains {
		c := &r.Chains[i]
		if c.Group = r.Group; len(r.Chains) == 1 {
			break
		}
		some := make([]*match.Operators, len(c.Entries))
		for n, at := range c.Entries {
			some[n] = all[at]
		}
		c.Group = match.NewGroup(some)
	}
	// The longest chain comes first: it contains those of the others.
	slices.SortStableFunc(r.Chains, func(a, b Chain) int { return b.Follow.rank() - a.Follow.rank() })
}
