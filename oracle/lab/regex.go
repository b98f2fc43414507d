package lab

import (
	"regexp"
	"regexp/syntax"
	"strings"
	"unicode"
)

const maxRepeat = 2000

// matching generates a text that pattern matches, or "" and false. The variant selects other branches of alternations
// and repetitions. When group is above 0 and value is not empty, the group's text is value.
func matching(pattern string, variant, group int, value string) (string, bool) {
	re, err := regexp.Compile(pattern)
	if err != nil {
		return "", false
	}
	tree, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return "", false
	}
	for try := range 4 {
		g := generator{variant: variant + try, more: try % 2, group: group, value: value}
		g.write(tree)
		text := g.out.String()
		if m := re.FindStringSubmatch(text); m != nil && (value == "" || group >= len(m) || m[group] == value) {
			return text, true
		}
	}
	return "", false
}

type generator struct {
	out     strings.Builder
	variant int
	more    int // how often a star repeats
	group   int
	value   string
}

func (g *generator) write(re *syntax.Regexp) {
	switch re.Op {
	case syntax.OpLiteral:
		g.out.WriteString(string(re.Rune))
	case syntax.OpCharClass:
		g.out.WriteRune(g.pick(re.Rune))
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		g.out.WriteByte("axq7"[g.variant%4])
	case syntax.OpCapture:
		if re.Cap == g.group && g.value != "" {
			g.out.WriteString(g.value)
			return
		}
		g.write(re.Sub[0])
	case syntax.OpStar:
		for range g.more {
			g.write(re.Sub[0])
		}
	case syntax.OpQuest:
		if g.variant%2 == 1 {
			g.write(re.Sub[0])
		}
	case syntax.OpPlus:
		for range 1 + g.more {
			g.write(re.Sub[0])
		}
	case syntax.OpRepeat:
		n := re.Min
		if n == 0 && re.Max != 0 {
			n = g.more
		}
		for range min(n, maxRepeat) {
			g.write(re.Sub[0])
		}
	case syntax.OpConcat:
		for _, sub := range re.Sub {
			g.write(sub)
		}
	case syntax.OpAlternate:
		g.write(re.Sub[g.variant%len(re.Sub)])
	}
}

// friendly are the preferred characters of a class: they need no escaping.
const friendly = "a1bA2_- ./x9Z"

// pick chooses a character of the class, given as pairs of bounds.
func (g *generator) pick(class []rune) rune {
	in := func(r rune) bool {
		for i := 0; i+1 < len(class); i += 2 {
			if class[i] <= r && r <= class[i+1] {
				return true
			}
		}
		return false
	}
	for i := range len(friendly) {
		if r := rune(friendly[(i+g.variant)%len(friendly)]); in(r) {
			return r
		}
	}
	for i := 0; i+1 < len(class); i += 2 {
		for r := class[i]; r <= class[i+1] && r < class[i]+100; r++ {
			if unicode.IsPrint(r) {
				return r
			}
		}
	}
	if len(class) > 0 {
		return class[0]
	}
	return 'a'
}
