// Package textsearch finds literal texts in large ones, and keeps regular expressions from being run
// where they cannot match.
//
// Three things are searched for: one [Literal] in a [Text], which remembers its
// lower-case form; thousands of literals at once, with a [Set]; and a regular expression
// with a [Pattern], which first looks for the literals that every match contains. Most
// expressions of templates are literals, or hold one that pages do not.
package textsearch

import (
	"bytes"
	"encoding/binary"
	"strings"
	"unsafe"
)

// Literal is a text to look for. With Fold, the ASCII letters of Text are in lower case
// and stand for either case; all other bytes stand for themselves.
type Literal struct {
	Text string
	Fold bool
}

// Fold makes a literal of a text that is looked for in any case, and reports whether the
// letters are all ASCII: only then does finding it mean what folding by Unicode's rules
// means, in texts that are not [Text.Odd].
func Fold(text string) (Literal, bool) {
	return Literal{Text: strings.ToLower(text), Fold: true}, isASCII(text)
}

// Text is a text to search in, with cached lower-case form and properties. It belongs to
// one goroutine.
type Text struct {
	data  []byte
	lower []byte
	known bool // odd is
	odd   bool
}

// NewText makes a Text of bytes, which are not copied and must not change.
func NewText(data []byte) *Text { return &Text{data: data} }

// Bytes is the text itself.
func (t *Text) Bytes() []byte { return t.data }

// Lower is the text with its ASCII letters in lower case, made at the first call.
func (t *Text) Lower() []byte {
	if t.lower == nil && len(t.data) > 0 {
		t.lower = lowered(t.data)
	}
	return t.lower
}

// Odd reports whether the text holds one of the three characters outside ASCII that some
// folding takes into it: ſ (long s), K (the sign of the kelvin) and İ (dotted I).
func (t *Text) Odd() bool {
	if !t.known {
		t.known, t.odd = true, odd(t.data)
	}
	return t.odd
}

// Contains reports whether a literal occurs.
func (t *Text) Contains(l Literal) bool {
	if l.Fold {
		return contains(t.Lower(), l.Text)
	}
	return contains(t.data, l.Text)
}

func odd(data []byte) bool {
	for _, c := range [...]string{"ſ", "\u212a", "İ"} {
		if contains(data, c) {
			return true
		}
	}
	return false
}

// lowered copies a text, eight bytes at a time.
func lowered(data []byte) []byte {
	out := make([]byte, len(data))
	i := 0
	for ; i+8 <= len(data); i += 8 {
		binary.LittleEndian.PutUint64(out[i:], lower8(binary.LittleEndian.Uint64(data[i:])))
	}
	for ; i < len(data); i++ {
		out[i] = lowerByte(data[i])
	}
	return out
}

// lower8 sets bit 5 of those of eight bytes that are A to Z: of the seven low bits, one
// sum carries into the top bit from A on, the other from beyond Z on.
func lower8(v uint64) uint64 {
	const ones = 0x0101010101010101
	low := v &^ (0x80 * ones)
	fromA, beyondZ := low+(0x80-'A')*ones, low+(0x80-'Z'-1)*ones
	return v | (fromA&^beyondZ&^v&(0x80*ones))>>2
}

func lowerByte(c byte) byte {
	if c-'A' < 26 {
		c += 'a' - 'A'
	}
	return c
}

// containsFold reports whether data contains a text in any case, without making a copy of
// data: it jumps from one occurrence of the text's rarest byte to the next.
func containsFold(data []byte, text string) bool {
	if text == "" {
		return true
	}
	weight := weights()
	at := 0
	for i := range len(text) {
		if weight[text[i]] < weight[text[at]] {
			at = i
		}
	}
	low, up := text[at], text[at]
	if low-'a' < 26 {
		up -= 'a' - 'A'
	}
	last := len(data) - len(text)
	nextLow, nextUp := next(data, at, low), len(data)
	if up != low {
		nextUp = next(data, at, up)
	}
	for {
		i := min(nextLow, nextUp)
		if i-at > last || i == len(data) {
			return false
		}
		if equalFold(data[i-at:i-at+len(text)], text) {
			return true
		}
		if i == nextLow {
			nextLow = next(data, i+1, low)
		} else {
			nextUp = next(data, i+1, up)
		}
	}
}

// next is where a byte is next, from a place on; the length of data when nowhere.
func next(data []byte, from int, c byte) int {
	if from >= len(data) {
		return len(data)
	}
	if i := bytes.IndexByte(data[from:], c); i >= 0 {
		return from + i
	}
	return len(data)
}

// equalFold compares bytes with a literal of the same length that is in lower case.
func equalFold(data []byte, text string) bool {
	for i, c := range data {
		if lowerByte(c) != text[i] {
			return false
		}
	}
	return true
}

// weights are how common a byte is in web pages, the commonest having the highest.
func weights() *[256]uint8 {
	// In order of frequency in markup, styles, scripts and prose.
	const common = " etaionsrlcdpmuh\"=/<>-fgbv.y:;w0,\n1k2'x()jT_SAC3E5P4968RqDIzIMNLOBF7{}HU\tGVW&#WYJKX?|!+%@[]*\\Q$Z"
	weight := [256]uint8{}
	for i := range len(common) {
		weight[common[i]] = uint8(len(common) - i)
	}
	return &weight
}

// contains is bytes.Contains for a string, without a copy.
func contains(data []byte, text string) bool { return bytes.Contains(data, view(text)) }

// view is the bytes of a string, to be read only.
func view(s string) []byte {
	return unsafe.Slice(unsafe.StringData(s), len(s)) //nolint:gosec // the bytes are only read, and not kept
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= 0x80 {
			return false
		}
	}
	return true
}
