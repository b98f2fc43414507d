// Package message has what the tester of web applications sends and receives: requests, the places in them that an
// application reads, and responses.
//
// A request is a value that nobody changes: Put returns a changed copy. A place is a component of a request (its query,
// its path, its body, a header, a cookie) and, within it, a value in some format (a form field, a value in JSON, an
// element of XML). Who tests a place gives plain text; Put encodes it as the component and the format need it.
//
// Each format is read into spans (span.go): where a value is in the text of its component, and how another value is
// written there. Places lists the spans, Put replaces the text of one, so all the rest of a request stays as it was.
package message

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

// Request is one HTTP request. Its URL is absolute. Its Header has no Host and no Content-Length; a line Cookie in it
// has the cookies that belong to the request, which a client sends besides those of its user.
type Request struct {
	Method string
	URL    *url.URL
	Header http.Header
	Body   []byte
	// Token, if not nil, is a value that the application gave out against forged requests and wants back: a client
	// renews it before it sends the request.
	Token *Token
	// After, if not nil, is the request of the step before, as of a form of several steps: a client sends it, and those
	// before it, each time before this one.
	After *Request
	// Led says that the address is where the answer to After leads; the one of the request stands for it.
	Led bool
	// Segments are those of the path, from 1, that a description of the API calls parameters.
	Segments []int
	// Passwords are how many of its values are those of fields that take a new password, whatever they are called.
	Passwords int
	// Login are the names of the fields that say who somebody is and what their password is, where the form is one that
	// logs in by the types of its fields.
	Login [2]string
}

// Token is where a request has a token, and which page has a fresh one: as the value of the field, or the content of
// the meta element, of the name Field.
type Token struct {
	Place Place    `json:"place"`
	Value string   `json:"value"` // as the page had it; a request with another one is being tested there
	Field string   `json:"field"`
	Page  *Request `json:"page"`
}

// Component is the part of a request in which a place is.
type Component string

// Components of requests.
const (
	Query  Component = "query"
	Path   Component = "path"
	Body   Component = "body"
	Header Component = "header"
	Cookie Component = "cookie"
)

// Format is how values are written in a component.
type Format string

// Formats of values.
const (
	Plain     Format = ""          // the value itself: a segment of a path, a header, a cookie, a query without names
	Form      Format = "form"      // application/x-www-form-urlencoded, also queries
	Multipart Format = "multipart" // multipart/form-data
	JSON      Format = "json"
	XML       Format = "xml"
	GraphQL   Format = "graphql" // an argument or a variable of a query
)

// Place is one value of a request that the application may read. Places of two requests are of the same input when
// Component, Format and Name are equal.
type Place struct {
	Component Component `json:"component"`
	Format    Format    `json:"format,omitempty"`
	Name      string    `json:"name"`             // a parameter; in JSON and XML a path such as user.roles[0]; of a path the number of its segment, from 1
	Value     string    `json:"value"`            // what it is in the request, decoded
	Index     int       `json:"index,omitempty"`  // of several places of that name, from 0
	File      bool      `json:"file,omitempty"`   // Multipart: the content of a file
	Key       bool      `json:"key,omitempty"`    // the name is what is tested, and not what it names; Value is the name
	Base64    bool      `json:"base64,omitempty"` // the application decodes it once more; Value is what comes of that
	Inner     string    `json:"inner,omitempty"`  // the value is an object of JSON, and Value is this member of it
	Outer     string    `json:"outer,omitempty"`  // that object
	Step      int       `json:"step,omitempty"`   // it is in the request that belongs so many steps before, by After
}

// String is the place for people, such as "query parameter id".
func (p Place) String() string {
	if p.Step > 0 {
		p.Step = 0
		return p.String() + " of a request before"
	}
	if p.Inner != "" {
		inner := p.Inner
		p.Inner = ""
		return p.String() + ", its member " + inner
	}
	what := "parameter"
	switch {
	case p.Component == Path:
		return "segment " + p.Name + " of the path"
	case p.Component == Header, p.Component == Cookie:
		return string(p.Component) + " " + p.Name
	case p.Key:
		what = "name of the parameter"
	case p.Format == JSON, p.Format == XML, p.Format == GraphQL:
		what = string(p.Format) + " value"
	case p.File:
		what = "file"
	case p.Component == Body && p.Format == Plain && p.Name == "":
		return "message"
	}
	if p.Base64 {
		what += " (in Base64)"
	}
	return strings.TrimSpace(string(p.Component) + " " + what + " " + p.Name)
}

// Decoded is a place whose value is Base64 of a text, as a place of that text.
func (p Place) Decoded() (Place, bool) {
	const least = 8 // shorter words are Base64 by chance, unless they are filled up
	if p.Base64 || p.Key || p.File || len(p.Value)%4 != 0 || len(p.Value) < least && !strings.HasSuffix(p.Value, "=") {
		return p, false
	}
	plain, err := base64.StdEncoding.Strict().DecodeString(p.Value)
	if err != nil || len(plain) == 0 || bytes.ContainsFunc(plain, func(c rune) bool { return c < ' ' || c > '~' }) {
		return p, false
	}
	p.Value, p.Base64 = string(plain), true
	return p, true
}

const maxMembers = 8

// Members are the members of a value that is an object of JSON, plain or in Base64, as places of their own.
func (p Place) Members() (out []Place) {
	if p.Format == JSON || p.Format == GraphQL || p.Key || p.File || p.Inner != "" || p.Component == Path {
		return nil
	}
	if plain, ok := p.Decoded(); ok {
		p = plain
	}
	if text := strings.TrimSpace(p.Value); !strings.HasPrefix(text, "{") || !json.Valid([]byte(text)) {
		return nil
	}
	for _, s := range jsonSpans(p.Value) {
		if s.Key || len(out) >= maxMembers {
			continue
		}
		member := p
		member.Value, member.Inner, member.Outer = s.Value, s.Name, p.Value
		out = append(out, member)
	}
	return out
}

// whole is the place of the object around a member, and that object with another text, or a value of JSON, as the
// member.
func (p Place) whole(text string, raw bool) (Place, string) {
	object := p.Outer
	for _, s := range jsonSpans(p.Outer) {
		if s.Key || s.Name != p.Inner {
			continue
		}
		if !raw {
			text = s.write(text)
		}
		object = splice(p.Outer, s, text)
		break
	}
	p.Value, p.Inner, p.Outer = p.Outer, "", ""
	return p, object
}

// Same reports whether two places are of the same input.
func (p Place) Same(q Place) bool {
	return p.Component == q.Component && p.Format == q.Format && p.Name == q.Name && p.Key == q.Key && p.Step == q.Step
}

// Before is the request that belongs so many steps before; nil if there are not so many.
func (r *Request) Before(steps int) *Request {
	for ; r != nil && steps > 0; steps-- {
		r = r.After
	}
	return r
}

// Response is the answer to one request. Redirects are not followed.
type Response struct {
	Status    int
	Header    http.Header
	Body      []byte        // decompressed, at most what the client reads
	Truncated bool          // there was more of it
	Took      time.Duration // from the last byte sent to the first byte received
	Request   *Request      // as it was sent
}

// Type is the media type of the body, in lower case and without parameters; "" where the answer says none.
func (r *Response) Type() string {
	return mediaType(r.Header)
}

// IsHTML reports whether a browser shows the body as a document with markup.
func (r *Response) IsHTML() bool {
	switch r.Type() {
	case "text/html", "application/xhtml+xml":
		return true
	case "":
		return strings.HasPrefix(http.DetectContentType(r.Body), "text/html")
	}
	return false
}

// IsXML reports whether a browser shows the body as a document of XML, such as a drawing.
func (r *Response) IsXML() bool {
	switch r.Type() {
	case "image/svg+xml", "text/xml", "application/xml":
		return true
	}
	return false
}

// Redirect is where the answer sends the client, as an absolute URL; nil if nowhere.
func (r *Response) Redirect() *url.URL {
	to := r.Header.Get("Location")
	if to == "" || r.Status/100 != 3 {
		return nil
	}
	path := to
	if at := strings.IndexAny(to, "?#"); at >= 0 {
		path = to[:at]
	}
	to = strings.ReplaceAll(path, `\`, "/") + to[len(path):] // as browsers read it
	u, err := r.Request.URL.Parse(to)
	if err != nil {
		return nil
	}
	return u
}

// New makes a request without a header and a body. The error is that of a URL that is not absolute http or https.
func New(method, address string) (*Request, error) {
	u, err := url.Parse(address)
	if err != nil {
		return nil, err
	}
	if u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" {
		return nil, fmt.Errorf("%q is not an absolute http or https URL", address)
	}
	return From(method, u), nil
}

// From makes a request without a header and a body for an absolute URL, whose fragment is left out.
func From(method string, u *url.URL) *Request {
	at := *u
	at.Fragment, at.RawFragment, at.User = "", "", nil
	if at.Path == "" && at.Opaque == "" {
		at.Path = "/"
	}
	return &Request{Method: method, URL: &at, Header: http.Header{}}
}

// Clone is a copy that shares nothing with the request.
func (r *Request) Clone() *Request {
	u := *r.URL
	header := r.Header.Clone()
	if header == nil {
		header = http.Header{}
	}
	return &Request{Method: r.Method, URL: &u, Header: header, Body: bytes.Clone(r.Body), Token: r.Token,
		After: r.After, Led: r.Led, Segments: r.Segments, Passwords: r.Passwords, Login: r.Login}
}

// With is a copy with another value of a header line; "" removes the line.
func (r *Request) With(name, value string) *Request {
	out := r.Clone()
	if value == "" {
		out.Header.Del(name)
	} else {
		out.Header.Set(name, value)
	}
	return out
}

// Key is equal for requests that are equal in what an application reads: method, URL, header and body.
func (r *Request) Key() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s\n", r.Method, r.URL)
	for _, name := range slices.Sorted(maps.Keys(r.Header)) {
		fmt.Fprintf(&b, "%s: %q\n", name, r.Header[name])
	}
	b.WriteByte('\n')
	b.Write(r.Body)
	return b.String()
}

// Text is the request as it is sent in HTTP/1.1, without what a client adds besides the line Host. Of a message it is
// the handshake, and behind it the message.
func (r *Request) Text() string {
	var b strings.Builder
	method, header := r.Method, r.Header
	if r.IsMessage() {
		method, header = http.MethodGet, r.With("Content-Type", "").Header
		header.Set("Connection", "Upgrade")
		header.Set("Upgrade", "websocket")
	}
	fmt.Fprintf(&b, "%s %s HTTP/1.1\r\nHost: %s\r\n", method, r.URL.RequestURI(), r.URL.Host)
	for _, name := range slices.Sorted(maps.Keys(header)) {
		for _, value := range header[name] {
			fmt.Fprintf(&b, "%s: %s\r\n", name, value)
		}
	}
	b.WriteString("\r\n")
	b.Write(r.Body)
	return b.String()
}

// mediaType is the type that a header gives to its body, without parameters.
func mediaType(h http.Header) string {
	kind, _, _ := strings.Cut(h.Get("Content-Type"), ";")
	return strings.ToLower(strings.TrimSpace(kind))
}

// boundary separates the parts of a multipart body; "" if the header names none.
func boundary(h http.Header) string {
	_, parameters, err := mime.ParseMediaType(h.Get("Content-Type"))
	if err != nil {
		return ""
	}
	return parameters["boundary"]
}

// stored is a request as JSON.
type stored struct {
	Method string      `json:"method"`
	URL    string      `json:"url"`
	Header http.Header `json:"header,omitempty"`
	Body   []byte      `json:"body,omitempty"`

	Token    *Token   `json:"token,omitempty"`
	After    *Request `json:"after,omitempty"`
	Led      bool     `json:"led,omitempty"`
	Segments []int    `json:"segments,omitempty"`

	Passwords int       `json:"passwords,omitempty"`
	Login     [2]string `json:"login,omitzero"`
}

// MarshalJSON implements json.Marshaler; the body is in base64.
func (r *Request) MarshalJSON() ([]byte, error) {
	return json.Marshal(stored{r.Method, r.URL.String(), r.Header, r.Body, r.Token, r.After, r.Led, r.Segments,
		r.Passwords, r.Login})
}

// UnmarshalJSON implements json.Unmarshaler.
func (r *Request) UnmarshalJSON(text []byte) error {
	var s stored
	if err := json.Unmarshal(text, &s); err != nil {
		return err
	}
	made, err := New(s.Method, s.URL)
	if err != nil {
		return err
	}
	made.Body, made.Token, made.After, made.Segments = s.Body, s.Token, s.After, s.Segments
	made.Led, made.Passwords, made.Login = s.Led, s.Passwords, s.Login
	if s.Header != nil {
		made.Header = s.Header
	}
	*r = *made
	return nil
}
