// Package textsearch finds literal texts in large ones, and keeps regular expressions from being run where they
// cannot match.
//
// It searches for one [Literal] in a [Text], for thousands of literals in one pass with a [Set], and for a regular
// expression with a [Pattern], which first looks for the literals that every match contains. Most expressions of
// templates are literals, or contain one that most pages do not.
package textsearch

import (
	"bytes"
	"strings"
	"unsafe"
)

// Literal is a text to look for. With Fold, the ASCII letters of Text are in lower case and match either case; all
// other bytes match only themselves.
type Literal struct {
	Text string
	Fold bool
}

// Fold makes a literal that is found in any case. ascii reports whether the text is all ASCII: only then does the
// search agree with Unicode's case folding, and only in texts that are not [Text.Odd].
func Fold(text string) (l Literal, ascii bool) {
	return Literal{Text: strings.ToLower(text), Fold: true}, isASCII(text)
}

// Text is a text to search in. It belongs to one goroutine.
type Text struct {
	data  []byte
	known bool // odd has been computed
	odd   bool
}

// NewText makes a Text of bytes, which are not copied and must not change.
func NewText(data []byte) *Text { return &Text{data: data} }

// Bytes is the text itself.
func (t *Text) Bytes() []byte { return t.data }

// Odd reports whether the text has one of the three non-ASCII characters that Unicode folds to an ASCII letter:
// ſ (long s), K (kelvin sign) and İ (dotted I).
func (t *Text) Odd() bool {
	if !t.known {
		t.known = true
		for _, c := range [...]string{"ſ", "\u212a", "İ"} {
			t.odd = t.odd || bytes.Contains(t.data, view(c))
		}
	}
	return t.odd
}

// Contains reports whether a literal occurs.
func (t *Text) Contains(l Literal) bool { return l.in(t.data) }

// Contains is strings.Contains, faster in web pages.
func Contains(s, text string) bool { return Literal{Text: text}.in(view(s)) }

// in searches for the rarest byte of the literal, and compares the rest where that is.
func (l Literal) in(data []byte) bool {
	text := l.Text
	if text == "" {
		return true
	}
	at := 0
	for i := range len(text) {
		if frequency[text[i]] < frequency[text[at]] {
			at = i
		}
	}
	low, up := text[at], text[at]
	if l.Fold && low-'a' < 26 {
		up -= 'a' - 'A'
	}
	last := len(data) - len(text) // offset of the last possible occurrence
	nextLow, nextUp := next(data, at, low), len(data)
	if up != low {
		nextUp = next(data, at, up)
	}
	for tries := 0; ; tries++ {
		i := min(nextLow, nextUp)
		switch {
		case i-at > last || i == len(data):
			return false
		case l.equal(data[i-at : i-at+len(text)]):
			return true
		case tries > (i+16)/8: // this byte is not rare here
			return bytes.Contains(l.folded(data[i-at+1:]), view(text))
		case i == nextLow:
			nextLow = next(data, i+1, low)
		default:
			nextUp = next(data, i+1, up)
		}
	}
}

// next is the offset of the next c in data[from:]; len(data) when there is none.
func next(data []byte, from int, c byte) int {
	if from >= len(data) {
		return len(data)
	}
	if i := bytes.IndexByte(data[from:], c); i >= 0 {
		return from + i
	}
	return len(data)
}

// equal compares the literal with data of the same length.
func (l Literal) equal(data []byte) bool {
	if !l.Fold {
		return string(data) == l.Text
	}
	for i, c := range data {
		if lowerByte(c) != l.Text[i] {
			return false
		}
	}
	return true
}

// folded is data with its ASCII letters in lower case, if the literal ignores case.
func (l Literal) folded(data []byte) []byte {
	if l.Fold {
		data = bytes.Clone(data)
		for i, c := range data {
			data[i] = lowerByte(c)
		}
	}
	return data
}

func lowerByte(c byte) byte {
	if c-'A' < 26 {
		c += 'a' - 'A'
	}
	return c
}

// frequency is how common each byte is in web pages: the most common has the highest value.
var frequency = func() (f [256]uint8) {
	// In order of frequency in markup, styles, scripts and prose.
	const common = " etaionsrlcdpmuh\"=/<>-fgbv.y:;w0,\n1k2'x()jT_SAC3E5P4968RqDIzIMNLOBF7{}HU\tGVW&#WYJKX?|!+%@[]*\\Q$Z"
	for i := range len(common) {
		f[common[i]] = uint8(len(common) - i)
	}
	return f
}()

// view is the bytes of a string, to be read only.
func view(s string) []byte {
	return unsafe.Slice(unsafe.StringData(s), len(s)) //nolint:gosec // the bytes are only read, and not kept
}

func isASCII(s string) bool {
	return strings.IndexFunc(s, func(c rune) bool { return c >= 0x80 }) < 0
}

// Wildcard reports whether a whole text is as a pattern says, in which * stands for anything, also nothing.
func Wildcard(pattern, text string) bool {
	first, rest, more := strings.Cut(pattern, "*")
	text, ok := strings.CutPrefix(text, first)
	if !ok || !more {
		return ok && text == ""
	}
	for {
		part, next, more := strings.Cut(rest, "*")
		if !more {
			return strings.HasSuffix(text, part)
		}
		_, after, found := strings.Cut(text, part)
		if !found {
			return false
		}
		text, rest = after, next
	}
}
