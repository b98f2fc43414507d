package webtest_test

import (
	"context"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/vedette-sec/vedette/internal/webtest"
	"github.com/vedette-sec/vedette/internal/webtest/check/kit"
	"github.com/vedette-sec/vedette/internal/webtest/client"
	"github.com/vedette-sec/vedette/internal/webtest/message"
)

var alwaysTrue = regexp.MustCompile(`'OR'1'='1$`)

// booth has six pages, each built in its own way, which look up something of the visitor in a statement: what cannot be
// read finds nobody, as a word does. Who is found is answered with a status.
func booth(known func(r *http.Request) bool, status int) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if strings.Trim(r.URL.Path, "/p") != "" || len(r.URL.Path) > 7 {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "text/html")
		isKnown := known(r)
		if isKnown {
			w.WriteHeader(status)
		}
		for i := range 6 {
			fmt.Fprintf(w, `<a href="/%s">x</a>`, strings.Repeat("p", i+1))
		}
		fmt.Fprint(w, strings.Repeat("<div>", strings.Count(r.URL.Path, "p")))
		if isKnown {
			fmt.Fprint(w, "<p>You have voted. Thank you very much, and see you next year</p>")
		}
	}
}

// A header that finds something only with a condition that holds is tested on each page; one whose condition a firewall
// refuses, and one that finds nothing, only where all headers are.
func TestConditionsInHeaders(t *testing.T) {
	address := func(r *http.Request) bool { return alwaysTrue.MatchString(r.Header.Get("X-Forwarded-For")) }
	agent := func(r *http.Request) bool { return alwaysTrue.MatchString(r.UserAgent()) }
	for name, test := range map[string]struct {
		known  func(*http.Request) bool
		status int
		place  string
		all    bool
	}{
		"the address of a visitor": {address, http.StatusOK, "header X-Forwarded-For", true},
		"the browser of a visitor": {agent, http.StatusOK, "header User-Agent", true},
		"another header":           {agent, http.StatusOK, "header X-Forwarded-For", false},
		"a firewall":               {agent, http.StatusForbidden, "header User-Agent", false},
	} {
		t.Run(name, func(t *testing.T) {
			var mu sync.Mutex
			tested := map[string]bool{}
			note := kit.Check{ID: "note", Class: "echo", Title: "Note", Level: client.Safe,
				Place: func(_ context.Context, _ *kit.World, t *kit.Target, p message.Place) error {
					mu.Lock()
					defer mu.Unlock()
					if p.String() == test.place {
						tested[t.Request.URL.Path] = true
					}
					return nil
				}}
			cfg := serve(t, webtest.Config{Checks: []kit.Check{note}}, booth(test.known, test.status))
			if _, err := webtest.Run(t.Context(), cfg); err != nil {
				t.Fatal(err)
			}
			if all := len(tested) == 7; all != test.all || len(tested) < 2 {
				t.Errorf("the place was tested on %d pages of 7", len(tested))
			}
		})
	}
}
