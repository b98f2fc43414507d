package match

import (
	"slices"
	"strings"
)

// Requires reports whether nothing can be found without a part for which is holds: with
// and, when one matcher reads such a part; else when all that could report do.
// Expressions may do without.
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

// ReadsPage reports whether the verdict depends on the status or the body: on the page
// that was asked for, rather than on headers that a server sends with every page.
func (o *Operators) ReadsPage() bool {
	if o.sealed != nil {
		return o.sealed.ReadsPage
	}
	return o.rules().readsPage()
}

func (o *rules) readsPage() bool {
	if len(o.matchers) > 0 {
		return slices.ContainsFunc(o.matchers, func(m matcher) bool {
			return m.kind == kindStatus || m.kind != kindDSL && ofPage(m.part.name) || namesPage(m.exprs)
		})
	}
	return slices.ContainsFunc(o.extractors, func(x extractor) bool {
		return len(x.patterns)+len(x.filters)+len(x.queries) > 0 && ofPage(x.part.name) || namesPage(x.exprs)
	})
}

func namesPage(exprs []expr) bool {
	return slices.ContainsFunc(exprs, func(e expr) bool { return slices.ContainsFunc(e.Names(), ofPage) })
}

// ofPage reports whether a part, of this response or an earlier one, is of the page.
func ofPage(name string) bool {
	if at := strings.LastIndexByte(name, '_'); at > 0 && strings.Trim(name[at+1:], "0123456789") == "" {
		name = name[:at]
	}
	switch name {
	case PartBody, PartAll, PartResponse, "status_code", "content_length":
		return true
	}
	return false
}

// NeedsHistory reports whether a part or an expression names an earlier request of the
// block by its number, as in body_2: then the facts of all its answers must be kept, each
// under its name with the number (2.8).
func (o *Operators) NeedsHistory() bool {
	if o.sealed != nil {
		return o.sealed.NeedsHistory
	}
	return o.rules().history
}

// UsesOAST reports whether operators wait for an interaction with the out-of-band server
// (3.11).
func (o *Operators) UsesOAST() bool {
	if o.sealed != nil {
		return o.sealed.UsesOAST
	}
	return o.rules().oast
}

// mentions looks through the texts of operators as they were written.
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
