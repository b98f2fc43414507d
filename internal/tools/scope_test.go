package tools

import (
	"context"
	"encoding/json"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/vedette-sec/vedette/internal/agent/builtin"
	"github.com/vedette-sec/vedette/internal/agent/loop"
	"github.com/vedette-sec/vedette/internal/core/task"
	"github.com/vedette-sec/vedette/internal/engine/syntax"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/hostpattern"
	"github.com/vedette-sec/vedette/internal/tools/scope"
)

// site counts what reaches it.
func site(t *testing.T) (base, hostPort string, asked *atomic.Int64) {
	t.Helper()
	asked = new(atomic.Int64)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		if r.URL.Path == "/away" {
			http.Redirect(w, r, "http://192.0.2.1/", http.StatusFound)
		}
	}))
	t.Cleanup(s.Close)
	return s.URL, strings.TrimPrefix(s.URL, "http://"), asked
}

func TestScopeIsHeldToOnTheWire(t *testing.T) {
	base, hostPort, asked := site(t)
	past := time.Now().Add(-time.Minute)
	left, err := hostpattern.Parse([]string{"127.0.0.1"})
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		b      scope.Boundary
		method string
		url    string
		ok     bool
	}{
		"what is named":          {scope.Boundary{Plan: builtin.Plan("check " + base)}, "GET", base + "/x", true},
		"what the request names": {scope.Boundary{Doc: task.Scope{Hosts: []string{hostPort}}}, "GET", base, true},
		"nothing is named":       {scope.Boundary{}, "GET", base, false},
		"another is named":       {scope.Boundary{Plan: builtin.Plan("check http://127.0.0.2")}, "GET", base, false},
		"an excluded path": {scope.Boundary{Plan: builtin.Plan("check " + base + " but do not touch " + base +
			"/admin")}, "GET", base + "/%61dmin/x", false},
		"a path the request excludes": {scope.Boundary{Plan: builtin.Plan("check " + base),
			Doc: task.Scope{Exclude: []string{base + "/admin"}}}, "GET", base + "/admin", false},
		"a host it excludes": {scope.Boundary{Plan: builtin.Plan("check " + base),
			Doc: task.Scope{Exclude: []string{"127.0.0.0/8"}}}, "GET", base, false},
		"beside its paths": {scope.Boundary{Plan: builtin.Plan("check " + base),
			Doc: task.Scope{Paths: []string{"/shop"}}}, "GET", base + "/shop/../admin", false},
		"under its paths": {scope.Boundary{Plan: builtin.Plan("check " + base),
			Doc: task.Scope{Paths: []string{"/shop"}}}, "GET", base + "/shop/x", true},
		"another port": {scope.Boundary{Plan: builtin.Plan("check " + base), Doc: task.Scope{Ports: []int{1}}},
			"GET", base, false},
		"another method": {scope.Boundary{Plan: builtin.Plan("check " + base),
			Doc: task.Scope{Methods: []string{"GET"}}}, "PUT", base, false},
		"passive": {scope.Boundary{Plan: builtin.Plan("check " + base),
			Doc: task.Scope{Intrusiveness: task.Passive}}, "GET", base, false},
		"expired": {scope.Boundary{Plan: builtin.Plan("check " + base),
			Doc: task.Scope{ExpiresAt: &past}}, "GET", base, false},
		"left out by the team": {scope.Boundary{Plan: builtin.Plan("check " + base), Team: left}, "GET", base, false},
		"metadata": {scope.Boundary{Plan: builtin.Plan("check http://169.254.169.254")}, "GET",
			"http://169.254.169.254/", false},
	} {
		t.Run(name, func(t *testing.T) {
			asked.Store(0)
			var denied atomic.Int64
			c.b.OnDenied = func(scope.Denial) { denied.Add(1) }
			s, err := scope.New(c.b)
			if err != nil {
				t.Fatal(err)
			}
			w := newWeb(s)
			defer w.close()
			_, err = w.send(t.Context(), webRequest{Method: c.method, URL: c.url})
			if (err == nil) != c.ok || asked.Load() != map[bool]int64{true: 1}[c.ok] {
				t.Errorf("%v, %d requests arrived", err, asked.Load())
			}
			if !c.ok && (!errs.Is(err, errs.Forbidden) || denied.Load() == 0) {
				t.Errorf("%v, told of %d times", err, denied.Load())
			}
		})
	}
}

func TestRedirectsAndNamesStayInScope(t *testing.T) {
	base, _, asked := site(t)
	s, err := scope.New(scope.Boundary{Plan: builtin.Plan("check " + base)})
	if err != nil {
		t.Fatal(err)
	}
	w := newWeb(s)
	defer w.close()
	answer, err := w.send(t.Context(), webRequest{URL: base + "/away"})
	if err != nil || answer.Status != http.StatusFound || asked.Load() != 1 || s.Total() != 1 {
		t.Errorf("%+v, %v; %d arrived", answer, err, asked.Load())
	}
	if !s.AllowsHost("127.0.0.1") || s.AllowsHost("example.com") || s.AllowsHost("169.254.169.254") {
		t.Error("names are looked up that are not in scope, or not those that are")
	}
}

// TestNamesStayInScope: a request to a host in scope asks no other site on its address.
func TestNamesStayInScope(t *testing.T) {
	base, hostPort, asked := site(t)
	excluded, err := hostpattern.Parse([]string{"blog.test"})
	if err != nil {
		t.Fatal(err)
	}
	s, err := scope.New(scope.Boundary{Team: excluded,
		Doc: task.Scope{Hosts: []string{hostPort, "shop.example.se"}, Exclude: []string{"admin.test"}}})
	if err != nil {
		t.Fatal(err)
	}
	w := newWeb(s)
	defer w.close()
	for _, c := range []struct {
		header, value string
		ok            bool
	}{
		{"Host", "127.0.0.1", true}, {"Host", "shop.example.se", true}, {"Host", "x7f3.tld", true}, {"Host", "localhost", true},
		{"Host", "10.0.0.1", true}, {"Host", "evil.example", true}, {"X-Forwarded-Host", "a' or 1=1", true},
		{"Host", "www.example.se", false}, {"host", "WWW.Example.SE:443", false}, {"Host", "192.88.98.1", false},
		{"X-Forwarded-Host", "www.example.se", false}, {"Forwarded", "host=www.example.se", false},
		{"X-Host", "http://www.example.se/", false}, {"Host", "blog.test", false}, {"Host", "admin.test", false},
		{"X-Original-Host", "localhost, blog.test", false},
	} {
		asked.Store(0)
		_, err := w.send(t.Context(), webRequest{URL: base, Headers: map[string]string{c.header: c.value}})
		if (err == nil) != c.ok || asked.Load() != map[bool]int64{true: 1}[c.ok] {
			t.Errorf("%s: %s: %v, %d requests arrived", c.header, c.value, err, asked.Load())
		}
	}
	for _, r := range []webRequest{
		{URL: base, Headers: map[string]string{"X-HTTP-Method-Override": "DELETE"}}, {URL: base + "/?_method=put"},
	} {
		s, err := scope.New(scope.Boundary{Doc: task.Scope{Hosts: []string{hostPort}, Methods: []string{"GET", "POST"}}})
		if err != nil {
			t.Fatal(err)
		}
		other := newWeb(s)
		asked.Store(0)
		if _, err := other.send(t.Context(), r); !errs.Is(err, errs.Forbidden) || asked.Load() != 0 {
			t.Errorf("%+v: %v, %d requests arrived", r, err, asked.Load())
		}
		other.close()
	}
}

func TestToolsSayWhatTheyAre(t *testing.T) {
	k, err := New(Config{Run: &task.Run{}, Boundary: scope.Boundary{Plan: builtin.Plan("check http://127.0.0.1")}})
	if err != nil {
		t.Fatal(err)
	}
	defer k.Close()
	tools, err := k.Actions()
	if err != nil || len(tools) != 17 {
		t.Fatalf("%d tools, %v", len(tools), err)
	}
	var passive []string
	for _, tool := range tools {
		var schema struct {
			Type       string
			Properties map[string]json.RawMessage
		}
		if err := json.Unmarshal(tool.Schema, &schema); err != nil || schema.Type != "object" || schema.Properties == nil {
			t.Errorf("the schema of %s: %v", tool.Name, err)
		}
		if len(tool.Description) < 100 {
			t.Errorf("%s is described as %q", tool.Name, tool.Description)
		}
		if tool.Passive {
			passive = append(passive, tool.Name)
		}
		if _, err := tool.Call(t.Context(), json.RawMessage(`[]`), func(string) {}); err == nil {
			t.Errorf("%s takes arguments that are none", tool.Name)
		}
	}
	if slices.Sort(passive); !slices.Equal(passive,
		[]string{"list_assets", "read_findings", "read_template", "search_templates"}) {
		t.Errorf("passive are %v", passive)
	}
}

func TestWhatChangesSomethingIsAskedFor(t *testing.T) {
	kit := func(degree task.Intrusiveness) *Kit {
		k, err := New(Config{Run: &task.Run{}, Boundary: scope.Boundary{Doc: task.Scope{Intrusiveness: degree}}})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(k.Close)
		return k
	}
	safe, intrusive := kit(""), kit(task.Intrusive)
	asks := func(a *loop.Approval) bool { return a != nil }
	for method, want := range map[string]bool{"": false, "GET": false, "HEAD": false, "OPTIONS": false, "POST": true,
		"PUT": true, "get": true} {
		if got := asks(safe.changes(webRequest{Method: method}.methods(), "http://h/")); got != want {
			t.Errorf("%q asks: %v", method, got)
		}
		if asks(intrusive.changes([]string{method}, "http://h/")) {
			t.Errorf("%q asks although the task is intrusive", method)
		}
	}
	for _, r := range []webRequest{
		{Headers: map[string]string{"x-http-method-override": "put"}}, {Headers: map[string]string{"X-HTTP-Method": "DELETE"}},
		{URL: "http://h/?a=b&_method=delete"}, {Method: "POST", Body: "_method=PATCH&x=y"},
		{Method: "GET", Body: `{"_method": "DELETE"}`},
	} {
		if !asks(safe.changes(r.methods(), "http://h/")) {
			t.Errorf("%+v does not ask, but servers take it for another method", r)
		}
	}
	if !asks(safe.approveRun(runArgs{Tags: []string{"DoS"}})) || asks(safe.approveRun(runArgs{Tags: []string{"cve"}})) {
		t.Error("templates that do harm run without a word, or others do not")
	}
	const head = "id: x\ninfo: {name: X, author: a}\nhttp: "
	for text, want := range map[string]bool{
		head + "[{path: ['{{BaseURL}}/'], matchers: [{type: status, status: [200]}]}]":                                      true,
		head + "[{method: POST, path: ['{{BaseURL}}/'], matchers: [{type: status, status: [200]}]}]":                        false,
		head + "[{raw: ['DELETE / HTTP/1.1\n\n'], matchers: [{type: status, status: [200]}]}]":                              false,
		head + `[{raw: ["GET / HTTP/1.1\nX-HTTP-Method-Override: DELETE\n\n"], matchers: [{type: status, status: [200]}]}]`: false,
		head + "[{path: ['{{BaseURL}}/'], headers: {X-Method-Override: PUT}, matchers: [{type: status, status: [200]}]}]":   false,
		head + "[{path: ['{{BaseURL}}/?_method=delete'], matchers: [{type: status, status: [200]}]}]":                       false,
		head + "[{raw: ['@timeout: 5s\nGET / HTTP/1.1\n\n'], matchers: [{type: status, status: [200]}]}]":                   true,
	} {
		parsed, err := syntax.Parse("x.yaml", []byte(text))
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if got := readsOnly(parsed); got != want {
			t.Errorf("only reads: %v: %s", got, text)
		}
	}
}

func TestLinksStayOnTheHost(t *testing.T) {
	base, err := url.Parse("http://a.example/dir/")
	if err != nil {
		t.Fatal(err)
	}
	body := `<a href="x?a=1&amp;b=2#top">1</a><img src='/i.png'><a href=//b.example/>2</a><a href="javascript:alert(1)">3</a><form action=go>`
	got := links(base, &webAnswer{Header: http.Header{"Location": {"/next"}}, Body: []byte(body)})
	want := []string{"http://a.example/next", "http://a.example/dir/x?a=1&b=2", "http://a.example/i.png",
		"http://a.example/dir/go"}
	if !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}

// FuzzExcludedTarget: whatever a request excludes, nothing that it names may be dialled.
func FuzzExcludedTarget(f *testing.F) {
	for _, seed := range []string{"127.0.0.1", "127.0.0.1:80", "http://127.0.0.1/x", "10.0.0.0/8", "[::1]:1", "%",
		"*.example.com", "a b", "%C3%84.example.com"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		s, err := scope.New(scope.Boundary{Doc: task.Scope{Hosts: []string{"127.0.0.1"}, Exclude: []string{text}}})
		if err != nil {
			return
		}
		x := scope.ExcludedTarget(text)
		if x.Host == "" || x.Path != "" {
			return
		}
		port := "80"
		if x.Port != 0 {
			port = "1"
		}
		if x.Port == 0 && s.DenyReason(net.JoinHostPort(x.Host, port)) == "" && !strings.Contains(x.Host, "*") {
			t.Errorf("%q is excluded as %+v and may be dialled", text, x)
		}
	})
}

func TestPortCheckTellsOpenFromClosed(t *testing.T) {
	_, hostPort, _ := site(t)
	k, err := New(Config{Run: &task.Run{}, Boundary: scope.Boundary{Doc: task.Scope{Hosts: []string{"127.0.0.1"}}}})
	if err != nil {
		t.Fatal(err)
	}
	defer k.Close()
	for addr, want := range map[string]string{hostPort: "open", "127.0.0.1:1": "closed", "192.0.2.1:80": "refused"} {
		if got := k.portState(context.Background(), addr); !strings.HasPrefix(got, want) {
			t.Errorf("%s is %s", addr, got)
		}
	}
}
