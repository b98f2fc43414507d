package agent

import (
	"fmt"
	"slices"
	"strings"
)

// Rules are what an agent is told for all its tasks, read as an instruction.
type Rules struct {
	Plan
	Agent string // its name
	// Targets are those to test where an instruction names none.
	Targets []Target
	// Blocked: a part that limits the scope could not be taken in full, so that nothing may be tested.
	Blocked bool
}

// AllChecks begins what is understood of an instruction that names no check.
const AllChecks = "You named no particular check"

// NoTarget begins what is not understood of an instruction that names no target.
const NoTarget = "There is no target"

const maxQuoted = 4 // phrases that were not understood

// Under holds a plan to the rules of an agent: they exclude, restrict and slow down, and choose checks where the
// instruction chose none. They add no target to those of the instruction. The plan says what came of them.
func (p Plan) Under(r Rules) Plan {
	the := "The agent " + r.Agent
	told := func(format string, args ...any) {
		p.Understood = append(slices.Clone(p.Understood), the+" "+fmt.Sprintf(format, args...))
	}
	if len(r.Targets) > 0 && len(p.NotUnderstood) > 0 && strings.HasPrefix(p.NotUnderstood[0], NoTarget) {
		p.Targets, p.FullCheck = slices.Clone(r.Targets), len(p.Tags)+len(p.IDs) == 0
		p.NotUnderstood = slices.Clone(p.NotUnderstood[1:])
		told("names what to test: %s.", list(r.Targets))
	}
	if len(r.Excluded) > 0 {
		p.Excluded = append(slices.Clone(p.Excluded), r.Excluded...)
		p.Targets = slices.DeleteFunc(slices.Clone(p.Targets), p.Excludes)
		told("leaves out %s.", list(r.Excluded))
	}
	p.choose(r, told)
	if r.RateLimit > 0 && (p.RateLimit == 0 || r.RateLimit < p.RateLimit) {
		p.RateLimit = r.RateLimit
		told("sends at most %g requests a second.", r.RateLimit)
	}
	if r.TimeLimit > 0 && (p.TimeLimit == 0 || r.TimeLimit < p.TimeLimit) {
		p.TimeLimit = r.TimeLimit
		told("works at most %d seconds.", r.TimeLimit)
	}
	if r.Blocked {
		p.Targets = []Target{}
		p.NotDone = append(slices.Clone(p.NotDone), "Nothing is tested, because a part of what the agent "+r.Agent+
			" is told limits the scope and could not be taken in full.")
	}
	if len(r.NotUnderstood) > 0 {
		quoted, more := r.NotUnderstood, ""
		if len(quoted) > maxQuoted {
			quoted, more = quoted[:maxQuoted], fmt.Sprintf(" and %d more phrases", len(quoted)-maxQuoted)
		}
		p.NotDone = append(
			slices.Clone(p.NotDone),
			"Without a language model I could not use this of what the agent "+r.Agent+
				" is told: "+strings.TrimSuffix(strings.Join(quoted, ", ")+more, ".")+".",
		)
	}
	return p
}

// choose takes the checks and severities of the rules.
func (p *Plan) choose(r Rules, told func(format string, args ...any)) {
	if p.FullCheck && len(p.Tags)+len(p.IDs) == 0 && len(r.Tags)+len(r.IDs) > 0 {
		p.FullCheck, p.Tags, p.IDs = false, slices.Clone(r.Tags), slices.Clone(r.IDs)
		p.Understood = slices.DeleteFunc(
			slices.Clone(p.Understood),
			func(s string) bool { return strings.HasPrefix(s, AllChecks) },
		)
		told("checks for %s.", strings.Join(append(slices.Clone(r.Tags), r.IDs...), ", "))
	}
	if len(r.NotTags)+len(r.NotIDs) > 0 {
		p.NotTags, p.NotIDs = union(p.NotTags, r.NotTags), union(p.NotIDs, r.NotIDs)
		p.Tags = without(p.Tags, p.NotTags)
		p.IDs = without(p.IDs, p.NotIDs)
		told("does not check for %s.", strings.Join(append(slices.Clone(r.NotTags), r.NotIDs...), ", "))
		if !p.FullCheck && len(p.Tags)+len(p.IDs) == 0 {
			p.Targets = []Target{}
		}
	}
	if len(r.Severities) == 0 {
		return
	}
	both := slices.DeleteFunc(slices.Clone(r.Severities), func(s string) bool {
		return len(p.Severities) > 0 && !slices.Contains(p.Severities, s)
	})
	if len(both) == 0 {
		p.NotDone = append(slices.Clone(p.NotDone), "The agent "+r.Agent+" looks for other severities ("+
			strings.Join(r.Severities, ", ")+") than the instruction, which I followed.")
		return
	}
	p.Severities = both
	told("looks for the severities %s.", strings.Join(both, ", "))
}

func union(a, b []string) []string {
	out := append(slices.Clone(a), b...)
	slices.Sort(out)
	return slices.Compact(out)
}

func without(list, out []string) []string {
	return slices.DeleteFunc(slices.Clone(list), func(one string) bool { return slices.Contains(out, one) })
}

const maxListed = 10

func list(targets []Target) string {
	var words []string
	for i, t := range targets {
		if i == maxListed {
			words = append(words, fmt.Sprintf("and %d more", len(targets)-i))
			break
		}
		words = append(words, t.String())
	}
	return strings.Join(words, ", ")
}
