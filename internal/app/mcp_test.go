package app

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/core/audit"
	"github.com/vedette-sec/vedette/internal/discover"
	"github.com/vedette-sec/vedette/internal/infra/db/dbtest"
	"github.com/vedette-sec/vedette/internal/infra/ids"
	"github.com/vedette-sec/vedette/internal/infra/page"
)

// bearer adds credentials to every request.
type bearer struct{ header, value string }

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set(b.header, b.value)
	return http.DefaultTransport.RoundTrip(r)
}

// agent is an MCP client with a person's key.
func (h *testServer) agent(p person) *mcp.ClientSession {
	h.t.Helper()
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	session, err := client.Connect(h.t.Context(), &mcp.StreamableClientTransport{
		Endpoint: h.base + "/mcp", HTTPClient: &http.Client{Transport: bearer{"X-Api-Key", p.key}}, MaxRetries: -1,
	}, nil)
	if err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(func() { _ = session.Close() }) // there is no session to end
	return session
}

// call calls a tool and reads its result into out, or returns its error.
func call(t *testing.T, session *mcp.ClientSession, tool string, args, out any) (code, message string) {
	t.Helper()
	result, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: args})
	if err != nil {
		t.Fatalf("%s: %v", tool, err)
	}
	text := result.Content[0].(*mcp.TextContent).Text
	if result.IsError {
		var e struct{ Code, Message string }
		if err := json.Unmarshal([]byte(text), &e); err != nil {
			return "not_our_error", text
		}
		return e.Code, e.Message
	}
	if err := json.Unmarshal([]byte(text), out); err != nil {
		t.Fatalf("%s: %v in %s", tool, err, text)
	}
	return "", ""
}

type argsOf = map[string]any

func TestMCPTools(t *testing.T) {
	for _, engine := range dbtest.Engines {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			h := serve(t, engine)
			ada, vera, eve := h.person("ada", "blue", account.Admin), h.person("vera", "blue", account.Viewer),
				h.person("eve", "red", account.Admin)
			h.observe(ada, "walked", 1, discover.Asset{Host: "shop.example.com", Port: 443, Title: "The shop"},
				discover.Asset{Host: "old.example.com", Port: 22})
			agent := h.agent(ada)
			ok := func(tool string, args, out any) {
				t.Helper()
				if code, message := call(t, agent, tool, args, out); code != "" {
					t.Fatalf("%s: %s %s", tool, code, message)
				}
			}
			var made struct{ ID, Status string }
			named := map[string]string{} // by the tool that takes it
			ok("create_task", argsOf{"task": "check the headers of http://127.0.0.1:9/",
				"scope": argsOf{"intrusiveness": "passive"}, "budget": argsOf{"seconds": 5}}, &made)
			named["get_task"], named["stop_task"] = made.ID, made.ID
			ok("run_scan", argsOf{"targets": []string{"127.0.0.1:9"}}, &made)
			if made.Status != "queued" {
				t.Errorf("the scan is %s", made.Status)
			}
			named["get_scan"], named["stop_scan"] = made.ID, made.ID
			ok("discover_assets", argsOf{"hosts": []string{"127.0.0.1"}, "steps": []string{"http_probe"}}, &made)
			named["get_enumeration"] = made.ID

			event := `{"template-id":"t1","info":{"name":"A leak","author":["a"],"severity":"high"},"type":"http","host":"shop.example.com","matched-at":"https://shop.example.com/x","request":"GET /x","response":"secret"}`
			imported := h.do(h.request(http.MethodPost, "/v1/scans/import", &ada, event))
			if err := json.Unmarshal(imported.body, &made); err != nil || imported.status/100 != 2 {
				t.Fatalf("%d %s", imported.status, imported.body)
			}
			var findings struct {
				Findings []struct{ ID, Severity string }
				Total    int
			}
			ok("read_findings", argsOf{"scan_id": made.ID, "severity": []string{"high"}}, &findings)
			if findings.Total != 1 || findings.Findings[0].Severity != "high" {
				t.Fatalf("%+v", findings)
			}
			named["read_finding"] = findings.Findings[0].ID
			var finding struct{ Response string }
			if ok("read_finding", argsOf{"id": named["read_finding"]}, &finding); finding.Response != "secret" {
				t.Errorf("%+v", finding)
			}
			var assets struct {
				Assets []struct{ ID, Host string }
				Total  int
			}
			if ok("list_assets", argsOf{"search": "SHOP", "limit": 1}, &assets); assets.Total != 1 ||
				assets.Assets[0].Host != "shop.example.com" {
				t.Errorf("%+v", assets)
			}
			var templates struct{ Templates []struct{ ID string } }
			ok("search_templates", argsOf{"query": "severity:high", "limit": 2}, &templates)
			var template struct{ Text string }
			if ok("read_template", argsOf{"id": templates.Templates[0].ID}, &template); !strings.Contains(template.Text,
				"id: "+templates.Templates[0].ID) {
				t.Errorf("%.100s", template.Text)
			}
			var ended struct{ Status string }
			if ok("stop_task", argsOf{"id": named["stop_task"]}, &ended); ended.Status != "aborted" {
				t.Errorf("the stopped task is %s", ended.Status)
			}

			stranger := h.agent(eve)
			for tool, id := range named {
				for who, session := range map[string]*mcp.ClientSession{"a stranger": stranger, "one's own agent": agent} {
					other := id
					if session == agent {
						other = strings.Map(func(r rune) rune { // an id of the same shape that is nobody's
							if r >= '0' && r <= '9' {
								return '0' + (r-'0'+5)%10
							}
							return r
						}, id)
					}
					if code, message := call(t, session, tool, argsOf{"id": other}, &made); !strings.HasSuffix(code, "_not_found") ||
						!strings.HasPrefix(message, "There is no such ") {
						t.Errorf("%s for %s: %s %s", tool, who, code, message)
					}
				}
			}
			ok("get_task", argsOf{"id": named["get_task"]}, &made) // its own team's are there
			for _, tool := range []string{"list_assets", "read_findings"} {
				if call(t, stranger, tool, argsOf{}, &assets); assets.Total != 0 {
					t.Errorf("a stranger sees %d in %s", assets.Total, tool)
				}
			}

			before, viewer := h.state(), h.agent(vera)
			for tool, args := range map[string]any{
				"create_task": argsOf{"task": "check http://127.0.0.1:9/"}, "run_scan": argsOf{"targets": []string{"127.0.0.1:9"}},
				"discover_assets": argsOf{"hosts": []string{"127.0.0.1"}},
				"stop_task":       argsOf{"id": named["stop_task"]}, "stop_scan": argsOf{"id": named["stop_scan"]},
			} {
				if code, _ := call(t, viewer, tool, args, &made); code != "viewer_is_read_only" {
					t.Errorf("a viewer's %s: %q", tool, code)
				}
			}
			if h.state() != before {
				t.Error("a viewer changed something")
			}
			for tool, args := range map[string]any{
				"search_templates": argsOf{}, "read_template": argsOf{"id": templates.Templates[0].ID}, "list_assets": argsOf{},
				"read_findings": argsOf{},
				"get_task":      argsOf{"id": named["get_task"]}, "get_scan": argsOf{"id": named["get_scan"]},
				"get_enumeration": argsOf{"id": named["get_enumeration"]},
			} {
				if code, message := call(t, viewer, tool, args, &made); code != "" {
					t.Errorf("a viewer's %s: %s %s", tool, code, message)
				}
			}
			ok("stop_scan", argsOf{"id": named["stop_scan"]}, &ended)

			kept, err := h.audit.Find(account.WithCaller(t.Context(), ada.Caller), audit.Filter{}, page.Window{Limit: 100})
			if err != nil {
				t.Fatal(err)
			}
			var deeds []string
			for _, e := range kept {
				if e.Path == "/mcp" {
					deeds = append(deeds, e.Action+" "+http.StatusText(e.Status))
				}
			}
			slices.Sort(deeds)
			want := "mcp.create_task Forbidden, mcp.create_task OK, mcp.discover_assets Forbidden, mcp.discover_assets OK, mcp.run_scan Forbidden, mcp.run_scan OK"
			if got := strings.Join(deeds, ", "); !strings.HasPrefix(got, want) || strings.Contains(got, "get_") {
				t.Errorf("the audit log has %s", got)
			}
		})
	}
}

// TestMCPRefusesBadInput: errors name the invalid argument.
func TestMCPRefusesBadInput(t *testing.T) {
	h := serve(t, "sqlite")
	agent := h.agent(h.person("ada", "blue", account.Admin))
	for _, c := range []struct {
		tool, code string
		args       argsOf
	}{
		{"create_task", "invalid_task", argsOf{"task": " "}},
		{"create_task", "invalid_task", argsOf{"task": strings.Repeat("x", 1<<17)}},
		{"create_task", "invalid_mode", argsOf{"task": "x", "mode": "wild"}},
		{"create_task", "invalid_scope_intrusiveness", argsOf{"task": "x", "scope": argsOf{"intrusiveness": "intrusive"}}},
		{"create_task", "invalid_scope_intrusiveness", argsOf{"task": "x", "scope": argsOf{"intrusiveness": "active"}}},
		{"create_task", "invalid_scope_intrusiveness", argsOf{"task": "x", "scope": argsOf{"intrusiveness": "wild"}}},
		{"create_task", "invalid_budget", argsOf{"task": "x", "budget": argsOf{"seconds": -1}}},
		{"run_scan", "invalid_targets", argsOf{"targets": []string{}}},
		{"discover_assets", "invalid_root_domains", argsOf{}},
		{"discover_assets", "invalid_steps", argsOf{"domains": []string{"example.com"}, "steps": []string{"x"}}},
		{"list_assets", "invalid_limit", argsOf{"limit": 201}},
		{"list_assets", "invalid_offset", argsOf{"offset": -1}},
		{"list_assets", "invalid_port", argsOf{"port": "x"}},
		{"read_findings", "invalid_severity", argsOf{"severity": []string{"bad"}}},
		{"read_findings", "invalid_status", argsOf{"status": []string{"bad"}}},
		{"read_template", "template_not_found", argsOf{"id": "none"}},
		{"read_template", "template_not_found", argsOf{"id": ids.New()}},
		{"get_task", "not_our_error", argsOf{"id": 7}},
		{"get_task", "not_our_error", argsOf{"id": "x", "more": true}},
	} {
		if code, message := call(t, agent, c.tool, c.args, nil); code != c.code {
			t.Errorf("%s %.80v: %s %s", c.tool, c.args, code, message)
		}
	}
	tools, err := agent.ListTools(t.Context(), nil)
	if err != nil || len(tools.Tools) != 13 {
		t.Fatalf("%d tools, %v", len(tools.Tools), err)
	}
	for _, tool := range tools.Tools {
		if tool.Description == "" || tool.OutputSchema == nil ||
			tool.Annotations.ReadOnlyHint == slices.Contains([]string{"create_task", "stop_task", "run_scan", "stop_scan",
				"discover_assets"}, tool.Name) {
			t.Errorf("%+v", tool)
		}
	}
}

// TestMCPChecksRequestsLikeTheAPIs: credentials and limits are checked before the protocol.
func TestMCPChecksRequestsLikeTheAPIs(t *testing.T) {
	h := serve(t, "sqlite", "MAX_BODY=2000", "API_RATE=0.001", "API_BURST=12")
	ada := h.person("ada", "blue", account.Admin)
	const list = `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`
	for _, c := range []struct {
		name, method, body string
		p                  *person
		status             int
	}{
		{"nobody", "POST", list, nil, 401},
		{"not JSON", "POST", "x", &ada, 400},
		{"no message", "POST", `{}`, &ada, 400},
		{"a batch", "POST", " [" + list + "]", &ada, 400},
		{"too large", "POST", `{"x":"` + strings.Repeat("x", 2000) + `"}`, &ada, 413},
		{"a stream", "GET", "", &ada, 405},
		{"the end of a session", "DELETE", "", &ada, 405},
		{"a list", "POST", list, &ada, 200},
		{"an unknown method", "POST", `{"jsonrpc":"2.0","id":1,"method":"resources/list"}`, &ada, 200},
		{"what would hang", "POST", `{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{}}`, &ada, 200},
	} {
		got := h.do(h.request(c.method, "/mcp", c.p, c.body))
		if got.status != c.status {
			t.Errorf("%s: %d %s", c.name, got.status, got.body)
		}
		if c.status >= 400 {
			if _, err := got.refusal(false); err != nil {
				t.Errorf("%s: %v in %s", c.name, err, got.body)
			}
		}
	}
	var got answer
	for range 12 {
		got = h.do(h.request("POST", "/mcp", &ada, list))
	}
	if got.status != http.StatusTooManyRequests || got.header.Get("Retry-After") == "" {
		t.Errorf("%d %s", got.status, got.body)
	}
}
