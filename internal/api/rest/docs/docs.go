// Package docs renders OpenAPI 3.1 documents as pages without scripts or external assets, legible on a phone and
// on paper. It escapes every text of a document.
package docs

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"net/http"
	"strings"
)

// Spec is one API to be shown.
type Spec struct {
	Name string // in the page's address: ?api=Name
	URL  string // where the document itself is served
	JSON []byte // the OpenAPI 3.1 document
}

//go:embed page.html
var pageSource string

//go:embed style.css
var style string

var page = template.Must(template.New("page").Funcs(template.FuncMap{"prose": prose,
	"lower": strings.ToLower}).Parse(pageSource))

// Handler serves a page for each spec: the first by default, the others under ?api=Name, with links between
// them. An unknown name is answered 404 with the first page. The pages are rendered once; an invalid document is
// an error.
func Handler(title string, specs ...Spec) (http.Handler, error) {
	pages := map[string][]byte{}
	for _, spec := range specs {
		doc, err := read(spec.JSON)
		if err != nil {
			return nil, fmt.Errorf("reading the contract %q: %w", spec.Name, err)
		}
		var out bytes.Buffer
		css := template.CSS(style) //nolint:gosec // our own file
		v := view{Title: title, Style: css, Current: spec, Specs: specs, API: newAPI(doc)}
		if err := page.Execute(&out, v); err != nil {
			return nil, fmt.Errorf("rendering the contract %q: %w", spec.Name, err)
		}
		pages[spec.Name] = out.Bytes()
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name, status := specs[0].Name, http.StatusOK
		if asked := r.URL.Query().Get("api"); pages[asked] != nil {
			name = asked
		} else if asked != "" {
			status = http.StatusNotFound
		}
		h := w.Header()
		h.Set("Content-Type", "text/html; charset=utf-8")
		h.Set("Content-Security-Policy", policy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		w.WriteHeader(status)
		_, _ = w.Write(pages[name]) // the client may have disconnected
	}), nil
}

// policy allows the page's own style, known by its hash, and nothing else.
var policy = func() string {
	sum := sha256.Sum256([]byte(style))
	return "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) +
		"'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
}()

// view is what the template sees.
type view struct {
	Title   string
	Style   template.CSS
	Current Spec
	Specs   []Spec
	API     api
}

// fragment is a piece of prose; backticks in a description make code.
type fragment struct {
	Text string
	Code bool
}

// prose splits a description at its pairs of backticks.
func prose(text string) (out []fragment) {
	parts := strings.Split(text, "`")
	for i, part := range parts {
		odd := i%2 == 1
		if odd && i == len(parts)-1 { // a lone backtick
			part, odd = "`"+part, false
		}
		if part != "" {
			out = append(out, fragment{part, odd})
		}
	}
	return out
}
