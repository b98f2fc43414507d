package program

import (
	"cmp"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"github.com/vedette-sec/vedette/internal/engine/dsl"
	"github.com/vedette-sec/vedette/internal/engine/match"
	"github.com/vedette-sec/vedette/internal/engine/proto/web"
	"github.com/vedette-sec/vedette/internal/engine/syntax"
)

// maxSteps bounds the requests of one template.
const maxSteps = 10_000

// Compile makes a program of a template. The error is an *errs.Error of kind Invalid
// that names file and line; its code is syntax.CodeUnsupported when the template asks
// for a part of the language that no engine runs yet, with that part as Param, and
// syntax.CodeInvalid when the template is wrong.
func Compile(t *syntax.Template) (*Program, error) {
	if len(t.Later) > 0 {
		return nil, syntax.Unsupported(t.Path, t.Later[0].Line, t.Later[0].Key)
	}
	c := compiler{file: t.Path, extracted: map[string]bool{}}
	p := &Program{ID: t.ID, Path: t.Path, Digest: t.Digest, Info: t.Info, constants: map[string]dsl.Text{}}
	for _, pair := range t.Constants {
		p.constants[pair.Name] = dsl.Literal(pair.Value)
	}
	for _, pair := range t.Variables {
		text, err := c.text(pair.Line, "variables", pair.Value)
		if err != nil {
			return nil, err
		}
		p.variables = append(p.variables, variable{pair.Name, text})
	}
	for _, b := range t.HTTP {
		for _, x := range b.Extractors {
			if x.Internal {
				c.extracted[x.Name] = true
			}
		}
	}
	for _, b := range t.HTTP {
		compiled, err := c.block(b)
		if err != nil {
			return nil, err
		}
		compiled.stopAtFirstMatch = b.StopAtFirstMatch || t.StopAtFirstMatch
		p.blocks = append(p.blocks, compiled)
	}
	if n := p.Requests(); n > maxSteps {
		return nil, syntax.Fault(t.Path, t.HTTP[0].Line, 0, "http", "%d requests are more than %d", n, maxSteps)
	}
	return p, nil
}

type compiler struct {
	file      string
	extracted map[string]bool // names that internal extractors give
}

// portForm is a path that replaces the target's port.
var portForm = regexp.MustCompile(`^\{\{\s*(?:BaseURL|RootURL)\s*\}\}:[0-9]`)

// trimForm is a path whose placeholder is followed by its own slash.
var trimForm = regexp.MustCompile(`^\{\{[^{}]+\}\}/`)

func (c *compiler) block(s syntax.HTTP) (block, error) {
	var b block
	if len(s.Path) == 0 {
		return b, syntax.Fault(c.file, s.Line, 0, "http.path", "a request needs a path")
	}
	operators, err := match.Compile(c.file, match.Spec{Condition: s.MatchersCondition, Matchers: s.Matchers, Extractors: s.Extractors})
	if err != nil {
		return b, err
	}
	b.operators, b.needsTLS = operators, operators.Requires(web.IsTLSPart)
	for _, m := range s.Matchers {
		if err := c.part(m.Line, m.Part); err != nil {
			return b, err
		}
	}
	for _, x := range s.Extractors {
		if err := c.part(x.Line, x.Part); err != nil {
			return b, err
		}
	}
	shared := step{method: cmp.Or(s.Method, http.MethodGet), hops: s.MaxRedirects, maxBody: int64(s.MaxSize)}
	switch {
	case s.Redirects:
		shared.redirects = web.AllRedirects
	case s.HostRedirects:
		shared.redirects = web.HostRedirects
	}
	for _, pair := range s.Headers {
		value, err := c.text(pair.Line, "http.headers", pair.Value)
		if err != nil {
			return b, err
		}
		shared.headers = append(shared.headers, header{pair.Name, value})
	}
	body := s.Body
	if !strings.Contains(body, "\r\n") {
		body = strings.ReplaceAll(body, "\n", "\r\n")
	}
	if shared.body, err = c.text(s.Line, "http.body", body); err != nil {
		return b, err
	}
	for _, path := range s.Path {
		one := shared
		if portForm.MatchString(path) {
			return b, syntax.Unsupported(c.file, s.Line, "http.path with a port of its own")
		}
		if one.path, err = c.text(s.Line, "http.path", path); err != nil {
			return b, err
		}
		one.trim = trimForm.MatchString(path)
		b.steps = append(b.steps, one)
	}
	return b, nil
}

// notYet are names that mean something in the language which no engine gives yet.
var notYet = []string{"interactsh-url", "randstr", "RDN", "DN", "TLD", "SD", "ip"}

// text parses a text of a request and refuses what cannot have a value.
func (c *compiler) text(line int, key, source string) (dsl.Text, error) {
	t := dsl.Parse(source)
	for _, name := range t.Names() {
		if c.extracted[name] || slices.ContainsFunc(notYet, func(word string) bool { return name == word || strings.HasPrefix(name, word+"_") }) {
			return t, syntax.Unsupported(c.file, line, key+": {{"+name+"}}")
		}
	}
	return t, nil
}

// part refuses parts that only a later engine has.
func (c *compiler) part(line int, part string) error {
	if strings.HasPrefix(part, "interactsh") {
		return syntax.Unsupported(c.file, line, "http part "+part)
	}
	return nil
}
