package docs_test

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"flag"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/vedette-sec/vedette/internal/api/rest/docs"
	"golang.org/x/net/html"
)

var update = flag.Bool("update", false, "write the golden files")

func small(t testing.TB) []byte {
	t.Helper()
	text, err := os.ReadFile("testdata/small.json")
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func get(t testing.TB, address string, specs ...docs.Spec) *httptest.ResponseRecorder {
	t.Helper()
	h, err := docs.Handler("Lighthouse", specs...)
	if err != nil {
		t.Fatal(err)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, address, http.NoBody))
	return w
}

// words is the text of a page as a reader meets it, one line for each piece of text,
// without the style.
func words(t testing.TB, page string) string {
	t.Helper()
	var out []string
	z, skip := html.NewTokenizer(strings.NewReader(page)), false
	for {
		switch z.Next() {
		case html.ErrorToken:
			return strings.Join(out, "\n") + "\n"
		case html.StartTagToken, html.EndTagToken:
			tok := z.Token()
			if tok.Data == "style" {
				skip = tok.Type == html.StartTagToken
			}
		case html.TextToken:
			if text := strings.Join(strings.Fields(html.UnescapeString(string(z.Text()))), " "); text != "" && !skip {
				out = append(out, text)
			}
		}
	}
}

func TestPageSaysWhatTheContractSays(t *testing.T) {
	got := words(t, get(t, "/docs", docs.Spec{Name: "small", URL: "/openapi.json", JSON: small(t)}).Body.String())
	const golden = "testdata/small.txt"
	if *update {
		if err := os.WriteFile(golden, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("the page reads (go test -update, and read the diff):\n%s", got)
	}
}

func TestPolicyAllowsTheStyleAndNothingElse(t *testing.T) {
	w := get(t, "/docs", docs.Spec{Name: "small", JSON: small(t)})
	_, rest, _ := strings.Cut(w.Body.String(), "<style>")
	style, _, _ := strings.Cut(rest, "</style>")
	sum := sha256.Sum256([]byte(style))
	want := "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) +
		"'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
	if got := w.Header().Get("Content-Security-Policy"); got != want || len(style) < 1000 {
		t.Errorf("policy %q, want %q", got, want)
	}
}

func TestSeveralContractsAndASwitch(t *testing.T) {
	other := []byte(strings.ReplaceAll(string(small(t)), "Lighthouse API", "Harbour API"))
	specs := []docs.Spec{{Name: "first", JSON: small(t)}, {Name: "second", JSON: other}}
	for _, c := range []struct {
		address string
		status  int
		title   string
	}{
		{"/docs", 200, "Lighthouse API"},
		{"/docs?api=first", 200, "Lighthouse API"},
		{"/docs?api=second", 200, "Harbour API"},
		{"/docs?api=third", 404, "Lighthouse API"},
	} {
		w := get(t, c.address, specs...)
		text := w.Body.String()
		if w.Code != c.status || !strings.Contains(text, "<h1>"+c.title) ||
			!strings.Contains(text, `href="?api=first"`) || !strings.Contains(text, `href="?api=second"`) {
			t.Errorf("%s: %d, title %q expected", c.address, w.Code, c.title)
		}
	}
}

func TestNoContractIsAnError(t *testing.T) {
	for _, text := range []string{"", "{}", "[]", `{"openapi":"2.0","paths":{}}`, `{"openapi":"3.1.0"}`,
		`{"openapi":"3.1.0","paths":[]}`} {
		if _, err := docs.Handler("x", docs.Spec{Name: "x", JSON: []byte(text)}); err == nil {
			t.Errorf("%q was taken for a contract", text)
		}
	}
}

// tags are all elements that the page's template contains.
var tags = strings.Fields(`html head meta title style body header p nav a div h1 h2 h3 h4 ul li b main dl dt dd
	section article code small em span table thead tr th tbody td`)

// onlyOurs checks that the elements of a page are the template's, without handlers, and
// with links that stay here.
func onlyOurs(t testing.TB, page string) {
	t.Helper()
	for z := html.NewTokenizer(strings.NewReader(page)); ; {
		switch z.Next() {
		case html.ErrorToken:
			return
		case html.CommentToken:
			t.Errorf("a comment: %q", z.Token().Data)
		case html.StartTagToken, html.SelfClosingTagToken:
			tok := z.Token()
			if !slices.Contains(tags, tok.Data) {
				t.Errorf("a foreign element: %s", tok)
			}
			for _, a := range tok.Attr {
				if a.Key == "href" && !strings.HasPrefix(a.Val, "#") && !strings.HasPrefix(a.Val, "?api=") &&
					a.Val != "/openapi.json" && a.Val != "/" { // the console
					t.Errorf("a foreign link: %s", tok)
				}
				if strings.HasPrefix(a.Key, "on") || a.Key == "style" || a.Key == "src" {
					t.Errorf("a foreign attribute: %s", tok)
				}
			}
		}
	}
}

// poison replaces every text of a document, its keys but for those of OpenAPI too.
func poison(v any, text string, name func(string) bool) any {
	switch v := v.(type) {
	case string:
		return text + v
	case []any:
		for i := range v {
			v[i] = poison(v[i], text, name)
		}
	case map[string]any:
		out := map[string]any{}
		for key, value := range v {
			// what these hold is structure, or follows a closed list
			if key != "openapi" && key != "$ref" && key != "type" && key != "required" {
				value = poison(value, text, name)
			}
			if !name(key) {
				key = text + key
			}
			out[key] = value
		}
		return out
	}
	return v
}

func TestHostileTextStaysText(t *testing.T) {
	ours := strings.Fields(`openapi info title version description servers url tags name paths get post delete operationId summary
		security parameters in required schema responses content requestBody properties items additionalProperties anyOf
		components schemas securitySchemes $ref type format enum default deprecated minLength maxLength maxItems minimum
		application/json text/event-stream Lamp Failure scheme bearerFormat`)
	for _, text := range []string{
		`<script>alert(1)</script>`, `"><img src=x onerror=alert(1)>`, `' onmouseover='alert(1)`, `</style><script>`,
		`</title><script>`,
		`javascript:alert(1)//`, "`<b>`", "<!-- ", "\x00<svg/onload=alert(1)>", "{{.}}",
	} {
		var doc any
		if err := json.Unmarshal(small(t), &doc); err != nil {
			t.Fatal(err)
		}
		hostile, err := json.Marshal(poison(doc, text, func(key string) bool { return slices.Contains(ours, key) }))
		if err != nil {
			t.Fatal(err)
		}
		page := get(t, "/docs", docs.Spec{Name: text, URL: "/openapi.json", JSON: hostile}).Body.String()
		onlyOurs(t, page)
		if shown := strings.Trim(text, "`\x00 "); !strings.Contains(words(t, page), strings.SplitN(shown, "`", 2)[0]) {
			t.Errorf("%q is not shown at all", text)
		}
	}
}

// A contract is ours, but its reader must not fall over one that somebody else wrote.
func FuzzPage(f *testing.F) {
	f.Add(small(f))
	f.Add([]byte(`{"openapi":"3.1.0","paths":{"/":{"get":{"responses":{"200":{"content":{"a":{"schema":{"$ref":"#/components/schemas/A"}}}}}}}},
		"components":{"schemas":{"A":{"properties":{"a":{"$ref":"#/components/schemas/A"},"b":{"items":{"$ref":"#/components/schemas/A"}},"c":null},
		"allOf":[{"$ref":"#/components/schemas/A"},null],"oneOf":[{"items":{"items":{}}}]}}}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		h, err := docs.Handler("fuzz", docs.Spec{Name: "fuzz", URL: "/openapi.json", JSON: text})
		if err != nil {
			return
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/docs", http.NoBody))
		if w.Code != http.StatusOK {
			t.Errorf("status %d", w.Code)
		}
		onlyOurs(t, w.Body.String())
	})
}
