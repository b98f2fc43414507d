// Package redact hides the secrets of a task from models: they see references such as {{$NAME}}, which become values
// when a tool is called, and every spelling of a value in a result becomes a reference.
package redact

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/vedette-sec/vedette/internal/infra/spelling"
)

// Secrets are the secrets of one task.
type Secrets struct {
	Values   map[string]string
	patterns []string // all spellings, longest first
	replace  *strings.Replacer
	short    map[string]string // values that are only replaced as whole words
}

// shortSecret is the length from which a value is replaced anywhere; shorter ones would tear other words apart.
const shortSecret = spelling.Least

var reference = regexp.MustCompile(`\{\{\$([A-Za-z_][A-Za-z0-9_]*)\}\}`)

// New takes values by name, and hidden ones without a name.
func New(values map[string]string, hidden ...string) *Secrets {
	s := &Secrets{Values: values, short: map[string]string{}}
	marks := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		value := values[name]
		switch {
		case value == "":
		case len(value) < shortSecret:
			s.short[value] = Reference(name)
		default:
			for _, form := range spelling.Of(value) {
				marks[form] = cmp.Or(marks[form], "[secret "+name+"]")
			}
			marks[value] = Reference(name)
		}
	}
	for _, value := range hidden {
		if value == "" {
			continue
		}
		if len(value) < shortSecret {
			s.short[value] = cmp.Or(s.short[value], hiddenMark)
			continue
		}
		for _, form := range append(spelling.Of(value), value) {
			marks[form] = cmp.Or(marks[form], hiddenMark)
		}
	}
	s.patterns = slices.SortedFunc(maps.Keys(marks), func(a, b string) int {
		return cmp.Or(cmp.Compare(len(b), len(a)), strings.Compare(a, b))
	})
	var pairs []string
	for _, form := range s.patterns {
		pairs = append(pairs, form, marks[form])
	}
	s.replace = strings.NewReplacer(pairs...)
	return s
}

const hiddenMark = "[secret]"

// Reference stands for a value in a tool's arguments.
func Reference(name string) string { return "{{$" + name + "}}" }

// encode writes JSON; forHTML escapes <, > and &.
func encode(v any, forHTML bool) ([]byte, error) {
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(forHTML)
	err := enc.Encode(v)
	return bytes.TrimSpace(out.Bytes()), err
}

// Redact replaces the values in a text.
func (s *Secrets) Redact(text string) string {
	if len(s.patterns) > 0 {
		text = s.replace.Replace(text)
	}
	for value, instead := range s.short {
		text = replaceWord(text, value, instead)
	}
	return text
}

// replaceWord replaces a word without letters or digits beside it.
func replaceWord(text, word, instead string) string {
	var b strings.Builder
	for rest := text; ; {
		i := strings.Index(rest, word)
		if i < 0 {
			b.WriteString(rest)
			return b.String()
		}
		end := i + len(word)
		before, _ := utf8.DecodeLastRuneInString(text[:len(text)-len(rest)+i])
		after, _ := utf8.DecodeRuneInString(rest[end:])
		b.WriteString(rest[:i])
		if inWord(before) || inWord(after) {
			b.WriteString(word)
		} else {
			b.WriteString(instead)
		}
		rest = rest[end:]
	}
}

func inWord(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }

// isForeign are the fields with documents of others, where a number may be a secret.
func isForeign(field string) bool {
	return field == "finding" || field == "args" || field == "metadata" || field == "evidence"
}

// RedactJSON replaces values in strings and keys, and in numbers of foreign documents.
func (s *Secrets) RedactJSON(doc []byte) ([]byte, error) {
	if len(s.patterns)+len(s.short) == 0 {
		return doc, nil
	}
	return mapJSON(doc, func(text string, kind jsonKind) (string, bool) {
		clean := s.Redact(text)
		return clean, kind != ownNumber && clean != text
	})
}

// Substitute puts the values into the strings of a document. An unknown name is an error.
func (s *Secrets) Substitute(doc json.RawMessage) (json.RawMessage, error) {
	var unknown string
	filled, err := mapJSON(doc, func(text string, kind jsonKind) (string, bool) {
		if kind != jsonString || !strings.Contains(text, "{{$") {
			return text, false
		}
		return reference.ReplaceAllStringFunc(text, func(ref string) string {
			name := ref[3 : len(ref)-2]
			value, ok := s.Values[name]
			if !ok {
				unknown = name
			}
			return value
		}), true
	})
	if err == nil && unknown != "" {
		err = fmt.Errorf("no secret with the name %s was given to this task", unknown)
	}
	return filled, err
}

// Escape breaks references that a target wrote, so that it cannot request a secret.
func Escape(text string) string { return strings.ReplaceAll(text, "{{$", "{{ $") }

// EscapeJSON is Escape for all strings of a document.
func EscapeJSON(doc json.RawMessage) (json.RawMessage, error) {
	return mapJSON(doc, func(text string, kind jsonKind) (string, bool) {
		return Escape(text), kind == jsonString || kind == jsonKey
	})
}

type jsonKind int

const (
	jsonString jsonKind = iota
	jsonKey
	ownNumber
	foreignNumber
)

// mapJSON rewrites texts of a document; a rewritten number becomes a string.
func mapJSON(doc []byte, f func(text string, kind jsonKind) (string, bool)) (json.RawMessage, error) {
	d := json.NewDecoder(bytes.NewReader(doc))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, err
	}
	var walk func(v any, number jsonKind) any
	walk = func(v any, number jsonKind) any {
		switch v := v.(type) {
		case string:
			if text, changed := f(v, jsonString); changed {
				return text
			}
		case json.Number:
			if text, changed := f(v.String(), number); changed {
				return text
			}
		case []any:
			for i := range v {
				v[i] = walk(v[i], number)
			}
		case map[string]any:
			clean := make(map[string]any, len(v))
			for key, value := range v {
				kind := number
				if isForeign(key) {
					kind = foreignNumber
				}
				if text, changed := f(key, jsonKey); changed {
					key = text
				}
				clean[key] = walk(value, kind)
			}
			return clean
		}
		return v
	}
	return encode(walk(v, ownNumber), false)
}

// Stream redacts a text in pieces: the possible beginning of a value waits for the next piece.
type Stream struct {
	Secrets *Secrets
	waiting string
}

// Add returns what can be shown so far.
func (s *Stream) Add(piece string) string {
	text := s.waiting + piece
	cut := len(text)
	for _, pattern := range s.Secrets.patterns {
		for from := max(0, len(text)-len(pattern)+1); from < cut; from++ {
			if i := strings.IndexByte(text[from:cut], pattern[0]); i < 0 {
				break
			} else if from += i; strings.HasPrefix(pattern, text[from:]) {
				cut = from
			}
		}
	}
	cut = s.Secrets.avoidSplit(text, cut)
	if len(s.Secrets.short) > 0 { // they depend on the next character
		cut = strings.LastIndexFunc(text[:cut], unicode.IsSpace) + 1
	}
	s.waiting = text[cut:]
	return s.Secrets.Redact(text[:cut])
}

// avoidSplit moves a cut so that it splits no value.
func (s *Secrets) avoidSplit(text string, cut int) int {
	for moved := true; moved; {
		moved = false
		for _, pattern := range s.patterns {
			from := max(0, cut-len(pattern)+1)
			to := min(len(text), cut+len(pattern)-1)
			if i := strings.Index(text[from:to], pattern); i >= 0 && from+i < cut {
				cut, moved = from+i, true
			}
		}
	}
	return cut
}

// End returns the rest.
func (s *Stream) End() string {
	rest := s.Secrets.Redact(s.waiting)
	s.waiting = ""
	return rest
}
