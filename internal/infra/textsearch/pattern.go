package textsearch

import (
	"regexp"
	"regexp/syntax"
	"slices"
	"sync"
)

// Pattern is a regular expression whose syntax is checked at once and which is compiled when it is first needed. It
// is safe for any number of goroutines.
type Pattern struct {
	groups int
	needs  []Literal // every match contains one of them; none when nothing is known
	whole  bool      // each of them is a match by itself
	size   int       // of the program, about
	regexp func() *regexp.Regexp
	later  func() *regexp.Regexp // see laterOf
}

// Compile reads an expression in the syntax of package regexp. The error is that of regexp.Compile, or
// that of an expression that is too large.
func Compile(source string) (*Pattern, error) {
	tree, err := syntax.Parse(source, syntax.Perl)
	if err != nil {
		return nil, err
	}
	p := &Pattern{groups: tree.MaxCap(), size: program(tree)}
	if p.size > maxProgram {
		return nil, tooLarge(source)
	}
	p.regexp = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(source) })
	p.later = sync.OnceValue(func() *regexp.Regexp { return laterOf(source) })
	p.needs, p.whole = required(tree)
	return p, nil
}

// Groups is the number of parenthesised groups.
func (p *Pattern) Groups() int { return p.groups }

// Size is about the number of steps that a character of a text takes at most.
func (p *Pattern) Size() int { return p.size }

// Needs are literals of which every match contains at least one; empty when nothing is known.
func (p *Pattern) Needs() []Literal { return p.needs }

// Literal is the one literal that the expression stands for, if it does.
func (p *Pattern) Literal() (Literal, bool) {
	if p.whole && len(p.needs) == 1 {
		return p.needs[0], true
	}
	return Literal{}, false
}

// Regexp is the compiled expression. It does not look for literals first.
func (p *Pattern) Regexp() *regexp.Regexp { return p.regexp() }

// Possible is false when a text has no match. contains reports whether the text has a literal.
func (p *Pattern) Possible(t *Text, contains func(Literal) bool) bool {
	return len(p.needs) == 0 || p.doubtful(t) || slices.ContainsFunc(p.needs, contains)
}

// Sure reports whether a text for which Possible is true has a match.
func (p *Pattern) Sure(t *Text) bool { return p.whole && !p.doubtful(t) }

// doubtful reports whether the literals say nothing about a text, because their case is ignored and the text is odd.
// All literals of a pattern have the same Fold.
func (p *Pattern) doubtful(t *Text) bool { return len(p.needs) > 0 && p.needs[0].Fold && t.Odd() }

// Match reports whether bytes have a match.
func (p *Pattern) Match(data []byte) bool {
	t := NewText(data)
	return p.Possible(t, t.Contains) && (p.Sure(t) || p.Regexp().Match(data))
}

// MatchString is Match for a string.
func (p *Pattern) MatchString(s string) bool { return p.Match(view(s)) }
