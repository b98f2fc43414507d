package match

import (
	"bytes"
	"regexp"
	"regexp/syntax"
	"strings"
	"unicode/utf8"
	"unsafe"
)

// pattern is a regular expression with a cheap necessary condition: when need is not
// empty, one of its literals is in every text that matches.
type pattern struct {
	re   *regexp.Regexp
	need []literal
	only bool // need is one literal, and that is the whole expression
}

type literal struct {
	text string // lower case when fold is set
	fold bool
}

// maxNeed bounds how many literals one expression is prefiltered by.
const maxNeed = 16

func compilePattern(source string) (pattern, error) {
	re, err := regexp.Compile(source)
	if err != nil {
		return pattern{}, err
	}
	p := pattern{re: re}
	if text, whole := re.LiteralPrefix(); whole && text != "" {
		p.need, p.only = []literal{{text: text}}, true
		return p, nil
	}
	if tree, err := syntax.Parse(source, syntax.Perl); err == nil {
		p.need = required(tree.Simplify())
	}
	return p, nil
}

// possible is false when the expression surely does not match.
func (p *pattern) possible(v *view) bool {
	if len(p.need) == 0 {
		return true
	}
	for _, l := range p.need {
		if v.holds(l.text, l.fold) {
			return true
		}
		if l.fold && v.odd {
			return true // the fold table is larger than ASCII here: let the expression decide
		}
	}
	return false
}

func (p *pattern) match(v *view) bool {
	return p.possible(v) && (p.only || p.re.Match(v.data))
}

// required finds literals of which at least one is in every match, or nil.
func required(re *syntax.Regexp) []literal {
	switch re.Op {
	case syntax.OpLiteral:
		return literalOf(re)
	case syntax.OpCapture, syntax.OpPlus:
		return required(re.Sub[0])
	case syntax.OpRepeat:
		if re.Min > 0 {
			return required(re.Sub[0])
		}
	case syntax.OpConcat:
		var best []literal
		for _, sub := range re.Sub {
			if need := required(sub); shortest(need) > shortest(best) {
				best = need
			}
		}
		return best
	case syntax.OpAlternate:
		var all []literal
		for _, sub := range re.Sub {
			need := required(sub)
			if len(need) == 0 || len(all)+len(need) > maxNeed {
				return nil
			}
			all = append(all, need...)
		}
		return all
	}
	return nil
}

func literalOf(re *syntax.Regexp) []literal {
	text := string(re.Rune)
	if strings.ContainsRune(text, utf8.RuneError) {
		return nil // it matches bytes that are not UTF-8 too, which no literal does
	}
	if re.Flags&syntax.FoldCase == 0 {
		return []literal{{text: text}}
	}
	if !isASCII(text) {
		return nil
	}
	return []literal{{text: strings.ToLower(text), fold: true}}
}

// shortest is the length of the shortest literal: what makes a set worth having.
func shortest(set []literal) int {
	if len(set) == 0 {
		return 0
	}
	n := len(set[0].text)
	for _, l := range set[1:] {
		n = min(n, len(l.text))
	}
	return n
}

// contains is bytes.Contains for a string, without a copy.
func contains(data []byte, text string) bool {
	return bytes.Contains(data, unsafe.Slice(unsafe.StringData(text), len(text))) //nolint:gosec // the bytes are only read, and not kept
}
