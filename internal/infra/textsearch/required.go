package textsearch

import (
	"regexp/syntax"
	"slices"
	"strings"
	"unicode/utf8"
)

// maxNeeds bounds how many literals one expression is recognised by.
const maxNeeds = 16

// need is what is known of the texts that an expression matches: each contains one of
// texts. The zero value knows nothing.
type need struct {
	texts []string
	fold  bool // in any case, with texts in lower case
	exact bool // each match is one of texts
	whole bool // and the other way round: wherever one of texts is, there is a match
}

// required finds the literals of which one is in every match, and whether having one is
// enough. An expression that may match the empty text has none.
func required(tree *syntax.Regexp) (literals []Literal, whole bool) {
	n := analysis{weights()}.of(tree)
	if shortest(n.texts) == 0 {
		return nil, false
	}
	for _, text := range n.texts {
		literals = append(literals, Literal{Text: text, Fold: n.fold})
	}
	return literals, n.exact && n.whole
}

// analysis works out needs.
type analysis struct{ weight *[256]uint8 }

func (a analysis) of(re *syntax.Regexp) need {
	switch re.Op {
	case syntax.OpEmptyMatch:
		return need{texts: []string{""}, exact: true, whole: true}
	case syntax.OpBeginLine, syntax.OpEndLine, syntax.OpBeginText, syntax.OpEndText, syntax.OpWordBoundary, syntax.OpNoWordBoundary:
		return need{texts: []string{""}, exact: true} // not everywhere
	case syntax.OpLiteral:
		return ofLiteral(re)
	case syntax.OpCharClass:
		return ofClass(re)
	case syntax.OpCapture:
		return a.of(re.Sub[0])
	case syntax.OpQuest:
		if n := a.of(re.Sub[0]); n.exact && len(n.texts) < maxNeeds {
			n.texts = append([]string{""}, n.texts...)
			return n
		}
	case syntax.OpPlus:
		// The first of several: enough to have, but not all of a match.
		n := a.of(re.Sub[0])
		n.exact = false
		return n
	case syntax.OpRepeat:
		if re.Min > 0 {
			n := a.of(re.Sub[0])
			n.exact = n.exact && re.Min == 1 && re.Max == 1
			return n
		}
	case syntax.OpConcat:
		return a.ofConcat(re.Sub)
	case syntax.OpAlternate:
		return a.ofAlternate(re.Sub)
	}
	return need{}
}

func ofLiteral(re *syntax.Regexp) need {
	text := string(re.Rune)
	if strings.ContainsRune(text, utf8.RuneError) {
		return need{} // it matches bytes that are not UTF-8 too, which no literal does
	}
	if re.Flags&syntax.FoldCase == 0 {
		return need{texts: []string{text}, exact: true, whole: true}
	}
	if isASCII(text) {
		return need{texts: []string{strings.ToLower(text)}, fold: true, exact: true, whole: true}
	}
	// Of a word with other letters, the longest run without them must be there.
	longest := ""
	for _, run := range strings.FieldsFunc(text, func(r rune) bool { return r >= utf8.RuneSelf }) {
		if len(run) > len(longest) {
			longest = run
		}
	}
	return need{texts: []string{strings.ToLower(longest)}, fold: true}
}

func ofClass(re *syntax.Regexp) need {
	n := need{exact: true, whole: true}
	for i := 0; i < len(re.Rune); i += 2 {
		for r := re.Rune[i]; r <= re.Rune[i+1]; r++ {
			if len(n.texts) == maxNeeds || r == utf8.RuneError {
				return need{}
			}
			n.texts = append(n.texts, string(r))
		}
	}
	return n
}

// ofConcat joins neighbours as long as they are exact and few, and keeps the best of the
// pieces that come of it.
func (a analysis) ofConcat(subs []*syntax.Regexp) need {
	run, best := need{texts: []string{""}, exact: true, whole: true}, need{}
	pieces := 1
	for _, sub := range subs {
		n := a.of(sub)
		joined, ok := join(run, n)
		if ok {
			run = joined
			continue
		}
		best = a.better(best, run)
		run = n
		if len(n.texts) == 0 || !n.exact {
			best = a.better(best, n)
			run = need{texts: []string{""}, exact: true}
		}
		pieces++
	}
	if pieces == 1 {
		return run
	}
	best = a.better(best, run)
	best.exact, best.whole = false, false
	return best
}

// join makes every pair, when both sides are exact and the pairs not too many.
func join(a, b need) (need, bool) {
	if !a.exact || !b.exact || len(a.texts)*len(b.texts) > maxNeeds {
		return need{}, false
	}
	out := need{exact: true, whole: a.whole && b.whole, fold: a.fold || b.fold}
	if a.fold != b.fold && (letters(a.texts) && !a.fold || letters(b.texts) && !b.fold) {
		out.whole = false // looked for in any case, that side is found where it does not match
	}
	for _, head := range a.texts {
		for _, tail := range b.texts {
			text := head + tail
			if out.fold {
				if !isASCII(text) {
					return need{}, false
				}
				text = strings.ToLower(text)
			}
			out.texts = append(out.texts, text)
		}
	}
	return out, true
}

// ofAlternate needs one of what its branches need.
func (a analysis) ofAlternate(subs []*syntax.Regexp) need {
	out := a.of(subs[0])
	for _, sub := range subs[1:] {
		n := a.of(sub)
		if len(out.texts) == 0 || len(n.texts) == 0 || len(out.texts)+len(n.texts) > maxNeeds {
			return need{}
		}
		if n.fold != out.fold {
			n, out = loose(n), loose(out)
			if !isASCII(strings.Join(n.texts, "") + strings.Join(out.texts, "")) {
				return need{}
			}
		}
		out.texts = append(slices.Clip(out.texts), n.texts...)
		out.exact, out.whole = out.exact && n.exact, out.whole && n.whole
	}
	return out
}

// loose is a need in any case.
func loose(n need) need {
	if n.fold {
		return n
	}
	out := need{fold: true, exact: n.exact, whole: n.whole && !letters(n.texts)}
	for _, text := range n.texts {
		out.texts = append(out.texts, strings.ToLower(text))
	}
	return out
}

// better is the need that fewer pages meet by chance.
func (a analysis) better(x, y need) need {
	if a.rarity(y) > a.rarity(x) {
		return y
	}
	return x
}

// rarity is that of the text which is likeliest to be found, less for each further one.
func (a analysis) rarity(n need) int {
	if len(n.texts) == 0 {
		return 0
	}
	least := 1 << 30
	for _, text := range n.texts {
		sum := 0
		for i := range len(text) {
			sum += 1<<7 - int(a.weight[text[i]])
		}
		least = min(least, sum)
	}
	return least - 4*len(n.texts)
}

// letters reports whether any text has an ASCII letter.
func letters(texts []string) bool {
	for _, text := range texts {
		if strings.ContainsFunc(text, func(r rune) bool { return r|0x20 >= 'a' && r|0x20 <= 'z' }) {
			return true
		}
	}
	return false
}

// shortest is the length of the shortest text, 0 when there is none.
func shortest(texts []string) int {
	if len(texts) == 0 {
		return 0
	}
	n := len(texts[0])
	for _, text := range texts[1:] {
		n = min(n, len(text))
	}
	return n
}
