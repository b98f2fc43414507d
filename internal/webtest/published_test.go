package webtest_test

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/vedette-sec/vedette/internal/webtest"
)

const ofLibrary = `{"openapi":"3.0.0","info":{"title":"Library","version":"1"},"paths":{"/books/find":{"get":{"parameters":[
	{"name":"title","in":"query","schema":{"type":"string"}}],"responses":{"200":{"description":"ok"}}}}}}`

// library is an API that no page leads to. It describes itself at a usual address, or at one that its front page names.
func library(at string, front string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/":
			fmt.Fprint(w, front)
		case at:
			fmt.Fprint(w, ofLibrary)
		case "/books/find":
			w.Header().Set("Content-Type", "text/html")
			fmt.Fprint(w, r.URL.Query().Get("title"))
		default:
			http.NotFound(w, r)
		}
	}
}

func TestPublishedAPI(t *testing.T) {
	for name, c := range map[string]struct {
		app  http.HandlerFunc
		want bool
	}{
		"usual address": {library("/v3/api-docs", "hello"), true},
		"linked":        {library("/docs/of/library", `<a href="/docs/of/library">docs</a>`), true},
		"none":          {library("/secret", "hello"), false},
	} {
		report, err := webtest.Run(t.Context(), serve(t, webtest.Config{}, c.app))
		if err != nil {
			t.Fatal(err)
		}
		if got := slices.Contains(places(report), "echo GET /books/find query parameter title"); got != c.want {
			t.Errorf("%s: found %v, %q", name, got, places(report))
		}
	}
}

// A schema that a server of GraphQL tells becomes requests.
func TestPublishedGraphQL(t *testing.T) {
	schema := `{"data":{"__schema":{"queryType":{"name":"Query"},"mutationType":null,"types":[{"kind":"OBJECT","name":"Query","fields":[
		{"name":"greet","args":[{"name":"name","type":{"kind":"SCALAR","name":"String"}}],"type":{"kind":"SCALAR","name":"String"}}]},
		{"kind":"SCALAR","name":"String"}]}}}`
	report, err := webtest.Run(t.Context(), serve(t, webtest.Config{}, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		switch {
		case r.URL.Path == "/":
			fmt.Fprint(w, "hello")
		case r.URL.Path != "/api/graphql" || r.Method != http.MethodPost:
			http.NotFound(w, r)
		case strings.Contains(string(body), "__schema"):
			fmt.Fprint(w, schema)
		default:
			w.Header().Set("Content-Type", "text/html")
			w.Write(body)
		}
	}))
	if err != nil {
		t.Fatal(err)
	}
	if got := places(report); !slices.ContainsFunc(got, func(p string) bool { return strings.HasPrefix(p, "echo POST /api/graphql body") }) {
		t.Errorf("found %q", got)
	}
}
