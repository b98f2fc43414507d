package httptool

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/vedette-sec/vedette/internal/infra/errs"
)

func compiled(t testing.TB, tpl Template) *Request {
	t.Helper()
	r, err := Compile(tpl)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func args(t testing.TB, doc string) map[string]any {
	t.Helper()
	dec := json.NewDecoder(strings.NewReader(doc))
	dec.UseNumber()
	var out map[string]any
	if err := dec.Decode(&out); err != nil {
		t.Fatal(err)
	}
	return out
}

func TestTemplatesThatAreRefused(t *testing.T) {
	for name, c := range map[string]struct {
		tpl   Template
		param string
	}{
		"no method":             {Template{URL: "https://a.example/"}, "method"},
		"an odd method":         {Template{Method: "CONNECT", URL: "https://a.example/"}, "method"},
		"no URL":                {Template{Method: "GET"}, "url"},
		"another scheme":        {Template{Method: "GET", URL: "file:///etc/passwd"}, "url"},
		"an argument as scheme": {Template{Method: "GET", URL: "{{s}}://a.example/"}, "url"},
		"an argument as host":   {Template{Method: "GET", URL: "https://{{host}}/"}, "url"},
		"a part of the host":    {Template{Method: "GET", URL: "https://{{x}}.a.example/"}, "url"},
		"a secret as host":      {Template{Method: "GET", URL: "https://{{$HOST}}/"}, "url"},
		"an argument as port":   {Template{Method: "GET", URL: "https://a.example:{{port}}/"}, "url"},
		"behind the host":       {Template{Method: "GET", URL: "https://a.example{{x}}/"}, "url"},
		"a user":                {Template{Method: "GET", URL: "https://u:p@a.example/"}, "url"},
		"a backslash":           {Template{Method: "GET", URL: `https://a.example\{{x}}`}, "url"},
		"a fragment":            {Template{Method: "GET", URL: "https://a.example/#{{x}}"}, "url"},
		"dots":                  {Template{Method: "GET", URL: "https://a.example/a/../{{x}}"}, "url"},
		"a blank":               {Template{Method: "GET", URL: "https://a.example/?a=b c"}, "url"},
		"an open placeholder":   {Template{Method: "GET", URL: "https://a.example/{{x"}, "url"},
		"an odd placeholder":    {Template{Method: "GET", URL: "https://a.example/{{x.y}}"}, "url"},
		"a name in the query":   {Template{Method: "GET", URL: "https://a.example/?{{x}}=1"}, "url"},
		"a name in query": {Template{Method: "GET", URL: "https://a.example/", Query: map[string]string{"{{x}}": "1"}},
			"query"},
		"a line in a header": {Template{Method: "GET", URL: "https://a.example/",
			Headers: map[string]string{"X": "a\r\nY: b"}}, "headers"},
		"a line in its name": {Template{Method: "GET", URL: "https://a.example/",
			Headers: map[string]string{"X\r\nY": "a"}}, "headers"},
		"Host": {Template{Method: "GET", URL: "https://a.example/",
			Headers: map[string]string{"host": "b.example"}}, "headers"},
		"Content-Length": {Template{Method: "GET", URL: "https://a.example/",
			Headers: map[string]string{"content-length": "5"}}, "headers"},
		"twice": {Template{Method: "GET", URL: "https://a.example/",
			Headers: map[string]string{"x-a": "5", "X-A": "6"}}, "headers"},
		"a credential": {Template{Method: "GET", URL: "https://a.example/",
			Headers: map[string]string{"X-Api-Key": "abc"}}, "headers"},
		"a body of GET": {Template{Method: "GET", URL: "https://a.example/", Body: json.RawMessage(`{}`)}, "body"},
		"a key of the body": {Template{Method: "POST", URL: "https://a.example/", Body: json.RawMessage(`{"{{x}}": 1}`)},
			"body"},
		"a deep body": {Template{Method: "POST", URL: "https://a.example/",
			Body: json.RawMessage(strings.Repeat("[", 50) + strings.Repeat("]", 50))}, "body"},
		"an unknown text": {Template{Method: "POST", URL: "https://a.example/",
			Headers: map[string]string{"Content-Type": "application/octet-stream"}, Body: json.RawMessage(`"{{x}}"`)},
			"headers"},
		"a type by argument": {Template{Method: "POST", URL: "https://a.example/",
			Headers: map[string]string{"Content-Type": "{{x}}"}, Body: json.RawMessage(`"{{x}}"`)}, "headers"},
		"an odd pointer": {Template{Method: "GET", URL: "https://a.example/", ResponsePath: "a.b"}, "response_path"},
	} {
		_, err := Compile(c.tpl)
		if e := (*errs.Error)(nil); !errors.As(err, &e) || e.Param != c.param || e.Kind != errs.Invalid {
			t.Errorf("%s: %v, want a fault of %s", name, err, c.param)
		}
	}
}

func TestValuesKeepToTheirPlaces(t *testing.T) {
	full := Template{
		Method: "POST", URL: "https://a.example:8443/v1/{{id}}/x?fixed=1&flag&q={{q}}",
		Query:   map[string]string{"more": "a {{q}}&b", "gone": "{{none}}"},
		Headers: map[string]string{"X-Note": "n {{q}}", "X-Gone": "{{none}}", "X-Key": "{{$KEY}}"},
		Body:    json.RawMessage(`{"id": "{{n}}", "text": "say {{q}}", "list": ["{{n}}", "{{none}}", 5, null], "all": "{{doc}}", "gone": "{{none}}"}`),
	}
	r := compiled(t, full)
	if !slices.Equal(r.Params(), []string{"doc", "id", "n", "none", "q"}) || !slices.Equal(r.Secrets(), []string{"KEY"}) {
		t.Errorf("%v %v", r.Params(), r.Secrets())
	}
	v := values{args: args(t, `{"id": "a?b#c%2f{{q}}", "q": "x&y={{$KEY}}", "n": 12345678901234567890, "doc": {"k": ["{{q}}"]}}`), secrets: map[string]string{"KEY": "s3cret"}}
	f, err := r.fill(v)
	if err != nil {
		t.Fatal(err)
	}
	if want := "https://a.example:8443/v1/a%3Fb%23c%252f%7B%7Bq%7D%7D/x?fixed=1&flag&q=x%26y%3D%7B%7B%24KEY%7D%7D&more=a+x%26y%3D%7B%7B%24KEY%7D%7D%26b"; f.url.String() != want {
		t.Errorf("url\n%s, want\n%s", f.url, want)
	}
	if f.headers["X-Note"] != "n x&y={{$KEY}}" || f.headers["X-Key"] != "s3cret" || len(f.headers) != 2 {
		t.Errorf("headers %q", f.headers)
	}
	if want := `{"all":{"k":["{{q}}"]},"id":12345678901234567890,"list":[12345678901234567890,5,null],"text":"say x\u0026y={{$KEY}}"}`; string(f.body) != want {
		t.Errorf("body\n%s, want\n%s", f.body, want)
	}
	for name, doc := range map[string]string{
		"another segment":     `{"id": "a/b"}`,
		"a backslash":         `{"id": "a\\b"}`,
		"the parent":          `{"id": ".."}`,
		"here":                `{"id": "."}`,
		"nothing":             `{"id": ""}`,
		"an object":           `{"id": {}}`,
		"a header's end":      `{"id": "a", "q": "a\r\nX-Evil: 1"}`,
		"a header's NUL":      `{"id": "a", "q": "a\u0000"}`,
		"an absent id":        `{"q": "a"}`,
		"an absent part of q": `{"id": "a"}`,
	} {
		if f, err := r.fill(values{args: args(t, doc), secrets: v.secrets}); err == nil {
			t.Errorf("%s: %v", name, f)
		}
	}
	if _, err := r.fill(values{args: v.args}); err == nil || strings.Contains(err.Error(), "s3cret") {
		t.Errorf("without its secret: %v", err)
	}
}

func TestTextBodiesAreEscapedByTheirType(t *testing.T) {
	for kind, want := range map[string]string{
		"application/x-www-form-urlencoded": `v=%22%3C%26%3D+%0A`,
		"application/json":                  `v="\u003c\u0026= \n`,
		"application/soap+xml":              `v=&#34;&lt;&amp;= &#xA;`,
		"text/plain":                        "v=\"<&= \n",
		"":                                  "v=\"<&= \n",
	} {
		headers := map[string]string{}
		if kind != "" {
			headers["Content-Type"] = kind
		}
		f, err := compiled(t, Template{Method: "POST", URL: "https://a.example/", Headers: headers,
			Body: json.RawMessage(`"v={{x}}"`)}).fill(values{args: map[string]any{"x": "\"<&= \n"}})
		if kind == "application/json" {
			want = `v=\"\u003c\u0026= \n`
		}
		if err != nil || string(f.body) != want {
			t.Errorf("%s: %s, %v, want %s", kind, f.body, err, want)
		}
	}
}

func TestSend(t *testing.T) {
	var got *http.Request
	var body []byte
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = r
		body, _ = io.ReadAll(r.Body)
		switch r.URL.Path {
		case "/json":
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, `{"items": [{"name": "ann", "n": 12345678901234567890}], "a/b": {"~": true}}`)
		case "/moved":
			http.Redirect(w, r, "http://169.254.169.254/latest", http.StatusFound)
		case "/large":
			_, _ = io.WriteString(w, strings.Repeat("ä", 1<<20))
		case "/binary":
			_, _ = w.Write([]byte{0xff, 0xd8, 0xff})
		case "/bad":
			w.WriteHeader(http.StatusTeapot)
			_, _ = io.WriteString(w, "short and stout")
		}
	}))
	defer site.Close()
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	send := func(path, pointer string) Answer {
		t.Helper()
		a, err := compiled(t, Template{Method: "POST", URL: site.URL + path, ResponsePath: pointer,
			Body: json.RawMessage(`{"a": "{{x}}"}`)}).Send(t.Context(), client, json.RawMessage(`{"x": true}`), nil)
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	if a := send("/json", ""); a.Failed || a.Status != 200 ||
		!strings.HasPrefix(a.Text, "HTTP 200 OK\nContent-Type: application/json\n\n{\"items\"") {
		t.Errorf("%+v", a)
	}
	if got.Header.Get("Content-Type") != "application/json" || string(body) != `{"a":true}` {
		t.Errorf("sent %v %s", got.Header, body)
	}
	for pointer, want := range map[string]string{
		"/items/0/name": "ann", "/items/0/n": "12345678901234567890", "/a~1b/~0": "true", "/none": "null",
		"/items": `[{"n":12345678901234567890,"name":"ann"}]`,
	} {
		if a := send("/json", pointer); a.Failed || a.Text != "HTTP 200 OK\n\n"+want {
			t.Errorf("%s: %+v", pointer, a)
		}
	}
	for path, pointer := range map[string]string{"/json": "/items/x", "/bad": "/a", "/binary": "/a", "/large": "/a",
		"/moved": ""} {
		if a := send(path, pointer); !a.Failed {
			t.Errorf("%s: %.200s", path, a.Text)
		}
	}
	if a := send("/moved", ""); !strings.Contains(a.Text, "HTTP 302 Found\nLocation: http://169.254.169.254/latest") {
		t.Errorf("%+v", a)
	}
	if a := send("/large", ""); len(a.Text) > maxAnswer+100 || !strings.HasSuffix(a.Text, "ä\n… (cut)") {
		t.Errorf("%d bytes", len(a.Text))
	}
	if a := send("/binary", ""); !strings.Contains(a.Text, "[3 bytes that are no text]") {
		t.Errorf("%q", a.Text)
	}
	site.Close()
	_, err := compiled(t, Template{Method: "GET", URL: site.URL + "/?k={{$K}}"}).Send(t.Context(), client,
		json.RawMessage(`{}`), map[string]string{"K": "s3cret"})
	if err == nil || strings.Contains(err.Error(), "s3cret") {
		t.Errorf("nobody there: %v", err)
	}
}

// FuzzFill: whatever the arguments are, the request goes where its author said, and has the
// shape that its author gave it.
func FuzzFill(f *testing.F) {
	f.Add("a", "b", "c")
	f.Add("..", "\r\nX: y", `"}, {"`)
	f.Add("%2e%2e%2f", "x&y=1#z", "{{$KEY}}{{x}}")
	f.Add("@evil.example", "?", "\x00")
	r := compiled(f, Template{
		Method: "PUT", URL: "https://a.example/v1/{{x}}/y-{{x}}/end?q={{y}}&z=1", Query: map[string]string{"w": "{{z}}!"},
		Headers: map[string]string{"X-A": "{{y}}", "X-Key": "{{$KEY}}"},
		Body:    json.RawMessage(`{"a": "{{z}}", "b": {"c": "<{{x}}|{{$KEY}}>"}}`),
	})
	f.Fuzz(func(t *testing.T, x, y, z string) {
		filled, err := r.fill(values{args: map[string]any{"x": x, "y": y, "z": z},
			secrets: map[string]string{"KEY": "s3cret"}})
		if err != nil {
			if strings.Contains(err.Error(), "s3cret") {
				t.Errorf("the error has the secret: %v", err)
			}
			return
		}
		again, err := url.Parse(filled.url.String())
		if err != nil || again.Host != "a.example" || again.Scheme != "https" || again.User != nil || again.Fragment != "" {
			t.Fatalf("%s, %v", filled.url, err)
		}
		segments := strings.Split(again.EscapedPath(), "/")
		if len(segments) != 5 || segments[1] != "v1" || segments[4] != "end" || slices.Contains(segments, "..") ||
			again.JoinPath().EscapedPath() != again.EscapedPath() {
			t.Errorf("the path is %s", again.EscapedPath())
		}
		if q := again.Query(); len(q) != 3 || len(q["q"]) != 1 || q.Get("q") != y || q.Get("z") != "1" ||
			q.Get("w") != z+"!" {
			t.Errorf("the query is %q of %q and %q", again.RawQuery, y, z)
		}
		if len(filled.headers) != 2 || strings.ContainsAny(filled.headers["X-A"], "\r\n\x00") ||
			filled.headers["X-Key"] != "s3cret" {
			t.Errorf("the headers are %q", filled.headers)
		}
		var doc struct {
			A string
			B struct{ C string }
		}
		if err := json.Unmarshal(filled.body, &doc); err != nil || doc.A != z || doc.B.C != "<"+x+"|s3cret>" {
			t.Errorf("the body is %s, %v", filled.body, err)
		}
	})
}
