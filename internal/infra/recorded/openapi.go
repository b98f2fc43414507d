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

	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/yamltext"
)

// maxDescription bounds a description of an API; the library keeps many times its size.
const maxDescription = 10 << 20

// readOpenAPI makes requests of an OpenAPI 3 description, in JSON or YAML: one for each server, operation and type of
// body. References to other files are not followed.
func readOpenAPI(r *reader) error { return r.api("openapi", "3.") }

// readSwagger does the same with a Swagger 2 description.
func readSwagger(r *reader) error { return r.api("swagger", "2.") }

// load reads a description of either version.
func (r *reader) load(key, version string) (doc *openapi3.T, err error) {
	text, err := r.description(key, version)
	if err != nil {
		return nil, err
	}
	defer func() {
		if cause := recover(); cause != nil { // the library follows references without values in odd descriptions
			doc, err = nil, fmt.Errorf("%s: a reference in it leads nowhere (%v)", r.file, cause)
		}
	}()
	wrong := func(err error) error { return fmt.Errorf("%s: %s", r.file, errs.Clip(err.Error(), 300)) }
	if key == "openapi" {
		if doc, err = openapi3.NewLoader().LoadFromData(text); err != nil {
			return nil, wrong(err)
		}
		return doc, nil
	}
	var old openapi2.T
	if err := json.Unmarshal(text, &old); err != nil {
		return nil, wrong(err)
	}
	if doc, err = openapi2conv.ToV3(&old); err != nil {
		return nil, wrong(err)
	}
	if len(doc.Servers) == 0 && old.BasePath != "" { // without a host, the conversion forgets the path
		doc.AddServer(&openapi3.Server{URL: old.BasePath})
	}
	if err := openapi3.NewLoader().ResolveRefsIn(doc, nil); err != nil {
		return nil, wrong(err)
	}
	return doc, nil
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
	if r.plain(top) {
		return json.Marshal(top)
	}
	return text, nil
}

// api makes the requests of a description.
func (r *reader) api(key, version string) error {
	doc, err := r.load(key, version)
	if err != nil {
		return err
	}
	operations, err := r.operations(doc)
	if err != nil {
		return err
	}
	for _, o := range operations {
		q, err := o.request(r.opts.Values)
		if missing, ok := errors.AsType[missingError](err); ok {
			r.result.Missing = append(r.result.Missing, missing...)
			continue
		}
		if err := r.add(o.place, q, err); err != nil {
			return err
		}
	}
	return nil
}

// operations are the operations of a description at each of its servers, one for each type of body.
func (r *reader) operations(doc *openapi3.T) (all []*operation, err error) {
	servers, err := r.servers(doc)
	if err != nil {
		return nil, err
	}
	if doc.Paths == nil {
		return nil, fmt.Errorf("%s: paths: there are none", r.file)
	}
	paths := doc.Paths.Map()
	for _, server := range servers {
		for _, path := range slices.Sorted(maps.Keys(paths)) {
			if paths[path] == nil {
				continue
			}
			methods := paths[path].Operations()
			for _, method := range slices.Sorted(maps.Keys(methods)) {
				o := operation{reader: r, doc: doc, op: methods[method], method: method, server: server, path: path,
					shared: paths[path].Parameters, place: r.place("paths." + path + "." + strings.ToLower(method))}
				if all = append(all, o.kinds()...); len(all) > maxRequests {
					return nil, fmt.Errorf("%s: %w", o.place, errTooMany)
				}
			}
		}
	}
	return all, nil
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
	var elsewhere []*url.URL
	for i, s := range list {
		place := r.place(fmt.Sprintf("servers[%d]", i))
		u, err := r.server(s)
		switch {
		case err != nil:
			if err := r.fault(place, err); err != nil {
				return nil, err
			}
			continue
		case len(r.opts.Hosts) > 0 && !slices.Contains(r.opts.Hosts, u.Host):
			elsewhere = append(elsewhere, u)
			err := fmt.Errorf("%s is not in scope", errs.Clip(u.Host, maxQuoted))
			if err := r.fault(place, err); err != nil {
				return nil, err
			}
			continue
		}
		all = append(all, serverText(u))
	}
	if base, err := url.Parse(r.opts.Base); len(all) == 0 && err == nil && base.Host != "" {
		for _, u := range elsewhere { // the description is of another installation: the same paths may be here
			all = append(all, serverText(&url.URL{Scheme: base.Scheme, Host: base.Host, Path: u.Path, RawPath: u.RawPath}))
		}
	}
	slices.Sort(all)
	return slices.Compact(all), nil
}

func serverText(u *url.URL) string {
	return strings.TrimSuffix(u.Scheme+"://"+u.Host+u.EscapedPath(), "/")
}

// server is the URL of a server with the values of its variables.
func (r *reader) server(s *openapi3.Server) (*url.URL, error) {
	if s == nil {
		return nil, errors.New("it is empty")
	}
	text := s.URL
	for _, name := range slices.Sorted(maps.Keys(s.Variables)) {
		value := ""
		if v := s.Variables[name]; v != nil {
			value = v.Default
		}
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
	return u, err
}

// operation is one operation at one server, with one type of body or none.
type operation struct {
	*reader

	doc          *openapi3.T
	op           *openapi3.Operation
	shared       openapi3.Parameters // of its path
	method       string
	server, path string
	kind         string // of its body; "" for none
	place        string
}

// kinds are the operation once for each type of body.
func (o operation) kinds() []*operation {
	if o.op.RequestBody == nil || o.op.RequestBody.Value == nil || len(o.op.RequestBody.Value.Content) == 0 {
		return []*operation{&o}
	}
	var all []*operation
	for _, kind := range slices.Sorted(maps.Keys(o.op.RequestBody.Value.Content)) {
		one := o
		one.kind = kind
		all = append(all, &one)
	}
	return all
}

// missingError are the names of values that a request needs and nobody gave.
type missingError []string

func (m missingError) Error() string { return "no value for " + strings.Join(m, ", ") }

// request makes the request of an operation.
func (o *operation) request(values *Values) (q Request, err error) {
	defer func() {
		if cause := recover(); cause != nil { // the library leaves references without values in odd descriptions
			err = fmt.Errorf("a reference in it leads nowhere (%v)", cause)
		}
	}()
	d := draft{operation: o, path: o.path, values: values}
	d.parameters()
	d.credentials()
	if len(d.missing) > 0 {
		return Request{}, d.missing
	}
	if strings.ContainsAny(d.path, "{}") {
		return Request{}, fmt.Errorf("no parameter has the value for %s", d.path)
	}
	at := o.server + d.path
	if len(d.query) > 0 {
		separator := "?"
		if strings.Contains(at, "?") {
			separator = "&"
		}
		at += separator + strings.Join(d.query, "&")
	}
	if len(d.cookies) > 0 {
		d.headers = append(d.headers, Header{Name: "Cookie", Value: strings.Join(d.cookies, "; ")})
	}
	if o.kind == "" {
		return fromParts(o.method, at, d.headers, nil)
	}
	body, contentType, err := bodyFor(o.kind, o.op.RequestBody.Value.Content[o.kind], &maker{
		requiredOnly: o.opts.RequiredOnly, values: values, path: o.path})
	if err != nil {
		return Request{}, fmt.Errorf("requestBody.%s: %w", o.kind, err)
	}
	return fromParts(o.method, at, append(d.headers, Header{Name: "Content-Type", Value: contentType}), body)
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
