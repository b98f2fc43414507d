// Package spec makes requests of what describes an application or was recorded of it: OpenAPI 3 and Swagger 2, GraphQL
// (a schema, or the answer to an introspection), WSDL, sitemaps, collections of Postman, HAR, exports of Burp and ZAP,
// and requests as text.
//
// Recognise says which of them a text is; Read takes it apart into operations, in an order in which each finds what it
// needs: those that create before those that read, those that delete last. An operation makes its request when it is
// asked to, with the values that the answers before it taught (Values), else with those that the description suggests,
// else with made-up ones that fit its types. Nothing is sent here, and nothing that a description refers to is fetched.
// Requests to hosts that are not in scope are left out; a description whose servers are all elsewhere is read as one of
// the installation at Options.Base. What cannot be read is listed with its place. All of it is bounded: the size of a
// text, how deep it nests, how often a type may contain itself, how many requests it makes.
package spec

import (
	"bytes"
	"cmp"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/recorded"
	"github.com/vedette-sec/vedette/internal/webtest/message"
)

// Limits of what is read.
const (
	MaxText     = 32 << 20 // bytes of a document
	MaxRequests = 5000     // of a document, unless Options.Max says fewer
	maxDepth    = 100      // of JSON and XML
	maxLeftOut  = 1000     // reasons that are listed
	maxQuoted   = 60       // of a text that an error repeats
)

// Kind is a kind of document.
type Kind string

// Kinds of documents. Requests of JSON lines are logs of proxify, katana and their like.
const (
	OpenAPI   Kind = "openapi"
	Swagger   Kind = "swagger"
	GraphQL   Kind = "graphql"
	WSDL      Kind = "wsdl"
	Sitemap   Kind = "sitemap"
	Postman   Kind = "postman"
	HAR       Kind = "har"
	Burp      Kind = "burp"
	ZAP       Kind = "zap"
	JSONLines Kind = "jsonl"
	Raw       Kind = "raw"
	URLs      Kind = "urls" // one a line
)

// Kinds are all kinds.
func Kinds() []Kind {
	return []Kind{OpenAPI, Swagger, GraphQL, WSDL, Sitemap, Postman, HAR, Burp, ZAP, JSONLines, Raw, URLs}
}

// Values are what answers taught: the ids of things that exist, and their like.
type Values = recorded.Values

// Scheme is a way in which an API wants to be told who asks.
type Scheme = recorded.Scheme

// Options say how to read.
type Options struct {
	Base  *url.URL          // where the document was found, or the application; nil: it must name its hosts itself
	Hosts []string          // in scope, with a port that is not the usual one; nil for all
	Vars  map[string]string // values of parameters and variables, which come before all others
	Max   int               // requests; 0 for MaxRequests
}

// Document is what was read.
type Document struct {
	Kind       Kind
	Title      string
	Operations []*Operation
	Schemes    []Scheme
	LeftOut    []string // why, each with its place
}

// Operation is one thing that can be asked of the application.
type Operation struct {
	Name    string   // what the document calls it, else method and path
	About   string   // what the document says of it
	Secured []string // names of Schemes of which it asks for one; none when it can do without
	Learns  string   // the path by which Values.Learn is to know its answer

	build func(*Values) (*message.Request, error)
}

// Request makes the request of an operation. values may be nil.
func (o *Operation) Request(values *Values) (*message.Request, error) { return o.build(values) }

// Requests makes the requests of all operations, without learning between them.
func (d *Document) Requests() (all []*message.Request, leftOut []string) {
	for _, o := range d.Operations {
		q, err := o.Request(nil)
		if err != nil {
			leftOut = append(leftOut, err.Error())
			continue
		}
		all = append(all, q)
	}
	return all, leftOut
}

// Read reads a document; kind "" is the one that Recognise finds. Its name is for errors. The error is for people, and
// names the place in the document.
func Read(kind Kind, name string, text []byte, o Options) (*Document, error) {
	if len(text) > MaxText {
		return nil, fmt.Errorf("%s: it has more than %d bytes", name, MaxText)
	}
	text = bytes.TrimPrefix(text, []byte("\ufeff"))
	if kind == "" {
		if kind = Recognise(text); kind == "" {
			return nil, fmt.Errorf("%s: it is none of the documents that are read: %s", name, kindList())
		}
	}
	r := &reader{name: name, text: text, opts: o, most: cmp.Or(o.Max, MaxRequests), seen: map[string]bool{},
		doc: &Document{Kind: kind}}
	var err error
	switch kind {
	case OpenAPI, Swagger:
		err = r.api()
	case GraphQL:
		err = r.graphQL()
	case WSDL:
		err = r.wsdl()
	case Sitemap:
		err = r.sitemap()
	case ZAP:
		err = r.zap()
	case URLs:
		r.urls()
	case Postman, HAR, Burp, JSONLines, Raw:
		err = r.recorded(string(kind))
	default:
		return nil, fmt.Errorf("%q is none of %s", errs.Clip(string(kind), maxQuoted), kindList())
	}
	if err != nil {
		return nil, err
	}
	if len(r.doc.Operations) == 0 && len(r.doc.LeftOut) == 0 {
		return nil, fmt.Errorf("%s: there is no request in it", name)
	}
	return r.doc, nil
}

func kindList() string {
	names := make([]string, 0, len(Kinds()))
	for _, k := range Kinds() {
		names = append(names, string(k))
	}
	return strings.Join(names, ", ")
}

// reader collects the operations of one document.
type reader struct {
	name string
	text []byte
	opts Options
	most int
	doc  *Document
	seen map[string]bool // requests, so that equal ones are kept once
	cut  bool
}

// leaveOut lists what is left out.
func (r *reader) leaveOut(place, why string) {
	if len(r.doc.LeftOut) < maxLeftOut {
		r.doc.LeftOut = append(r.doc.LeftOut, r.name+": "+place+": "+why)
	}
}

// room reports whether one more operation may be kept; the first that may not is listed.
func (r *reader) room() bool {
	if len(r.doc.Operations) < r.most {
		return true
	}
	if !r.cut {
		r.cut = true
		r.leaveOut("the rest", fmt.Sprintf("only the first %d requests are kept", r.most))
	}
	return false
}

// keep keeps a request that is known already, if its host is in scope and it is new.
func (r *reader) keep(place string, q *message.Request) {
	if !r.room() {
		return
	}
	if !r.inScope(q.URL.Host) {
		r.leaveOut(place, errs.Clip(q.URL.Host, maxQuoted)+" is not in scope")
		return
	}
	var h bytes.Buffer
	_ = q.Header.Write(&h) // into memory: it cannot fail
	key := fmt.Sprintf("%s %s\n%s\n%s", q.Method, q.URL, h.Bytes(), q.Body)
	if r.seen[key] {
		return
	}
	r.seen[key] = true
	r.doc.Operations = append(r.doc.Operations, &Operation{Name: q.Method + " " + q.URL.EscapedPath(),
		Learns: q.URL.EscapedPath(), build: func(*Values) (*message.Request, error) { return q, nil }})
}

func (r *reader) inScope(host string) bool {
	return len(r.opts.Hosts) == 0 || slices.Contains(r.opts.Hosts, strings.ToLower(host))
}

func (r *reader) base() string {
	if r.opts.Base == nil {
		return ""
	}
	return r.opts.Base.String()
}

// api reads a description of an API.
func (r *reader) api() error {
	api, err := recorded.ReadAPI(r.name, r.text, recorded.Options{Vars: r.opts.Vars, Base: r.base(), Hosts: r.opts.Hosts})
	if err != nil {
		return err
	}
	r.doc.Title, r.doc.Schemes, r.doc.LeftOut = api.Title, api.Schemes, api.LeftOut[:min(len(api.LeftOut), maxLeftOut)]
	for _, o := range api.Operations {
		if !r.room() {
			break
		}
		r.doc.Operations = append(r.doc.Operations, &Operation{Name: o.Name, About: o.About, Secured: o.Secured,
			Learns: o.Path, build: func(values *Values) (*message.Request, error) {
				q, err := o.Request(values)
				if err != nil {
					return nil, err
				}
				return r.message(&q)
			}})
	}
	return nil
}

// recorded reads what another tool recorded.
func (r *reader) recorded(format string) error {
	got, err := recorded.Read(format, r.name, bytes.NewReader(r.text), recorded.Options{Vars: r.opts.Vars, Lenient: true,
		Base: r.base()})
	if err != nil {
		return err
	}
	r.doc.LeftOut = append(r.doc.LeftOut, got.LeftOut[:min(len(got.LeftOut), maxLeftOut)]...)
	for i := range got.Requests {
		r.add(got.Requests[i].Method+" "+errs.Clip(got.Requests[i].URL, maxQuoted), &got.Requests[i])
	}
	return nil
}

// add keeps a recorded request.
func (r *reader) add(place string, q *recorded.Request) {
	m, err := r.message(q)
	if err != nil {
		r.leaveOut(place, err.Error())
		return
	}
	r.keep(place, m)
}

// message is a recorded request in this tester's own type. One whose record names no scheme has that of the base.
func (r *reader) message(q *recorded.Request) (*message.Request, error) {
	text := q.URL
	if !strings.Contains(text, "://") {
		scheme := "http"
		if r.opts.Base != nil {
			scheme = r.opts.Base.Scheme
		}
		text = scheme + "://" + text
	}
	u, err := url.Parse(strings.ReplaceAll(text, " ", "%20"))
	if err != nil || u.Host == "" {
		return nil, fmt.Errorf("%q is not a URL", errs.Clip(text, maxQuoted))
	}
	u.Fragment, u.RawFragment = "", ""
	m := &message.Request{Method: q.Method, URL: u, Header: http.Header{}, Body: q.Body}
	for _, h := range q.Headers {
		if !strings.EqualFold(h.Name, "Host") {
			m.Header.Add(h.Name, h.Value)
		}
	}
	return m, nil
}

// urls reads a list of URLs.
func (r *reader) urls() {
	number := 0
	for line := range strings.Lines(string(r.text)) {
		number++
		if line = strings.TrimSpace(line); line == "" || line[0] == '#' {
			continue
		}
		r.get(fmt.Sprintf("line %d", number), line)
	}
}

// get keeps the request for a URL, which may be relative to the base.
func (r *reader) get(place, at string) {
	u, err := url.Parse(strings.TrimSpace(at))
	if err == nil && r.opts.Base != nil {
		u = r.opts.Base.ResolveReference(u)
	}
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || u.User != nil {
		r.leaveOut(place, fmt.Sprintf("%q is not an http or https URL", errs.Clip(at, maxQuoted)))
		return
	}
	u.Fragment, u.RawFragment = "", ""
	r.keep(place, &message.Request{Method: http.MethodGet, URL: u, Header: http.Header{}})
}
