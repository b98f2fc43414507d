// Package trial runs templates against servers that answer as a case says: a file of written cases, or responses that
// were recorded. The engine scans them as it scans any target, over loopback; whatever host a template names, the
// case's server is what answers, so that nothing else is contacted.
package trial

import (
	"errors"
	"fmt"
	"html"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/txtar"
	"github.com/vedette-sec/vedette/internal/infra/errs"
)

// Bounds of a trial.
const (
	maxFile = 64 << 20 // bytes of a file of cases, or of recorded responses
	within  = 30 * time.Second
)

// Case is what one server says, and whether a template must match there. A section of a case file writes it down:
//
//	tls self-signed              optional: serve HTTPS, with a fault (see Kinds)
//	extracts nginx/1.22.1        optional, repeated: what the finding must have taken out
//	target /search?q=tent        optional: the place that is tested, instead of the root
//	GET /path → 200              a route; * stands for every method or every path, and
//	                             a star at the end of a path for all beneath
//	GET /path?q~' → 500          one for those requests whose parameter q fits ', an expression
//	Content-Type: text/html      its headers; {Origin} becomes the request's header, {?q} its
//	                             parameter q, {&q} that with its markup escaped, {/} its path
//
//	<html>…</html>               its body, up to the next route; \xNN is a byte,
//	                             and \xNN{9} nine of them
//
// The first route that fits answers; where none fits the answer is an empty 404.
type Case struct {
	Name     string // positive/… or negative/…
	Positive bool   // the template must match
	TLS      string // one of Kinds, or "" for plain HTTP
	Target   string // path and query
	Extracts []string

	routes []route
}

type route struct {
	method, path string         // * stands for any
	query        string         // all of it; "" for any
	parameter    string         // that fits; "" when none need fit
	fits         *regexp.Regexp // its value
	status       int
	header       http.Header
	body         string
	stored       []byte // a whole response, written as it is, instead of the three above; nil without one
}

var (
	routeLine = regexp.MustCompile(`^([A-Z]+|\*) (/\S*|\*) → (\d{3})$`)
	byteText  = regexp.MustCompile(`\\x([0-9a-f]{2})(?:\{(\d+)\})?`)
)

// Read reads a case file: a txtar archive whose sections are cases. An error names the file and the section.
func Read(file string, text []byte) ([]Case, error) {
	if len(text) > maxFile {
		return nil, errs.Field("cases", "%s has more than %d bytes.", file, maxFile)
	}
	archive := txtar.Parse(text)
	cases := make([]Case, 0, len(archive.Files))
	for _, f := range archive.Files {
		c, err := parse(f.Name, string(f.Data))
		if err != nil {
			return nil, errs.Field("cases", "%s: section %q: %v.", file, f.Name, err)
		}
		cases = append(cases, c)
	}
	if len(cases) == 0 {
		return nil, errs.Field("cases", "%s has no section such as \"-- positive/NAME --\".", file)
	}
	return cases, nil
}

// Bodies are the bodies that the server answers with.
func (c Case) Bodies() (all []string) {
	for _, r := range c.routes {
		all = append(all, r.body)
	}
	return all
}

func parse(name, text string) (Case, error) {
	s := Case{Name: name, Positive: strings.HasPrefix(name, "positive/")}
	if dir, title, _ := strings.Cut(name, "/"); title == "" || dir != "positive" && dir != "negative" {
		return s, errors.New("must be named positive/… or negative/…")
	}
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	for len(lines) > 0 && !routeLine.MatchString(lines[0]) {
		word, value, _ := strings.Cut(lines[0], " ")
		switch word {
		case "tls":
			if _, ok := kinds[value]; !ok {
				return s, fmt.Errorf("tls is none of %s", strings.Join(Kinds(), ", "))
			}
			s.TLS = value
		case "target":
			s.Target = value
		case "extracts":
			s.Extracts = append(s.Extracts, value)
		case "":
		default:
			return s, fmt.Errorf("neither a route nor a setting: %q", lines[0])
		}
		lines = lines[1:]
	}
	for len(lines) > 0 {
		end := 1 + slices.IndexFunc(lines[1:], routeLine.MatchString)
		if end == 0 {
			end = len(lines)
		}
		r, err := parseRoute(lines[:end])
		if err != nil {
			return s, err
		}
		s.routes = append(s.routes, r)
		lines = lines[end:]
	}
	if len(s.routes) == 0 {
		return s, errors.New("has no route")
	}
	return s, nil
}

func parseRoute(lines []string) (route, error) {
	m := routeLine.FindStringSubmatch(lines[0])
	status, _ := strconv.Atoi(m[3]) // three digits
	if status < 200 {
		return route{}, fmt.Errorf("%d is not the status of an answer", status)
	}
	r := route{method: m[1], status: status, header: http.Header{"Content-Type": nil}}
	var condition, value string
	r.path, condition, _ = strings.Cut(m[2], "?")
	r.parameter, value, _ = strings.Cut(condition, "~")
	var err error
	if r.fits, err = regexp.Compile(value); err != nil {
		return r, err
	}
	for i, line := range lines[1:] {
		if line == "" {
			r.body = byteText.ReplaceAllStringFunc(strings.Join(lines[i+2:], "\n"), writtenBytes)
			break
		}
		name, value, ok := strings.Cut(line, ": ")
		if !ok {
			return r, fmt.Errorf("not a header: %q", line)
		}
		r.header.Add(name, value)
	}
	return r, nil
}

// writtenBytes is what an escape that byteText matches stands for.
func writtenBytes(escape string) string {
	m := byteText.FindStringSubmatch(escape)
	n, _ := strconv.ParseUint(m[1], 16, 8) // two hexadecimal digits
	count, err := strconv.Atoi(m[2])
	if err != nil {
		count = 1
	}
	return strings.Repeat(string([]byte{byte(n)}), min(count, maxFile))
}

// answers says whether the route is for a request.
func (r route) answers(req *http.Request) bool {
	folder, deep := strings.CutSuffix(r.path, "*")
	at := req.URL.Path == r.path || deep && strings.HasPrefix(req.URL.Path, folder)
	return (r.method == "*" || r.method == req.Method) && at && (r.query == "" || r.query == req.URL.RawQuery) &&
		(r.parameter == "" || r.fits.MatchString(req.URL.Query().Get(r.parameter)))
}

var blank = regexp.MustCompile(`\{(Origin|X-Forwarded-Host|/|[?&][a-z]+)\}`)

// fill puts what a request says into an answer.
func fill(text string, req *http.Request) string {
	return blank.ReplaceAllStringFunc(text, func(name string) string {
		switch name = strings.Trim(name, "{}"); name[0] {
		case '/':
			return req.URL.Path
		case '?':
			return req.URL.Query().Get(name[1:])
		case '&':
			return html.EscapeString(req.URL.Query().Get(name[1:]))
		}
		return req.Header.Get(name)
	})
}

// ServeHTTP answers by the first route that fits.
func (c Case) ServeHTTP(w http.ResponseWriter, req *http.Request) { c.answer(w, req) }

// answer reports whether a route was for the request.
func (c Case) answer(w http.ResponseWriter, req *http.Request) bool {
	for _, r := range c.routes {
		if !r.answers(req) {
			continue
		}
		if r.stored != nil {
			writeStored(w, r.stored)
			return true
		}
		for name, values := range r.header {
			w.Header()[name] = nil // with no value of its own, no header is made up
			for _, v := range values {
				w.Header().Add(name, fill(v, req))
			}
		}
		w.WriteHeader(r.status)
		_, _ = io.WriteString(w, fill(r.body, req))
		return true
	}
	w.Header()["Content-Type"] = nil
	w.WriteHeader(http.StatusNotFound)
	return false
}

// writeStored answers with the bytes of a whole response, and ends the connection.
func writeStored(w http.ResponseWriter, response []byte) {
	conn, out, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(within))
	if _, err := out.Write(response); err == nil {
		_ = out.Flush()
	}
}
