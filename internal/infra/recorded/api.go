package recorded

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"
)

// API is a description of an API, OpenAPI 3 or Swagger 2, as operations whose requests can be made one after the other,
// each with what the answers before it taught.
type API struct {
	Title      string
	Operations []*Operation // those that create before those that read, those that delete last
	Schemes    []Scheme
	LeftOut    []string // why, with file and place
}

// Operation is an operation of an API at one server, with one type of body.
type Operation struct {
	Name         string   // its id in the description, else method and path
	About        string   // its summary and its description
	Method, Path string   // the path with its parameters in braces, without that of the server
	Secured      []string // the schemes of which it asks for one; none when it can do without

	own *operation
}

// Scheme is a way in which an API wants to be told who asks.
type Scheme struct {
	Name     string
	Type     string // apiKey, http, oauth2 or openIdConnect
	In       string // of an apiKey: query, header or cookie
	Param    string // of an apiKey: its name there
	Scheme   string // of http: basic, bearer, digest
	TokenURL string // of oauth2
}

// ReadAPI reads a description in JSON or YAML. Entries with a fault are left out and listed.
func ReadAPI(file string, text []byte, o Options) (*API, error) {
	o.Lenient = true
	r := &reader{file: file, text: text, opts: o, seen: map[string]bool{}}
	key, version := "openapi", "3."
	if swaggerVersion.Match(text[:min(len(text), 1<<16)]) {
		key, version = "swagger", "2."
	}
	doc, err := r.load(key, version)
	if err != nil {
		return nil, err
	}
	all, err := r.operations(doc)
	if err != nil {
		return nil, err
	}
	api := API{LeftOut: r.result.LeftOut}
	if doc.Info != nil {
		api.Title = doc.Info.Title
	}
	for _, own := range all {
		o := Operation{Name: own.op.OperationID, Method: own.method, Path: own.path, own: own, Secured: own.secured(),
			About: strings.TrimSpace(own.op.Summary + "\n" + own.op.Description)}
		if o.Name == "" {
			o.Name = o.Method + " " + o.Path
		}
		api.Operations = append(api.Operations, &o)
	}
	slices.SortStableFunc(api.Operations, func(a, b *Operation) int { return slices.Compare(a.order(), b.order()) })
	api.Schemes = schemesOf(doc)
	return &api, nil
}

var swaggerVersion = regexp.MustCompile(`(?m)(^|[{,\s])["']?swagger["']?\s*:\s*["']?2`)

// Request makes the request of an operation. values may be nil. The error says what it lacks.
func (o *Operation) Request(values *Values) (Request, error) {
	q, err := o.own.request(values)
	if err == nil {
		err = q.check()
	}
	if err != nil {
		return Request{}, fmt.Errorf("%s: %w", o.own.place, err)
	}
	return q, nil
}

var (
	registers = regexp.MustCompile(`(?i)regist|sign-?_?up`)
	signsIn   = regexp.MustCompile(`(?i)log-?_?in|sign-?_?in|token|session|auth`)
	signsOut  = regexp.MustCompile(`(?i)log-?_?out|sign-?_?out`)
)

// order puts operations in an order in which each finds what it needs: who registers, who signs in, what is created
// (the outer before the inner), what is read, what is changed, what is deleted; logging out comes last.
func (o *Operation) order() []int {
	inner := strings.Count(o.Path, "{")
	phase := 4
	switch text := o.Path + " " + o.Name; {
	case signsOut.MatchString(text):
		phase = 7
	case o.Method == http.MethodDelete:
		phase = 6
	case o.Method == http.MethodPost && inner == 0 && registers.MatchString(text):
		phase = 1
	case o.Method == http.MethodPost && inner == 0 && signsIn.MatchString(text):
		phase = 2
	case o.Method == http.MethodPost:
		phase = 3
	case o.Method == http.MethodPut || o.Method == http.MethodPatch:
		phase = 5
	}
	return []int{phase, inner}
}

// secured are the schemes of which an operation asks for one.
func (o *operation) secured() (names []string) {
	for _, requirement := range o.requirements() {
		if len(requirement) == 0 {
			return nil
		}
		names = append(names, slices.Sorted(maps.Keys(requirement))...)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

func schemesOf(doc *openapi3.T) (all []Scheme) {
	if doc.Components == nil {
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(doc.Components.SecuritySchemes)) {
		ref := doc.Components.SecuritySchemes[name]
		if ref == nil || ref.Value == nil {
			continue
		}
		s := ref.Value
		one := Scheme{Name: name, Type: s.Type, Scheme: strings.ToLower(s.Scheme)}
		if s.Type == "apiKey" {
			one.In, one.Param = s.In, s.Name
		}
		if s.Flows != nil {
			for _, flow := range []*openapi3.OAuthFlow{s.Flows.ClientCredentials, s.Flows.Password, s.Flows.AuthorizationCode} {
				if flow != nil {
					one.TokenURL = cmp.Or(one.TokenURL, flow.TokenURL)
				}
			}
		}
		all = append(all, one)
	}
	return all
}

// ParseRaw parses a request as text. at is its URL; "" means that of its request line and its Host line.
func ParseRaw(text []byte, at string) (Request, error) {
	q, err := parseRaw(string(bytes.TrimLeft(text, "\r\n")), at)
	if err == nil {
		err = q.check()
	}
	return q, err
}
