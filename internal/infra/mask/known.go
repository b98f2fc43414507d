package mask

import (
	"encoding/binary"
	"strings"
)

// index finds known values in one pass over a text, however many there are: a bit for the hash of the first four
// bytes of each spelling says where to look closer.
type index struct {
	bits    [1 << 12]uint64
	byStart map[uint32][]form // by the first four bytes, the longest first
}

func start(text string) uint32 { return binary.LittleEndian.Uint32([]byte(text[:4])) }

// slot is where the bit of four bytes is.
func slot(four uint32) (word, bit uint32) {
	h := four * 2654435761 >> 14 // 18 bits
	return h >> 6, h & 63
}

// fill adds spellings; each has at least four bytes.
func (x *index) fill(all []form) {
	longestFirst(all)
	for _, f := range all {
		if x.byStart == nil {
			x.byStart = map[uint32][]form{}
		}
		four := start(f.text)
		word, bit := slot(four)
		x.bits[word] |= 1 << bit
		x.byStart[four] = append(x.byStart[four], f)
	}
}

// find is the longest spelling that begins at i.
func (x *index) find(text string, i int, four uint32) (form, bool) {
	for _, f := range x.byStart[four] {
		if strings.HasPrefix(text[i:], f.text) {
			return f, true
		}
	}
	return form{}, false
}

// hideKnown replaces known values.
func (m *Masker) hideKnown(text string) string {
	if m.known.byStart == nil || len(text) < 4 {
		return text
	}
	var b strings.Builder
	done := 0
	four := uint32(0)
	for i := 0; i+4 <= len(text); i++ {
		if i == 0 {
			four = start(text)
		} else {
			four = four>>8 | uint32(text[i+3])<<24
		}
		if word, bit := slot(four); i < done || m.known.bits[word]>>bit&1 == 0 {
			continue
		}
		if f, ok := m.known.find(text, i, four); ok {
			b.WriteString(text[done:i])
			b.WriteString(m.mark(f.value, len(f.text)))
			done = i + len(f.text)
		}
	}
	if done == 0 {
		return text
	}
	return b.String() + text[done:]
}
