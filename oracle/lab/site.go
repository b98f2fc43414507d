package lab

import (
	"fmt"
	"hash/fnv"
	"regexp"
	"strconv"
	"strings"
	"sync"
)

// Kind is how a site answers the requests of its template.
type Kind string

// The kinds of sites.
const (
	Positive Kind = "positive" // everything that the matchers ask for
	Second   Kind = "second"   // the same with other branches taken
	Near     Kind = "near"     // everything but one thing
	Nothing  Kind = "nothing"  // 404 for every request
)

// Kinds are all kinds of sites.
func Kinds() []Kind { return []Kind{Positive, Second, Near, Nothing} }

// Site answers the requests of one template. It remembers values from requests (random texts, payloads)
// because answers may have to repeat them.
type Site struct {
	Template *Template
	Kind     Kind
	Solved   bool // the lab believes that the answers satisfy the matchers
	routes   []route

	mu   sync.Mutex
	vars map[string]any
	seen []string
}

const maxSeen = 60

type route struct {
	method       string
	target, file *pattern // with and without the query
	body         *pattern
	headers      []*pattern
	literal      bool // the target is more than placeholders
	answer       Answer
}

// NewSite is a site for the template. Without a template every answer is 404.
func NewSite(t *Template, kind Kind) *Site {
	s := &Site{Template: t, Kind: kind, Solved: kind != Nothing && kind != Near}
	if kind == Nothing {
		return s
	}
	variant := 0
	if kind == Second {
		variant = 1
	}
	pick := fnv.New32a()
	pick.Write([]byte(t.ID))
	missing := int(pick.Sum32()) & 0xffff
	for i := range t.Blocks {
		b := &t.Blocks[i]
		entries := b.entries()
		answers, needs, ok := solve(t, b, len(entries), variant, 0)
		if kind == Near && i == missing%len(t.Blocks) && needs > 0 {
			answers, _, _ = solve(t, b, len(entries), variant, 1+missing/8%needs)
		}
		s.Solved = s.Solved && ok
		if len(b.Payloads) > 0 { // a wait for each of them would take minutes
			for j := range answers {
				answers[j].Delay = 0
			}
		}
		for j, e := range entries {
			r := route{method: e.method, target: compile(e.target, true), file: compile(file(e.target), true),
				answer:  answers[j],
				literal: len(strings.Trim(marker.ReplaceAllString(e.target, ""), "/?&=.")) > 0 || e.target == "/"}
			if e.body != "" {
				r.body = compile(strings.TrimSpace(strings.ReplaceAll(e.body, "\r\n", "\n")), false)
			}
			for line := range strings.SplitSeq(e.headers, "\n") {
				if strings.Contains(line, "{{") {
					r.headers = append(r.headers, compile(strings.TrimSpace(line), false))
				}
			}
			s.routes = append(s.routes, r)
		}
	}
	return s
}

// Reset forgets learnt values before the next program runs. It returns the remembered requests:
// method, target, status and body.
func (s *Site) Reset() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	seen := s.seen
	s.vars, s.seen = map[string]any{}, nil
	return seen
}

func (s *Site) note(method, target, body string, status int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.seen) < maxSeen {
		s.seen = append(s.seen, fmt.Sprintf("%s %.300s %d %.200q", method, target, status, body))
	}
}

// pattern finds a text with placeholders in another text.
type pattern struct {
	re    *regexp.Regexp
	names []string
}

var marker = regexp.MustCompile(`(?s)\{\{(.*?)\}\}|§([^§\s]{1,60})§`)
var plainName = regexp.MustCompile(`^\s*[A-Za-z_][A-Za-z0-9_-]*\s*$`)

// compile makes a pattern. An anchored one is compared without percent signs.
func compile(text string, anchored bool) *pattern {
	p := &pattern{}
	var out strings.Builder
	quote := func(s string) {
		if anchored {
			s = unescaped(s)
		}
		out.WriteString(regexp.QuoteMeta(s))
	}
	at := 0
	for _, m := range marker.FindAllStringSubmatchIndex(text, -1) {
		quote(text[at:m[0]])
		at = m[1]
		name := ""
		for _, g := range []int{2, 4} {
			if m[g] >= 0 {
				name = text[m[g]:m[g+1]]
			}
		}
		if plainName.MatchString(name) {
			out.WriteString("(.*?)")
			p.names = append(p.names, strings.TrimSpace(name))
		} else {
			out.WriteString(".*?")
		}
	}
	quote(text[at:])
	source := out.String()
	if anchored {
		source = "^" + source + "$"
	} else {
		source += "(?:\r?\n|$)"
	}
	re, err := regexp.Compile("(?s)" + source)
	if err != nil {
		re = regexp.MustCompile("^$")
	}
	p.re = re
	return p
}

// unescaped decodes valid percent escapes, and normalises what programs write differently: a plus for
// a space, and empty ends of queries.
func unescaped(s string) string {
	s = percent.ReplaceAllStringFunc(s, func(hex string) string {
		n, _ := strconv.ParseUint(hex[1:], 16, 8)
		return string([]byte{byte(n)})
	})
	s = strings.NewReplacer("+", " ", "\r", "", "\n", "", "=&", "&").Replace(s)
	return strings.TrimRight(s, "?&=")
}

var percent = regexp.MustCompile(`%[0-9a-fA-F]{2}`)

func file(target string) string {
	name, _, _ := strings.Cut(target, "?")
	return name
}

// learn finds the pattern in text and stores the values of its placeholders.
func (p *pattern) learn(text string, into map[string]any) bool {
	m := p.re.FindStringSubmatch(text)
	for i, name := range p.names {
		if m != nil && i+1 < len(m) && m[i+1] != "" {
			into[name] = m[i+1]
		}
	}
	return m != nil
}

// Answer is the answer to a request. ok is false when no request of the template looks like it.
func (s *Site) Answer(method, target, head, body string) (a Answer, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.vars == nil {
		s.vars = map[string]any{}
	}
	body = strings.TrimSpace(strings.ReplaceAll(body, "\r\n", "\n"))
	plain := unescaped(target)
	best, answers := 0, []Answer(nil)
	for _, r := range s.routes {
		learnt := map[string]any{}
		score := 1
		switch {
		case r.target.learn(plain, learnt) || r.target.learn(target, learnt):
			score += 10
		case r.file.learn(file(plain), learnt):
		case len(s.routes) > 1:
			continue
		}
		if r.method == method || r.method == "" && method == "GET" {
			score += 4
		}
		switch {
		case r.body == nil && body == "":
			score++
		case r.body != nil && r.body.learn(body, learnt):
			score += 2
		}
		for _, h := range r.headers {
			h.learn(head, learnt)
		}
		for name, value := range learnt {
			s.vars[name] = value
		}
		if score > best {
			best, answers = score, nil
		}
		if score == best {
			answers = append(answers, r.answer)
		}
	}
	if answers == nil {
		return Answer{}, false
	}
	return merge(answers), true
}
