package program

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/vedette-sec/vedette/internal/engine/dsl"
	"github.com/vedette-sec/vedette/internal/engine/flow"
	"github.com/vedette-sec/vedette/internal/engine/fuzz"
	"github.com/vedette-sec/vedette/internal/engine/match"
	"github.com/vedette-sec/vedette/internal/engine/proto/rawurl"
	"github.com/vedette-sec/vedette/internal/engine/proto/web"
	"github.com/vedette-sec/vedette/internal/engine/syntax"
	"github.com/vedette-sec/vedette/internal/infra/errs"
)

// Bounds of one template. They are far above what templates have.
const (
	maxEntries = 10_000     // requests that are written down
	maxTuples  = 10_000_000 // payload tuples of a block
)

// Compile compiles a template with the zero Options.
func Compile(t *syntax.Template) (*Program, error) { return Options{}.Compile(t) }

// Compile compiles a template. The error is an *errs.Error of kind Invalid that names file and line; its code is
// syntax.CodeUnsupported, with the missing feature as Param, or syntax.CodeInvalid.
func (o Options) Compile(t *syntax.Template) (*Program, error) {
	p := &Program{
		ID: t.ID, Path: t.Path, Digest: t.Digest, Info: t.Info, SelfContained: t.SelfContained,
		variables: compileVariables(t.Variables),
	}
	if len(t.Constants) > 0 {
		p.constants = make(map[string]string, len(t.Constants))
		for _, c := range t.Constants {
			p.constants[c.Name] = c.Value
		}
	}
	c := compiler{options: o, template: t, program: p}
	if err := c.flow(); err != nil {
		return nil, err
	}
	for _, b := range t.HTTP {
		c.fromResponses(b.Internal())
		p.SelfContained = p.SelfContained || b.SelfContained
	}
	for _, protocol := range t.Protocols {
		blocks := c.probes
		if protocol == "http" {
			blocks = c.blocks
		}
		if err := blocks(protocol); err != nil {
			return nil, err
		}
	}
	p.linked = len(p.blocks) > 1 && c.linked()
	return p, nil
}

// fromResponses notes names that responses may define.
func (c *compiler) fromResponses(names []string) {
	if c.program.fromResponses == nil && len(names) > 0 {
		c.program.fromResponses = map[string]bool{}
	}
	for _, name := range names {
		c.program.fromResponses[name] = name != ""
	}
}

// blocks compiles the blocks of HTTP requests.
func (c *compiler) blocks(string) error {
	entries := 0
	for i := range c.template.HTTP {
		s := &c.template.HTTP[i]
		b, err := c.block(s, i)
		if err != nil {
			return err
		}
		if entries += len(b.Entries); entries > maxEntries {
			return syntax.Fault(c.template.Path, s.Line, 0, "http", "%d requests are more than %d", entries, maxEntries)
		}
		c.program.blocks = append(c.program.blocks, b)
	}
	return nil
}

type compiler struct {
	options  Options
	template *syntax.Template
	program  *Program
}

func (c *compiler) flow() error {
	if c.template.Flow == "" {
		return nil
	}
	compiled, err := flow.Compile(c.template.Flow, c.template.Protocols)
	if err != nil {
		return errs.New(errs.Invalid, syntax.CodeInvalid, "%s: %v", c.template.Path, err).At("flow")
	}
	c.program.Flow = compiled
	return nil
}

func (c *compiler) block(s *syntax.HTTP, index int) (Block, error) {
	b := Block{
		ID: c.blockID(s, index), Protocol: "http", StopAtFirstMatch: s.StopAtFirstMatch || c.template.StopAtFirstMatch,
		IterateAll: s.IterateAll, GlobalMatchers: s.GlobalMatchers, Threads: s.Threads,
		skipsVariableCheck: s.SkipVariablesCheck, signed: s.Signature != "", selfContained: s.SelfContained,
	}
	var err error
	if b.Operators, err = c.operators(s); err != nil {
		return b, err
	}
	b.NeedsTLS, b.Numbered = b.Operators.Requires(web.IsTLSPart), b.Operators.NeedsHistory()
	if len(s.Path) == 0 && len(s.Raw) == 0 && len(s.Fuzzing) == 0 && !s.GlobalMatchers {
		return b, syntax.Fault(c.template.Path, s.Line, 0, "http.path", "a request needs a path, or to be written raw")
	}
	if s.DigestUsername != "" {
		b.digest = &credentials{dsl.Parse(s.DigestUsername), dsl.Parse(s.DigestPassword)}
	}
	if s.Pipeline {
		b.Pipeline = &Pipeline{max(1, s.PipelineConnections), max(1, s.PipelineRequests)}
	}
	if s.Race {
		b.Race, b.AllAtOnce = s.RaceCount, s.RaceCount == 0
	}
	if err := c.payloads(s, &b); err != nil {
		return b, err
	}
	if len(s.Fuzzing) > 0 {
		ruled := *s
		ruled.Fuzzing = c.options.rules(s.Fuzzing)
		if b.Fuzz, err = fuzz.Compile(c.template.Path, &ruled); err != nil {
			return b, err
		}
	}
	b.Entries = c.entries(s)
	b.Chained = b.Numbered || len(b.Entries) > 1 && len(s.Internal()) > 0
	return b, nil
}

// operators compiles the operators of a block; sealed ones can wait unless matchers are excluded.
func (c *compiler) operators(s *syntax.HTTP) (*match.Operators, error) {
	if s.Sealed != nil && len(c.options.ExcludedMatchers) == 0 {
		return match.Lazy(c.template.Path, s.Sealed), nil
	}
	spec := match.SpecOf(*s.Opened())
	spec.Excluded = c.options.excluded(c.template)
	return match.Compile(c.template.Path, spec)
}

// blockID is the prefix of the fields of earlier responses: "login_body", "http_1_body".
func (c *compiler) blockID(s *syntax.HTTP, index int) string {
	if s.ID == "" && len(c.template.HTTP) > 1 {
		return "http_" + strconv.Itoa(index+1)
	}
	return cmp.Or(s.ID, "http")
}

// payloads takes the payload sets that the block mentions.
func (c *compiler) payloads(s *syntax.HTTP, b *Block) error {
	b.payloads.attack = cmp.Or(c.options.Attack, s.Attack, batteringram)
	for _, set := range s.Payloads {
		if mentions(s, set.Name) {
			b.payloads.sets = append(b.payloads.sets, payloadSet{set.Name, set.Values})
		}
	}
	if why := b.payloads.problem(); why != "" {
		return syntax.Fault(c.template.Path, s.Line, 0, "http.payloads", "%s", why)
	}
	return nil
}

// mentions reports whether a block mentions a name; payloads without a mention must not multiply requests.
func mentions(s *syntax.HTTP, name string) bool {
	in := func(texts ...string) bool {
		return slices.ContainsFunc(texts, func(t string) bool { return strings.Contains(t, name) })
	}
	for _, h := range s.Headers {
		if in(h.Name, h.Value) {
			return true
		}
	}
	if s.Mentions(name) || s.Sealed != nil && slices.Contains(s.Sealed.Payloads, name) {
		return true
	}
	for _, f := range s.Fuzzing {
		if in(f.Fuzz.Values...) || slices.ContainsFunc(f.Fuzz.Pairs,
			func(p syntax.Pair) bool { return in(p.Name, p.Value) }) {
			return true
		}
	}
	return in(s.Body, s.DigestUsername, s.DigestPassword) || in(s.Path...) || in(s.Raw...)
}

// entries are the requests of a block; raw requests count only without paths.
func (c *compiler) entries(s *syntax.HTTP) []Entry {
	shared := Entry{method: cmp.Or(s.Method, "GET"), body: dsl.Parse(crlf(s.Body)), sending: c.options.sending(s)}
	for _, h := range s.Headers {
		shared.headers = append(shared.headers, header{h.Name, dsl.Parse(h.Value)})
	}
	var all []Entry
	paths := s.Path
	if len(s.Fuzzing) > 0 {
		paths, shared.method, shared.body = []string{"{{BaseURL}}"}, "GET", dsl.Text{} // the request of the target itself
	}
	for _, path := range paths {
		e := shared
		path, e.port = rawurl.CutPort(path)
		e.path, e.trimSlash = dsl.Parse(path), needsTrim(path)
		all = append(all, e.withNames())
	}
	if len(all) > 0 {
		return all
	}
	for _, text := range s.Raw {
		e := shared
		text = crlf(text)
		n, _ := readAnnotations(text)
		e.isRaw, e.raw, e.Once = true, dsl.Parse(text), n.once
		all = append(all, e.withNames())
	}
	return all
}

// crlf is a text with \r\n for \n, unless it has them already.
func crlf(s string) string {
	if strings.Contains(s, "\r\n") {
		return s
	}
	return strings.ReplaceAll(s, "\n", "\r\n")
}

// needsTrim reports whether a path begins with a placeholder and a slash.
func needsTrim(path string) bool {
	rest, ok := strings.CutPrefix(path, "{{")
	if !ok {
		return false
	}
	name, rest, _ := strings.Cut(rest, "}}")
	return strings.HasPrefix(rest, "/") && name != "" && !strings.ContainsFunc(name, func(c rune) bool {
		return (c < 'a' || c > 'z') && (c < 'A' || c > 'Z')
	})
}

// withNames works out what an entry depends on.
func (e Entry) withNames() Entry {
	for _, t := range e.texts() {
		for _, name := range t.Names() {
			if !slices.Contains(e.names, name) {
				e.names = append(e.names, name)
			}
		}
		e.volatile = e.volatile || !t.Pure()
	}
	return e
}

func (e *Entry) texts() []dsl.Text {
	all := []dsl.Text{e.path, e.raw, e.body}
	for _, h := range e.headers {
		all = append(all, h.value)
	}
	return all
}

// linked reports whether a block mentions a field of an earlier response, or a value extracted from it.
func (c *compiler) linked() bool {
	for i := range c.template.HTTP {
		s := &c.template.HTTP[i]
		for before := range i {
			if mentions(s, c.blockID(&c.template.HTTP[before], before)+"_") {
				return true
			}
			for _, name := range c.template.HTTP[before].Internal() {
				if name != "" && mentions(s, name) {
					return true
				}
			}
		}
	}
	return false
}
