// Package httptool makes HTTP requests from templates with {{param}} for a model's arguments and {{$NAME}} for secrets.
// Each value is escaped: it cannot choose the host, add a header, leave its path segment or become a placeholder.
package httptool

import (
	"encoding/json"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/vedette-sec/vedette/internal/infra/errs"
)

// Template is a request as a person writes it.
type Template struct {
	Method  string            `json:"method"` // GET, HEAD, POST, PUT, PATCH or DELETE
	URL     string            `json:"url"`    // scheme and host have no placeholders
	Headers map[string]string `json:"headers,omitempty"`
	Query   map[string]string `json:"query,omitempty"` // in addition to the URL's
	// Body is a JSON document, where a string of only one placeholder becomes the argument itself, or a string, sent as
	// text of the header Content-Type.
	Body json.RawMessage `json:"body,omitempty"`
	// ResponsePath is a JSON pointer (RFC 6901) into a JSON answer; empty: the whole answer as text.
	ResponsePath string `json:"response_path,omitempty"`
}

var methods = []string{http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch,
	http.MethodDelete}

// ReadsOnly reports whether a method is safe (RFC 9110, 9.2.1).
func ReadsOnly(method string) bool { return method == http.MethodGet || method == http.MethodHead }

// Request is a valid template. It is safe for several goroutines.
type Request struct {
	method  string
	origin  string // scheme://host[:port]
	path    text
	query   []pair // of the URL, then of Query; names and literals are escaped
	headers Headers
	body    node
	media   media
	hasBody bool
	pointer []string
	whole   bool // no ResponsePath
}

type pair struct {
	name  string
	value text
}

// Compile checks a template. An error is Invalid and names the field.
func Compile(t Template) (*Request, error) {
	r := &Request{method: t.Method}
	if !slices.Contains(methods, t.Method) {
		return nil, errs.Field("method", "method must be one of %s.", strings.Join(methods, ", "))
	}
	if err := r.address(t.URL); err != nil {
		return nil, err
	}
	for _, name := range slices.Sorted(maps.Keys(t.Query)) {
		value, err := parse(t.Query[name])
		if err != nil || name == "" || strings.Contains(name, "{{") {
			return nil, errs.Field("query", "query %.100q: %s.", name, reason(err))
		}
		for i := range value {
			value[i].literal = url.QueryEscape(value[i].literal)
		}
		r.query = append(r.query, pair{url.QueryEscape(name), value})
	}
	var err error
	if r.headers, err = CompileHeaders(t.Headers); err != nil {
		return nil, err
	}
	if err := r.content(t.Body); err != nil {
		return nil, err
	}
	r.whole = t.ResponsePath == ""
	if r.pointer, err = pointer(t.ResponsePath); err != nil {
		return nil, err
	}
	return r, nil
}

func reason(err error) string {
	if err != nil {
		return err.Error()
	}
	return "the name must be there and have no placeholder"
}

func (r *Request) address(raw string) error {
	bad := func(why string) error { return errs.Field("url", "url: %s.", why) }
	scheme, rest, ok := strings.Cut(raw, "://")
	if !ok || scheme != "http" && scheme != "https" {
		return bad("it must begin with http:// or https://, in plain text")
	}
	end := strings.IndexAny(rest, `/?#\`)
	if end < 0 {
		end = len(rest)
	}
	host, rest := rest[:end], rest[end:]
	if host == "" || strings.ContainsAny(host, "{}@ ") {
		return bad("its host must be written out: no placeholder, user name or password stands in it")
	}
	if strings.ContainsAny(rest, `#\`) {
		return bad("it must have no fragment and no backslash")
	}
	r.origin = scheme + "://" + host
	path, query, _ := strings.Cut(rest, "?")
	var err error
	if r.path, err = parse(path); err != nil {
		return bad(err.Error())
	}
	for field := range strings.SplitSeq(query, "&") {
		name, value, has := strings.Cut(field, "=")
		if field == "" {
			continue
		}
		parts, err := parse(value)
		if err != nil || strings.Contains(name, "{{") {
			return bad(reason(err))
		}
		if !has {
			name += "\x00" // without "="
		}
		r.query = append(r.query, pair{name, parts})
	}
	u, err := url.Parse(r.Sample())
	if err != nil || !r.sameHost(u) ||
		strings.ContainsFunc(r.Sample(), func(c rune) bool { return c <= ' ' || c >= 0x7f }) {
		return bad("it is no URL in plain ASCII; percent-encode all else")
	}
	if hasDotSegment(u.EscapedPath()) {
		return bad(`its path must have no segment "." or ".."`)
	}
	return nil
}

// sameHost reports whether a URL is of the template's host.
func (r *Request) sameHost(u *url.URL) bool {
	return u.Scheme+"://"+u.Host == r.origin && u.User == nil && u.Fragment == ""
}

func hasDotSegment(path string) bool {
	for segment := range strings.SplitSeq(path, "/") {
		if plain, err := url.PathUnescape(segment); err != nil || plain == "." || plain == ".." {
			return true
		}
	}
	return false
}

// Sample is the URL with "x" for each value, to check where it leads.
func (r *Request) Sample() string {
	fill := func(t text) string {
		var b strings.Builder
		for _, p := range t {
			if b.WriteString(p.literal); p.literal == "" {
				b.WriteString("x")
			}
		}
		return b.String()
	}
	query := make([]string, len(r.query))
	for i, q := range r.query {
		query[i] = strings.TrimSuffix(q.name, "\x00") + "=" + fill(q.value)
	}
	if len(query) == 0 {
		return r.origin + fill(r.path)
	}
	return r.origin + fill(r.path) + "?" + strings.Join(query, "&")
}

// Params are the names of the arguments.
func (r *Request) Params() []string { return r.names(func(p part) string { return p.param }) }

// Secrets are the names of the secrets.
func (r *Request) Secrets() []string { return r.names(func(p part) string { return p.secret }) }

func (r *Request) names(of func(part) string) []string {
	found := map[string]bool{}
	add := func(t text) {
		for _, p := range t {
			if name := of(p); name != "" {
				found[name] = true
			}
		}
	}
	add(r.path)
	for _, q := range slices.Concat(r.query, r.headers) {
		add(q.value)
	}
	r.body.each(add)
	return slices.Sorted(maps.Keys(found))
}
