// Package mask hides secrets in texts that leave the product: requests, answers, URLs and what was extracted from
// them. A secret is found by its place (a header such as Authorization, a cookie, a parameter, a member or an element
// whose name says so, a hidden input of a form), by its shape (a JWT, a private key, a key of a cloud or a service),
// or because its value is known: one of the team's, or one that was read as a session elsewhere in the same finding.
// Known values are hidden in each spelling (package spelling). The name, the place and the length stay, with a tag
// that is the same for the same value under one key.
//
// One pass over a text does most of the work, since exports read gigabytes: it stops at the few bytes at which a
// secret may begin, and allocates nothing where there is none.
package mask

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"hash"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/vedette-sec/vedette/internal/infra/spelling"
)

const (
	leastLearned = 8  // bytes of a value that is looked for elsewhere
	mostLearned  = 32 // values of one finding
	mostKnown    = 4096
)

// Masker hides secrets. It is not safe for concurrent use.
type Masker struct {
	tag     hash.Hash
	known   index
	learned []form   // the longest first
	values  []string // whose spellings are in learned
	spans   []span
	read    []readText // by Learn, for Text
	off     bool
}

// readText is a text with its secrets.
type readText struct {
	text  string
	spans []span
}

// form is a spelling of a value.
type form struct {
	text, value string
}

// span is a part of a text that is replaced, from the byte at from to that before to.
type span struct {
	from, to int
}

// New makes a masker that also hides values, wherever they occur. Those of fewer than 4 bytes are not looked for.
// Maskers with one key give one value the same tag.
func New(key []byte, values ...string) *Masker {
	m := &Masker{tag: hmac.New(sha256.New, key)}
	var all []form
	for _, value := range values[:min(len(values), mostKnown)] {
		all = append(all, forms(value)...)
	}
	m.known.fill(all)
	return m
}

// None is a masker that changes nothing.
func None() *Masker { return &Masker{off: true} }

// Off reports whether it changes nothing.
func (m *Masker) Off() bool { return m.off }

func forms(value string) (out []form) {
	if len(value) < spelling.Least {
		return nil
	}
	all := append(spelling.Of(value), value)
	slices.Sort(all)
	for _, text := range slices.Compact(all) {
		out = append(out, form{text, value})
	}
	return out
}

func longestFirst(all []form) {
	slices.SortStableFunc(all, func(a, b form) int { return len(b.text) - len(a.text) })
}

// Forget forgets the values that Learn read: another finding begins.
func (m *Masker) Forget() { m.learned, m.values, m.read = m.learned[:0], m.values[:0], m.read[:0] }

// Learn reads the sessions, credentials and tokens of a request or a response, so that Text also hides them elsewhere.
func (m *Masker) Learn(text string) {
	if m.off {
		return
	}
	s := scanner{text: text, spans: m.spans[:0]}
	s.scan()
	m.spans = s.spans
	m.read = append(m.read, readText{text, slices.Clone(s.spans)})
	for _, at := range s.spans {
		m.learn(text[at.from:at.to])
	}
}

func (m *Masker) learn(value string) {
	if len(value) < leastLearned || len(value) > 4096 || len(m.values) >= mostLearned ||
		strings.HasPrefix(value, mark) || slices.Contains(m.values, value) {
		return
	}
	m.values = append(m.values, value)
	m.learned = append(m.learned, forms(value)...)
	// Credentials of Basic authentication are known by their parts too.
	if plain, err := base64.StdEncoding.DecodeString(value); err == nil {
		if user, password, ok := strings.Cut(string(plain), ":"); ok && printable(user) && printable(password) {
			m.learn(password)
		}
	}
	longestFirst(m.learned)
}

func printable(text string) bool {
	for i := range len(text) {
		if text[i] < ' ' || text[i] == 0x7f {
			return false
		}
	}
	return text != ""
}

// Text is a text with marks in place of its secrets; the text itself where it has none.
func (m *Masker) Text(text string) string {
	if m.off || text == "" {
		return text
	}
	spans := m.secrets(text)
	if len(spans) > 0 {
		text = m.replace(text, spans)
	}
	return m.hideKnown(m.hide(text, m.learned))
}

// secrets finds the secrets of a text, unless Learn has.
func (m *Masker) secrets(text string) []span {
	for i := range m.read {
		if m.read[i].text == text {
			return m.read[i].spans
		}
	}
	s := scanner{text: text, spans: m.spans[:0]}
	s.scan()
	m.spans = s.spans
	return s.spans
}

// hide replaces spellings of known values.
func (m *Masker) hide(text string, all []form) string {
	for i := range all {
		if strings.Contains(text, all[i].text) {
			text = strings.ReplaceAll(text, all[i].text, m.mark(all[i].value, len(all[i].text)))
		}
	}
	return text
}

// replace puts marks into spans, which are in order and do not overlap.
func (m *Masker) replace(text string, spans []span) string {
	var b strings.Builder
	b.Grow(len(text) + 16*len(spans))
	at := 0
	for _, s := range spans {
		b.WriteString(text[at:s.from])
		b.WriteString(m.mark(text[s.from:s.to], s.to-s.from))
		at = s.to
	}
	b.WriteString(text[at:])
	return b.String()
}

// mark is what every mark begins with.
const mark = "[masked:"

// mark stands for a value of a length in bytes: "[masked:32:4f2a91]". The tag is keyed, so that it tells equal values
// from others and helps nobody to guess one.
func (m *Masker) mark(value string, length int) string {
	m.tag.Reset()
	_, _ = io.WriteString(m.tag, value) // a hash takes everything
	return mark + strconv.Itoa(length) + ":" + hex.EncodeToString(m.tag.Sum(nil)[:3]) + "]"
}
