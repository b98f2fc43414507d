package docs

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Bounds of an unfolded schema.
const (
	maxDepth = 5
	maxRows  = 250
)

// api is a document in reading order.
type api struct {
	Title, Version, Description string
	Servers                     []server
	Security                    []keyed // how to authenticate, by scheme
	Groups                      []group
	Shapes                      []shape // of error answers, shown once
}

type server struct{ URL, Description string }

type keyed struct{ Name, Text string }

type group struct {
	Name, Anchor, Description string
	Operations                []entry
}

type entry struct {
	Anchor, Method, Path, Summary, Description string
	Deprecated                                 bool
	Auth                                       []string // one of these will do; empty: none is needed
	Parameters                                 []row
	Body                                       *body
	Responses                                  []answer
}

type body struct {
	Types    []string
	Required bool
	About    string
	Shape    shape
}

type answer struct {
	Status, Description string
	Types               []string
	Good                bool
	Shape               shape // with rows when Good; else only the name, which leads to api.Shapes
}

// shape is a schema unfolded into rows.
type shape struct {
	Name, Anchor string
	Type         string
	Closed       bool // further fields are refused
	Rows         []row
}

// row is one field, or one parameter.
type row struct {
	Depth                   int
	Name, In, Type          string
	Presence                string // "required" of what is sent, "may be absent" of what is answered
	Description, Constraint string
}

func newAPI(d *document) api {
	out := api{Title: d.Info.Title, Version: d.Info.Version, Description: d.Info.Description}
	for _, s := range d.Servers {
		out.Servers = append(out.Servers, server{s.URL, s.Description})
	}
	for _, name := range slices.Sorted(maps.Keys(d.Components.SecuritySchemes)) {
		out.Security = append(out.Security, keyed{name, d.Components.SecuritySchemes[name].words()})
	}
	groups := map[string]*group{}
	var order []string
	for _, tag := range d.Tags {
		groups[tag.Name] = &group{Name: tag.Name, Anchor: anchor("tag", tag.Name), Description: tag.Description}
		order = append(order, tag.Name)
	}
	shapes := map[string]shape{}
	for _, path := range slices.Sorted(maps.Keys(d.Paths)) {
		for _, m := range d.Paths[path].methods() {
			e := d.entry(m.name, path, m.op, shapes)
			tag := "Other"
			if len(m.op.Tags) > 0 {
				tag = m.op.Tags[0]
			}
			if groups[tag] == nil {
				groups[tag] = &group{Name: tag, Anchor: anchor("tag", tag)}
				order = append(order, tag)
			}
			groups[tag].Operations = append(groups[tag].Operations, e)
		}
	}
	for _, name := range order {
		if g := groups[name]; len(g.Operations) > 0 {
			out.Groups = append(out.Groups, *g)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(shapes)) {
		out.Shapes = append(out.Shapes, shapes[name])
	}
	return out
}

type method struct {
	name string
	op   *operation
}

// methods are the operations of a path, reading before writing.
func (p pathItem) methods() []method {
	all := []method{{"GET", p.Get}, {"POST", p.Post}, {"PUT", p.Put}, {"PATCH", p.Patch}, {"DELETE", p.Delete}}
	return slices.DeleteFunc(all, func(m method) bool { return m.op == nil })
}

func (d *document) entry(name, path string, op *operation, shapes map[string]shape) entry {
	e := entry{
		Anchor: anchor("op", cmp.Or(op.OperationID, name+path)), Method: name, Path: path,
		Summary: op.Summary, Description: op.Description, Deprecated: op.Deprecated,
	}
	for _, alternative := range op.Security {
		e.Auth = append(e.Auth, strings.Join(slices.Sorted(maps.Keys(alternative)), " and "))
	}
	for _, p := range op.Parameters {
		s, _ := d.resolve(p.Schema)
		e.Parameters = append(e.Parameters, row{
			Name: p.Name, In: p.In, Type: d.typeOf(p.Schema), Presence: sent(p.Required),
			Description: cmp.Or(p.Description, s.Description), Constraint: s.constraint(),
		})
	}
	if b := op.RequestBody; b != nil {
		types := slices.Sorted(maps.Keys(b.Content))
		e.Body = &body{Types: types, Required: b.Required, About: b.Description}
		if len(types) > 0 {
			e.Body.Shape = d.shape(b.Content[types[0]].Schema, sent)
		}
	}
	for _, status := range slices.Sorted(maps.Keys(op.Responses)) {
		r := op.Responses[status]
		a := answer{Status: status, Description: r.Description, Types: slices.Sorted(maps.Keys(r.Content)),
			Good: status < "4"}
		if len(a.Types) > 0 && r.Content[a.Types[0]].Schema != nil {
			a.Shape = d.shape(r.Content[a.Types[0]].Schema, answered)
		}
		if a.Shape.Name != "" && !a.Good {
			shapes[a.Shape.Name] = a.Shape
		}
		e.Responses = append(e.Responses, a)
	}
	return e
}

// sent and answered say what "required" means in a request and in an answer.
func sent(required bool) string {
	if required {
		return "required"
	}
	return ""
}

func answered(required bool) string {
	if required {
		return ""
	}
	return "may be absent"
}

func (d *document) shape(s *schema, presence func(required bool) string) shape {
	target, name := d.resolve(s)
	u := unfolding{document: d, presence: presence}
	u.fields(s, 0)
	out := shape{Name: name, Anchor: anchor("shape", name), Type: d.typeOf(s), Rows: u.rows}
	out.Closed = target.AdditionalProperties != nil && target.AdditionalProperties.closed
	return out
}

// unfolding walks a schema, which may contain itself.
type unfolding struct {
	*document
	rows []row
	open []string // names of the schemas being unfolded

	presence func(required bool) string
}

// fields adds the fields of s, be it an object, a list of objects, or a choice of them.
func (u *unfolding) fields(s *schema, depth int) {
	s, name := u.resolve(s)
	full := len(u.rows) > maxRows
	if full || depth >= maxDepth || name != "" && slices.Contains(u.open, name) {
		return
	}
	u.open = append(u.open, name)
	defer func() { u.open = u.open[:len(u.open)-1] }()

	for _, field := range slices.SortedFunc(maps.Keys(s.Properties), func(a, b string) int {
		// required fields come first, in the order of the contract
		return cmp.Or(cmp.Compare(requiredIndex(s.Required, a), requiredIndex(s.Required, b)), cmp.Compare(a, b))
	}) {
		u.field(field, s.Properties[field], slices.Contains(s.Required, field), depth)
	}
	if more := s.AdditionalProperties; more != nil && more.schema != nil {
		u.field("{any name}", more.schema, false, depth)
	}
	if s.Items != nil {
		u.fields(s.Items, depth)
	}
	for _, part := range s.AllOf {
		u.fields(part, depth)
	}
	u.choices(slices.DeleteFunc(slices.Concat(s.OneOf, s.AnyOf), func(choice *schema) bool {
		c, _ := u.resolve(choice)
		return len(c.Properties) == 0
	}), depth)
}

// choices adds the objects that a value may be; a single one (besides null, say) needs no heading.
func (u *unfolding) choices(objects []*schema, depth int) {
	if len(objects) == 1 {
		u.fields(objects[0], depth)
		return
	}
	for i, choice := range objects {
		c, _ := u.resolve(choice)
		u.add(row{Depth: depth, Name: fmt.Sprintf("choice %d", i+1), Type: u.typeOf(choice), Description: c.Description})
		u.fields(choice, depth+1)
	}
}

func (u *unfolding) field(name string, s *schema, required bool, depth int) {
	if s == nil {
		return
	}
	target, _ := u.resolve(s)
	u.add(row{
		Depth: depth, Name: name, Type: u.typeOf(s), Presence: u.presence(required),
		Description: cmp.Or(s.Description, target.Description), Constraint: target.constraint(),
	})
	u.fields(s, depth+1)
}

func (u *unfolding) add(r row) {
	if len(u.rows) < maxRows {
		u.rows = append(u.rows, r)
	} else if len(u.rows) == maxRows {
		u.rows = append(u.rows, row{Name: "…", Description: "There is more than fits here; see the document itself."})
	}
}

// requiredIndex is the index of a field among the required ones; others come after all of them.
func requiredIndex(required []string, field string) int {
	if i := slices.Index(required, field); i >= 0 {
		return i
	}
	return len(required)
}

// typeOf describes a type: "list of Issue", "string or null (date-time)".
func (d *document) typeOf(s *schema) string { return d.typeWords(s, 0) }

func (d *document) typeWords(s *schema, depth int) string {
	target, name := d.resolve(s)
	choices := slices.Concat(target.OneOf, target.AnyOf)
	switch {
	case depth > maxDepth:
		return "…"
	case name != "" && depth > 0:
		return name
	case len(choices) > 0:
		var words []string
		for _, c := range choices {
			words = append(words, d.typeWords(c, depth+1))
		}
		return strings.Join(words, " or ")
	case target.Items != nil:
		return "list of " + d.typeWords(target.Items, depth+1)
	case name != "":
		return name
	case len(target.Type) == 0:
		return "anything"
	case target.Format != "":
		return strings.Join(target.Type, " or ") + " (" + target.Format + ")"
	}
	return strings.Join(target.Type, " or ")
}

// constraint describes the bounds of a value.
func (s *schema) constraint() string {
	var words []string
	say := func(format, value string) {
		if value != "" {
			words = append(words, fmt.Sprintf(format, value))
		}
	}
	if len(s.Enum) > 0 {
		var values []string
		for _, v := range s.Enum {
			values = append(values, literal(v))
		}
		say("one of %s", strings.Join(values, ", "))
	}
	if s.Const != nil {
		say("always %s", literal(s.Const))
	}
	say("%s", between(s.Minimum, s.Maximum, ""))
	say("%s", between(s.MinLength, s.MaxLength, " characters"))
	say("%s", between(s.MinItems, s.MaxItems, " entries"))
	say("must match %s", s.Pattern)
	if s.Default != nil {
		say("%s when absent", literal(s.Default))
	}
	return strings.Join(words, "; ")
}

// between describes a lower and an upper bound, either of which may be missing.
func between(low, high json.Number, unit string) string {
	switch {
	case low != "" && high != "":
		return fmt.Sprintf("%s to %s%s", low, high, unit)
	case low != "":
		return fmt.Sprintf("at least %s%s", low, unit)
	case high != "":
		return fmt.Sprintf("at most %s%s", high, unit)
	}
	return ""
}

func literal(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return strings.Trim(string(text), `"`)
}

// words describe how to authenticate by a security scheme.
func (s *securityScheme) words() string {
	text := s.Type
	switch s.Type {
	case "apiKey":
		text = fmt.Sprintf("the %s %s carries the key", s.In, s.Name)
	case "http":
		text = fmt.Sprintf("Authorization: %s %s", s.Scheme, s.BearerFormat)
	}
	if s.Description != "" {
		text += ". " + s.Description
	}
	return text
}

// anchor makes a fragment identifier of any text.
func anchor(kind, text string) string {
	return kind + "-" + strings.Trim(strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9':
			return r
		case r >= 'A' && r <= 'Z':
			return r + 'a' - 'A'
		}
		return '-'
	}, text), "-")
}
