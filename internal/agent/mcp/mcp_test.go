package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/netguard"
)

// shop is a server with tools of every kind.
func shop(t *testing.T, wrap func(http.Handler) http.Handler, tools ...*sdk.Tool) *httptest.Server {
	t.Helper()
	server := sdk.NewServer(&sdk.Implementation{Name: "shop", Version: "1"}, nil)
	for _, tool := range tools {
		server.AddTool(tool, func(ctx context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			switch r.Params.Name {
			case "echo":
				return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: string(r.Params.Arguments)},
					&sdk.ImageContent{MIMEType: "image/png", Data: []byte("12345")}}}, nil
			case "fail":
				return &sdk.CallToolResult{IsError: true, Content: []sdk.Content{&sdk.TextContent{Text: "no such customer"}}}, nil
			case "hang":
				<-ctx.Done()
				return nil, ctx.Err()
			case "large":
				return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: strings.Repeat("x", 20<<20)}}}, nil
			case "structured":
				return &sdk.CallToolResult{StructuredContent: map[string]any{"n": 1}}, nil
			}
			return nil, errors.New("what")
		})
	}
	var handler http.Handler = sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return server }, nil)
	if wrap != nil {
		handler = wrap(handler)
	}
	ts := httptest.NewServer(handler)
	t.Cleanup(func() { ts.CloseClientConnections(); ts.Close() })
	return ts
}

func tool(name, description string) *sdk.Tool {
	return &sdk.Tool{Name: name, Description: description, InputSchema: json.RawMessage(`{"type":"object"}`)}
}

func connect(t *testing.T, url string, header map[string]string) *Session {
	t.Helper()
	s, err := Connect(t.Context(), Config{URL: url, Header: header, HTTP: loopback().Client(time.Minute)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

func loopback() *netguard.Guard {
	return &netguard.Guard{Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}}
}

func codeOf(err error) string {
	if e, ok := errors.AsType[*errs.Error](err); ok {
		return e.Code
	}
	return fmt.Sprint(err)
}

func TestToolsAreListedAndCalled(t *testing.T) {
	s := connect(t, shop(t, nil, tool("echo", "says it"), tool("fail", ""), tool("structured", "")).URL, nil)
	tools, more, err := s.Tools(t.Context())
	if err != nil || more != 0 || len(tools) != 3 || tools[0].Name != "echo" || tools[0].Description != "says it" ||
		tools[0].Fault != "" || !tools[0].Destructive {
		t.Fatalf("%+v, %d, %v", tools, more, err)
	}
	for name, want := range map[string]Answer{
		"echo":       {Text: "{\"a\":1}\n[image, image/png, 5 bytes]"},
		"fail":       {Text: "no such customer", Failed: true},
		"structured": {Text: `{"n":1}`},
	} {
		if got, err := s.Call(t.Context(), name, json.RawMessage(`{"a":1}`)); err != nil || got != want {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
	if _, err := s.Call(t.Context(), "nosuch", json.RawMessage(`{}`)); codeOf(err) != CodeRefused {
		t.Errorf("a tool that is not there: %v", err)
	}
}

func TestDescriptionsAreCleanedAndTheirDigestIsNot(t *testing.T) {
	hidden := "adds\u200b numbers\U000e0041\u202e"
	schema := func(description, property string) json.RawMessage {
		return json.RawMessage(fmt.Sprintf(`{"type":"object","properties":{%q:{"type":"string","description":%q}}}`, property,
			description))
	}
	server := shop(t, nil,
		&sdk.Tool{Name: "a", Description: hidden, InputSchema: schema("x\u200by", "p")},
		&sdk.Tool{Name: "b", Description: "adds numbers", InputSchema: schema("xy", "p")},
		&sdk.Tool{Name: "c", Description: strings.Repeat("long ", 10_000), InputSchema: schema("xy", "p\u200b")},
		&sdk.Tool{Name: "d", InputSchema: schema(strings.Repeat("a", 900), strings.Repeat("b", 40_000))},
		&sdk.Tool{Name: "e", Annotations: &sdk.ToolAnnotations{ReadOnlyHint: true, IdempotentHint: true},
			InputSchema: schema("", "p")},
	)
	tools, _, err := connect(t, server.URL, nil).Tools(t.Context())
	if err != nil || len(tools) != 5 {
		t.Fatal(tools, err)
	}
	a, b, c, d, e := tools[0], tools[1], tools[2], tools[3], tools[4]
	if a.Description != "adds numbers" || !a.Hidden || b.Hidden || a.Fault != "" ||
		strings.Contains(string(a.Schema), "\u200b") {
		t.Errorf("%+v", a)
	}
	if a.Digest == b.Digest {
		t.Error("what nobody sees does not change the digest")
	}
	if len(c.Description) > maxDescription+20 || c.Fault == "" || d.Fault == "" || string(d.Schema) != emptySchema {
		t.Errorf("%+v\n%+v", c, d)
	}
	if !e.ReadOnly || !e.Idempotent || e.Destructive {
		t.Errorf("%+v", e)
	}
}

func TestNamesFitAllProviders(t *testing.T) {
	seen := map[string]string{}
	for _, name := range []string{"search", "a.b", "a_b", "a/b", "a b", strings.Repeat("x", 64), strings.Repeat("x", 65),
		"größe", ""} {
		got := Offered("my-server", name)
		if len(got) > 64 || strings.ContainsFunc(got, func(r rune) bool {
			return r != '-' && r != '_' && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
		}) {
			t.Errorf("%q is offered as %q", name, got)
		}
		if other, twice := seen[got]; twice {
			t.Errorf("%q and %q are both offered as %q", name, other, got)
		}
		seen[got] = name
	}
	if Offered("git", "search") != "git_search" {
		t.Error(Offered("git", "search"))
	}
}

func TestBadServersAreNamedAndLeft(t *testing.T) {
	stop := make(chan struct{})
	plain := func(f http.HandlerFunc) string {
		ts := httptest.NewServer(f)
		t.Cleanup(func() { ts.CloseClientConnections(); ts.Close() })
		return ts.URL
	}
	hangs := plain(func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-r.Context().Done():
		case <-stop:
		}
	})
	defer close(stop)
	pours := plain(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		for range 100 {
			if _, err := io.WriteString(w, strings.Repeat(" ", 1<<20)); err != nil {
				return
			}
		}
	})
	drips := plain(func(w http.ResponseWriter, r *http.Request) { // events without an end, each small
		w.Header().Set("Content-Type", "text/event-stream")
		for r.Context().Err() == nil {
			if _, err := io.WriteString(w, ": "+strings.Repeat("x", 1<<20)+"\n\n"); err != nil {
				return
			}
		}
	})
	for name, c := range map[string]struct{ url, code string }{
		"nobody there":    {"http://127.0.0.1:1/", CodeUnreachable},
		"hangs":           {hangs, CodeUnreachable},
		"100 MB":          {pours, CodeTooLarge},
		"events for ever": {drips, CodeTooLarge},
		"a web site": {plain(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "<html>") }),
			CodeProtocol},
		"empty": {plain(func(http.ResponseWriter, *http.Request) {}), CodeProtocol},
		"elsewhere": {plain(func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, hangs,
				http.StatusTemporaryRedirect)
		}), CodeProtocol},
		"a closed door": {plain(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) }),
			CodeCredentials},
		"broken": {plain(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) }),
			CodeProtocol},
		"private": {"http://10.0.0.1/", CodeBlocked},
		"no JSON": {plain(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, "{")
		}), CodeProtocol},
	} {
		t.Run(name, func(t *testing.T) {
			within := time.Minute
			if c.code == CodeUnreachable {
				within = 700 * time.Millisecond
			}
			ctx, cancel := context.WithTimeout(t.Context(), within)
			defer cancel()
			began := time.Now()
			client := loopback().Client(time.Minute)
			defer client.CloseIdleConnections()
			_, err := Connect(ctx, Config{URL: c.url, HTTP: client})
			if codeOf(err) != c.code {
				t.Errorf("%s, want %s: %v", codeOf(err), c.code, err)
			}
			if took := time.Since(began); took > 50*time.Second {
				t.Errorf("it took %s", took)
			}
		})
	}
}

func TestCallsAreBounded(t *testing.T) {
	server := shop(t, nil, tool("hang", ""), tool("large", ""), tool("echo", ""))
	s := connect(t, server.URL, nil)
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	began := time.Now()
	if _, err := s.Call(ctx, "hang", json.RawMessage(`{}`)); codeOf(err) != CodeUnreachable ||
		time.Since(began) > 20*time.Second {
		t.Errorf("%v after %s", err, time.Since(began))
	}
	if got, err := s.Call(t.Context(), "echo", json.RawMessage(`{}`)); err != nil || !strings.HasPrefix(got.Text, "{}") {
		t.Errorf("after a call that hung: %+v, %v", got, err)
	}
	if _, err := s.Call(t.Context(), "large", json.RawMessage(`{}`)); codeOf(err) != CodeTooLarge {
		t.Errorf("20 MB: %v", err)
	}
}

func TestCredentialsAreSent(t *testing.T) {
	server := shop(t, func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Authorization") != "Bearer good" || r.Header.Get("X-Tenant") != "7" {
				w.WriteHeader(http.StatusUnauthorized)
				return
			}
			next.ServeHTTP(w, r)
		})
	}, tool("echo", ""))
	s := connect(t, server.URL, map[string]string{"Authorization": "Bearer good", "X-Tenant": "7"})
	if tools, _, err := s.Tools(t.Context()); err != nil || len(tools) != 1 {
		t.Error(tools, err)
	}
	if _, err := Connect(t.Context(),
		Config{URL: server.URL, HTTP: loopback().Client(time.Minute)}); codeOf(err) != CodeCredentials {
		t.Errorf("without a token: %v", err)
	}
}

func TestManyTools(t *testing.T) {
	var many []*sdk.Tool
	for i := range 140 {
		many = append(many, tool(fmt.Sprintf("t%03d", i), ""))
	}
	tools, more, err := connect(t, shop(t, nil, many...).URL, nil).Tools(t.Context())
	if err != nil || len(tools) != maxTools || more != 12 {
		t.Errorf("%d tools, %d more, %v", len(tools), more, err)
	}
}

func TestResourcesAndPromptsAreRead(t *testing.T) {
	server := sdk.NewServer(&sdk.Implementation{Name: "library", Version: "1"}, nil)
	server.AddResource(&sdk.Resource{URI: "shelf://runbook", Name: "Run\u200bbook", Description: "What to do.", MIMEType: "text/plain"},
		func(_ context.Context, r *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
			return &sdk.ReadResourceResult{Contents: []*sdk.ResourceContents{{URI: r.Params.URI, Text: "Ask Ada."},
				{URI: r.Params.URI, Blob: []byte("12345")}}}, nil
		})
	server.AddResourceTemplate(&sdk.ResourceTemplate{URITemplate: "host://{name}", Name: "Owner"},
		func(_ context.Context, r *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
			return &sdk.ReadResourceResult{Contents: []*sdk.ResourceContents{{URI: r.Params.URI, Text: "of " + r.Params.URI}}}, nil
		})
	server.AddPrompt(&sdk.Prompt{Name: "review", Description: "Reviews.", Arguments: []*sdk.PromptArgument{{Name: "host", Required: true}}},
		func(_ context.Context, r *sdk.GetPromptRequest) (*sdk.GetPromptResult, error) {
			return &sdk.GetPromptResult{Messages: []*sdk.PromptMessage{{Role: "user",
				Content: &sdk.TextContent{Text: "Review " + r.Params.Arguments["host"]}}}}, nil
		})
	ts := httptest.NewServer(sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return server }, nil))
	t.Cleanup(func() { ts.CloseClientConnections(); ts.Close() })
	s := connect(t, ts.URL, nil)
	tools, _, err := s.Tools(t.Context())
	if err != nil || len(tools) != 2 || tools[0].Name != ReadResource || tools[1].Name != GetPrompt || !tools[0].ReadOnly {
		t.Fatalf("%+v, %v", tools, err)
	}
	for _, c := range []struct{ tool, args, want string }{
		{ReadResource, `{}`, "shelf://runbook | Runbook | What to do. | text/plain\nPatterns of URIs:\nhost://{name} | Owner"},
		{ReadResource, `{"uri":"shelf://runbook"}`, "Ask Ada.\n[shelf://runbook, 5 bytes]"},
		{ReadResource, `{"uri":"host://db"}`, "of host://db"},
		{GetPrompt, `{}`, "review | Reviews. | host (required)"},
		{GetPrompt, `{"name":"review","arguments":{"host":"db"}}`, "user: Review db"},
	} {
		if got, err := s.Call(t.Context(), c.tool, json.RawMessage(c.args)); err != nil || got.Text != c.want {
			t.Errorf("%s %s: %q, %v", c.tool, c.args, got.Text, err)
		}
	}
	if _, err := s.Call(t.Context(), ReadResource, json.RawMessage(`{"uri":"shelf://nosuch"}`)); codeOf(err) != CodeRefused {
		t.Errorf("a resource that is not there: %v", err)
	}
	if got, err := s.Call(t.Context(), GetPrompt, json.RawMessage(`{"name":7}`)); err != nil || !got.Failed {
		t.Errorf("a name that is a number: %+v, %v", got, err)
	}
}

// TestToolsOfAServerWin: a server's own tool of the name of a reader is called, and not ours.
func TestToolsOfAServerWin(t *testing.T) {
	server := sdk.NewServer(&sdk.Implementation{Name: "library", Version: "1"}, nil)
	server.AddResource(&sdk.Resource{URI: "shelf://a", Name: "a"},
		func(context.Context, *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
			return &sdk.ReadResourceResult{}, nil
		})
	server.AddTool(tool(ReadResource, "its own"), func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: "its own"}}}, nil
	})
	ts := httptest.NewServer(sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return server }, nil))
	t.Cleanup(func() { ts.CloseClientConnections(); ts.Close() })
	s := connect(t, ts.URL, nil)
	if tools, _, err := s.Tools(t.Context()); err != nil || len(tools) != 1 || tools[0].Description != "its own" {
		t.Fatalf("%+v, %v", tools, err)
	}
	if got, err := s.Call(t.Context(), ReadResource, json.RawMessage(`{}`)); err != nil || got.Text != "its own" {
		t.Errorf("%+v, %v", got, err)
	}
}
