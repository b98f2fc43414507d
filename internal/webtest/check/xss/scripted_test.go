package xss

import (
	"encoding/json"
	"fmt"
	"html"
	"net/http"
	"sync"
	"testing"

	"github.com/vedette-sec/vedette/internal/webtest/check/kittest"
	"github.com/vedette-sec/vedette/internal/webtest/message"
)

// What an interface keeps, and a script of a page writes as markup, is found; not what it writes as text, what the
// interface escapes, nor what a policy of the page keeps from running.
func TestStoredThroughScripts(t *testing.T) {
	for name, c := range map[string]struct {
		write  string
		keep   func(string) string
		policy string
		want   string
	}{
		"as markup": {"p.innerHTML = row.title", same, "", "proved"},
		"in a text": {"p.innerHTML = `<i>${row.title}</i>`", same, "", "proved"},
		"policy":    {"p.innerHTML = row.title", same, "script-src 'self'", "probable"},
		"as text":   {"p.textContent = row.title", same, "", ""},
		"escaped":   {"p.innerHTML = row.title", html.EscapeString, "", ""},
	} {
		var mu sync.Mutex
		rows := []map[string]string{{"title": "first"}}
		lab := kittest.New(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			mu.Lock()
			defer mu.Unlock()
			switch {
			case r.URL.Path == "/rows" && r.Method == http.MethodPost:
				row := map[string]string{}
				_ = json.NewDecoder(r.Body).Decode(&row)
				rows = append(rows, map[string]string{"title": c.keep(row["title"])})
			case r.URL.Path == "/rows":
				w.Header().Set("Content-Type", "application/json")
				_ = json.NewEncoder(w).Encode(map[string]any{"rows": rows})
			case r.URL.Path == "/app.js":
				w.Header().Set("Content-Type", "text/javascript")
				fmt.Fprintf(w, `async function list() { const { rows } = await (await fetch("/rows")).json();
					rows.forEach(row => { const p = document.createElement("p"); %s; document.body.append(p) }) } list()`, c.write)
			case r.URL.Path == "/":
				w.Header().Set("Content-Type", "text/html")
				w.Header().Set("Content-Security-Policy", c.policy)
				fmt.Fprint(w, `<h1>Rows</h1><script src="app.js"></script>`)
			}
		}))
		target := lab.Target(t, http.MethodPost, "/rows", `{"title":"second"}`)
		page := lab.Target(t, http.MethodGet, "/", "")
		lab.World.Pages = func() []*message.Request { return []*message.Request{target.Request, page.Request} }
		if found := lab.Run(t, Checks()[0], target); len(found) != 0 {
			t.Errorf("%s: reflected %s", name, kittest.Titles(found))
		}
		got := ""
		for _, f := range lab.Run(t, stored(), target) {
			got += string(f.Confidence)
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
