package knowledge

import "strings"

// document is a text of a source with its place.
type document struct{ place, text string }

// chunk is a part of a document.
type chunk struct {
	place string
	line  int // its first, from 1
	text  string
}

const (
	chunkSize = 1500 // bytes that a chunk is filled up to
	maxLine   = 4000 // bytes of a line that stays whole
)

// chunks cuts a document at the ends of lines, after an empty line where one is near. A line that is too long is cut
// between words.
func chunks(d document) (out []chunk) {
	var b strings.Builder
	first, number := 1, 0
	flush := func(next int) {
		if text := strings.TrimSpace(b.String()); text != "" {
			out = append(out, chunk{d.place, first, text})
		}
		b.Reset()
		first = next
	}
	for line := range strings.Lines(d.text) {
		number++
		isEmpty := strings.TrimSpace(line) == ""
		if isEmpty && b.Len() == 0 {
			first = number + 1
			continue
		}
		if b.Len()+len(line) > chunkSize && b.Len() > 0 || isEmpty && b.Len() > chunkSize/2 {
			flush(number)
		}
		for len(line) > maxLine {
			at := strings.LastIndexAny(line[:chunkSize], " \t")
			if at <= 0 {
				at = chunkSize
				for at > 0 && line[at]&0xC0 == 0x80 { // within a letter
					at--
				}
			}
			b.WriteString(line[:at])
			line = line[at:]
			flush(number)
		}
		b.WriteString(line)
	}
	flush(number)
	return out
}
