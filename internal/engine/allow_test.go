package engine_test

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/vedette-sec/vedette/internal/engine"
	"github.com/vedette-sec/vedette/internal/engine/program"
)

func TestNothingIsAskedThatIsNotAllowed(t *testing.T) {
	var mu sync.Mutex
	var asked []string
	base := serve(t, func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		asked = append(asked, r.URL.Path)
		mu.Unlock()
		if r.URL.Path == "/moved" {
			http.Redirect(w, r, "/secret/moved", http.StatusFound)
		}
	})
	e := newEngine(t, engine.Config{Allow: func(u *url.URL) bool { return !strings.HasPrefix(u.Path, "/secret") }})
	moved := template(t, "moved", "  - path: ['{{BaseURL}}/moved']\n    redirects: true\n    matchers: [{type: status, status: [200]}]\n")
	report, events, _ := run(t, e, engine.Scan{Targets: []string{base},
		Programs: []*program.Program{found(t, "open", "/open"), found(t, "secret", "/secret"), moved}})
	want := []string{"open tested", "secret denied it is not in scope, or excluded", "moved tested"}
	if got := cells(report); !slices.Equal(got, want) {
		t.Errorf("cells %q, want %q", got, want)
	}
	if len(events) != 1 || events[0].TemplateID != "open" {
		t.Errorf("%d events: %+v", len(events), events)
	}
	if _, _, err := e.Confirm(t.Context(), base, found(t, "secret", "/secret"), engine.Event{}); err == nil {
		t.Error("a confirmation asked for what is not allowed")
	}
	if slices.ContainsFunc(asked, func(path string) bool { return strings.HasPrefix(path, "/secret") }) {
		t.Errorf("asked for %q", asked)
	}
}
