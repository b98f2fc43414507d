package webtest_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/vedette-sec/vedette/internal/webtest"
)

// A last segment that looks like a name is tested where the application answers for any word there, and not where other
// words are unknown pages, whether it says so with a status or with a page for all.
func TestWordsInPaths(t *testing.T) {
	for name, c := range map[string]struct {
		h    http.HandlerFunc
		want bool
	}{
		"a value": {func(w http.ResponseWriter, r *http.Request) {
			fmt.Fprintf(w, "<p>Hello %s</p>", strings.TrimPrefix(r.URL.Path, "/hello/"))
		}, true},
		"a page": {func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != "/hello/anna" {
				http.NotFound(w, r)
				return
			}
			fmt.Fprint(w, "<p>Hello anna</p>")
		}, false},
		"a page that says which is unknown": {func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != "/hello/anna" {
				w.WriteHeader(http.StatusNotFound)
				fmt.Fprintf(w, "<p>We do not know %s</p>", strings.TrimPrefix(r.URL.Path, "/hello/"))
				return
			}
			fmt.Fprint(w, "<h1>Hello anna</h1>")
		}, true},
		"a page for all": {func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != "/hello/anna" {
				fmt.Fprint(w, "<h1>There is no such page</h1>")
				return
			}
			fmt.Fprint(w, "<p>Hello anna</p>")
		}, false},
	} {
		var (
			mu    sync.Mutex
			asked []string
		)
		cfg := serve(t, webtest.Config{Only: true, Targets: 1}, func(w http.ResponseWriter, r *http.Request) {
			mu.Lock()
			asked = append(asked, r.URL.Path)
			mu.Unlock()
			w.Header().Set("Content-Type", "text/html")
			c.h(w, r)
		})
		cfg.Starts[0].Path = "/hello/anna"
		if _, err := webtest.Run(t.Context(), cfg); err != nil {
			t.Fatal(err)
		}
		if got := slices.Contains(asked, "/hello/<q1z9>"); got != c.want {
			t.Errorf("%s: tested %v, want %v: %q", name, got, c.want, asked)
		}
	}
}

// Pages of one folder that are built alike have a value as their last segment, although other words are unknown there;
// not pages that are built otherwise, nor one page that stands at two addresses.
func TestSiblingsInPaths(t *testing.T) {
	for name, c := range map[string]struct {
		chair, about string
		want         bool
	}{
		"alike":     {"<h1>Chair</h1><p>12.50</p>", "<h1>Table</h1><p>80.00</p>", true},
		"otherwise": {"<h1>Chair</h1><p>12.50</p>", "<h1>About us</h1><ul><li>Anna</li></ul>", false},
		"one page":  {"<h1>Chair</h1><p>12.50</p>", "<h1>Chair</h1><p>12.50</p>", false},
	} {
		var (
			mu    sync.Mutex
			asked []string
		)
		cfg := serve(t, webtest.Config{Targets: 1}, func(w http.ResponseWriter, r *http.Request) {
			mu.Lock()
			asked = append(asked, r.URL.Path)
			mu.Unlock()
			w.Header().Set("Content-Type", "text/html")
			text := map[string]string{"/item/chair": c.chair, "/item/about": c.about,
				"/": `<nav><a href="/item/chair">a</a> <a href="/item/about">b</a></nav>`}[r.URL.Path]
			if text == "" {
				w.WriteHeader(http.StatusNotFound)
			}
			fmt.Fprint(w, text)
		})
		if _, err := webtest.Run(t.Context(), cfg); err != nil {
			t.Fatal(err)
		}
		if got := slices.Contains(asked, "/item/<q1z9>"); got != c.want {
			t.Errorf("%s: tested %v, want %v: %q", name, got, c.want, asked)
		}
	}
}
