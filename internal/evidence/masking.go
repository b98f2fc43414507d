package evidence

import (
	"strconv"
	"strings"
)

// span is a part of a text that a mark stands for.
type span struct {
	from, to int
	mark     string
}

// markStart is what the marks of package mask begin with: "[masked:32:4f2a91]" stands for 32 bytes.
const markStart = "[masked:"

// spansOf are the parts of a text that its masked form does not show. Where the two cannot be laid beside each other,
// that is the whole text.
func spansOf(text, masked string) (spans []span) {
	if text == masked {
		return nil
	}
	at, i := 0, 0
	for i < len(masked) {
		if mark, size := markAt(masked[i:]); size > 0 && !strings.HasPrefix(text[at:], mark) && at+size <= len(text) {
			spans = append(spans, span{at, at + size, mark})
			at, i = at+size, i+len(mark)
			continue
		}
		if at >= len(text) || text[at] != masked[i] {
			return []span{{0, len(text), masked}}
		}
		at, i = at+1, i+1
	}
	if at != len(text) {
		return []span{{0, len(text), masked}}
	}
	return spans
}

// markAt is the mark that a text begins with, and the bytes that it stands for; 0: it begins with none.
func markAt(text string) (mark string, size int) {
	if !strings.HasPrefix(text, markStart) {
		return "", 0
	}
	end := strings.IndexByte(text, ']')
	if end < 0 {
		return "", 0
	}
	number, tag, ok := strings.Cut(text[len(markStart):end], ":")
	size, err := strconv.Atoi(number)
	if !ok || err != nil || size <= 0 || strings.Trim(tag, "0123456789abcdef") != "" {
		return "", 0
	}
	return text[:end+1], size
}

// hide is a piece of a text with marks in place of spans. A span that began in an earlier piece has its mark there.
func hide(text string, from, to int, spans []span) string {
	var b strings.Builder
	for _, s := range spans {
		if s.from >= to {
			break
		}
		if s.from >= from {
			b.WriteString(text[from:s.from])
			b.WriteString(s.mark)
		}
		from = min(s.to, to)
	}
	b.WriteString(text[from:to])
	if b.Len() == 0 {
		return "…" // the rest of a mark
	}
	return b.String()
}
