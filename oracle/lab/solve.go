package lab

import (
	"encoding/hex"
	"slices"
	"strconv"
	"strings"
	"time"
)

// solver derives the answers for the requests of one block.
type solver struct {
	answers []Answer
	values  map[string]string // what named extractors must find
	known   map[string]bool   // names that the template itself gives a value
	variant int
	omit    int  // the need that is left out, from 1; 0: none
	needs   int  // seen so far
	counted bool // the block speaks of numbered answers
	steps   bool // the block has internal extractors: its requests follow from each other
}

// solve derives an answer for every entry of the block that satisfies its matchers and has values for
// its extractors. ok is false when the lab cannot satisfy a matcher. omit is the index of one
// requirement to leave out; needs is the number of requirements.
func solve(t *Template, b *Block, entries, variant, omit int) (answers []Answer, needs int, ok bool) {
	s := &solver{answers: make([]Answer, entries), values: map[string]string{}, variant: variant, omit: omit}
	s.counted = numbered(b)
	s.steps = slices.ContainsFunc(b.Extractors, func(x Extractor) bool { return x.Internal })
	s.known = t.names()
	ok = s.matchers(b)
	for i := range b.Extractors {
		s.extractor(&b.Extractors[i])
	}
	return s.answers, s.needs, ok
}

func numbered(b *Block) bool {
	has := func(text string) bool { return numberedName.MatchString(text) }
	for _, m := range b.Matchers {
		if has(m.Part) || slices.ContainsFunc(m.DSL, has) {
			return true
		}
	}
	return false
}

func (s *solver) matchers(b *Block) bool {
	if b.Condition == "and" {
		ok := true
		for i := range b.Matchers {
			ok = s.matcher(&b.Matchers[i], true) && ok
		}
		return ok
	}
	solved := 0
	for i := range b.Matchers {
		m := &b.Matchers[(i+s.variant*7)%len(b.Matchers)]
		if s.try(func() bool { return s.matcher(m, true) }) {
			if solved++; solved == 2 || len(b.Matchers) == 2 {
				break
			}
		}
	}
	return solved > 0 || len(b.Matchers) == 0
}

// try calls f and undoes its changes when it fails.
func (s *solver) try(f func() bool) bool {
	saved := make([]Answer, len(s.answers))
	for i := range s.answers {
		saved[i] = s.answers[i].clone()
	}
	if f() {
		return true
	}
	s.answers = saved
	return false
}

// need counts a requirement and reports whether it is the one to leave out.
func (s *solver) need() bool {
	s.needs++
	return s.needs == s.omit
}

// on applies f to the answers that a part with this number refers to. If the block uses numbers, a part
// without a number refers to the last answer.
func (s *solver) on(number int, f func(*Answer) bool) bool {
	if number > len(s.answers) || len(s.answers) == 0 {
		return false
	}
	if number > 0 {
		return f(&s.answers[number-1])
	}
	if s.counted {
		return f(&s.answers[len(s.answers)-1])
	}
	ok := true
	for i := range s.answers {
		ok = f(&s.answers[i]) && ok
	}
	return ok
}

func (s *solver) matcher(m *Matcher, want bool) bool {
	want = want != m.Negative
	items := func(all list, f func(string) bool) bool {
		if m.Condition == "and" == want {
			ok := true
			for _, item := range all {
				ok = f(item) && ok
			}
			return ok
		}
		for i := range all {
			if item := all[(i+s.variant)%len(all)]; s.try(func() bool { return f(item) }) {
				return true
			}
		}
		return false
	}
	part, number := splitPart(m.Part)
	switch m.Type {
	case "status":
		return s.status(number, m.Status, want)
	case "size":
		return want && len(m.Size) > 0 &&
			s.on(number, func(a *Answer) bool { return s.need() || a.fit(m.Size[s.variant%len(m.Size)]) })
	case "word":
		return items(m.Words, func(word string) bool {
			if m.Encoding == "hex" {
				if raw, err := hex.DecodeString(word); err == nil {
					word = string(raw)
				}
			}
			return s.hold(part, number, word, want)
		})
	case "binary":
		return items(m.Binary, func(text string) bool {
			raw, err := hex.DecodeString(text)
			return err == nil && s.hold(part, number, string(raw), want)
		})
	case "regex":
		return items(m.Regex, func(pattern string) bool { return s.regex(part, number, pattern, want) })
	case "dsl":
		return items(m.DSL, func(source string) bool {
			n, err := parseExpression(source)
			return err == nil && s.expression(n, want)
		})
	case "xpath":
		return items(m.XPath, func(path string) bool { return !want || s.xpath(number, path, "", "lab") })
	}
	return false
}

func (a *Answer) fit(size int) bool {
	if size == 0 {
		empty := ""
		a.Exact = &empty
		return len(a.Pieces) == 0
	}
	a.Length = size
	return true
}

func (s *solver) status(number int, allowed []int, want bool) bool {
	if !want {
		allowed = slices.DeleteFunc([]int{200, 404, 500, 302, 403},
			func(code int) bool { return slices.Contains(allowed, code) })
	}
	if len(allowed) == 0 {
		return false
	}
	leave := s.need()
	return s.on(number, func(a *Answer) bool {
		if a.Status != 0 && !leave {
			return slices.Contains(allowed, a.Status)
		}
		if leave {
			a.Status = 418
			return true
		}
		a.Status = allowed[s.variant%len(allowed)]
		return true
	})
}

// hold makes a part contain text, or not.
func (s *solver) hold(part string, number int, text string, want bool) bool {
	if !want {
		return s.on(number, func(a *Answer) bool {
			a.avoid = append(a.avoid, text)
			return part != "body" ||
				!a.contains(text)
		})
	}
	if s.need() {
		return true
	}
	switch part {
	case "body", "all", "response", "raw", "data":
		return s.on(number, func(a *Answer) bool { return a.addBody(text) })
	case "header", "all_headers":
		return s.on(number, func(a *Answer) bool { return a.addHead(text) })
	}
	name := headerOf(part)
	if s.known[part] {
		if _, known := s.values[part]; !known {
			s.values[part] = text
		}
		return true
	}
	return s.on(number, func(a *Answer) bool { return a.setHeader(name, text) })
}

func (s *solver) regex(part string, number int, pattern string, want bool) bool {
	if !want {
		return true
	}
	text, ok := matching(pattern, s.variant, 0, "")
	if !ok {
		return false
	}
	return s.place(part, number, pattern, text)
}

// place puts text that matches pattern where the pattern's anchors require it.
func (s *solver) place(part string, number int, pattern, text string) bool {
	if part != "body" || strings.HasPrefix(pattern, "(?m") {
		return s.hold(part, number, text, true)
	}
	bare := strings.TrimLeft(pattern, "(?:is)")
	starts, ends := strings.HasPrefix(bare, "^"), strings.HasSuffix(pattern, "$") && !strings.HasSuffix(pattern, `\$`)
	if !starts && !ends {
		return s.hold(part, number, text, true)
	}
	if s.need() {
		return true
	}
	return s.on(number, func(a *Answer) bool {
		switch {
		case a.Exact != nil:
			return *a.Exact == text
		case starts && ends:
			a.Exact = &text
			return len(a.Pieces) == 0
		case starts:
			if a.Prefix == "" || strings.HasPrefix(text, a.Prefix) {
				a.Prefix = text
			}
			return strings.HasPrefix(a.Prefix, text)
		}
		a.Suffix = text
		return true
	})
}

// splitPart takes the number from a part's name: body_2 is body, 2. No part is body.
func splitPart(part string) (string, int) {
	if part == "" {
		return "body", 0
	}
	if m := numberedName.FindStringSubmatch(part); m != nil && m[0] == part {
		n, _ := strconv.Atoi(m[2])
		return m[1], n
	}
	return part, 0
}

func headerOf(part string) string {
	special := map[string]string{"x_xss_protection": "X-XSS-Protection", "www_authenticate": "WWW-Authenticate",
		"etag": "ETag"}
	if name, ok := special[part]; ok {
		return name
	}
	words := strings.Split(part, "_")
	for i, w := range words {
		if w != "" {
			words[i] = strings.ToUpper(w[:1]) + w[1:]
		}
	}
	return strings.Join(words, "-")
}

// delay is added to the required delay of an answer.
const delay = 300 * time.Millisecond

func itoa(n int) string { return strconv.Itoa(n) }
