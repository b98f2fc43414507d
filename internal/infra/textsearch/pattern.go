package textsearch

import (
	"regexp"
	"regexp/syntax"
	"slices"
	"sync"
)

// Pattern is a regular expression that is checked at once and built when it is first
// needed. It is safe for any number of goroutines.
type Pattern struct {
	source string
	groups int
	needs  []Literal // one of them is in every match; none when nothing is known
	whole  bool      // and each of them is a match

	once sync.Once
	re   *regexp.Regexp
}

// Compile reads an expression in the syntax of package regexp. The error is that of
// regexp.Compile.
func Compile(source string) (*Pattern, error) {
	tree, err := syntax.Parse(source, syntax.Perl)
	if err != nil {
		return nil, err
	}
	p := &Pattern{source: source, groups: tree.MaxCap()}
	p.needs, p.whole = required(tree)
	return p, nil
}

// String is the expression as it was written.
func (p *Pattern) String() string { return p.source }

// Groups is the number of parenthesised groups.
func (p *Pattern) Groups() int { return p.groups }

// Needs are literals of which at least one is in every text that matches; empty when
// there are none such. They say nothing about texts that are [Pattern.Doubtful].
func (p *Pattern) Needs() []Literal { return p.needs }

// Whole reports whether a text that has one of the needed literals matches for that alone.
func (p *Pattern) Whole() bool { return p.whole }

// Literal is the one literal that the expression stands for, when it does.
func (p *Pattern) Literal() (Literal, bool) {
	if p.whole && len(p.needs) == 1 {
		return p.needs[0], true
	}
	return Literal{}, false
}

// Regexp is the expression for package regexp. It does not look for literals first.
func (p *Pattern) Regexp() *regexp.Regexp {
	p.once.Do(func() { p.re = regexp.MustCompile(p.source) })
	return p.re
}

// MatchText reports whether a text has a match.
func (p *Pattern) MatchText(t *Text) bool {
	return p.Possible(t) && (p.whole && !p.Doubtful(t) || p.Regexp().Match(t.data))
}

// Possible is false when a text surely has no match.
func (p *Pattern) Possible(t *Text) bool {
	return len(p.needs) == 0 || p.Doubtful(t) || slices.ContainsFunc(p.needs, t.Contains)
}

// Doubtful reports whether the needed literals say nothing about a text: they are to be
// found in any case, and the text is odd.
func (p *Pattern) Doubtful(t *Text) bool { return p.folds() && t.Odd() }

// Match reports whether bytes have a match. For several questions about the same bytes,
// MatchText is better.
func (p *Pattern) Match(data []byte) bool {
	if len(p.needs) == 0 || p.folds() && odd(data) {
		return p.Regexp().Match(data)
	}
	for _, l := range p.needs {
		if l.Fold && containsFold(data, l.Text) || !l.Fold && contains(data, l.Text) {
			return p.whole || p.Regexp().Match(data)
		}
	}
	return false
}

// MatchString is Match for a string.
func (p *Pattern) MatchString(s string) bool { return p.Match(view(s)) }

// folds reports whether what is needed is needed in any case: all literals are alike in it.
func (p *Pattern) folds() bool { return len(p.needs) > 0 && p.needs[0].Fold }
