package tools

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/vedette-sec/vedette/internal/agent"
	"github.com/vedette-sec/vedette/internal/agent/builtin"
	"github.com/vedette-sec/vedette/internal/core/task"
	"github.com/vedette-sec/vedette/internal/engine"
	"github.com/vedette-sec/vedette/internal/engine/syntax"
	"github.com/vedette-sec/vedette/internal/tools/runner"
	"github.com/vedette-sec/vedette/internal/tools/scope"
)

// linkedTemplate is one that looks at the pages that a site links to.
func linkedTemplate(t *testing.T) runner.Builtin {
	t.Helper()
	parsed, err := syntax.Parse("t.yaml",
		[]byte("id: t\ninfo: {name: a name, author: a, severity: info, tags: linked}\nhttp:\n  - path: ['{{BaseURL}}']\n    matchers: [{type: word, words: [x]}]\n"))
	if err != nil {
		t.Fatal(err)
	}
	return runner.Builtin{Template: parsed}
}

// explored runs the step on a target that answers.
func explored(t *testing.T, instruction, target string, templates ...runner.Builtin) exploreOutput {
	t.Helper()
	kit, err := New(Config{Boundary: scope.Boundary{Plan: builtin.Plan(instruction), OnDenied: func(scope.Denial) {}},
		Run: &task.Run{}, Builtin: templates, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	defer kit.Close()
	hosts, err := json.Marshal(probeOutput{Hosts: []host{{Target: target, Alive: true}}})
	if err != nil {
		t.Fatal(err)
	}
	input, err := json.Marshal(agent.Input{Before: map[string]json.RawMessage{agent.Probe: hosts}})
	if err != nil {
		t.Fatal(err)
	}
	result, err := explore{kit}.Call(t.Context(), input, func(agent.Update) {})
	if err != nil {
		t.Fatal(err)
	}
	var out exploreOutput
	if len(result.Output) > 0 {
		if err := json.Unmarshal(result.Output, &out); err != nil {
			t.Fatal(err)
		}
	}
	return out
}

func TestExplore(t *testing.T) {
	var mu sync.Mutex
	asked := map[string]int{}
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		asked[r.Method+" "+r.URL.RequestURI()]++
		mu.Unlock()
		switch r.URL.Path {
		case "/":
			fmt.Fprint(w, `<a href="/a">a</a> <a href="/a#top">a</a> <a href='/item?id=1'>1</a> <a href="/item?id=2">2</a> <a href="/item?id=2&amp;sort=up">3</a>
<a href="/logout">out</a> <a href="/cart?action=delete&amp;id=1">x</a> <a href="//other.example/b">b</a> <a href="/big.zip">z</a> <a href="/gone">g</a> <a href="/private/x">p</a>
<form action="/search"><input name="q"><select name="in"><option value="all">all</select><input type="submit" name="go"></form>
<form method="post" action="/order"><input name="q"></form> <a href=javascript:void(0)>j</a> <a href="mailto:a@b.example">m</a>`)
		case "/gone":
			http.NotFound(w, r)
		default:
			fmt.Fprintf(w, `<a href="%s/deeper">d</a>`, strings.Repeat("/x", len(r.URL.Path)/2))
		}
	}))
	defer site.Close()
	u, err := url.Parse(site.URL)
	if err != nil {
		t.Fatal(err)
	}
	instruction := "check " + site.URL + " but do not touch " + site.URL + "/private"
	for _, target := range []string{site.URL, u.Host} { // with and without a scheme
		clear(asked)
		out := explored(t, instruction, target, linkedTemplate(t))
		if !slices.Contains(out.Pages, site.URL+"/a") || slices.Contains(out.Pages, site.URL+"/gone") ||
			slices.Contains(out.Pages, site.URL+"/") {
			t.Errorf("%s: pages %q", target, out.Pages)
		}
		for what, n := range asked {
			if n > 1 || !strings.HasPrefix(what, "GET ") ||
				slices.ContainsFunc([]string{"logout", "delete", "zip", "private", "order"},
					func(w string) bool { return strings.Contains(what, w) }) {
				t.Errorf("%s: %s was asked for, %d times", target, what, n)
			}
		}
		if len(asked) > exploredPages {
			t.Errorf("%s: %d pages were read", target, len(asked))
		}
	}
	clear(asked)
	if out := explored(t, instruction, site.URL); len(asked) > 0 || len(out.Pages) > 0 {
		t.Errorf("without a template for pages %d were read", len(asked))
	}
}

// What a host says on every page is told once; what two templates of a class say of one
// page, too.
func TestSeenAgain(t *testing.T) {
	event := func(template, at, class string, extracted ...string) engine.Event {
		return engine.Event{TemplateID: template, MatchedAt: at, Host: "a.example", Port: "80", ExtractedResults: extracted,
			Info: syntax.Info{Classification: &syntax.Classification{CWEID: []string{class}}}}
	}
	seenBefore := seen{}
	for i, c := range []struct {
		event engine.Event
		want  bool
	}{
		{event("cookie", "http://a.example/", "cwe-1", "sid"), false},
		{event("cookie", "http://a.example/b", "cwe-1", "sid"), true},
		{event("cookie", "http://a.example/b", "cwe-2", "other"), false},
		{event("listing", "http://a.example/pub/", "cwe-548"), false},
		{event("linked", "http://a.example/pub/", "cwe-548"), true},
		{event("third", "http://a.example/pub/", "cwe-200"), false},
	} {
		if got := seenBefore.repeats(c.event); got != c.want {
			t.Errorf("event %d: %v", i, got)
		}
	}
}
