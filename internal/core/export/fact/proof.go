package fact

import (
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/vedette-sec/vedette/internal/engine/syntax"
)

// Excerpt is a part of a request or a response with the parts of it that prove the finding.
type Excerpt struct {
	Text   string
	Marked [][2]int // ranges of bytes of Text, in order, without overlaps
	Before int      // bytes left out before Text
	After  int      // and after it
}

// Hints tell what proves a finding: texts and expressions that its template looks for.
type Hints struct {
	Texts       []string
	Expressions []*regexp.Regexp
}

const (
	leastHint = 3 // bytes of a text that is looked for
	mostHints = 60
	mostMarks = 12
)

// HintsOf are the hints of the template with this text. A matcher's name picks its matcher; empty: any. A text that is
// no template has none.
func HintsOf(template []byte, matcher string) (h Hints) {
	t, err := syntax.Parse("", template)
	if err != nil {
		return h
	}
	for _, o := range t.Operators() {
		for _, m := range o.Matchers {
			if m.Negative || matcher != "" && m.Name != "" && m.Name != matcher {
				continue
			}
			h.add(m.Words...)
			h.expressions(m.Regex)
			for _, expression := range m.DSL {
				h.add(literals(expression)...)
			}
		}
		for _, x := range o.Extractors {
			h.expressions(x.Regex)
		}
	}
	return h
}

func (h *Hints) add(texts ...string) {
	for _, text := range texts {
		if len(text) >= leastHint && len(h.Texts) < mostHints && !strings.Contains(text, "{{") {
			h.Texts = append(h.Texts, text)
		}
	}
}

func (h *Hints) expressions(texts []string) {
	for _, text := range texts {
		if e, err := regexp.Compile(
			text,
		); err == nil && len(h.Expressions) < mostHints && len(text) < 2000 &&
			!e.MatchString("") {
			h.Expressions = append(h.Expressions, e)
		}
	}
}

// With are these hints with further texts before them, such as what was extracted.
func (h Hints) With(texts ...string) Hints {
	more := Hints{Expressions: h.Expressions}
	more.add(texts...)
	more.Texts = append(more.Texts, h.Texts...)
	return more
}

var quotedText = regexp.MustCompile(`"((?:[^"\\]|\\.){3,200})"|'((?:[^'\\]|\\.){3,200})'`)

// literals are the texts in an expression, such as contains(body, "root:x:0:0").
func literals(expression string) (out []string) {
	for _, m := range quotedText.FindAllStringSubmatch(expression, -1) {
		out = append(out, m[1]+m[2])
	}
	return out
}

// Find marks what proves a finding in a text, and cuts the text around it to about most bytes. Where nothing is found
// it is the beginning of the text.
func (h Hints) Find(text string, most int) Excerpt {
	const longest = 1 << 20
	var marks [][2]int
	searched := text[:min(len(text), longest)]
	for _, hint := range h.Texts {
		marks = appendAll(marks, searched, hint)
	}
	for _, e := range h.Expressions {
		for _, at := range e.FindAllStringIndex(searched, mostMarks) {
			if at[1] > at[0] {
				marks = append(marks, [2]int{at[0], at[1]})
			}
		}
	}
	return cut(text, joined(marks), most)
}

// appendAll appends where hint occurs, in any case where it does not occur as it is written.
func appendAll(marks [][2]int, text, hint string) [][2]int {
	found := len(marks)
	for from := 0; len(marks)-found < mostMarks; {
		i := strings.Index(text[from:], hint)
		if i < 0 {
			break
		}
		marks = append(marks, [2]int{from + i, from + i + len(hint)})
		from += i + len(hint)
	}
	return marks
}

// joined puts marks in order and joins those that overlap.
func joined(marks [][2]int) (out [][2]int) {
	slices.SortFunc(marks, func(a, b [2]int) int { return a[0] - b[0] })
	for _, m := range marks {
		if n := len(out); n > 0 && m[0] <= out[n-1][1] {
			out[n-1][1] = max(out[n-1][1], m[1])
		} else {
			out = append(out, m)
		}
	}
	return out
}

const (
	linesBefore = 14 // of an excerpt before its first mark
	linesAfter  = 30 // and after it
)

// lastLines is where the last n lines of a text begin.
func lastLines(text string, n int) int {
	for i := len(text) - 1; i >= 0; i-- {
		if text[i] == '\n' {
			if n--; n < 0 {
				return i + 1
			}
		}
	}
	return 0
}

// firstLines is where the first n lines of a text end.
func firstLines(text string, n int) int {
	for i := range len(text) {
		if text[i] == '\n' {
			if n--; n <= 0 {
				return i
			}
		}
	}
	return len(text)
}

// cut keeps most bytes around the first mark, from the beginning where that is near.
func cut(text string, marks [][2]int, most int) Excerpt {
	from := 0
	if len(marks) > 0 && marks[0][1] > most*3/4 {
		from = max(0, marks[0][0]-most/3)
		if line := strings.LastIndexByte(
			text[from:marks[0][0]],
			'\n',
		); line >= 0 &&
			strings.Count(text[from:marks[0][0]], "\n") > 1 {
			from += strings.IndexByte(text[from:], '\n') + 1
		}
	}
	to := min(len(text), from+most)
	first := from
	if len(marks) > 0 && marks[0][0] < to {
		first = max(from, marks[0][0])
		from = max(from, lastLines(text[from:first], linesBefore)+from)
	}
	to = first + firstLines(text[first:to], linesAfter)
	for from > 0 && from < len(text) && !utf8.RuneStart(text[from]) {
		from--
	}
	for to < len(text) && !utf8.RuneStart(text[to]) {
		to--
	}
	e := Excerpt{Text: text[from:to], Before: from, After: len(text) - to}
	for _, m := range marks {
		if m[0] >= from && m[0] < to && len(e.Marked) < mostMarks {
			e.Marked = append(e.Marked, [2]int{m[0] - from, min(m[1], to) - from})
		}
	}
	return e
}
