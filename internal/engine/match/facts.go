package match

import (
	"slices"
	"strings"

	"github.com/vedette-sec/vedette/internal/engine/dsl"
)

// Requires reports whether nothing can be found without a part for which is holds: one matcher reads such a part with
// and, all do otherwise. Expressions need no part.
func (o *Operators) Requires(is func(part string) bool) bool {
	return o.sealed == nil && o.rules().requires(is)
}

func (o *rules) requires(is func(part string) bool) bool {
	if len(o.matchers) == 0 {
		return len(o.extractors) > 0 && !slices.ContainsFunc(o.extractors, func(x extractor) bool {
			return !is(x.part.name) || len(x.keys)+len(x.exprs) > 0
		})
	}
	reads := func(m matcher) bool { return m.kind != kindDSL && is(m.part.name) }
	if o.condition == conditionAnd {
		return slices.ContainsFunc(o.matchers, reads)
	}
	return !slices.ContainsFunc(o.matchers, func(m matcher) bool { return !reads(m) })
}

// ReadsPage reports whether the result depends on the status or the body: on the requested page, rather than on headers
// that a server sends with every page.
func (o *Operators) ReadsPage() bool {
	if o.sealed != nil {
		return o.sealed.ReadsPage
	}
	return o.rules().readsPage()
}

func (o *rules) readsPage() bool {
	if len(o.matchers) > 0 {
		return slices.ContainsFunc(o.matchers, func(m matcher) bool {
			return m.kind == kindStatus || m.kind != kindDSL && isPagePart(m.part.name) || usePage(m.exprs)
		})
	}
	return slices.ContainsFunc(o.extractors, func(x extractor) bool {
		return len(x.patterns)+len(x.filters)+len(x.queries) > 0 && isPagePart(x.part.name) || usePage(x.exprs)
	})
}

func usePage(exprs []*dsl.Expr) bool {
	return slices.ContainsFunc(exprs, func(e *dsl.Expr) bool { return slices.ContainsFunc(e.Names(), isPagePart) })
}

// isPagePart reports whether a part, of this response or an earlier one, belongs to the page.
func isPagePart(name string) bool {
	if at := strings.LastIndexByte(name, '_'); at > 0 && strings.Trim(name[at+1:], "0123456789") == "" {
		name = name[:at]
	}
	switch name {
	case PartBody, PartAll, PartResponse, "status_code", "content_length":
		return true
	}
	return false
}

// NeedsHistory reports whether a part or an expression names an earlier request of the block by its number, as in
// body_2: then the parts of all responses must be kept under their numbered names (2.8).
func (o *Operators) NeedsHistory() bool {
	if o.sealed != nil {
		return o.sealed.NeedsHistory
	}
	return o.rules().history
}

// UsesOAST reports whether operators use interactions with the out-of-band server (3.11).
func (o *Operators) UsesOAST() bool {
	if o.sealed != nil {
		return o.sealed.UsesOAST
	}
	return o.rules().oast
}

// mentions computes NeedsHistory and UsesOAST.
func mentions(s Spec) (history, oast bool) {
	look := func(part string, exprs []string) {
		history = history || numbered(part) || slices.ContainsFunc(exprs, numbered)
		oast = oast || strings.HasPrefix(part, "interactsh") ||
			slices.ContainsFunc(exprs, func(e string) bool { return strings.Contains(e, "interactsh") })
	}
	for _, m := range s.Matchers {
		look(m.Part, m.DSL)
	}
	for _, x := range s.Extractors {
		look(x.Part, x.DSL)
	}
	return history, oast
}

// numbered reports whether an underscore is followed by a digit somewhere.
func numbered(text string) bool {
	for i := 1; i < len(text); i++ {
		if text[i-1] == '_' && text[i]-'0' < 10 {
			return true
		}
	}
	return false
}
