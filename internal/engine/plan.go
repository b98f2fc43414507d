package engine

import (
	"github.com/vedette-sec/vedette/internal/engine/program"
)

// ask is a step that wants an answer.
type ask struct{ program, block, step int }

// plan is what a scan sends to each target of one kind: every distinct request once,
// with all who ask for it. It is not changed after it is made.
type plan struct {
	probes  []probe
	probeOf map[ask]int
}

// probe is one request and who asks for it; the first of them renders it.
type probe struct{ asks []ask }

// newPlan joins equal steps, in the order of the programs. rootTarget is for targets
// without a path.
func newPlan(programs []*program.Bound, rootTarget bool) *plan {
	p := &plan{probeOf: map[ask]int{}}
	byKey := map[string]int{}
	for i, bound := range programs {
		for j, block := range bound.Blocks {
			for k, step := range block.Steps {
				key := step.Key(rootTarget)
				at, ok := byKey[key]
				if !ok {
					at = len(p.probes)
					byKey[key] = at
					p.probes = append(p.probes, probe{})
				}
				a := ask{i, j, k}
				p.probes[at].asks = append(p.probes[at].asks, a)
				p.probeOf[a] = at
			}
		}
	}
	return p
}
