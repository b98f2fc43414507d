// Package diff compares answers of an application: whether two of them say the same.
//
// An answer becomes a Page: its status, where it leads, its type, its title and its lines. A line is what stands
// between two tags of HTML or two commas of JSON, so that a page in one long line is as well compared as any other.
// Echoes of what was sent are cut first, in whatever form they came back, since they differ between all requests.
// Answers of the same bytes are the same, whatever was cut: a page about "Admin 1.2" is no echo of admin=1.
// What changes by itself is learned from several answers to one request: the shape of a line is the line with its
// digits and long words replaced, and a shape whose lines differ between those answers is noise and is not compared.
// The work grows with the size of the answers alone.
package diff

import (
	"bytes"
	"cmp"
	"hash/maphash"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/vedette-sec/vedette/internal/webtest/message"
)

// maxBody is how much of an answer is compared, in bytes; maxEcho how long an echo may be that is looked for.
const maxBody, maxEcho = 512 << 10, 300

// Page is what an answer says.
type Page struct {
	Status int
	Target string // where it redirects to, without what was echoed
	Type   string // the media type, without parameters
	Title  string
	Size   int // bytes of the body that were compared
	lines  map[line]int
	whole  uint64 // hash of the body before anything was cut
}

// line is a line and its shape, both as hashes.
type line struct{ text, shape uint64 }

var seed = maphash.MakeSeed()

// New makes the Page of an answer. The echoes are texts that were sent and are cut.
func New(r *message.Response, echoes ...string) *Page {
	body := r.Body[:min(len(r.Body), maxBody)]
	whole := maphash.Bytes(seed, body)
	target := r.Header.Get("Location")
	var known []byte // what is compared, in lower case
	if len(echoes) > 0 {
		known = append(bytes.ToLower(body), strings.ToLower(target)...)
	}
	for _, echo := range echoes {
		if !mentions(known, echo) { // most answers do not: an expression costs far more
			continue
		}
		if pattern := tolerant(echo); pattern != nil {
			body = pattern.ReplaceAll(body, nil)
			target = pattern.ReplaceAllString(target, "")
		}
	}
	media, _, _ := strings.Cut(r.Header.Get("Content-Type"), ";")
	p := &Page{Status: r.Status, Target: target, Type: strings.ToLower(strings.TrimSpace(media)), Size: len(body),
		lines: map[line]int{}, whole: whole}
	if m := title.FindSubmatch(body); m != nil {
		p.Title = string(bytes.TrimSpace(m[1]))
	}
	for _, l := range split(body) {
		p.lines[line{maphash.Bytes(seed, l), maphash.Bytes(seed, shape(l))}]++
	}
	return p
}

var title = regexp.MustCompile(`(?is)<title[^>]*>(.{0,200}?)</title`)

// split is the lines of a body, none of them empty.
func split(body []byte) (lines [][]byte) {
	start := 0
	add := func(end int) {
		if l := bytes.TrimSpace(body[start:end]); len(l) > 0 {
			lines = append(lines, l)
		}
		start = end
	}
	for i, b := range body {
		switch b {
		case '<', '\n', ',', '{', '}':
			add(i)
		}
	}
	add(len(body))
	return lines
}

// shape is a line with its words replaced that have a digit or 16 characters and more.
func shape(l []byte) []byte {
	return word.ReplaceAllFunc(l, func(w []byte) []byte {
		if len(w) >= 16 || bytes.ContainsAny(w, "0123456789") {
			return []byte{'0'}
		}
		return w
	})
}

var word = regexp.MustCompile(`[0-9A-Za-z_\-\x80-\xff]+`)

// forms are escapes that pages use for one character.
const forms = `&#?[0-9A-Za-z]{1,8};|%(?:25)?[0-9A-Fa-f]{2}|\\u[0-9A-Fa-f]{4}|\\x[0-9A-Fa-f]{2}`

// between is what may have become of what stands between two words of a text.
const between = `(?:` + forms + `|[^0-9A-Za-z]){0,24}`

var words = regexp.MustCompile(`[0-9A-Za-z]+`)

// mentions reports whether a page, in lower case, may show a text: it has its longest word.
func mentions(page []byte, text string) bool {
	longest := ""
	for _, one := range words.FindAllString(text, -1) {
		if len(one) > len(longest) {
			longest = one
		}
	}
	return bytes.Contains(page, []byte(strings.ToLower(cmp.Or(longest, text))))
}

// tolerant is an expression for a text in all forms in which pages show it: as it is, escaped for HTML, addresses or
// scripts, with quotes doubled or characters taken out, in upper or lower case; nil for a text too short to be told
// from others.
func tolerant(text string) *regexp.Regexp {
	if text == "" || len(text) > maxEcho {
		return nil
	}
	if len(text) < 3 { // it is told from others only where it is a word
		if !words.MatchString(text) {
			return nil
		}
		return regexp.MustCompile(`(?i)\b` + regexp.QuoteMeta(text) + `\b`)
	}
	found := words.FindAllStringIndex(text, -1)
	letters := 0
	parts := make([]string, len(found))
	for i, at := range found {
		parts[i] = text[at[0]:at[1]]
		letters += len(parts[i])
	}
	expression := regexp.QuoteMeta(text)
	if letters > 0 && len(found) <= 40 {
		head, tail := text[:found[0][0]], text[found[len(found)-1][1]:]
		expression = strings.Join(parts, between)
		if letters >= 3 {
			expression = optional(head, 0) + expression + optional(tail, 0)
		} else { // its characters tell it from others
			expression = optional(head, 1) + `\b` + expression + `\b` + optional(tail, min(1, len(tail)))
		}
	}
	pattern, err := regexp.Compile("(?i)" + expression)
	if err != nil {
		return nil
	}
	return pattern
}

// optional matches the characters of a text, which are neither letters nor digits, in the forms of pages, as many of
// them as are there, but at least so many. Quotes and their like may be doubled. What follows stays, such as the =
// behind the name of a parameter.
func optional(text string, atLeast int) string {
	if text == "" {
		return ""
	}
	all, most := []string{forms, `\\`}, 0
	for _, r := range text {
		most += utf8.RuneLen(r)
		if strings.ContainsRune(`'"\`, r) {
			most++
		}
		if one := regexp.QuoteMeta(string(r)); !slices.Contains(all, one) {
			all = append(all, one)
		}
	}
	return "(?:" + strings.Join(all, "|") + "){" + strconv.Itoa(atLeast) + "," + strconv.Itoa(min(60, most)) + "}"
}

// Noise are the shapes of lines that change by themselves.
type Noise map[uint64]bool

// Learn is the noise of several answers to one request.
func Learn(pages ...*Page) Noise {
	noise := Noise{}
	for i := 1; i < len(pages); i++ {
		for _, l := range differing(pages[0], pages[i], nil) {
			noise[l.shape] = true
		}
	}
	return noise
}

// differing are the lines of which a has more or fewer than b, without those of noise.
func differing(a, b *Page, noise Noise) (all []line) {
	if a.whole == b.whole {
		return nil
	}
	for l, n := range a.lines {
		if b.lines[l] != n && !noise[l.shape] {
			all = append(all, l)
		}
	}
	for l, n := range b.lines {
		if n > 0 && a.lines[l] == 0 && !noise[l.shape] {
			all = append(all, l)
		}
	}
	return all
}

// Same says whether two answers say the same but for noise.
func Same(a, b *Page, noise Noise) bool {
	return a.Status == b.Status && a.Target == b.Target && a.Type == b.Type && len(differing(a, b, noise)) == 0
}

// Likeness is how much of two answers is the same, from 0 to 1: twice the lines that they share, of the lines of both.
func Likeness(a, b *Page, noise Noise) float64 {
	if a.whole == b.whole {
		return 1
	}
	shared, total := 0, 0
	for l, n := range a.lines {
		if noise[l.shape] {
			continue
		}
		shared += 2 * min(n, b.lines[l])
		total += n
	}
	for l, n := range b.lines {
		if !noise[l.shape] {
			total += n
		}
	}
	if total == 0 {
		return 1
	}
	return float64(shared) / float64(total)
}

// Adds says whether page has lines, but for noise, that none of the others has.
func Adds(page *Page, noise Noise, others ...*Page) bool {
	if slices.ContainsFunc(others, func(o *Page) bool { return o.whole == page.whole }) {
		return false
	}
	for l := range page.lines {
		if noise[l.shape] {
			continue
		}
		if !slices.ContainsFunc(others, func(o *Page) bool { return o.lines[l] > 0 }) {
			return true
		}
	}
	return false
}

// fewest is how many pages there must be for Common to tell a layout from their contents.
const fewest = 4

// Common is a page of the lines that most of some pages have: their layout. Of fewer than four pages it is empty.
func Common(pages ...*Page) *Page {
	in := map[line]int{}
	for _, p := range pages {
		for l := range p.lines {
			in[l]++
		}
	}
	out := &Page{lines: map[line]int{}}
	for l, n := range in {
		if len(pages) >= fewest && 2*n > len(pages) {
			out.lines[l] = 1
		}
	}
	return out
}

// Share is how much another page has of what is special to a page: of its lines that none of the controls has, the part
// that the other has too, from 0 to 1. special is how many such lines there are; without any, nothing can be told.
func Share(page, other *Page, controls ...*Page) (share float64, special int) {
	had := 0
	for l, n := range page.lines {
		if slices.ContainsFunc(controls, func(c *Page) bool { return c.lines[l] > 0 }) {
			continue
		}
		special += n
		had += min(n, other.lines[l])
	}
	if special == 0 {
		return 0, 0
	}
	return float64(had) / float64(special), special
}
