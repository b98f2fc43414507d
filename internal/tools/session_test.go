package tools

import (
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/vedette-sec/vedette/internal/agent/builtin"
	"github.com/vedette-sec/vedette/internal/agent/loop"
	"github.com/vedette-sec/vedette/internal/core/task"
	"github.com/vedette-sec/vedette/internal/tools/scope"
)

// TestSessionsOutliveTheProcess holds that a kit which is made anew sends the cookies that
// the calls of an earlier one were given, to the same places and in the same session.
func TestSessionsOutliveTheProcess(t *testing.T) {
	const value = "c00kie-of-{{mia}}"
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/login" {
			http.SetCookie(w, &http.Cookie{Name: "sid", Value: value, Path: "/in", HttpOnly: true})
			_, _ = w.Write([]byte("HTTP/1.1 200 OK\r\nSet-Cookie: sid=of-the-body\r\n\r\n"))
			return
		}
		_, _ = w.Write([]byte("cookie: " + r.Header.Get("Cookie")))
	}))
	defer site.Close()
	fresh := func() *Kit {
		kit, err := New(Config{Boundary: scope.Boundary{Plan: builtin.Plan("look at " + site.URL)}, Run: &task.Run{},
			Secrets: map[string]string{"SITE": site.URL}, Logger: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(kit.Close)
		return kit
	}
	marshal := func(v any) json.RawMessage {
		text, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	result, err := fresh().callHTTP(t.Context(), webRequest{URL: site.URL + "/login", Session: "mia"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	call := marshal(loop.Called{Tool: "http_request", Args: marshal(webRequest{URL: "{{$SITE}}/login", Session: "mia"})})
	entries := []loop.Entry{
		{Kind: loop.ToolCall, Key: "1", Body: call},
		{Kind: loop.ToolResult, Key: "1", Body: marshal(loop.Returned{Tool: "http_request", Result: result})},
		{Kind: loop.ToolCall, Key: "2", Body: call}, {Kind: loop.ToolResult, Key: "2", Body: json.RawMessage("null")},
		{Kind: loop.ToolResult, Key: "3", Body: json.RawMessage("[]")},
	}
	kit := fresh()
	kit.Resume(entries)
	for _, c := range []struct{ path, session, want string }{
		{"/in/x", "mia", "cookie: sid="}, {"/in/x", "other", "cookie: "}, {"/", "mia", "cookie: "},
	} {
		got, err := kit.callHTTP(t.Context(), webRequest{URL: site.URL + c.path, Session: c.session}, nil)
		if err != nil {
			t.Fatal(err)
		}
		_, body, _ := strings.Cut(got.Text, "\r\n\r\n")
		if sends := strings.HasPrefix(body, "cookie: sid="); sends != (c.want == "cookie: sid=") ||
			strings.Contains(body, "of-the-body") || sends && !strings.Contains(body, "c00kie-of-") {
			t.Errorf("%s in session %s: %q", c.path, c.session, body)
		}
	}
}
