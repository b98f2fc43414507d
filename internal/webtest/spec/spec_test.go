package spec

import (
	"flag"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/vedette-sec/vedette/internal/infra/recorded"
	"github.com/vedette-sec/vedette/internal/webtest/message"
)

var update = flag.Bool("update", false, "write what is read into the files of testdata")

// written is a request as text, for comparison.
func written(q *message.Request) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s", q.Method, q.URL)
	names := make([]string, 0, len(q.Header))
	for name := range q.Header {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		fmt.Fprintf(&b, " | %s: %s", name, strings.Join(q.Header[name], ", "))
	}
	if len(q.Body) > 0 {
		fmt.Fprintf(&b, " || %s", strings.NewReplacer("\r", "", "\n", "~").Replace(string(q.Body)))
	}
	return b.String()
}

// TestRead reads each file of testdata: its head has options, "document" is read, "answers" teach, "want" is what comes.
func TestRead(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) < 10 {
		t.Fatal(files, err)
	}
	kinds := map[Kind]bool{}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			o, parts := optionsOf(t, archive)
			got := describe(t, o, parts, kinds)
			if *update {
				archive.Files = slices.DeleteFunc(archive.Files, func(f txtar.File) bool { return f.Name == "want" })
				archive.Files = append(archive.Files, txtar.File{Name: "want", Data: []byte(got)})
				if err := os.WriteFile(file, txtar.Format(archive), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if got != parts["want"] && !*update {
				t.Errorf("it reads\n%s\nwant\n%s", got, parts["want"])
			}
		})
	}
	for _, k := range Kinds() {
		if !kinds[k] {
			t.Errorf("no file of testdata is of the kind %s", k)
		}
	}
}

func optionsOf(t *testing.T, archive *txtar.Archive) (o Options, parts map[string]string) {
	parts = map[string]string{}
	for _, f := range archive.Files {
		parts[f.Name] = string(f.Data)
	}
	for line := range strings.Lines(string(archive.Comment)) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
		switch name {
		case "base":
			u, err := url.Parse(value)
			if err != nil {
				t.Fatal(err)
			}
			o.Base = u
		case "hosts":
			o.Hosts = strings.Fields(value)
		case "max":
			if _, err := fmt.Sscan(value, &o.Max); err != nil {
				t.Fatal(err)
			}
		}
	}
	return o, parts
}

func describe(t *testing.T, o Options, parts map[string]string, kinds map[Kind]bool) string {
	text := []byte(parts["document"])
	kind := Recognise(text)
	kinds[kind] = true
	doc, err := Read("", "f", text, o)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s\n", kind, doc.Title)
	for _, s := range doc.Schemes {
		fmt.Fprintf(&b, "scheme %+v\n", s)
	}
	values := &recorded.Values{}
	for _, op := range doc.Operations {
		q, err := op.Request(values)
		if err != nil {
			fmt.Fprintf(&b, "%s: error: %v\n", op.Name, err)
			continue
		}
		secured := ""
		if len(op.Secured) > 0 {
			secured = " [" + strings.Join(op.Secured, " ") + "]"
		}
		fmt.Fprintf(&b, "%s%s: %s\n", op.Name, secured, written(q))
		for line := range strings.Lines(parts["answers"]) {
			if name, answer, _ := strings.Cut(line, " => "); name == op.Name {
				values.Learn(op.Learns, []byte(answer))
			}
		}
	}
	for _, why := range doc.LeftOut {
		fmt.Fprintf(&b, "left out: %s\n", why)
	}
	return b.String()
}

// An error names the document and the place in it.
func TestFaults(t *testing.T) {
	base := &url.URL{Scheme: "http", Host: "a.test", Path: "/"}
	for want, c := range map[string]struct {
		kind Kind
		text string
	}{
		"f: it is none of the documents":  {"", "<html><body>no"},
		"\"x\" is none of":                {"x", "x"},
		"f: paths: there are none":        {OpenAPI, `{"openapi":"3.0.0","info":{"title":"a","version":"1"}}`},
		"f:2: invalid character":          {OpenAPI, "{\n\"openapi\": ,"},
		"f: it nests deeper than 100":     {OpenAPI, strings.Repeat(`{"a":`, 150)},
		"f:1:14: Expected Name":           {GraphQL, "type Query { !"},
		"f: data.__schema: there is none": {GraphQL, "{}"},
		"f: its query type has no fields": {GraphQL, "type A { a: Int }"},
		"f: XML syntax error on line 2":   {WSDL, "<definitions>\n<a></b>"},
		"f: it has no service":            {WSDL, "<definitions xmlns='http://schemas.xmlsoap.org/wsdl/'/>"},
		"f: it nests deeper":              {WSDL, strings.Repeat("<a>", 150)},
		"f: loc 1: XML syntax error on line 1: element <loc> closed by </urlset>": {Sitemap, "<urlset><loc>x</urlset>"},
		"f: loc 1: XML syntax error on line 1":                                    {Sitemap, "<urlset><loc>x</url></urlset>"},
		"f:1: XML syntax error":                                                   {Burp, "<items><item>"},
		"f: there is no request in it":                                            {URLs, "# none\n"},
		"f: json: cannot unmarshal":                                               {ZAP, `{"site":1}`},
		"f:1: unexpected end":                                                     {HAR, "{"},
		"f: it is not a collection of Postman":                                    {Postman, "{}"},
		"f: it does not say \"openapi: 3.x\"":                                     {OpenAPI, "{}"},
		"f: it has more than 33554432 bytes":                                      {Raw, strings.Repeat("a", MaxText+1)},
		"f: it is empty":                                                          {Raw, " "},
		"f: line 2: ":                                                             {ZAP, "- node: x\n  a: [}"},
	} {
		_, err := Read(c.kind, "f", []byte(c.text), Options{Base: base})
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s %.80q: %v, want %s", c.kind, c.text, err, want)
		}
	}
}

// What is no document is not taken for one.
func TestRecogniseNothing(t *testing.T) {
	for _, text := range []string{"", "{}", "[]", "<", "<html></html>", "<!DOCTYPE html><items>", "hello", "type", "{\"info\":1}",
		"<definitions/>", "<rss></rss>", "GET", "swagger", "{\"openapi\":\"3\"}", "body { type Query }", "\xff\xfe", "<items></items>",
		"const openapi = 3", "{\"data\":{\"user\":1}}", "{\"url\":\"x\"}"} {
		if kind := Recognise([]byte(text)); kind != "" {
			t.Errorf("%q is recognised as %s", text, kind)
		}
	}
}

// FuzzRead: whatever a document holds, reading it ends within bounds, and what is read can be sent and is in scope.
func FuzzRead(f *testing.F) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range files {
		archive, err := txtar.ParseFile(file)
		if err != nil {
			f.Fatal(err)
		}
		for _, part := range archive.Files {
			if part.Name == "document" {
				f.Add(string(Recognise(part.Data)), part.Data)
			}
		}
	}
	base := &url.URL{Scheme: "http", Host: "a.test:8080", Path: "/x"}
	f.Fuzz(func(t *testing.T, kind string, text []byte) {
		doc, err := Read(Kind(kind), "f", text, Options{Base: base, Hosts: []string{"a.test:8080"}, Max: 50})
		if err != nil {
			return
		}
		if len(doc.Operations) > 50 || len(doc.LeftOut) > maxLeftOut+1 {
			t.Fatalf("%d operations, %d left out", len(doc.Operations), len(doc.LeftOut))
		}
		values := &recorded.Values{}
		values.Set("id", "7")
		for _, o := range doc.Operations {
			q, err := o.Request(values)
			if err != nil {
				continue
			}
			if q.Method == "" || q.URL.Host != base.Host || q.URL.Scheme == "" {
				t.Errorf("%s %s", q.Method, q.URL)
			}
			for name, lines := range q.Header {
				if strings.ContainsAny(name+strings.Join(lines, ""), "\r\n") {
					t.Errorf("%q: %q", name, lines)
				}
			}
		}
	})
}
