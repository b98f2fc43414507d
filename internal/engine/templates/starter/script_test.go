package starter_test

import (
	"fmt"
	"html"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
)

// A script is what one server says, as a section of a case file writes it down:
//
//	tls self-signed              optional: serve HTTPS, with a fault (see tlsConfig)
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
type script struct {
	name     string // positive/… or negative/…
	tls      string
	target   string // path and query
	extracts []string
	routes   []route
}

type route struct {
	method, path string
	parameter    string         // that fits; "" when none need fit
	fits         *regexp.Regexp // its value
	status       int
	header       http.Header
	body         string
}

var (
	routeLine = regexp.MustCompile(`^(GET|HEAD|OPTIONS|\*) (/\S*|\*) → (\d{3})$`)
	byteText  = regexp.MustCompile(`\\x([0-9a-f]{2})(?:\{(\d+)\})?`)
)

func (s script) positive() bool { return strings.HasPrefix(s.name, "positive/") }

// readScripts reads a case file; its sections are the servers.
func readScripts(t *testing.T, path string) []script {
	t.Helper()
	archive, err := txtar.ParseFile(path)
	if err != nil {
		t.Fatal(err)
	}
	scripts := make([]script, 0, len(archive.Files))
	for _, f := range archive.Files {
		s, err := parseScript(f.Name, string(f.Data))
		if err != nil {
			t.Fatalf("%s: section %q: %v", filepath.Base(path), f.Name, err)
		}
		scripts = append(scripts, s)
	}
	return scripts
}

func parseScript(name, text string) (script, error) {
	s := script{name: name}
	if dir, title, _ := strings.Cut(name, "/"); title == "" || dir != "positive" && dir != "negative" {
		return s, fmt.Errorf("must be named positive/… or negative/…")
	}
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	for len(lines) > 0 && !routeLine.MatchString(lines[0]) {
		word, value, _ := strings.Cut(lines[0], " ")
		switch word {
		case "tls":
			s.tls = value
		case "target":
			s.target = value
		case "extracts":
			s.extracts = append(s.extracts, value)
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
		return s, fmt.Errorf("has no route")
	}
	return s, nil
}

func parseRoute(lines []string) (route, error) {
	m := routeLine.FindStringSubmatch(lines[0])
	status, _ := strconv.Atoi(m[3])
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
	n, _ := strconv.ParseUint(m[1], 16, 8)
	count, err := strconv.Atoi(m[2])
	if err != nil {
		count = 1
	}
	return strings.Repeat(string([]byte{byte(n)}), count)
}

// answers says whether the route is for a request.
func (r route) answers(req *http.Request) bool {
	folder, deep := strings.CutSuffix(r.path, "*")
	at := req.URL.Path == r.path || deep && strings.HasPrefix(req.URL.Path, folder)
	return (r.method == "*" || r.method == req.Method) && at &&
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

func (s script) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	for _, r := range s.routes {
		if !r.answers(req) {
			continue
		}
		for name, values := range r.header {
			w.Header()[name] = nil // with no value of its own, no header is made up
			for _, v := range values {
				w.Header().Add(name, fill(v, req))
			}
		}
		w.WriteHeader(r.status)
		_, _ = io.WriteString(w, fill(r.body, req))
		return
	}
	w.Header()["Content-Type"] = nil
	w.WriteHeader(http.StatusNotFound)
}

// serve starts the handler on loopback, over HTTPS when tls names a kind, and returns
// its URL.
func serve(t *testing.T, h http.Handler, tls string) string {
	t.Helper()
	srv := httptest.NewUnstartedServer(h)
	srv.Config.ErrorLog = log.New(io.Discard, "", 0)
	t.Cleanup(srv.Close)
	if tls == "" {
		srv.Start()
		return srv.URL
	}
	srv.TLS = tlsConfig(t, tls)
	srv.StartTLS()
	return srv.URL
}
