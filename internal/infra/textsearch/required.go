package textsearch

import (
	"regexp/syntax"
	"slices"
	"strings"
	"unicode/utf8"
)

// maxNeeds bounds the literals of one expression.
const maxNeeds = 16

// need says that each match of an expression contains one of texts. The zero value says nothing.
type need struct {
	texts []string
	fold  bool // in any case; texts are in lower case
	exact bool // each match is one of texts
	whole bool // each occurrence of one of texts is a match
}

// required finds the literals of which every match contains one; whole says that having one is enough to match. An
// expression that may match the empty text has none.
func required(tree *syntax.Regexp) (literals []Literal, whole bool) {
	n := needOf(tree)
	if slices.Contains(n.texts, "") {
		return nil, false
	}
	for _, text := range n.texts {
		literals = append(literals, Literal{Text: text, Fold: n.fold})
	}
	return literals, len(literals) > 0 && n.exact && n.whole
}

func needOf(re *syntax.Regexp) need {
	switch re.Op {
	case syntax.OpEmptyMatch:
		return need{texts: []string{""}, exact: true, whole: true}
	case syntax.OpBeginLine, syntax.OpEndLine, syntax.OpBeginText, syntax.OpEndText, syntax.OpWordBoundary,
		syntax.OpNoWordBoundary:
		return need{texts: []string{""}, exact: true} // not everywhere
	case syntax.OpLiteral:
		return ofLiteral(re)
	case syntax.OpCharClass:
		return ofClass(re)
	case syntax.OpCapture:
		return needOf(re.Sub[0])
	case syntax.OpQuest:
		if n := needOf(re.Sub[0]); n.exact && len(n.texts) < maxNeeds {
			n.texts = append([]string{""}, n.texts...)
			return n
		}
	case syntax.OpPlus:
		// A match contains the first repetition, but may be longer.
		n := needOf(re.Sub[0])
		n.exact = false
		return n
	case syntax.OpRepeat:
		if re.Min > 0 {
			n := needOf(re.Sub[0])
			n.exact = n.exact && re.Min == 1 && re.Max == 1
			return n
		}
	case syntax.OpConcat:
		return ofConcat(re.Sub)
	case syntax.OpAlternate:
		return ofAlternate(re.Sub)
	}
	return need{}
}

func ofLiteral(re *syntax.Regexp) need {
	text := string(re.Rune)
	if strings.ContainsRune(text, utf8.RuneError) {
		return need{} // also matches bytes that are not UTF-8
	}
	if re.Flags&syntax.FoldCase == 0 {
		return need{texts: []string{text}, exact: true, whole: true}
	}
	if isASCII(text) {
		return need{texts: []string{strings.ToLower(text)}, fold: true, exact: true, whole: true}
	}
	// Of a word with non-ASCII letters, the longest run without them is required.
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

// ofConcat joins neighbours as long as they are exact and few, and returns the best of the resulting pieces.
func ofConcat(subs []*syntax.Regexp) need {
	run, best := need{texts: []string{""}, exact: true, whole: true}, need{}
	pieces := 1
	for _, sub := range subs {
		n := needOf(sub)
		joined, ok := join(run, n)
		if ok {
			run = joined
			continue
		}
		best = better(best, run)
		run = n
		if len(n.texts) == 0 || !n.exact {
			best = better(best, n)
			run = need{texts: []string{""}, exact: true}
		}
		pieces++
	}
	if pieces == 1 {
		return run
	}
	best = better(best, run)
	best.exact, best.whole = false, false
	return best
}

// join makes every pair, if both sides are exact and the pairs not too many.
func join(a, b need) (need, bool) {
	if !a.exact || !b.exact || len(a.texts)*len(b.texts) > maxNeeds {
		return need{}, false
	}
	out := need{exact: true, whole: a.whole && b.whole, fold: a.fold || b.fold}
	if a.fold != b.fold && (letters(a.texts) && !a.fold || letters(b.texts) && !b.fold) {
		out.whole = false // ignoring case, that side is also found where it does not match
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

// ofAlternate needs one of the texts of its branches.
func ofAlternate(subs []*syntax.Regexp) need {
	out := needOf(subs[0])
	for _, sub := range subs[1:] {
		n := needOf(sub)
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

// loose is the same need ignoring case.
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
func better(x, y need) need {
	if rarity(y) > rarity(x) {
		return y
	}
	return x
}

// rarity is that of the most common text, less for each further text.
func rarity(n need) int {
	if len(n.texts) == 0 {
		return 0
	}
	least := 1 << 30
	for _, text := range n.texts {
		sum := 0
		for i := range len(text) {
			sum += 1<<7 - int(frequency[text[i]])
		}
		least = min(least, sum)
	}
	return least - 4*len(n.texts)
}

// letters reports whether any text has an ASCII letter.
func letters(texts []string) bool {
	return slices.ContainsFunc(texts, func(text string) bool {
		return strings.ContainsFunc(text, func(r rune) bool { return r|0x20 >= 'a' && r|0x20 <= 'z' })
	})
}
