package recorded

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/getkin/kin-openapi/openapi2"
	"github.com/getkin/kin-openapi/openapi2conv"
	"github.com/getkin/kin-openapi/openapi3"

	"github.com/vedette-sec/vedette/internal/engine/proto/web"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/yamltext"
)

// maxDescription bounds a description of an API; the library keeps many times its size.
const maxDescription = 10 << 20

// readOpenAPI makes requests of an OpenAPI 3 description, in JSON or YAML: one for each server, operation and type of
// body. References to other files are not followed.
func readOpenAPI(r *reader) error {
	text, err := r.description("openapi", "3.")
	if err != nil {
		return err
	}
	loader := openapi3.NewLoader()
	doc, err := loader.LoadFromData(text)
	if err != nil {
		return fmt.Errorf("%s: %s", r.file, errs.Clip(err.Error(), 300))
	}
	return r.api(doc)
}

// readSwagger does the same with a Swagger 2 description.
func readSwagger(r *reader) error {
	text, err := r.description("swagger", "2.")
	if err != nil {
		return err
	}
	wrong := func(err error) error { return fmt.Errorf("%s: %s", r.file, errs.Clip(err.Error(), 300)) }
	var old openapi2.T
	if err := json.Unmarshal(text, &old); err != nil {
		return wrong(err)
	}
	doc, err := openapi2conv.ToV3(&old)
	if err != nil {
		return wrong(err)
	}
	if err := openapi3.NewLoader().ResolveRefsIn(doc, nil); err != nil {
		return wrong(err)
	}
	return r.api(doc)
}

// description is the file as JSON, when it is what it should be and safe to read.
func (r *reader) description(key, version string) ([]byte, error) {
	if len(r.text) > maxDescription {
		return nil, fmt.Errorf("%s: it has more than %d bytes", r.file, maxDescription)
	}
	text := bytes.TrimSpace(r.text)
	if !bytes.HasPrefix(text, []byte("{")) {
		value, err := yamltext.Mapping(text)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", r.file, err)
		}
		if text, err = json.Marshal(value); err != nil {
			return nil, fmt.Errorf("%s: %s", r.file, errs.Clip(err.Error(), 300))
		}
	}
	if err := shallow(text); err != nil {
		return nil, fmt.Errorf("%s: %w", r.file, err)
	}
	var top map[string]any
	if err := json.Unmarshal(text, &top); err != nil {
		if s, ok := errors.AsType[*json.SyntaxError](err); ok {
			return nil, fmt.Errorf("%s: %w", r.line(s.Offset), err)
		}
		return nil, fmt.Errorf("%s: %w", r.file, err)
	}
	if got := fmt.Sprint(top[key]) + "."; top[key] == nil || !strings.HasPrefix(got, version) {
		return nil, fmt.Errorf("%s: it does not say \"%s: %sx\"", r.file, key, version)
	}
	return text, nil
}

// api makes the requests of a description.
func (r *reader) api(doc *openapi3.T) (err error) {
	defer func() {
		if cause := recover(); cause != nil { // the library leaves references without values in odd descriptions
			err = fmt.Errorf("%s: a reference in it leads nowhere (%v)", r.file, cause)
		}
	}()
	servers, err := r.servers(doc)
	if err != nil {
		return err
	}
	if doc.Paths == nil {
		return fmt.Errorf("%s: paths: there are none", r.file)
	}
	paths := doc.Paths.Map()
	for _, server := range servers {
		for _, path := range slices.Sorted(maps.Keys(paths)) {
			operations := paths[path].Operations()
			for _, method := range slices.Sorted(maps.Keys(operations)) {
				o := operation{reader: r, doc: doc, op: operations[method], method: method, server: server, path: path,
					place: r.place("paths." + path + "." + strings.ToLower(method))}
				if err := o.requests(paths[path].Parameters); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// servers are the URLs of the servers, without a slash at the end.
func (r *reader) servers(doc *openapi3.T) (all []string, err error) {
	list := doc.Servers
	if len(list) == 0 && r.opts.Base != "" {
		list = openapi3.Servers{{URL: "/"}}
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("%s: servers: there are none, so that no target is named", r.file)
	}
	for i, s := range list {
		place := r.place(fmt.Sprintf("servers[%d]", i))
		text := s.URL
		for name, v := range s.Variables {
			value := v.Default
			if given, ok := r.opts.Vars[name]; ok {
				value = given
			}
			text = strings.ReplaceAll(text, "{"+name+"}", value)
		}
		u, err := url.Parse(text)
		if err == nil && r.opts.Base != "" {
			var base *url.URL
			if base, err = url.Parse(r.opts.Base); err == nil {
				u = base.ResolveReference(u)
			}
		}
		if err == nil && (u.Host == "" || u.Scheme != "http" && u.Scheme != "https") {
			err = fmt.Errorf("%q is not an http or https URL with a host", errs.Clip(text, maxQuoted))
		}
		if err != nil {
			if err := r.fault(place, err); err != nil {
				return nil, err
			}
			continue
		}
		all = append(all, strings.TrimSuffix(u.Scheme+"://"+u.Host+u.EscapedPath(), "/"))
	}
	return all, nil
}

// operation makes the requests of one operation.
type operation struct {
	*reader
	doc          *openapi3.T
	op           *openapi3.Operation
	method       string
	server, path string
	place        string

	query   []string
	headers []web.Header
	cookies []string
}

func (o *operation) requests(shared openapi3.Parameters) error {
	if !o.parameters(shared) || !o.credentials() {
		return nil
	}
	at := o.server + o.path
	if strings.ContainsAny(o.path, "{}") {
		return o.fault(o.place, fmt.Errorf("no parameter has the value for %s", o.path))
	}
	if len(o.query) > 0 {
		at += "?" + strings.Join(o.query, "&")
	}
	if len(o.cookies) > 0 {
		o.headers = append(o.headers, web.Header{Name: "Cookie", Value: strings.Join(o.cookies, "; ")})
	}
	if o.op.RequestBody == nil || o.op.RequestBody.Value == nil || len(o.op.RequestBody.Value.Content) == 0 {
		q, err := fromParts(o.method, at, o.headers, nil)
		return o.add(o.place, q, err)
	}
	content := o.op.RequestBody.Value.Content
	for _, kind := range slices.Sorted(maps.Keys(content)) {
		body, contentType, err := bodyFor(kind, content[kind], o.opts.RequiredOnly)
		if err != nil {
			if err := o.fault(o.place+".requestBody."+kind, err); err != nil {
				return err
			}
			continue
		}
		headers := append(slices.Clone(o.headers), web.Header{Name: "Content-Type", Value: contentType})
		q, err := fromParts(o.method, at, headers, body)
		if err := o.add(o.place, q, err); err != nil {
			return err
		}
	}
	return nil
}

// parameters puts the values of all parameters into the request; false when a required one has none. The parameters of
// an operation override those of its path.
func (o *operation) parameters(shared openapi3.Parameters) bool {
	complete := true
	for i, ref := range slices.Concat(o.op.Parameters, shared) {
		p := ref.Value
		if p == nil || i >= len(o.op.Parameters) && o.op.Parameters.GetByInAndName(p.In, p.Name) != nil {
			continue
		}
		value, ok := o.valueOf(p)
		optional := !p.Required && p.In != openapi3.ParameterInPath
		switch {
		case optional && (o.opts.RequiredOnly || !ok):
		case !ok:
			o.result.Missing = append(o.result.Missing, p.Name)
			complete = false
		default:
			o.put(p, value)
		}
	}
	return complete
}

// valueOf is the value of a parameter: what the user gives, else what the description suggests, else, when missing
// ones are to be made up, one that fits its schema.
func (o *operation) valueOf(p *openapi3.Parameter) (string, bool) {
	if value, ok := o.opts.Vars[p.Name]; ok {
		return value, true
	}
	var schema *openapi3.Schema
	if p.Schema != nil {
		schema = p.Schema.Value
	}
	if schema != nil {
		for _, value := range []any{schema.Default, schema.Example} {
			if value != nil {
				return textOf(value), true
			}
		}
		if len(schema.Enum) > 0 {
			return textOf(schema.Enum[0]), true
		}
	}
	if p.Example != nil {
		return textOf(p.Example), true
	}
	for _, name := range slices.Sorted(maps.Keys(p.Examples)) {
		if e := p.Examples[name]; e.Value != nil && e.Value.Value != nil {
			return textOf(e.Value.Value), true
		}
	}
	if !o.opts.Lenient || schema == nil {
		return "", false
	}
	value, err := example(schema, o.opts.RequiredOnly)
	return textOf(value), err == nil
}

func (o *operation) put(p *openapi3.Parameter, value string) {
	switch p.In {
	case openapi3.ParameterInPath:
		o.path = strings.ReplaceAll(o.path, "{"+p.Name+"}", url.PathEscape(value))
	case openapi3.ParameterInQuery:
		o.query = append(o.query, url.QueryEscape(p.Name)+"="+url.QueryEscape(value))
	case openapi3.ParameterInHeader:
		o.headers = append(o.headers, web.Header{Name: p.Name, Value: value})
	case openapi3.ParameterInCookie:
		o.cookies = append(o.cookies, p.Name+"="+strings.ReplaceAll(value, ";", "%3B"))
	}
}

// credentials puts in what the first of the operation's security requirements asks for, from the variables; false when
// one is missing. Made-up credentials would help nobody: with Options.Lenient the request goes without.
func (o *operation) credentials() bool {
	requirements := o.doc.Security
	if o.op.Security != nil {
		requirements = *o.op.Security
	}
	if len(requirements) == 0 || slices.ContainsFunc(requirements,
		func(r openapi3.SecurityRequirement) bool { return len(r) == 0 }) {
		return true // optional
	}
	var missing []string
	for _, requirement := range requirements {
		var params []*openapi3.Parameter
		lacks := []string(nil)
		for _, name := range slices.Sorted(maps.Keys(requirement)) {
			p := o.credential(name)
			if p == nil {
				lacks = append(lacks, name)
			} else if _, ok := o.opts.Vars[p.Name]; !ok {
				lacks = append(lacks, p.Name)
			}
			params = append(params, p)
		}
		if len(lacks) == 0 {
			for _, p := range params {
				o.put(p, o.opts.Vars[p.Name])
			}
			return true
		}
		if missing == nil {
			missing = lacks
		}
	}
	o.result.Missing = append(o.result.Missing, missing...)
	return o.opts.Lenient
}

// credential is the parameter that carries the credentials of a scheme; nil for a scheme that cannot be written as one.
func (o *operation) credential(name string) *openapi3.Parameter {
	if o.doc.Components == nil || o.doc.Components.SecuritySchemes[name] == nil {
		return nil
	}
	switch s := o.doc.Components.SecuritySchemes[name].Value; {
	case s == nil:
		return nil
	case s.Type == "apiKey" && s.Name != "":
		return &openapi3.Parameter{Name: s.Name, In: s.In}
	case s.Type == "http", s.Type == "oauth2", s.Type == "openIdConnect":
		return &openapi3.Parameter{Name: "Authorization", In: openapi3.ParameterInHeader}
	}
	return nil
}
