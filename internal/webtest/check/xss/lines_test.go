package xss

import (
	"fmt"
	"html"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/vedette-sec/vedette/internal/webtest/check/kittest"
	"github.com/vedette-sec/vedette/internal/webtest/message"
)

// A value that begins a new line of a log is found, in a page and in a text; not one whose line breaks are gone, nor a
// list of what people wrote, which is no log.
func TestLinesOfLogs(t *testing.T) {
	for name, c := range map[string]struct {
		keeps bool
		stamp string
		text  bool
		want  int
	}{"page": {true, "[27/Nov/2026:10:00:00] ", false, 1}, "text": {true, "10:00:00 WARN ", true, 1},
		"one line": {false, "2026-11-27 ", false, 0}, "no log": {true, "", false, 0}} {
		var mu sync.Mutex
		var log []string
		lab := kittest.New(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			mu.Lock()
			defer mu.Unlock()
			w.Header().Set("Content-Type", "text/html")
			if r.URL.Path == "/order" {
				value := r.FormValue("note")
				if !c.keeps {
					value = strings.ReplaceAll(value, "\n", " ")
				}
				log = append(log, c.stamp+"order with note "+value)
				fmt.Fprint(w, "<p>Thank you.</p>")
				return
			}
			if c.text {
				w.Header().Set("Content-Type", "text/plain")
				fmt.Fprint(w, strings.Join(log, "\n"))
				return
			}
			fmt.Fprintf(w, "<pre class='log'>%s</pre>", html.EscapeString(strings.Join(log, "\n")))
		}))
		target := lab.Target(t, http.MethodPost, "/order", "note=a")
		for _, p := range target.Places {
			if p.Name != "note" || p.Key {
				continue
			}
			if _, err := lab.World.React(t.Context(), target, p); err != nil {
				t.Fatal(err)
			}
		}
		page, err := message.New(http.MethodGet, lab.URL+"/log")
		if err != nil {
			t.Fatal(err)
		}
		lab.World.Pages = func() []*message.Request { return []*message.Request{page} }
		var got int
		lab.Run(t, kittest.Named(t, Checks(), "xss-stored"), target)
		for _, f := range lab.Run(t, kittest.Named(t, Checks(), "log-lines"), target) {
			if f.Check == "log-lines" {
				got++
			}
		}
		if got != c.want {
			t.Errorf("%s: found %d", name, got)
		}
	}
}
