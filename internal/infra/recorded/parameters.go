package recorded

import (
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"
)

// draft is a request of an operation while it is being made.
type draft struct {
	*operation

	values  *Values
	path    string
	query   []string
	headers []Header
	cookies []string
	missing missingError
}

// parameters puts the values of all parameters into the request. The parameters of an operation override those of its
// path.
func (d *draft) parameters() {
	for i, ref := range slices.Concat(d.op.Parameters, d.shared) {
		p := ref.Value
		if p == nil || i >= len(d.op.Parameters) && d.op.Parameters.GetByInAndName(p.In, p.Name) != nil {
			continue
		}
		if _, given := d.opts.Vars[p.Name]; p.In == openapi3.ParameterInHeader && !given && d.opts.Lenient &&
			strings.EqualFold(p.Name, "Authorization") {
			continue // OpenAPI ignores it: credentials are those of security schemes, or of the user
		}
		value, ok := d.valueOf(p)
		optional := !p.Required && p.In != openapi3.ParameterInPath
		switch {
		case optional && (d.opts.RequiredOnly || !ok):
		case !ok:
			d.missing = append(d.missing, p.Name)
		default:
			d.put(p, value)
		}
	}
}

// valueOf is the value of a parameter: what the user gives, else what the description suggests, else what was learned,
// else, when missing ones are to be made up, one that fits its schema. In a path what was learned comes before what is
// suggested, because it exists.
func (d *draft) valueOf(p *openapi3.Parameter) (any, bool) {
	if value, ok := d.opts.Vars[p.Name]; ok {
		return value, true
	}
	schema := schemaOf(p)
	learned, known := d.values.find(d.path, p.Name, schema)
	if known && p.In == openapi3.ParameterInPath {
		return learned, true
	}
	if value := suggested(p, schema); value != nil {
		return value, true
	}
	if known {
		return learned, true
	}
	if !d.opts.Lenient {
		return nil, false
	}
	m := maker{requiredOnly: d.opts.RequiredOnly, values: d.values, path: d.path}
	value, err := m.make(p.Name, schema)
	return value, err == nil
}

// schemaOf is the schema of a parameter; nil for none.
func schemaOf(p *openapi3.Parameter) *openapi3.Schema {
	if p.Schema != nil {
		return p.Schema.Value
	}
	for _, kind := range slices.Sorted(maps.Keys(p.Content)) {
		if media := p.Content[kind]; media != nil && media.Schema != nil {
			return media.Schema.Value
		}
	}
	return nil
}

// suggested is the value that a description suggests for a parameter; nil for none.
func suggested(p *openapi3.Parameter, schema *openapi3.Schema) any {
	if schema != nil {
		for _, value := range []any{schema.Default, schema.Example} {
			if value != nil {
				return value
			}
		}
		if len(schema.Enum) > 0 {
			return schema.Enum[0]
		}
	}
	if p.Example != nil {
		return p.Example
	}
	for _, name := range slices.Sorted(maps.Keys(p.Examples)) {
		if e := p.Examples[name]; e.Value != nil && e.Value.Value != nil {
			return e.Value.Value
		}
	}
	return nil
}

// put writes a value where its parameter belongs.
func (d *draft) put(p *openapi3.Parameter, value any) {
	switch p.In {
	case openapi3.ParameterInPath:
		d.path = strings.ReplaceAll(d.path, "{"+p.Name+"}", url.PathEscape(joined(value, ",")))
	case openapi3.ParameterInQuery:
		for _, pair := range queryOf(p, value) {
			d.query = append(d.query, url.QueryEscape(pair[0])+"="+url.QueryEscape(pair[1]))
		}
	case openapi3.ParameterInHeader:
		d.headers = append(d.headers, Header{Name: p.Name, Value: joined(value, ",")})
	case openapi3.ParameterInCookie:
		d.cookies = append(d.cookies, p.Name+"="+strings.ReplaceAll(joined(value, ","), ";", "%3B"))
	}
}

// queryOf is a value as pairs of a query, in the style that the parameter names.
func queryOf(p *openapi3.Parameter, value any) (pairs [][2]string) {
	exploded := p.Explode == nil && (p.Style == "" || p.Style == openapi3.SerializationForm) ||
		p.Explode != nil && *p.Explode
	switch v := value.(type) {
	case []any:
		if len(p.Content) > 0 {
			break
		}
		separator := ","
		switch p.Style {
		case openapi3.SerializationSpaceDelimited:
			separator = " "
		case openapi3.SerializationPipeDelimited:
			separator = "|"
		}
		if !exploded {
			return [][2]string{{p.Name, joined(v, separator)}}
		}
		for _, item := range v {
			pairs = append(pairs, [2]string{p.Name, textOf(item)})
		}
		return pairs
	case map[string]any:
		deep := p.Style == openapi3.SerializationDeepObject
		if len(p.Content) > 0 || !deep && !exploded || len(v) == 0 {
			break
		}
		for _, key := range slices.Sorted(maps.Keys(v)) {
			name := key
			if deep {
				name = p.Name + "[" + key + "]"
			}
			pairs = append(pairs, [2]string{name, textOf(v[key])})
		}
		return pairs
	}
	return [][2]string{{p.Name, textOf(value)}}
}

// joined is a value as text; the items of a list with a separator between them.
func joined(value any, separator string) string {
	list, ok := value.([]any)
	if !ok {
		return textOf(value)
	}
	texts := make([]string, len(list))
	for i, item := range list {
		texts[i] = textOf(item)
	}
	return strings.Join(texts, separator)
}

// credentials puts in what the first of the operation's security requirements asks for, from the variables. Made-up
// credentials would help nobody: with Options.Lenient the request goes without.
func (d *draft) credentials() {
	requirements := d.requirements()
	if len(requirements) == 0 || slices.ContainsFunc(requirements,
		func(r openapi3.SecurityRequirement) bool { return len(r) == 0 }) {
		return // optional
	}
	var missing []string
	for _, requirement := range requirements {
		var params []*openapi3.Parameter
		lacks := []string(nil)
		for _, name := range slices.Sorted(maps.Keys(requirement)) {
			p := d.credential(name)
			if p == nil {
				lacks = append(lacks, name)
			} else if _, ok := d.opts.Vars[p.Name]; !ok {
				lacks = append(lacks, p.Name)
			}
			params = append(params, p)
		}
		if len(lacks) == 0 {
			for _, p := range params {
				d.put(p, d.opts.Vars[p.Name])
			}
			return
		}
		if missing == nil {
			missing = lacks
		}
	}
	if !d.opts.Lenient {
		d.missing = append(d.missing, missing...)
	}
}

// requirements are what an operation asks for, one of them; those of the description unless it has its own.
func (o *operation) requirements() openapi3.SecurityRequirements {
	if o.op.Security != nil {
		return *o.op.Security
	}
	return o.doc.Security
}
