package syntax

import (
	"cmp"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"
)

// The rules beyond those of single fields.

var idForm = regexp.MustCompile(`^([a-zA-Z0-9]+[-_])*[a-zA-Z0-9]+$`)

func (t *Template) check(r *reader, n *yaml.Node) error {
	if err := t.readProtocols(r, n); err != nil {
		return err
	}
	switch {
	case !idForm.MatchString(t.ID):
		return r.faultIn(n, "id", "the id %q must be letters and digits, with single hyphens or underscores between them",
			t.ID)
	case t.Info.Author == nil:
		return r.faultIn(n, "info", "a template needs an info block")
	case len(t.Protocols) == 0 && len(t.Workflows) == 0:
		return r.faultIn(n, "http", "a template needs at least one request")
	case len(t.Protocols) > 0 && len(t.Workflows) > 0:
		return r.faultIn(n, "workflows", "a workflow has no requests of its own")
	}
	t.setDefaults()
	return nil
}

// readProtocols records the protocols, in written order.
func (t *Template) readProtocols(r *reader, n *yaml.Node) error {
	keys, err := r.keys(n)
	if err != nil {
		return err
	}
	for i := 0; i+1 < len(keys); i += 2 {
		kind := keys[i].Value
		kind = cmp.Or(map[string]string{"requests": "http", "network": "tcp"}[kind], kind)
		if len(fields[string](t, kind, "ID")) == 0 {
			continue
		}
		t.Protocols = append(t.Protocols, kind)
	}
	return nil
}

// fields are a field of each block of a protocol; none where blocks lack it.
func fields[F any](t *Template, protocol, name string) (all []*F) {
	if !slices.Contains(types, protocol) {
		return nil
	}
	blocks := reflect.ValueOf(t).Elem().FieldByIndex(language.fields[protocol].at)
	for i := range blocks.Len() {
		if f := blocks.Index(i).FieldByName(name); f.IsValid() {
			one, _ := reflect.TypeAssert[*F](f.Addr())
			all = append(all, one)
		}
	}
	return all
}

// Operators are those of all blocks, by protocol in running order.
func (t *Template) Operators() (all []*Operators) {
	for _, protocol := range t.Protocols {
		if protocol != "http" {
			all = append(all, fields[Operators](t, protocol, "Operators")...)
			continue
		}
		for i := range t.HTTP {
			all = append(all, t.HTTP[i].Opened())
		}
	}
	return all
}

// Internal are the names of the internal extractors; "" for one without.
func (b *HTTP) Internal() (names []string) {
	if b.Sealed != nil {
		return b.Sealed.Internal
	}
	for _, x := range b.Extractors {
		if x.Internal {
			names = append(names, x.Name)
		}
	}
	return names
}

// Opened are the operators of the block, read if they are sealed.
func (b *HTTP) Opened() *Operators {
	if b.Sealed == nil {
		return &b.Operators
	}
	opened := b.Sealed.Open()
	return &opened
}

// Common is what the blocks of most protocols have; a protocol without a field has its zero value.
type Common struct {
	Line             int
	ID               string
	Threads          int
	StopAtFirstMatch bool
	*Operators
	*PayloadSets // nil where the protocol has none
}

// Common is what block i of a protocol has in common with others.
func (t *Template) Common(protocol string, i int) Common {
	return Common{
		Line: *at(fields[int](t, protocol, "Line"), i), ID: *at(fields[string](t, protocol, "ID"), i),
		Threads:          *at(fields[int](t, protocol, "Threads"), i),
		StopAtFirstMatch: *at(fields[bool](t, protocol, "StopAtFirstMatch"), i),
		Operators:        at(fields[Operators](t, protocol, "Operators"), i), PayloadSets: sets(t, protocol, i),
	}
}

// at is an item of a list, or the zero value of its type where the list is empty.
func at[F any](all []*F, i int) *F {
	if len(all) == 0 {
		return new(F)
	}
	return all[i]
}

func sets(t *Template, protocol string, i int) *PayloadSets {
	if all := fields[PayloadSets](t, protocol, "PayloadSets"); len(all) > 0 {
		return all[i]
	}
	return nil
}

// PayloadSets are those of all blocks.
func (t *Template) PayloadSets() (all []*PayloadSets) {
	for _, protocol := range t.Protocols {
		all = append(all, fields[PayloadSets](t, protocol, "PayloadSets")...)
	}
	return all
}

// setDefaults sets what follows from other keys: ids of blocks without one where a protocol has several, and what a
// template says for its blocks.
func (t *Template) setDefaults() {
	for _, protocol := range t.Protocols {
		ids := fields[string](t, protocol, "ID")
		for i, id := range ids {
			if len(ids) > 1 && *id == "" {
				*id = protocol + "_" + strconv.Itoa(i+1)
			}
		}
	}
	for i := range t.HTTP {
		b := &t.HTTP[i]
		b.SelfContained = b.SelfContained || t.SelfContained
		b.Signature = cmp.Or(b.Signature, t.RequestSigning)
	}
}

const maxRedirects = 100 // of a template's request

// unsafeRaw is the error of keys that cannot change such a request; nuclei ignores them.
const unsafeRaw = "an unsafe raw request is sent as it is written, without %s"

func (b *HTTP) check(r *reader, n *yaml.Node) error {
	switch {
	case b.Redirects && b.HostRedirects:
		return r.faultIn(n, "host-redirects", "redirects and host-redirects exclude each other")
	case b.ProtocolRedirects && !b.Redirects && !b.HostRedirects:
		return r.faultIn(n, "protocol-redirects", "protocol-redirects needs redirects or host-redirects beside it")
	case b.MaxRedirects > maxRedirects:
		return r.faultIn(n, "max-redirects", "%d redirects are more than %d", b.MaxRedirects, maxRedirects)
	case b.Unsafe && len(b.Path) == 0 && b.DigestUsername != "":
		return r.faultIn(n, "digest-username", unsafeRaw, "digest-username")
	case b.Unsafe && len(b.Path) == 0 && b.Signature != "":
		return r.faultIn(n, "signature", unsafeRaw, "signature")
	case b.Unsafe && len(b.Fuzzing) > 0:
		return r.faultIn(n, "unsafe", "unsafe requests cannot be fuzzed")
	case b.Race && b.numbered():
		return r.faultIn(n, "race", "a race has no numbered requests, such as in body_2")
	case len(b.Fuzzing) > 0 && b.numbered():
		return r.faultIn(n, "fuzzing", "fuzzing has no numbered requests, such as in body_2")
	}
	return nil
}

// checkPart refuses the attack for one payload where the block mentions several; others are left out of the attack.
func (p *PayloadSets) checkPart(r *reader, n *yaml.Node) error {
	if p.Attack != "" && p.Attack != "batteringram" || len(p.Payloads) < 2 {
		return nil
	}
	used := 0
	for _, one := range p.Payloads {
		if found, err := r.mentions(n, one.Name); err != nil {
			return err
		} else if found {
			used++
		}
	}
	if used > 1 {
		return r.faultIn(n, "payloads", "batteringram, the default attack, takes one payload; pitchfork and clusterbomb combine several")
	}
	return nil
}

// mentions reports whether a text occurs in a mapping's values other than payloads.
func (r *reader) mentions(n *yaml.Node, text string) (bool, error) {
	n, err := r.open(n)
	if err != nil || n.Kind == yaml.ScalarNode {
		return err == nil && strings.Contains(n.Value, text), err
	}
	for i, inner := range n.Content {
		if n.Kind == yaml.MappingNode && (i%2 == 0 || n.Content[i-1].Value == "payloads") {
			continue
		}
		if err := r.push(inner, pathStep{index: i}); err != nil {
			return false, err
		}
		found, err := r.mentions(inner, text)
		if err != nil {
			return false, err
		}
		if r.pop(); found {
			return true, nil
		}
	}
	return false, nil
}

// number is the end of the variables of an earlier request, such as body_2.
var number = regexp.MustCompile(`_[0-9]`)

// numbered reports whether an operator reads a response by its number.
func (o *Operators) numbered() bool {
	some := func(part string, exprs []string) bool {
		return number.MatchString(part) || slices.ContainsFunc(exprs, number.MatchString)
	}
	return slices.ContainsFunc(o.Matchers, func(m Matcher) bool { return some(m.Part, m.DSL) }) ||
		slices.ContainsFunc(o.Extractors, func(x Extractor) bool { return some(x.Part, x.DSL) })
}

func (m *Matcher) check(r *reader, n *yaml.Node) error {
	m.Part = strings.TrimSpace(m.Part)
	if m.Type == "" {
		return r.faultIn(n, "type", "a matcher needs a type")
	}
	textual := m.Type == "word" || m.Type == "binary" || m.Type == "regex"
	for _, key := range []struct {
		name         string
		set, allowed bool
	}{
		{"status", len(m.Status) > 0, m.Type == "status"},
		{"size", len(m.Size) > 0, m.Type == "size"},
		{"words", len(m.Words) > 0, m.Type == "word"},
		{"regex", len(m.Regex) > 0, m.Type == "regex"},
		{"binary", len(m.Binary) > 0, m.Type == "binary"},
		{"dsl", len(m.DSL) > 0, m.Type == "dsl"},
		{"xpath", len(m.XPath) > 0, m.Type == "xpath"},
		{"part", m.Part != "", m.Type != "dsl"},
		{"encoding", m.Encoding != "", textual},
	} {
		if key.set && !key.allowed {
			return r.faultIn(n, key.name, "a %s matcher has no %s", m.Type, key.name)
		}
	}
	if m.CaseInsensitive && m.Type != "word" {
		return r.faultIn(n, "case-insensitive", "only word matchers can be case-insensitive; a regex can begin with (?i)")
	}
	return nil
}

func (x *Extractor) check(r *reader, n *yaml.Node) error {
	x.Part = strings.TrimSpace(x.Part)
	if x.Type == "" {
		return r.faultIn(n, "type", "an extractor needs a type")
	}
	if x.CaseInsensitive && x.Type != "kval" {
		return r.faultIn(n, "case-insensitive", "only kval extractors can be case-insensitive")
	}
	return nil
}

func (f *FuzzRule) check(r *reader, n *yaml.Node) error {
	switch {
	case f.Part == "" && len(f.Parts) == 0:
		return r.faultIn(n, "part", "a fuzzing rule needs a part")
	case f.Type == "replace-regex" && f.ReplaceRegex == "":
		return r.faultIn(n, "replace-regex", "a rule of type replace-regex needs a replace-regex")
	}
	return nil
}

func (s *Step) check(r *reader, n *yaml.Node) error {
	if s.Template == "" && len(s.Tags) == 0 {
		return r.faultIn(n, "template", "a step names a template or tags")
	}
	return nil
}
