// Package generate writes templates: the request that showed a finding, and what its response must contain, as text
// in the public template language.
package generate

import (
	"cmp"
	"errors"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/vedette-sec/vedette/internal/engine/syntax"
)

// Template is a template to be written, in the template language: other texts go through Literal first.
type Template struct {
	ID       string
	Info     syntax.Info
	Requests []Request // at least one, sent in this order
	Draft    bool      // nobody has tried it on a target
	syntax.Operators
}

// Request is a request to the target of a scan.
type Request struct {
	Method  string
	Target  string        // path and query, escaped as on the wire
	Headers []syntax.Pair // without ordinary ones; a Host only if not the target's
	Body    string
}

// errNoRequest is what Read says of a text that is no HTTP/1.1 request.
var errNoRequest = errors.New("it is no request of HTTP/1.1")

// common are headers that the engine sends itself.
var common = []string{"Host", "User-Agent", "Accept-Encoding", "Content-Length", "Connection"}

// Read parses a request as sent to host and makes its texts literal.
func Read(wire, host string) (Request, error) {
	head, body, _ := strings.Cut(wire, "\r\n\r\n")
	lines := strings.Split(head, "\r\n")
	words := strings.Split(lines[0], " ")
	if len(words) != 3 || !strings.HasPrefix(words[1], "/") || !strings.HasPrefix(words[2], "HTTP/1.") {
		return Request{}, errNoRequest
	}
	r := Request{Method: words[0], Target: Literal(words[1], nil), Body: Literal(body, nil)}
	for _, line := range lines[1:] {
		name, value, ok := strings.Cut(line, ":")
		if !ok {
			return Request{}, errNoRequest
		}
		value = strings.TrimSpace(value)
		foreign := strings.EqualFold(name, "Host") && !strings.EqualFold(value, host)
		if foreign || !slices.ContainsFunc(common, func(c string) bool { return strings.EqualFold(c, name) }) {
			r.Headers = append(r.Headers, syntax.Pair{Name: Literal(name, nil), Value: Literal(value, nil)})
		}
	}
	return r, nil
}

// reference is a placeholder of a secret.
var reference = regexp.MustCompile(`^\{\{\$([A-Z][A-Z0-9_]*)\}\}`)

// Literal writes a text so that the template language takes it verbatim, except references {{$NAME}} that keep
// accepts; nil keeps none.
func Literal(text string, keep func(name string) bool) string {
	var b strings.Builder
	for i := 0; i < len(text); {
		rest := text[i:]
		if m := reference.FindStringSubmatch(rest); m != nil && keep != nil && keep(m[1]) {
			b.WriteString(m[0])
			i += len(m[0])
			continue
		}
		switch {
		case strings.HasPrefix(rest, "{{"):
			b.WriteString(`{{concat("{","{")}}`)
			i += len("{{")
		case strings.HasPrefix(rest, "§"):
			b.WriteString(`{{hex_decode("c2a7")}}`)
			i += len("§")
		default:
			b.WriteByte(text[i])
			i++
		}
	}
	return b.String()
}

// Filled replaces texts in all that is sent and compared.
func (t Template) Filled(r *strings.Replacer) Template {
	t = t.Clone()
	for i := range t.Requests {
		q := &t.Requests[i]
		q.Target, q.Body = r.Replace(q.Target), r.Replace(q.Body)
		for k := range q.Headers {
			q.Headers[k].Value = r.Replace(q.Headers[k].Value)
		}
	}
	for i := range t.Matchers {
		for k, word := range t.Matchers[i].Words {
			t.Matchers[i].Words[k] = r.Replace(word)
		}
	}
	return t
}

// Clone is a copy whose requests and words can be changed.
func (t Template) Clone() Template {
	t.Requests = slices.Clone(t.Requests)
	for i := range t.Requests {
		t.Requests[i].Headers = slices.Clone(t.Requests[i].Headers)
	}
	t.Matchers = slices.Clone(t.Matchers)
	for i := range t.Matchers {
		t.Matchers[i].Words = slices.Clone(t.Matchers[i].Words)
	}
	return t
}

// plain reports whether a path is enough to write the request.
func (r Request) plain() bool {
	return r.Method == http.MethodGet && len(r.Headers) == 0 && r.Body == "" && clean.MatchString(r.Target)
}

// clean are paths that every reader sends as written.
var clean = regexp.MustCompile(`^(?:/[A-Za-z0-9_~-][A-Za-z0-9._~-]*|/\.[A-Za-z0-9_~-]+)*/?$`)

// message is the raw form of the request.
func (r Request) message() string {
	lines := []string{r.Method + " " + r.Target + " HTTP/1.1"}
	if !slices.ContainsFunc(r.Headers, func(h syntax.Pair) bool { return strings.EqualFold(h.Name, "Host") }) {
		lines = append(lines, "Host: {{Hostname}}")
	}
	for _, h := range r.Headers {
		lines = append(lines, h.Name+": "+h.Value)
	}
	text := strings.Join(lines, "\n") + "\n"
	if r.Body != "" {
		text += "\n" + r.Body
	}
	return text
}

// Text is the template as YAML; equal templates have equal texts.
func (t Template) Text() string {
	w := &writer{}
	w.line(0, "id", t.ID)
	w.open(0, "info")
	w.text(1, "name", t.Info.Name)
	if len(t.Info.Author) > 0 {
		w.text(1, "author", strings.Join(t.Info.Author, ", "))
	} else {
		w.line(1, "author", "vedette")
	}
	w.line(1, "severity", cmp.Or(string(t.Info.Severity), string(syntax.SeverityUnknown)))
	w.text(1, "description", t.Info.Description)
	w.text(1, "remediation", t.Info.Remediation)
	w.texts(1, "reference", t.Info.Reference)
	if c := t.Info.Classification; c != nil && len(c.CWEID) > 0 {
		w.open(1, "classification")
		w.text(2, "cwe-id", strings.Join(c.CWEID, ","))
	}
	w.open(1, "metadata")
	if !t.Draft {
		w.line(2, "verified", "true")
	}
	w.line(2, "max-request", strconv.Itoa(len(t.Requests)))
	if len(t.Info.Tags) > 0 {
		w.line(1, "tags", strings.Join(t.Info.Tags, ","))
	}
	w.open(0, "http")
	if len(t.Requests) == 1 && t.Requests[0].plain() {
		w.line(1, "- method", "GET")
		w.texts(2, "path", []string{"{{BaseURL}}" + t.Requests[0].Target})
	} else {
		w.open(1, "- raw")
		for _, r := range t.Requests {
			w.block(3, r.message())
		}
	}
	w.text(2, "matchers-condition", t.MatchersCondition)
	w.open(2, "matchers")
	for _, m := range t.Matchers {
		w.matcher(m)
	}
	return w.String()
}
