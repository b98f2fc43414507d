package spec

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/parser"

	"github.com/vedette-sec/vedette/internal/webtest/message"
)

// Limits of what is made of a schema.
const (
	maxTokens    = 500_000 // of a schema as text
	maxSelection = 30      // fields of one operation's answer
	maxNesting   = 3       // of an answer, and of an input
	maxWrapped   = 10      // lists of lists
)

// gqlSchema is a schema, from whichever form it came in.
type gqlSchema struct {
	query, mutation string
	types           map[string]*gqlType
}

type gqlType struct {
	kind     ast.DefinitionKind
	fields   []gqlField // of an input object, without arguments
	enum     []string
	possible []string // of a union
}

type gqlField struct {
	name string
	args []gqlField
	typ  gqlRef
}

// gqlRef is a reference to a type.
type gqlRef struct {
	name     string // of the innermost type
	text     string // as GraphQL writes it, such as [ID!]!
	required bool
	lists    int
}

// Introspection is the query whose answer describes a server.
const Introspection = `query IntrospectionQuery{__schema{queryType{name}mutationType{name}` +
	`types{kind name fields(includeDeprecated:true){name args{name type{...R}}type{...R}}inputFields{name type{...R}}` +
	`enumValues(includeDeprecated:true){name}possibleTypes{name}}}}` +
	`fragment R on __Type{kind name ofType{kind name ofType{kind name ofType{kind name ofType{kind name}}}}}`

// graphQL makes one request for each field of the query and the mutation type. Values are in variables.
func (r *reader) graphQL() error {
	if r.opts.Base == nil {
		return fmt.Errorf("%s: a schema does not say where its server is: give the address", r.name)
	}
	if !r.inScope(r.opts.Base.Host) {
		return fmt.Errorf("%s: %s is not in scope", r.name, r.opts.Base.Host)
	}
	schema, err := readSchema(r.name, r.text)
	if err != nil {
		return err
	}
	r.doc.Title = "GraphQL"
	var all []gqlOperation
	for _, root := range []struct{ word, name string }{{"query", schema.query}, {"mutation", schema.mutation}} {
		t := schema.types[root.name]
		if t == nil {
			continue
		}
		for i := range t.fields {
			all = append(all, gqlOperation{schema, root.word, &t.fields[i]})
		}
	}
	if len(all) == 0 {
		return fmt.Errorf("%s: its query type has no fields", r.name)
	}
	slices.SortStableFunc(all, func(a, b gqlOperation) int { return a.phase() - b.phase() })
	for _, o := range all {
		if !r.room() {
			break
		}
		r.doc.Operations = append(r.doc.Operations, &Operation{Name: o.word + " " + o.field.name,
			Learns: "/" + o.field.typ.name, build: func(values *Values) (*message.Request, error) {
				body, err := o.body(values)
				if err != nil {
					return nil, err
				}
				h := http.Header{}
				h.Set("Content-Type", "application/json")
				at := *r.opts.Base
				at.Fragment, at.RawFragment = "", ""
				return &message.Request{Method: http.MethodPost, URL: &at, Header: h, Body: body}, nil
			}})
	}
	return nil
}

type gqlOperation struct {
	schema *gqlSchema
	word   string // query or mutation
	field  *gqlField
}

// phase puts those that create before those that read, of which those without arguments come first, as their answers
// name what the others ask for; and those that delete last.
func (o gqlOperation) phase() int {
	name := strings.ToLower(o.field.name)
	begins := func(words ...string) bool {
		return slices.ContainsFunc(words, func(w string) bool { return strings.HasPrefix(name, w) })
	}
	switch {
	case o.word == "query" && len(o.field.args) == 0:
		return 2
	case o.word == "query":
		return 3
	case begins("register", "signup", "login", "signin", "auth"):
		return 0
	case begins("create", "add", "new", "insert", "import", "upload"):
		return 1
	case begins("delete", "remove", "logout", "signout"):
		return 5
	}
	return 4
}

func (o gqlOperation) body(values *Values) ([]byte, error) {
	variables := map[string]any{}
	var declared, passed []string
	for _, a := range o.field.args {
		value, ok := o.schema.value(a, o.field.typ.name, values, nil)
		if !ok {
			if a.typ.required {
				return nil, fmt.Errorf("%s %s: no value can be made for %s", o.word, o.field.name, a.name)
			}
			continue
		}
		variables[a.name] = value
		declared = append(declared, "$"+a.name+": "+a.typ.text)
		passed = append(passed, a.name+": $"+a.name)
	}
	text := o.word
	if len(declared) > 0 {
		text += "(" + strings.Join(declared, ", ") + ")"
	}
	text += " { " + o.field.name
	if len(passed) > 0 {
		text += "(" + strings.Join(passed, ", ") + ")"
	}
	left := maxSelection
	text += o.schema.selection(o.field.typ.name, 0, &left) + " }"
	return json.Marshal(map[string]any{"query": text, "variables": variables})
}

// selection is what an answer of a type is asked for; "" of a type without fields.
func (s *gqlSchema) selection(name string, depth int, left *int) string {
	t := s.types[name]
	if t == nil || t.kind == ast.Scalar || t.kind == ast.Enum {
		return ""
	}
	parts := []string{"__typename"}
	if t.kind == ast.Union && depth < maxNesting {
		for _, p := range t.possible {
			if inner := s.selection(p, depth+1, left); inner != "" {
				parts = append(parts, "... on "+p+inner)
			}
		}
	}
	for _, f := range t.fields {
		if *left <= 0 || slices.ContainsFunc(f.args, func(a gqlField) bool { return a.typ.required }) {
			continue
		}
		inner := s.types[f.typ.name]
		switch {
		case inner == nil || inner.kind == ast.Scalar || inner.kind == ast.Enum:
			*left--
			parts = append(parts, f.name)
		case depth+1 < maxNesting:
			*left--
			parts = append(parts, f.name+s.selection(f.typ.name, depth+1, left))
		}
	}
	return " { " + strings.Join(parts, " ") + " }"
}

// value is a value of a type; false when none can be made.
func (s *gqlSchema) value(f gqlField, thing string, values *Values, within []string) (any, bool) {
	value, ok := s.single(f, thing, values, within)
	for range f.typ.lists {
		value = []any{value}
	}
	return value, ok
}

func (s *gqlSchema) single(f gqlField, thing string, values *Values, within []string) (any, bool) {
	t := s.types[f.typ.name]
	if t != nil && t.kind == ast.InputObject {
		if len(within) >= maxNesting || slices.Contains(within, f.typ.name) {
			return nil, false
		}
		object := map[string]any{}
		for _, inner := range t.fields {
			value, ok := s.value(inner, thing, values, append(within, f.typ.name))
			if !ok && inner.typ.required {
				return nil, false
			}
			if ok {
				object[inner.name] = value
			}
		}
		return object, true
	}
	if t != nil && t.kind == ast.Enum {
		if len(t.enum) == 0 {
			return nil, false
		}
		return t.enum[0], true
	}
	return scalar(f.typ.name, f.name, thing, values)
}

// namesObject are names of numbers that say which object is meant.
var namesObject = regexp.MustCompile(`(?i)(?:id|number|no|key)$`)

// scalar is a value of a scalar type: one that was learned where the type allows it, or one that fits.
func scalar(typ, name, thing string, values *Values) (any, bool) {
	switch typ {
	case "Int", "BigInt", "Long", "PositiveInt", "NonNegativeInt":
		if learned, ok := values.Find(thing, name); ok && namesObject.MatchString(name) {
			if n, err := strconv.ParseInt(learned, 10, 53); err == nil {
				return n, true
			}
		}
		return 1, true
	case "Float", "Decimal", "BigDecimal":
		return 1.5, true
	case "Boolean":
		return true, true
	case "Upload":
		return nil, false
	case "JSON", "JSONObject", "Object", "Map":
		return map[string]any{}, true
	}
	if learned, ok := values.Find(thing, name); ok {
		return learned, true
	}
	if typ == "ID" {
		return "1", true
	}
	for _, word := range []string{typ, name} {
		word = strings.ToLower(word)
		for _, known := range [][2]string{{"datetime", "2024-01-31T12:00:00Z"}, {"timestamp", "2024-01-31T12:00:00Z"},
			{"date", "2024-01-31"}, {"time", "12:00:00Z"}, {"email", "user@example.com"}, {"password", "Vedette-1x"},
			{"uuid", "6ba7b810-9dad-41d1-80b4-00c04fd430c8"}, {"url", "https://example.com/"},
			{"uri", "https://example.com/"}} {
			if strings.Contains(word, known[0]) {
				return known[1], true
			}
		}
	}
	return "string", true
}

// readSchema reads a schema as text, or the answer to an introspection.
func readSchema(name string, text []byte) (*gqlSchema, error) {
	if strings.HasPrefix(strings.TrimSpace(string(text)), "{") {
		return readIntrospection(name, text)
	}
	doc, err := parser.ParseSchemaWithLimit(&ast.Source{Name: name, Input: string(text)}, maxTokens)
	if err != nil {
		return nil, err // it begins with the name, line and column
	}
	s := &gqlSchema{query: "Query", mutation: "Mutation", types: map[string]*gqlType{}}
	for _, d := range slices.Concat(doc.Definitions, doc.Extensions) {
		t := s.types[d.Name]
		if t == nil {
			t = &gqlType{kind: d.Kind}
			s.types[d.Name] = t
		}
		for _, f := range d.Fields {
			field := gqlField{name: f.Name, typ: refOf(f.Type)}
			for _, a := range f.Arguments {
				field.args = append(field.args, gqlField{name: a.Name, typ: refOf(a.Type)})
			}
			t.fields = append(t.fields, field)
		}
		for _, v := range d.EnumValues {
			t.enum = append(t.enum, v.Name)
		}
		t.possible = append(t.possible, d.Types...)
	}
	for _, d := range slices.Concat(doc.Schema, doc.SchemaExtension) {
		for _, o := range d.OperationTypes {
			switch o.Operation {
			case ast.Query:
				s.query = o.Type
			case ast.Mutation:
				s.mutation = o.Type
			}
		}
	}
	return s, nil
}

func refOf(t *ast.Type) gqlRef {
	ref := gqlRef{name: t.Name(), text: t.String(), required: t.NonNull}
	for inner := t; inner.Elem != nil; inner = inner.Elem {
		ref.lists++
	}
	return ref
}

// Of an answer to an introspection.
type (
	introspectedRef struct {
		Kind   string           `json:"kind"`
		Name   string           `json:"name"`
		OfType *introspectedRef `json:"ofType"`
	}
	introspectedField struct {
		Name string              `json:"name"`
		Args []introspectedField `json:"args"`
		Type introspectedRef     `json:"type"`
	}
	introspectedName struct {
		Name string `json:"name"`
	}
	introspected struct {
		QueryType    introspectedName `json:"queryType"`
		MutationType introspectedName `json:"mutationType"`
		Types        []struct {
			Kind          string              `json:"kind"`
			Name          string              `json:"name"`
			Fields        []introspectedField `json:"fields"`
			InputFields   []introspectedField `json:"inputFields"`
			EnumValues    []introspectedName  `json:"enumValues"`
			PossibleTypes []introspectedName  `json:"possibleTypes"`
		} `json:"types"`
	}
)

func readIntrospection(name string, text []byte) (*gqlSchema, error) {
	if tooDeep(text) {
		return nil, fmt.Errorf("%s: it nests deeper than %d", name, maxDepth)
	}
	var answer struct {
		Schema *introspected `json:"__schema"`
		Data   struct {
			Schema *introspected `json:"__schema"`
		} `json:"data"`
	}
	if err := json.Unmarshal(text, &answer); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	in := answer.Schema
	if in == nil {
		in = answer.Data.Schema
	}
	if in == nil {
		return nil, errors.New(name + ": data.__schema: there is none")
	}
	s := &gqlSchema{query: in.QueryType.Name, mutation: in.MutationType.Name, types: map[string]*gqlType{}}
	for _, t := range in.Types {
		out := &gqlType{kind: ast.DefinitionKind(t.Kind)}
		for _, f := range slices.Concat(t.Fields, t.InputFields) {
			out.fields = append(out.fields, fieldOf(f))
		}
		for _, v := range t.EnumValues {
			out.enum = append(out.enum, v.Name)
		}
		if out.kind == ast.Union {
			for _, p := range t.PossibleTypes {
				out.possible = append(out.possible, p.Name)
			}
		}
		s.types[t.Name] = out
	}
	return s, nil
}

func fieldOf(f introspectedField) gqlField {
	out := gqlField{name: f.Name, typ: f.Type.ref()}
	for _, a := range f.Args {
		out.args = append(out.args, gqlField{name: a.Name, typ: a.Type.ref()})
	}
	return out
}

func (t *introspectedRef) ref() gqlRef {
	var before, after []string
	out := gqlRef{required: t.Kind == "NON_NULL"}
	for at := t; at != nil && len(after) < maxWrapped; at = at.OfType {
		switch at.Kind {
		case "NON_NULL":
			after = append(after, "!")
		case "LIST":
			out.lists++
			before, after = append(before, "["), append(after, "]")
		default:
			out.name = at.Name
		}
	}
	slices.Reverse(after)
	out.text = strings.Join(before, "") + out.name + strings.Join(after, "")
	return out
}
