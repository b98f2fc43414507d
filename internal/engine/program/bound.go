package program

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/vedette-sec/vedette/internal/engine/dsl"
	"github.com/vedette-sec/vedette/internal/engine/flow"
	"github.com/vedette-sec/vedette/internal/engine/proto/rawurl"
	"github.com/vedette-sec/vedette/internal/engine/proto/web"
)

// Vars are the variables of a scan.
type Vars struct {
	Texts map[string]string
	Lists map[string][]string // lists become payloads of the blocks that name them

	StopAtFirstMatch bool // of all blocks
}

// Bound is a program with the variables of one scan. It is not changed after Bind; any number of goroutines may use
// it.
type Bound struct {
	*Program
	Blocks    []Block
	Plannable bool   // all requests are known as soon as the target is
	Problem   string // why it cannot run with these variables; "" when it can

	vars map[string]string
}

// Bind puts all values into the program's texts that are the same for every target and request.
func (p *Program) Bind(vars Vars) *Bound {
	b := &Bound{Program: p, Blocks: p.blocks, vars: vars.Texts}
	b.addLists(vars.Lists)
	bound := false
	for i := range b.Blocks {
		block := &b.Blocks[i]
		if !slices.ContainsFunc(block.Entries,
			func(e Entry) bool { return slices.ContainsFunc(e.names, b.hasFixed(block)) }) {
			continue
		}
		if !bound {
			b.Blocks, bound = slices.Clone(b.Blocks), true
			block = &b.Blocks[i]
		}
		block.Entries = slices.Clone(block.Entries)
		for k := range block.Entries {
			block.Entries[k].bind(b.fixed(block))
		}
	}
	if vars.StopAtFirstMatch {
		b.Blocks = slices.Clone(b.Blocks)
		for i := range b.Blocks {
			b.Blocks[i].StopAtFirstMatch = true
		}
	}
	b.Plannable = b.plannable()
	return b
}

// Values are the values for a target before the first request, by name: the template's variables, those of the scan
// and constants (template language 7.2).
func (b *Bound) Values(in Input) map[string]any {
	s := &Variables{bound: b, target: in.Target, env: dsl.Env{Ctx: in.Ctx, Host: in.Host}}
	all := map[string]any{}
	for _, v := range b.variables {
		if value, ok := s.Lookup(v.name); ok {
			all[v.name] = value
		}
	}
	for name, value := range b.vars {
		all[name] = value
	}
	for name, value := range b.constants {
		all[name] = value
	}
	return all
}

// MayComeFromResponse reports whether a name in a placeholder may get its value from an earlier response: by
// extraction, by a flow, as a field of the response, or through one of the template's variables.
func (b *Bound) MayComeFromResponse(placeholder string) bool {
	if b.Flow != nil && !b.Flow.Native() {
		return true // the flow may set any name
	}
	return b.anyFromResponse(strings.FieldsFunc(placeholder, notInName), len(b.variables))
}

// anyFromResponse is Carries for names and the first n variables.
func (b *Bound) anyFromResponse(names []string, n int) bool {
	return slices.ContainsFunc(names, func(name string) bool {
		if b.fromResponses[name] || b.fromResponses[strings.TrimRight(name, "0123456789")] {
			return true
		}
		if slices.ContainsFunc(b.Blocks, func(b Block) bool { return strings.HasPrefix(name, b.ID+"_") }) {
			return true
		}
		for i := n - 1; i >= 0; i-- {
			if b.variables[i].name == name {
				return b.anyFromResponse(b.variables[i].text.Names(), i)
			}
		}
		return false
	})
}

func notInName(c rune) bool {
	return c != '_' && c != '-' && (c < '0' || c > '9') && (c < 'A' || c > 'Z') && (c < 'a' || c > 'z')
}

// addLists makes payload sets of the scan's lists, in the blocks that name them.
func (b *Bound) addLists(lists map[string][]string) {
	for name, values := range lists {
		for i := range b.Blocks {
			if !b.Blocks[i].uses(name) {
				continue
			}
			b.Blocks = slices.Clone(b.Blocks)
			b.Blocks[i].payloads = b.Blocks[i].payloads.with(name, values)
			if why := b.Blocks[i].payloads.problem(); why != "" {
				b.Problem = why
			}
		}
	}
}

func (b *Block) uses(name string) bool {
	return b.Probe != nil && slices.Contains(b.Probe.Names(), name) ||
		slices.ContainsFunc(b.Entries, func(e Entry) bool { return slices.Contains(e.names, name) })
}

// sharedValue is a value that is the same for all targets and requests: a constant, or a variable of the scan.
func (b *Bound) sharedValue(name string) (any, bool) {
	if v, ok := b.constants[name]; ok {
		return v, true
	}
	v, ok := b.vars[name]
	return v, ok
}

// fixed is given and the template's own fixed variables, unless a payload of the block has the name.
func (b *Bound) fixed(block *Block) dsl.Lookup {
	return func(name string) (any, bool) {
		if block.payloads.has(name) || b.SelfContained && b.fromResponses[name] {
			return nil, false
		}
		if v, ok := b.sharedValue(name); ok {
			return v, true
		}
		if b.fromResponses[name] || rawurl.IsVariable(name) || b.Flow != nil {
			return nil, false
		}
		for i := len(b.variables) - 1; i >= 0; i-- {
			if v := &b.variables[i]; v.name == name {
				return v.fixed, v.fixed != nil
			}
		}
		return nil, false
	}
}

func (b *Bound) hasFixed(block *Block) func(name string) bool {
	fixed := b.fixed(block)
	return func(name string) bool { _, ok := fixed(name); return ok }
}

func (e *Entry) bind(fixed dsl.Lookup) {
	e.path, e.raw, e.body = e.path.Bind(fixed), e.raw.Bind(fixed), e.body.Bind(fixed)
	e.headers = slices.Clone(e.headers)
	for i := range e.headers {
		e.headers[i].value = e.headers[i].value.Bind(fixed)
	}
}

// plannable reports whether all requests of the program are known as soon as the target is, and none needs the response
// to another.
func (b *Bound) plannable() bool {
	if b.Flow != nil || b.SelfContained || b.linked || b.Problem != "" {
		return false
	}
	entries := 0
	changesState := false // some request may set a cookie for the next on purpose
	for i := range b.Blocks {
		block := &b.Blocks[i]
		if !block.simple() || block.Numbered || block.GlobalMatchers || block.Probe != nil {
			return false
		}
		for k := range block.Entries {
			e := &block.Entries[k]
			entries++
			changesState = changesState || e.isRaw || e.method != "GET" && e.method != "HEAD"
			if !b.Static(i, k) {
				return false
			}
		}
	}
	return entries == 1 || !changesState
}

// simple reports whether a block sends its requests unsigned and unchanged, each once and alone.
func (b *Block) simple() bool {
	return !b.HasPayloads() && b.digest == nil && !b.signed && b.Fuzz == nil && b.Race == 0 && !b.AllAtOnce &&
		b.Pipeline == nil
}

// Static reports whether the request of an entry depends on the target alone; such an entry has a key.
func (b *Bound) Static(block, entry int) bool {
	from := &b.Blocks[block]
	e := &from.Entries[entry]
	if e.volatile || from.skipsVariableCheck || from.selfContained || !from.simple() {
		return false
	}
	known := b.hasFixed(from)
	for _, name := range e.names {
		if !known(name) && !b.fromTargetAlone(name, len(b.variables)) {
			return false
		}
	}
	return true
}

// fromTargetAlone reports whether a name depends on the target alone: it is one of the URL's, or the first n of the
// template's variables define it.
func (b *Bound) fromTargetAlone(name string, n int) bool {
	if b.fromResponses[name] {
		return false
	}
	if rawurl.IsVariable(name) {
		return true
	}
	if _, ok := b.sharedValue(name); ok {
		return true
	}
	for i := n - 1; i >= 0; i-- {
		v := &b.variables[i]
		if v.name != name {
			continue
		}
		return b.Flow == nil && v.list == nil && (v.fixed != nil || v.text.Pure() &&
			!slices.ContainsFunc(v.text.Names(), func(name string) bool { return !b.fromTargetAlone(name, i) }))
	}
	return false
}

// firstRequest is the block whose first entry every run sends first, if that request depends on the target alone.
func (b *Bound) firstRequest() (block int, ok bool) {
	if b.Problem != "" || b.SelfContained || len(b.Blocks) == 0 {
		return 0, false
	}
	if b.Flow != nil {
		if block, ok = b.firstOf(b.Flow); !ok {
			return 0, false
		}
	}
	first := &b.Blocks[block]
	return block, len(first.Entries) > 0 && !first.NeedsTLS && !first.Entries[0].sending.unsafe && b.Static(block, 0)
}

func (b *Bound) firstOf(f *flow.Program) (block int, ok bool) {
	call, ok := f.First()
	if !ok || call.Protocol != "http" {
		return 0, false
	}
	if len(call.IDs) == 0 {
		return b.Find("http", "1")
	}
	return b.Find("http", call.IDs[0])
}

// Find is the block of a protocol with an id, or with a number from 1 among those of the protocol.
func (b *Bound) Find(protocol, id string) (block int, ok bool) {
	n, err := strconv.Atoi(id)
	for i := range b.Blocks {
		if b.Blocks[i].Protocol != protocol {
			continue
		}
		if n--; err == nil && n == 0 || b.Blocks[i].ID == id {
			return i, true
		}
	}
	return 0, false
}

// Follow is how the redirects of an entry are followed.
type Follow struct {
	Mode       web.RedirectMode
	SameScheme bool
	Max        int
}

// Follow is how the redirects of an entry are followed.
func (b *Bound) Follow(block, entry int) Follow {
	how := b.Blocks[block].Entries[entry].sending
	if how.redirects == web.NoRedirects {
		return Follow{}
	}
	return Follow{Mode: how.redirects, SameScheme: how.sameScheme, Max: cmp.Or(how.maxRedirects, web.DefaultMaxRedirects)}
}

// rank orders ways to follow: one that covers another has more.
func (f Follow) rank() int {
	reach := f.Max
	switch f.Mode {
	case web.NoRedirects:
		return 0
	case web.AllRedirects:
		reach += 1 << 20
	}
	if !f.SameScheme {
		reach += 1 << 21
	}
	return reach
}

// Covers reports whether f follows every redirect that less follows.
func (f Follow) Covers(less Follow) bool {
	return less.Mode == web.NoRedirects || f.Max >= less.Max && (f.Mode == less.Mode || f.Mode == web.AllRedirects) &&
		(!f.SameScheme || less.SameScheme)
}

// PrefixLen is how many responses of a chain f reaches.
func (f Follow) PrefixLen(chain []*web.Exchange) int {
	n := 1
	for n < len(chain) && f.Mode != web.NoRedirects && n <= f.Max {
		from, to := chain[n-1].Request.Address, chain[n].Request.Address
		if f.SameScheme && from.Scheme != to.Scheme || f.Mode == web.HostRedirects &&
			!sameHost(to, chain[0].Request.Address) {
			break
		}
		n++
	}
	return n
}

// sameHost compares host and port; http and https at their default ports are the same.
func sameHost(a, b rawurl.URL) bool {
	standard := func(x rawurl.URL) bool {
		return x.Scheme == "http" && x.Port() == "80" || x.Scheme == "https" && x.Port() == "443"
	}
	return a.Hostname() == b.Hostname() && (a.Port() == b.Port() || standard(a) && standard(b))
}

// Own are the names that describe the template itself.
func (b *Bound) Own() dsl.Lookup {
	return func(name string) (any, bool) {
		switch name {
		case "template-id":
			return b.ID, true
		case "template-path":
			return b.Path, true
		}
		return nil, false
	}
}
