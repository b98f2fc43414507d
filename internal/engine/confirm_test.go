package engine_test

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"path"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/vedette-sec/vedette/internal/engine"
	"github.com/vedette-sec/vedette/internal/engine/program"
)

func honest(w http.ResponseWriter, r *http.Request) {
	switch r.URL.Path {
	case "/", "/backup.zip", "/.git/HEAD", "/app/":
		fmt.Fprint(w, "ref: refs/heads/main PK")
	default:
		http.NotFound(w, r)
	}
}

func wall(w http.ResponseWriter, r *http.Request) {
	fmt.Fprintf(w, "Welcome! You asked for %s. Visitor number %d.", r.URL.Path, len(r.URL.Path))
}

func TestCanary(t *testing.T) {
	e := newEngine(t, engine.Config{})
	for name, c := range map[string]struct {
		site   http.HandlerFunc
		alike  bool
		status int
	}{
		"honest": {honest, false, 404},
		"wall":   {wall, true, 200},
		"plain paths only": {func(w http.ResponseWriter, r *http.Request) {
			if path.Ext(r.URL.Path) != "" {
				http.NotFound(w, r)
			}
		}, false, 200},
		"login for all": {func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/login", http.StatusFound) },
			false, 302},
	} {
		canary, err := e.Canary(t.Context(), serve(t, c.site)+"/base/")
		if err != nil {
			t.Fatal(name, err)
		}
		if canary.AnswersAlike != c.alike || len(canary.Answers) != 3 || canary.Answers[0].Status != c.status {
			t.Errorf("%s: %+v", name, canary)
		}
		forms := []string{`^/base/[a-z]{16}$`, `^/base/[a-z]{16}\.zip$`, `^/base/\.[a-z]{16}/HEAD$`}
		for i, a := range canary.Answers {
			if !regexp.MustCompile(forms[i]).MatchString(a.Path) {
				t.Errorf("%s: %s", name, a.Path)
			}
		}
		if name == "wall" && (canary.Answers[0].Fingerprint != canary.Answers[1].Fingerprint ||
			canary.Answers[0].Type != "text/plain") {
			t.Errorf("a page that differs in path and numbers has another fingerprint: %+v", canary)
		}
	}
	if _, err := e.Canary(t.Context(), "http://127.0.0.1:1/"); err == nil {
		t.Error("a target that is not there answered")
	}
}

// On an honest site findings are specific to their path; on a wall they are not.
func TestControl(t *testing.T) {
	programs := []*program.Program{
		found(t, "zip", "/backup.zip"),
		template(t, "git", "  - path: ['{{BaseURL}}/.git/HEAD']\n    matchers: [{type: status, status: [200]}]\n"),
		found(t, "root", "/"),
		found(t, "folder", "/app/"),
	}
	e := newEngine(t, engine.Config{})
	for name, c := range map[string]struct {
		site http.HandlerFunc
		want bool
	}{"honest": {honest, false}, "wall": {wall, true}} {
		var mu sync.Mutex
		var asked []string
		target := serve(t, func(w http.ResponseWriter, r *http.Request) {
			mu.Lock()
			asked = append(asked, r.URL.Path)
			mu.Unlock()
			c.site(w, r)
		})
		report, events, _ := run(t, e, engine.Scan{Targets: []string{target}, Programs: programs})
		if len(events) != 4 || report.Targets[0].Canary.AnswersAlike != c.want {
			t.Fatalf("%s: %d events, canary %+v", name, len(events), report.Targets[0].Canary)
		}
		forms := map[string]string{"zip": `^/[a-z]{16}\.zip$`, "git": `^/\.git/[a-z]{16}$`, "root": `^/[a-z]{16}$`,
			"folder": `^/[a-z]{16}/$`}
		for i, p := range programs {
			ev := eventOf(t, events, p.ID)
			seen, matched, err := e.Control(t.Context(), target, p, ev)
			if err != nil || matched != c.want {
				t.Errorf("%s %s: %v %v", name, p.ID, matched, err)
			}
			if !strings.HasPrefix(seen.Request, "GET "+asked[len(asked)-1]) || !strings.HasPrefix(seen.Response, "HTTP/1.1 ") {
				t.Errorf("%s %s: the control is %q, %.40q", name, p.ID, seen.Request, seen.Response)
			}
			if last := asked[len(asked)-1]; !regexp.MustCompile(forms[p.ID]).MatchString(last) {
				t.Errorf("%s: the control of program %d asked for %s", p.ID, i, last)
			}
		}
	}
}

func eventOf(t *testing.T, events []engine.Event, id string) engine.Event {
	t.Helper()
	for _, ev := range events {
		if ev.TemplateID == id {
			return ev
		}
	}
	t.Fatalf("no event of %s", id)
	return engine.Event{}
}

// Confirm asks again, on a new connection, also for an event that was stored.
func TestConfirm(t *testing.T) {
	var gone sync.Map
	var seen counter
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen.add(r.URL.Path)
		if _, ok := gone.Load(r.URL.Path); ok {
			http.NotFound(w, r)
			return
		}
		fmt.Fprintf(w, "seen %d", seen.get(r.URL.Path))
	}))
	s.Config.ErrorLog = quiet()
	s.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			seen.add("connections")
		}
	}
	s.Start()
	t.Cleanup(s.Close)
	target := strings.TrimPrefix(s.URL, "http://") // without scheme: the event knows it
	p := template(t, "c", `  - path: ['{{BaseURL}}/one', '{{BaseURL}}/{{file}}']
    matchers:
      - {type: word, name: first, words: [seen]}
      - {type: word, name: second, words: [never]}
    extractors: [{type: regex, regex: ['[0-9]+']}]
`)
	e := newEngine(t, engine.Config{PerHost: 1})
	_, events, _ := run(t, e, engine.Scan{Targets: []string{target}, Programs: []*program.Program{p},
		Vars: map[string]string{"file": "two"}})
	if len(events) != 2 {
		t.Fatalf("%d events", len(events))
	}
	before := seen.get("connections")
	again, ok, err := e.Confirm(t.Context(), target, p, events[1])
	if err != nil || !ok || again.MatchedAt != s.URL+"/two" || again.ExtractedResults[0] != "2" ||
		again.MatcherName != "first" {
		t.Errorf("%v %v %+v", ok, err, again)
	}
	if seen.get("connections") != before+1 {
		t.Error("the confirmation used a connection that was there")
	}
	var stored engine.Event
	data, _ := json.Marshal(events[0])
	if err := json.Unmarshal(data, &stored); err != nil {
		t.Fatal(err)
	}
	again, ok, err = e.Confirm(t.Context(), target, p, stored)
	if err != nil || !ok || again.MatchedAt != s.URL+"/one" || again.ExtractedResults[0] != "2" || seen.get("/two") != 2 {
		t.Errorf("stored: %v %v %+v", ok, err, again)
	}
	var second engine.Event
	literal := template(t, "d", "  - path: ['{{BaseURL}}/one', '{{BaseURL}}/two']\n    matchers: [{type: word, name: first, words: [seen]}]\n")
	data, _ = json.Marshal(events[1])
	if err := json.Unmarshal(data, &second); err != nil {
		t.Fatal(err)
	}
	if again, ok, err = e.Confirm(t.Context(), target, literal, second); err != nil || !ok ||
		again.MatchedAt != s.URL+"/two" {
		t.Errorf("the second path of a stored event: %v %v %s", ok, err, again.MatchedAt)
	}
	gone.Store("/one", true)
	if _, ok, err := e.Confirm(t.Context(), target, p, events[0]); err != nil || ok {
		t.Errorf("what is gone was confirmed: %v", err)
	}
	s.Close()
	if _, ok, err := e.Confirm(t.Context(), target, p, events[0]); err == nil || ok {
		t.Error("a dead host confirmed")
	}
}

func TestPathSpecific(t *testing.T) {
	for block, want := range map[string]bool{
		"path: ['{{BaseURL}}/.git/HEAD']\n    matchers: [{type: word, words: [ref]}]":                                                  true,
		"path: ['{{BaseURL}}/admin']\n    matchers: [{type: status, status: [200]}]":                                                   true,
		"path: ['{{BaseURL}}/x']\n    matchers: [{type: word, part: header, words: [a]}]":                                              false,
		"path: ['{{BaseURL}}']\n    matchers: [{type: word, words: [a]}]":                                                              false,
		"path: ['{{RootURL}}/?a=1']\n    matchers: [{type: word, words: [a]}]":                                                         false,
		"path: ['{{BaseURL}}/', '{{BaseURL}}/x']\n    matchers: [{type: word, words: [a]}]":                                            true,
		"path: ['{{BaseURL}}/x']\n    extractors: [{type: regex, part: header, regex: [a]}]":                                           false,
		"path: ['{{BaseURL}}/x']\n    extractors: [{type: regex, regex: [a]}]":                                                         true,
		"path: ['{{BaseURL}}/x']\n    matchers: [{type: word, part: tls_version, words: [a]}]":                                         false,
		"path: ['{{BaseURL}}']\n    matchers: [{type: status, status: [200]}, {type: word, part: header, negative: true, words: [a]}]": false,
	} {
		if got := template(t, "p", "  - "+block+"\n").PathSpecific(); got != want {
			t.Errorf("%v for %s", got, block)
		}
	}
}
