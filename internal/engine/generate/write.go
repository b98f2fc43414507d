package generate

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
	"unicode"

	"github.com/vedette-sec/vedette/internal/engine/syntax"
)

// writer writes YAML, without empty values.
type writer struct{ strings.Builder }

func (w *writer) indent(depth int) { w.WriteString(strings.Repeat("  ", depth)) }

// open begins a mapping or a list.
func (w *writer) open(depth int, key string) {
	w.indent(depth)
	w.WriteString(key + ":\n")
}

// line writes a value without quotes.
func (w *writer) line(depth int, key, value string) {
	if value != "" {
		w.indent(depth)
		w.WriteString(key + ": " + value + "\n")
	}
}

func (w *writer) text(depth int, key, value string) {
	if value != "" {
		w.line(depth, key, quoted(value))
	}
}

func (w *writer) texts(depth int, key string, values []string) {
	if len(values) == 0 {
		return
	}
	w.open(depth, key)
	for _, value := range values {
		w.indent(depth + 1)
		w.WriteString("- " + quoted(value) + "\n")
	}
}

func (w *writer) numbers(depth int, key string, values []int) {
	if len(values) == 0 {
		return
	}
	words := make([]string, len(values))
	for i, n := range values {
		words[i] = strconv.Itoa(n)
	}
	w.line(depth, key, "["+strings.Join(words, ", ")+"]")
}

// block writes a text as an element of a list: as it is where YAML can, else quoted.
func (w *writer) block(depth int, text string) {
	w.indent(depth)
	body, ended := strings.CutSuffix(text, "\n")
	odd := strings.HasPrefix(body, " ") || strings.HasSuffix(body, "\n") || strings.ContainsFunc(body, func(r rune) bool {
		return r != '\n' && !unicode.IsPrint(r)
	})
	if odd {
		w.WriteString("- " + quoted(text) + "\n")
		return
	}
	mark := "|-"
	if ended {
		mark = "|"
	}
	w.WriteString("- " + mark + "\n")
	for line := range strings.SplitSeq(body, "\n") {
		if line != "" {
			w.indent(depth + 1)
		}
		w.WriteString(line + "\n")
	}
}

// quoted is a text as a JSON string, which YAML reads as the same text.
func quoted(s string) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(s); err != nil {
		panic("generate: " + err.Error()) // a string always can be
	}
	// YAML takes these for the ends of lines, and the first for nothing at all.
	return strings.NewReplacer("\ufeff", `\ufeff`, "\u0085", `\u0085`, "\x7f",
		`\u007f`).Replace(strings.TrimSuffix(b.String(), "\n"))
}

func (w *writer) matcher(m syntax.Matcher) {
	w.line(3, "- type", m.Type)
	w.text(4, "part", m.Part)
	w.line(4, "condition", m.Condition)
	w.line(4, "encoding", m.Encoding)
	for _, flag := range []struct {
		key string
		on  bool
	}{{"negative", m.Negative}, {"match-all", m.MatchAll}, {"case-insensitive", m.CaseInsensitive}} {
		if flag.on {
			w.line(4, flag.key, "true")
		}
	}
	w.numbers(4, "status", m.Status)
	w.numbers(4, "size", m.Size)
	w.texts(4, "words", m.Words)
	w.texts(4, "regex", m.Regex)
	w.texts(4, "binary", m.Binary)
	w.texts(4, "dsl", m.DSL)
	w.texts(4, "xpath", m.XPath)
}
