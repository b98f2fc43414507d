package tech

import (
	"regexp/syntax"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	leastText = 2 // bytes of a text that is worth looking for
	longS     = "\u017f"
)

// bounds writes an expression's repetitions as wappalyzergo compiles them.
var bounds = strings.NewReplacer(
	`(\d+(?:\.\d+)+)`, `(\d{1,20}(?:\.\d{1,20}){1,20})`,
	`((?:\d+\.)+\d+)`, `((?:\d{1,20}\.){1,20}\d{1,20})`,
	`\+`, `\+`, `+`, `{1,250}`, `*`, `{0,250}`,
)

// needs are what an expression cannot match without: of each list, one text occurs in what
// it matches, when that is folded. There may be none.
func needs(expression string) [][]string {
	re, err := syntax.Parse("(?i)"+bounds.Replace(expression), syntax.Perl)
	if err != nil {
		return nil
	}
	return needsOf(re)
}

// fold makes letters that are the same but for case the same bytes, as far as texts that
// are looked for have any: ASCII, and what has no case.
func fold(s string) string {
	s = strings.ToLower(s) // the Kelvin sign becomes a k
	if strings.Contains(s, longS) {
		s = strings.ReplaceAll(s, longS, "s")
	}
	return s
}

// needsOf are the needs of a part of an expression.
func needsOf(re *syntax.Regexp) [][]string {
	switch re.Op {
	case syntax.OpLiteral:
		if text := longest(re.Rune); len(text) >= leastText {
			return [][]string{{text}}
		}
	case syntax.OpCapture, syntax.OpPlus:
		return needsOf(re.Sub[0])
	case syntax.OpRepeat:
		if re.Min > 0 {
			return needsOf(re.Sub[0])
		}
	case syntax.OpConcat:
		var all [][]string
		for _, sub := range re.Sub {
			all = append(all, needsOf(sub)...)
		}
		return all
	case syntax.OpAlternate:
		var union []string
		for _, sub := range re.Sub {
			var best []string
			for _, list := range needsOf(sub) {
				if shortest(list) > shortest(best) {
					best = list
				}
			}
			if best == nil {
				return nil
			}
			union = append(union, best...)
		}
		return [][]string{union}
	}
	return nil
}

// longest is the longest part of a literal, folded, that folding does not make doubtful.
func longest(runes []rune) string {
	best, begin := "", 0
	for i := 0; i <= len(runes); i++ {
		if i < len(runes) && plain(runes[i]) {
			continue
		}
		if text := string(runes[begin:i]); len(text) > len(best) {
			best = text
		}
		begin = i + 1
	}
	return strings.ToLower(best)
}

// plain reports whether a letter is ASCII or has no case.
func plain(c rune) bool {
	return c < utf8.RuneSelf || unicode.SimpleFold(c) == c && c != utf8.RuneError
}

// shortest is the length of the shortest text; 0 when there are none.
func shortest(texts []string) int {
	n := 0
	for i, t := range texts {
		if i == 0 || len(t) < n {
			n = len(t)
		}
	}
	return n
}
