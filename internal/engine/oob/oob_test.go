package oob_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/vedette-sec/vedette/internal/engine/match"
	"github.com/vedette-sec/vedette/internal/engine/oob"
	"github.com/vedette-sec/vedette/internal/engine/syntax"
	"github.com/vedette-sec/vedette/internal/oast"
)

func TestNames(t *testing.T) {
	var made []string
	source := func() (oob.Name, bool) {
		id := string(rune('a' + len(made)))
		made = append(made, id)
		return oob.Name{ID: id, Address: id + ".oast.test", Server: "oast.test"}, len(made) < 5
	}
	n := oob.NewNames(source)
	for _, marker := range []string{"interactsh-url", "interactsh-url", "interactsh-url_1_22_3", "interactsh-url_2"} {
		if v, ok := n.Lookup(marker); !ok || v != made[len(made)-1]+".oast.test" {
			t.Errorf("%s is %v", marker, v)
		}
	}
	for _, other := range []string{"interactsh-url_", "interactsh-url_1_2_3_4", "interactsh-urls", "interactsh-id", "url", ""} {
		if v, ok := n.Lookup(other); ok {
			t.Errorf("%s is %v", other, v)
		}
	}
	for name, want := range map[string]any{
		"interactsh-url": "b.oast.test", "interactsh-id": "b", "interactsh-id_1_22_3": "c", "interactsh-url_2": "d.oast.test",
		"interactsh-server": "oast.test", "interactsh-url_9": nil, "interactsh-ids": nil, "host": nil,
	} {
		if v, ok := n.Sent(name); ok != (want != nil) || ok && v != want {
			t.Errorf("%s was sent as %v", name, v)
		}
	}
	if got := n.Take(); !slices.Equal(got, []string{"a", "b", "c", "d"}) || len(n.Take()) != 0 {
		t.Error(got)
	}
	if v, ok := n.Lookup("interactsh-url"); ok {
		t.Error("a source that fails gives", v)
	}
	none := oob.NewNames(nil)
	if _, ok := none.Lookup("interactsh-url"); ok || none.Take() != nil {
		t.Error("no source gives names")
	}
	if _, ok := none.Sent("interactsh-url"); ok {
		t.Error("no source has sent names")
	}
}

// TestSaved evaluates operators on a saved response, before and after it was written as JSON.
func TestSaved(t *testing.T) {
	matcher := func(kind, part, text string) syntax.Matcher {
		m := syntax.Matcher{Type: kind, Part: part}
		switch kind {
		case "dsl":
			m.DSL = []string{text}
		case "regex":
			m.Regex = []string{text}
		case "status":
			m.Status = []int{418}
		default:
			m.Words = []string{text}
		}
		return m
	}
	named := map[string]any{"x_kind": "teapot", "number": 3, "duration": 0.5, "list": []string{"a", "b"}, "binary": []byte("by"),
		"interactsh_protocol": "what a response says"}
	response := func() *match.Response {
		return &match.Response{
			Status: 418, Body: []byte("short and stout"), Head: func() []byte { return []byte("HTTP/1.1 418 I'm\r\nX-Kind: teapot\r\n\r\n") },
			Raw:   func() []byte { return []byte("GET /pot HTTP/1.1\r\n\r\n") },
			Named: func(name string) (any, bool) { v, ok := named[name]; return v, ok },
		}
	}
	vars := func(name string) (any, bool) { return "my " + name, name == "word" }
	one := oast.Interaction{Protocol: "dns", RawRequest: "Upper.Case", RawResponse: "Answer", RemoteAddress: "192.0.2.1"}
	for _, c := range []struct {
		m    syntax.Matcher
		want bool
	}{
		{matcher("word", "interactsh_protocol", "dns"), true},
		{matcher("word", "interactsh_protocol", "says"), false},
		{matcher("word", "interactsh_request", "upper.case"), true},
		{matcher("word", "interactsh_response", "Answer"), true},
		{matcher("word", "interactsh_ip", "192.0.2.1"), true},
		{matcher("word", "body", "stout"), true},
		{matcher("word", "", "stout"), true},
		{matcher("word", "header", "X-Kind"), true},
		{matcher("word", "all", "X-Kind"), true},
		{matcher("word", "response", "stout"), true},
		{matcher("word", "request", "/pot"), true},
		{matcher("word", "x_kind", "{{word}}"), false},
		{matcher("status", "", ""), true},
		{matcher("regex", "x_kind", "^tea"), true},
		{matcher("dsl", "", `status_code == 418 && number == 3 && duration < 1 && x_kind == "teapot"`), true},
		{matcher("dsl", "", `contains(body, "short") && len(body) == 15 && contains(all_headers, "418")`), true},
		{matcher("dsl", "", `word == "my word" && "{{word}}" == "my word" && binary == "by"`), true},
		{matcher("dsl", "", `contains(list, "b")`), true},
		{matcher("dsl", "", `interactsh_protocol == "dns" && interactsh_ip == "192.0.2.1"`), true},
		{matcher("dsl", "", `unknown == "x"`), false},
	} {
		o, err := match.Compile("t.yaml", match.Spec{Matchers: []syntax.Matcher{c.m}})
		if err != nil {
			t.Fatal(err)
		}
		saved := oob.Save(o, response(), vars)
		if got := saved.Eval(t.Context(), o, one, nil).Matched; got != c.want {
			t.Errorf("%+v: %t", c.m, got)
		}
		raw, err := json.Marshal(saved)
		if err != nil {
			t.Fatal(err)
		}
		var read oob.Saved
		if err := json.Unmarshal(raw, &read); err != nil {
			t.Fatal(err)
		}
		if got := read.Eval(t.Context(), o, one, nil).Matched; got != c.want {
			t.Errorf("%+v after %s: %t", c.m, raw, got)
		}
	}
}

// session is a Session with a server, and a way to visit it.
func session(t *testing.T, c oob.Config, with ...func(*http.Client)) (*oob.Session, *httptest.Server) {
	t.Helper()
	s, err := oast.NewServer(oast.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	site := httptest.NewServer(s)
	t.Cleanup(site.Close)
	sender := site.Client()
	for _, change := range with {
		change(sender)
	}
	client, err := oast.NewClient(t.Context(), sender, site.URL, "")
	if err != nil {
		t.Fatal(err)
	}
	return oob.NewSession(client, c), site
}

// slow is a transport on which the answer to the first question after a visit comes while the session ends.
type slow struct {
	http.RoundTripper

	visited, asked chan struct{}
	once           sync.Once
}

func (s *slow) RoundTrip(r *http.Request) (*http.Response, error) {
	due := false
	select {
	case <-s.visited:
		s.once.Do(func() { due = r.URL.Path == "/poll" })
	default:
	}
	answer, err := s.RoundTripper.RoundTrip(r)
	if !due || err != nil {
		return answer, err
	}
	close(s.asked)
	select {
	case <-r.Context().Done():
		answer.Body.Close()
		return nil, r.Context().Err()
	case <-time.After(50 * time.Millisecond): // in which the session ends, which nothing here can see
		return answer, nil
	}
}

// What the server has handed over while the session ended is not lost: the server has it no more.
func TestSessionEndsWhileItAsks(t *testing.T) {
	hold := &slow{visited: make(chan struct{}), asked: make(chan struct{})}
	s, _ := session(t, oob.Config{Poll: time.Millisecond, Cooldown: time.Nanosecond}, func(c *http.Client) {
		hold.RoundTripper, c.Transport = c.Transport, hold
	})
	n, _ := s.Name()
	found := 0
	s.Expect([]string{n.ID}, 1, func(oast.Interaction) { found++ })
	visit(t, n.Address)
	close(hold.visited)
	<-hold.asked
	if err := s.Settle(t.Context()); err != nil || found != 1 {
		t.Errorf("found %d times, %v", found, err)
	}
}

func visit(t *testing.T, address string) {
	t.Helper()
	resp, err := http.Get("http://" + address)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
}

func TestSession(t *testing.T) {
	s, site := session(t, oob.Config{Poll: time.Hour, Cooldown: time.Millisecond, Requests: 2})
	var names []oob.Name
	for range 4 {
		n, ok := s.Name()
		if !ok || !strings.HasSuffix(n.Address, "/"+n.ID) || n.Server != site.Listener.Addr().String() {
			t.Fatal(n)
		}
		names = append(names, n)
	}
	var got []string
	expect := func(what string, at ...int) {
		var ids []string
		for _, i := range at {
			ids = append(ids, names[i].ID)
		}
		s.Expect(ids, 10, func(one oast.Interaction) { got = append(got, what+" "+one.Protocol) })
	}
	expect("forgotten", 0)
	expect("earlier", 1, 2)
	expect("later", 2, 3) // takes 2 over, and forgets the oldest
	for _, n := range names {
		visit(t, n.Address)
	}
	err := s.Settle(t.Context())
	slices.Sort(got)
	if want := []string{"earlier http", "later http", "later http"}; !slices.Equal(got, want) {
		t.Error(got)
	}
	if err == nil || !strings.Contains(err.Error(), "1 requests were forgotten") {
		t.Error(err)
	}
}

// TestSessionEarly hands a request over after its name was contacted.
func TestSessionEarly(t *testing.T) {
	s, _ := session(t, oob.Config{Poll: 10 * time.Millisecond, Cooldown: time.Millisecond})
	early, _ := s.Name()
	marker, _ := s.Name()
	visit(t, early.Address)
	visit(t, marker.Address)
	polled := make(chan bool, 1)
	s.Expect([]string{marker.ID}, 1, func(oast.Interaction) { polled <- true })
	<-polled // and with it the early one
	found := 0
	s.Expect([]string{early.ID}, 1, func(oast.Interaction) { found++ })
	if found != 1 {
		t.Error("an early interaction is found", found, "times")
	}
	if err := s.Settle(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestSessionOld(t *testing.T) {
	s, _ := session(t, oob.Config{Poll: time.Hour, Cooldown: 2 * time.Millisecond, Keep: time.Nanosecond})
	n, _ := s.Name()
	found := 0
	s.Expect([]string{n.ID}, 1, func(oast.Interaction) { found++ })
	visit(t, n.Address)
	if err := s.Settle(t.Context()); err != nil || found != 0 {
		t.Error(found, err)
	}
}

// TestSessionFault tells once that the server has gone.
func TestSessionFault(t *testing.T) {
	faults := make(chan error, 100)
	s, site := session(t, oob.Config{Poll: time.Millisecond, OnFault: func(err error) { faults <- err }})
	site.CloseClientConnections()
	site.Close()
	if err := <-faults; err == nil || errors.Is(err, oast.ErrSession) {
		t.Error(err)
	}
	if err := s.Settle(t.Context()); err == nil {
		t.Error("a server that has gone is told nothing")
	}
}
