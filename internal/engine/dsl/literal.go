package dsl

import "strings"

// literal is a text to be looked for by its rarest byte: most pages have none of that,
// or few.
type literal struct {
	text string
	at   int // of the rarest byte in text
}

// commonBytes are the bytes that pages are full of, the commonest first.
const commonBytes = " etaoinsrldcmpuh<>/=\"-.gfbvwyk:;_0123456789,\n\tSTACEPDNILRMOxj'"

func newLiteral(s string) literal {
	l := literal{text: s}
	rarest := -1
	for i := range len(s) {
		rank := strings.IndexByte(commonBytes, s[i])
		if rank < 0 {
			return literal{text: s, at: i}
		}
		if rank > rarest {
			rarest, l.at = rank, i
		}
	}
	return l
}

// in reports whether the text occurs in s.
func (l literal) in(s string) bool {
	if len(l.text) < 2 {
		return strings.Contains(s, l.text)
	}
	rare := l.text[l.at]
	for from, tries := l.at, 0; from < len(s); tries++ {
		next := strings.IndexByte(s[from:], rare)
		if next < 0 {
			return false
		}
		begin := from + next - l.at
		if strings.HasPrefix(s[begin:], l.text) {
			return true
		}
		from += next + 1
		if tries > 8+from/256 { // not so rare here
			return strings.Contains(s[begin+1:], l.text)
		}
	}
	return false
}
