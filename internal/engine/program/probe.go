package program

import (
	"cmp"
	"slices"

	"github.com/vedette-sec/vedette/internal/engine/dsl"
	"github.com/vedette-sec/vedette/internal/engine/fuzz"
	"github.com/vedette-sec/vedette/internal/engine/match"
	"github.com/vedette-sec/vedette/internal/engine/oob"
	"github.com/vedette-sec/vedette/internal/engine/proto"
	"github.com/vedette-sec/vedette/internal/engine/proto/code"
	"github.com/vedette-sec/vedette/internal/engine/proto/dns"
	"github.com/vedette-sec/vedette/internal/engine/proto/file"
	"github.com/vedette-sec/vedette/internal/engine/proto/headless"
	"github.com/vedette-sec/vedette/internal/engine/proto/js"
	"github.com/vedette-sec/vedette/internal/engine/proto/rawurl"
	"github.com/vedette-sec/vedette/internal/engine/proto/ssl"
	"github.com/vedette-sec/vedette/internal/engine/proto/tcp"
	"github.com/vedette-sec/vedette/internal/engine/proto/whois"
	"github.com/vedette-sec/vedette/internal/engine/proto/ws"
	"github.com/vedette-sec/vedette/internal/engine/syntax"
)

// probes compiles the blocks of a protocol other than HTTP.
func (c *compiler) probes(protocol string) error {
	t := c.template
	switch protocol {
	case "dns":
		return compileProbes(c, protocol, t.DNS, "raw", dns.Compile)
	case "tcp":
		return compileProbes(c, protocol, t.TCP, "data", tcp.Compile)
	case "ssl":
		return compileProbes(c, protocol, t.SSL, "response", ssl.Compile)
	case "file":
		return compileProbes(c, protocol, t.File, "raw", file.Compile)
	case "websocket":
		return compileProbes(c, protocol, t.Websocket, "response", ws.Compile)
	case "whois":
		return compileProbes(c, protocol, t.Whois, "response", whois.Compile)
	case "code":
		if !t.Signature.Verified {
			return syntax.Unsupported(t.Path, t.Code[0].Line, "code without a signature that is trusted")
		}
		return compileProbes(c, protocol, t.Code, "response", func(file string, s *syntax.Code) (*code.Probe, error) {
			return code.Compile(file, s, code.Options{Network: c.options.CodeNetwork})
		})
	case "headless":
		return c.pages()
	case "javascript":
		return compileProbes(c, protocol, t.JavaScript, "response", js.Compile)
	}
	return nil // one that is missing was refused before
}

// compileProbes compiles blocks of one protocol; part is what its operators read by default.
func compileProbes[S any, P proto.Probe](
	c *compiler, protocol string, blocks []S, part string, compile func(file string, s *S) (P, error),
) error {
	for i := range blocks {
		probe, err := compile(c.template.Path, &blocks[i])
		if err != nil {
			return err
		}
		common := c.template.Common(protocol, i)
		b := Block{
			ID: cmp.Or(common.ID, protocol), Protocol: protocol, Probe: probe, Threads: common.Threads,
			StopAtFirstMatch: common.StopAtFirstMatch || c.template.StopAtFirstMatch,
		}
		spec := match.SpecOf(*common.Operators)
		spec.DefaultPart, spec.Excluded = part, c.options.excluded(c.template)
		if protocol == "headless" {
			spec.Matchers = statusParts(spec.Matchers)
		}
		if b.Operators, err = match.Compile(c.template.Path, spec); err != nil {
			return err
		}
		c.fromResponses(internalNames(common.Operators))
		if err := c.sets(common.PayloadSets, common.Line, protocol, &b); err != nil {
			return err
		}
		c.program.blocks = append(c.program.blocks, b)
	}
	return nil
}

// pages compiles the blocks for a browser. Fuzzing rules mutate the target's URL, which such a block then visits.
func (c *compiler) pages() error {
	first := len(c.program.blocks)
	if err := compileProbes(c, "headless", c.template.Headless, "data", headless.Compile); err != nil {
		return err
	}
	for i := range c.template.Headless {
		s := &c.template.Headless[i]
		if len(s.Fuzzing) == 0 {
			continue
		}
		base := &syntax.HTTP{Line: s.Line, Fuzzing: c.options.rules(s.Fuzzing)}
		plan, err := fuzz.Compile(c.template.Path, base)
		if err != nil {
			return err
		}
		b := &c.program.blocks[first+i]
		b.Fuzz, b.Entries = plan, c.entries(base)
	}
	return nil
}

// statusParts has matchers of a status read that of the first response of a page.
func statusParts(matchers []syntax.Matcher) []syntax.Matcher {
	matchers = slices.Clone(matchers)
	for i := range matchers {
		if matchers[i].Type == "status" {
			matchers[i].Part = "status_code"
		}
	}
	return matchers
}

// internalNames are the names of the internal extractors.
func internalNames(o *syntax.Operators) (names []string) {
	for _, x := range o.Extractors {
		if x.Internal {
			names = append(names, x.Name)
		}
	}
	return names
}

// sets takes all payload sets of a block.
func (c *compiler) sets(from *syntax.PayloadSets, line int, protocol string, b *Block) error {
	if from == nil {
		return nil
	}
	b.payloads.attack = cmp.Or(c.options.Attack, from.Attack, batteringram)
	for _, set := range from.Payloads {
		b.payloads.sets = append(b.payloads.sets, payloadSet{set.Name, set.Values})
	}
	if why := b.payloads.problem(); why != "" {
		return syntax.Fault(c.template.Path, line, 0, protocol+".payloads", "%s", why)
	}
	return nil
}

// ProbeVars is what names mean in the requests of a probe's block: at is the address of a request, names are those of
// all. The error is that of rendering the payload.
func (b *Bound) ProbeVars(
	block int, in Input,
) (vars func(at rawurl.URL) *dsl.Env, payload Payload, names *oob.Names, err error) {
	names = oob.NewNames(in.Names)
	variables := func(at rawurl.URL) *Variables {
		s := &Variables{
			bound: b, payload: payload, earlier: in.Earlier, env: dsl.Env{Ctx: in.Ctx, Host: in.Host}, names: names,
		}
		if !b.SelfContained {
			s.target = at
		}
		return s
	}
	from := &b.Blocks[block]
	payload, err = from.payloads.render(in.Tuple, variables(in.Target).envForVariable(len(b.variables)), from.tolerates)
	if err != nil {
		return nil, nil, nil, &PayloadError{err}
	}
	return func(at rawurl.URL) *dsl.Env { return variables(at).Env() }, payload, names, nil
}
