package recorded

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"mime/multipart"
	"net/url"
	"regexp"
	"strings"

	"github.com/vedette-sec/vedette/internal/infra/errs"
)

// collection is a Postman collection, versions 2.0 and 2.1.
type collection struct {
	Info     *struct{ Schema string }
	Item     []collectionItem
	Variable []postmanPair
	Auth     *postmanAuth
}

type collectionItem struct {
	Name    string
	Item    []collectionItem
	Request json.RawMessage
	Auth    *postmanAuth
}

type postmanPair struct {
	Key, ID, Type string
	Value, Src    any
	Disabled      bool
}

type postmanRequest struct {
	Method string
	URL    json.RawMessage
	Header json.RawMessage
	Auth   *postmanAuth
	Body   *struct {
		Mode       string
		Raw        string
		URLEncoded []postmanPair
		FormData   []postmanPair
		GraphQL    struct{ Query, Variables string }
		Options    struct{ Raw struct{ Language string } }
		Disabled   bool
	}
}

type postmanAuth struct {
	Type   string
	Bearer json.RawMessage
	APIKey json.RawMessage
}

// readPostman makes the requests of a collection, folders and all. Variables have the values that the user gives, or
// else those of the collection.
func readPostman(r *reader) error {
	if err := shallow(r.text); err != nil {
		return fmt.Errorf("%s: %w", r.file, err)
	}
	var c collection
	if err := json.Unmarshal(r.text, &c); err != nil {
		if s, ok := errors.AsType[*json.SyntaxError](err); ok {
			return fmt.Errorf("%s: %w", r.line(s.Offset), err)
		}
		return fmt.Errorf("%s: %w", r.file, err)
	}
	if c.Info == nil || c.Item == nil {
		return fmt.Errorf("%s: it is not a collection of Postman 2.0 or 2.1: it has no info or no item", r.file)
	}
	p := postman{reader: r, vars: map[string]string{}}
	for _, v := range c.Variable {
		p.vars[v.Key+v.ID] = textOf(v.Value)
	}
	maps.Copy(p.vars, r.opts.Vars)
	return p.items(c.Item, "item", c.Auth)
}

type postman struct {
	*reader
	vars map[string]string
}

func (p *postman) items(items []collectionItem, within string, auth *postmanAuth) error {
	for i, item := range items {
		place := fmt.Sprintf("%s[%d]", within, i)
		own := auth
		if item.Auth != nil {
			own = item.Auth
		}
		if len(item.Item) > 0 {
			if err := p.items(item.Item, place+".item", own); err != nil {
				return err
			}
			continue
		}
		if item.Request == nil {
			continue
		}
		missing := len(p.result.Missing)
		q, err := p.request(item.Request, own)
		if err == nil && len(p.result.Missing) > missing {
			if !p.opts.Lenient {
				continue // the names are reported together
			}
			err = fmt.Errorf("no value for {{%s}}", p.result.Missing[missing])
		}
		if err := p.add(p.place(fmt.Sprintf("%s (%s)", place, errs.Clip(item.Name, maxQuoted))), q, err); err != nil {
			return err
		}
	}
	return nil
}

func (p *postman) request(text json.RawMessage, auth *postmanAuth) (Request, error) {
	var short string
	if json.Unmarshal(text, &short) == nil {
		return fromParts("GET", p.fill(short), nil, nil)
	}
	var in postmanRequest
	if err := json.Unmarshal(text, &in); err != nil {
		return Request{}, err
	}
	at, err := p.url(in.URL)
	if err != nil {
		return Request{}, err
	}
	var headers []Header
	var pairs []postmanPair
	if len(in.Header) > 0 && json.Unmarshal(in.Header, &pairs) != nil {
		return Request{}, errors.New("header: it is not a list of keys and values")
	}
	for _, h := range pairs {
		if !h.Disabled {
			headers = append(headers, Header{Name: p.fill(h.Key), Value: p.fill(textOf(h.Value))})
		}
	}
	if in.Auth != nil {
		auth = in.Auth
	}
	if headers, at, err = p.auth(auth, headers, at); err != nil {
		return Request{}, err
	}
	body, contentType, err := p.body(&in)
	if err != nil {
		return Request{}, err
	}
	if contentType != "" && !hasHeader(headers, "Content-Type") {
		headers = append(headers, Header{Name: "Content-Type", Value: contentType})
	}
	return fromParts(in.Method, at, headers, body)
}

// url is a URL as text, or the raw text of one in parts; variables of its path come last.
func (p *postman) url(text json.RawMessage) (string, error) {
	var plain string
	if json.Unmarshal(text, &plain) == nil {
		return p.fill(plain), nil
	}
	var parts struct {
		Raw      string
		Variable []postmanPair
	}
	if err := json.Unmarshal(text, &parts); err != nil || parts.Raw == "" {
		return "", errors.New("url: it is neither a text nor has it the field raw")
	}
	at := p.fill(parts.Raw)
	head, query, asked := strings.Cut(at, "?")
	for _, v := range parts.Variable {
		value, ok := p.vars[v.Key+v.ID]
		if !ok {
			value = textOf(v.Value)
		}
		segments := strings.Split(head, "/")
		for i, s := range segments {
			if i > 2 && s == ":"+v.Key+v.ID {
				segments[i] = url.PathEscape(p.fill(value))
			}
		}
		head = strings.Join(segments, "/")
	}
	if asked {
		head += "?" + query
	}
	return head, nil
}

var postmanVariable = regexp.MustCompile(`\{\{\s*([^{}]{1,100}?)\s*\}\}`)

// fill replaces variables. One without a value is missing; one that Postman makes up, such as $guid, too.
func (p *postman) fill(text string) string {
	for range 3 { // values may name others
		if !strings.Contains(text, "{{") {
			break
		}
		grown := 0
		text = postmanVariable.ReplaceAllStringFunc(text, func(m string) string {
			name := postmanVariable.FindStringSubmatch(m)[1]
			if value, ok := p.vars[name]; ok {
				if grown += len(value); grown > maxBody {
					return "" // the request is refused for its size, or for what is left of it
				}
				return value
			}
			p.result.Missing = append(p.result.Missing, name)
			return ""
		})
	}
	return text
}

// auth adds the credentials that can be written down: a bearer token, an API key.
func (p *postman) auth(a *postmanAuth, headers []Header, at string) ([]Header, string, error) {
	if a == nil {
		return headers, at, nil
	}
	switch a.Type {
	case "bearer":
		if token := p.fill(attribute(a.Bearer, "token")); token != "" && !hasHeader(headers, "Authorization") {
			headers = append(headers, Header{Name: "Authorization", Value: "Bearer " + token})
		}
	case "apikey":
		key, value := p.fill(attribute(a.APIKey, "key")), p.fill(attribute(a.APIKey, "value"))
		if key == "" {
			break
		}
		if attribute(a.APIKey, "in") != "query" {
			return append(headers, Header{Name: key, Value: value}), at, nil
		}
		separator := "?"
		if strings.Contains(at, "?") {
			separator = "&"
		}
		at += separator + url.QueryEscape(key) + "=" + url.QueryEscape(value)
	case "", "noauth", "inherit":
	default:
		return nil, "", fmt.Errorf("auth: %q is not supported: give the header with --header",
			errs.Clip(a.Type, maxQuoted))
	}
	return headers, at, nil
}

// attribute is a value of an auth: of a list of pairs in version 2.1, of an object in 2.0.
func attribute(text json.RawMessage, name string) string {
	var pairs []postmanPair
	if json.Unmarshal(text, &pairs) == nil {
		for _, p := range pairs {
			if p.Key == name {
				return textOf(p.Value)
			}
		}
		return ""
	}
	var object map[string]any
	_ = json.Unmarshal(text, &object) // neither: there is no value
	return textOf(object[name])
}

func (p *postman) body(in *postmanRequest) (body []byte, contentType string, err error) {
	b := in.Body
	if b == nil || b.Disabled {
		return nil, "", nil
	}
	switch b.Mode {
	case "", "none":
		return nil, "", nil
	case "raw":
		kinds := map[string]string{"json": "application/json", "xml": "application/xml", "html": "text/html"}
		return []byte(p.fill(b.Raw)), kinds[b.Options.Raw.Language], nil
	case "urlencoded":
		var fields []string
		for _, f := range b.URLEncoded {
			if !f.Disabled {
				fields = append(fields, url.QueryEscape(p.fill(f.Key))+"="+url.QueryEscape(p.fill(textOf(f.Value))))
			}
		}
		return []byte(strings.Join(fields, "&")), "application/x-www-form-urlencoded", nil
	case "graphql":
		query := map[string]any{"query": p.fill(b.GraphQL.Query)}
		var variables any
		if text := p.fill(b.GraphQL.Variables); json.Unmarshal([]byte(text), &variables) == nil {
			query["variables"] = variables
		}
		body, err = json.Marshal(query)
		return body, "application/json", err
	case "formdata":
		body, err = formFields(b.FormData, p.fill)
		return body, "multipart/form-data; boundary=" + boundary, err
	}
	return nil, "", fmt.Errorf("body: the mode %q is not supported: files of your machine are not sent",
		errs.Clip(b.Mode, maxQuoted))
}

// formFields writes fields; a file is its name, because none is read.
func formFields(fields []postmanPair, fill func(string) string) ([]byte, error) {
	var out bytes.Buffer
	w := multipart.NewWriter(&out)
	if err := w.SetBoundary(boundary); err != nil {
		return nil, err
	}
	for _, f := range fields {
		if f.Disabled {
			continue
		}
		name, value := fill(f.Key), fill(textOf(f.Value))
		create := w.CreateFormField
		if f.Type == "file" {
			value = "file"
			create = func(name string) (io.Writer, error) { return w.CreateFormFile(name, "file.txt") }
		}
		part, err := create(name)
		if err != nil {
			return nil, err
		}
		if _, err := part.Write([]byte(value)); err != nil {
			return nil, err
		}
	}
	return out.Bytes(), w.Close()
}

func hasHeader(list []Header, name string) bool {
	for _, h := range list {
		if strings.EqualFold(h.Name, name) {
			return true
		}
	}
	return false
}
