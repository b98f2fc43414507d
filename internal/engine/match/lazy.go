package match

import (
	"fmt"
	"slices"
	"sync"

	"github.com/vedette-sec/vedette/internal/engine/syntax"
)

// Seal returns what must be known of operators before they are compiled.
func (o *Operators) Seal() *syntax.Sealed {
	c := o.rules()
	s := &syntax.Sealed{ReadsPage: c.readsPage(), NeedsHistory: c.history, UsesOAST: c.oast}
	for _, x := range c.extractors {
		if x.internal {
			s.Internal = append(s.Internal, x.name)
		}
	}
	if len(s.Internal) == 0 && (c.condition == conditionAnd || len(c.matchers) == 1) {
		if i := slices.IndexFunc(c.matchers, func(m matcher) bool { return m.kind == kindStatus && !m.negative }); i >= 0 {
			s.Statuses = c.matchers[i].numbers
		}
	}
	return s
}

// Lazy makes operators that are compiled when a response needs them. They were compiled before they were sealed: an
// error now is a panic.
func Lazy(file string, s *syntax.Sealed) *Operators {
	return &Operators{sealed: s, statuses: s.Statuses, rules: sync.OnceValue(func() *rules {
		c, err := compileRules(file, SpecOf(s.Open()))
		if err != nil {
			panic(fmt.Sprintf("match: sealed operators are wrong: %v", err))
		}
		return c
	})}
}

// excludedByStatus reports whether a response does not match because of its status alone.
func (o *Operators) excludedByStatus(r *Response) bool {
	return len(o.statuses) > 0 && !slices.Contains(o.statuses, r.Status)
}
