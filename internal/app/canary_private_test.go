package app

import (
	"cmp"
	"net/http"
	"strings"
	"testing"

	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/infra/db/dbtest"
	"github.com/vedette-sec/vedette/internal/infra/ids"
)

// privates are requests by which a member keeps something to themselves, in which MARK is a word of theirs alone.
var privates = []struct{ method, path, body string }{
	{"POST", "/api/v1/tasks", `{"task": "check http://127.0.0.1:9/MARK", "visibility": "private", "response_format": "json"}`},
	{"POST", "/api/v1/agents/user", `{"name": "agent MARK", "description": "MARK", "system_context": "MARK"}`},
	{"POST", "/api/v1/skills", `{"name": "MARK", "description": "MARK", "instructions": "MARK", "files": [{"path": "MARK.md", "content": "MARK"}]}`},
	{"POST", "/api/v1/prompts", `{"name": "MARK", "description": "MARK", "text": "check MARK {{url}}"}`},
	{"POST", "/api/v1/secrets", `{"name": "SECRET", "value": "value-of-MARK", "description": "MARK"}`},
	{"POST", "/api/v1/tools", `{"name": "tool_MARK", "description": "MARK", "method": "GET", "url": "http://127.0.0.1:9/MARK"}`},
	{"POST", "/api/v1/mcp/servers", `{"name": "sMARK", "url": "http://127.0.0.1:9/MARK", "bearer_token": "bearer-of-MARK-0123456789"}`},
	{"POST", "/api/v1/dynamic-toolkits", `{"toolkit_id": "kMARK", "name": "MARK", "init_code": "// MARK"}`},
	{"POST", "/api/v1/dynamic-tools", `{"tool_id": "pMARK", "toolkit_id": "kMARK", "description": "MARK", "code": "export function run() { return 'MARK' }"}`},
	{"PUT", "/api/v1/memory", `{"facts": ["MARK"], "insights": ["MARK"]}`},
	{"POST", "/api/v1/files?key=MARK.txt", `MARK`},
	{"POST", "/api/v1/ssh-keys", `{"name": "MARK", "password": "MARK-secret", "default_host": "MARK.example.com"}`},
	{"POST", "/api/v1/schedules", `{"task_message": "check http://127.0.0.1:9/MARK", "name": "MARK", "scan_frequency": "daily", "selected_visibility_type": "private"}`},
}

// TestPrivateCanaries: what a member keeps to themselves (private tasks with all that they wrote, sent and found, memory,
// knowledge, secrets, keys, files, tools and projects) is in no answer to a colleague, in whatever role.
func TestPrivateCanaries(t *testing.T) {
	for _, engine := range dbtest.Engines {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			all := walks(t, engine)
			w := all["agent"]
			max := w.member(w.teamName(), account.Member)
			mark := "zp" + strings.ToLower(ids.Random(10))
			made := map[string]string{} // the ids of what is private, by the path that made it
			for _, s := range privates {
				fill := func(s string) string { return strings.ReplaceAll(s, "MARK", mark) }
				path, _, _ := strings.Cut(s.path, "?")
				answer := w.must(&max, s.method, fill(s.path), fill(s.body))
				made[path] = cmp.Or(answer["id"], answer["task_id"])
			}
			w.know(max, mark, false)
			w.work(max, made["/api/v1/tasks"], mark)
			project := "zr" + strings.ToLower(ids.Random(10)) // admins of the team see every project, and what belongs to it
			made["/api/v1/projects"] = w.must(&max, http.MethodPost, "/api/v1/projects",
				`{"name": "`+project+`", "type": "personal", "settings_md": "`+project+`"}`)["id"]
			w.fileUnder(max, made["/api/v1/projects"], project)
			if shown := w.shows(all, by(max), mark); len(shown) < 15 {
				t.Errorf("its owner sees it in %d operations only: %q", len(shown), shown)
			}
			w.colleague(all, account.Admin, made, mark)
			w.colleague(all, account.Member, made, mark, project)
			w.colleague(all, account.Viewer, made, mark, project)
		})
	}
}

// colleague asks for everything as a new member of the team with a role, and with the ids of what is private.
func (w *walk) colleague(all map[string]*walk, role account.Role, made map[string]string, words ...string) {
	w.t.Helper()
	colleague := w.member(w.teamName(), role)
	for _, op := range w.shows(all, by(colleague), words...) {
		w.t.Errorf("a colleague (%s) sees what is private in %s", role, op)
	}
	w.askTools(colleague, words[0], "a colleague ("+string(role)+")")
	for _, each := range all {
		for _, op := range each.doc.operations() {
			for path, id := range made {
				seen := role == account.Admin && strings.HasSuffix(path, "/projects")
				if !takesKey(op) || op.method != http.MethodGet || id == "" || seen || !strings.HasPrefix(op.path, path+"/{") {
					continue
				}
				r := w.request(op.method, each.pathTo(op, id), nil, "")
				by(colleague)(r)
				if got := w.do(r); got.status != http.StatusNotFound && got.status != http.StatusForbidden {
					w.t.Errorf("a colleague (%s) reads what is private by %s %s: %d %s", role, op.method, op.path, got.status, got.body)
				}
			}
		}
	}
}

// shows returns the lists, exports and searches whose answer has one of some words, each with the text around the word.
func (w *walk) shows(all map[string]*walk, sign func(*http.Request), words ...string) (out []string) {
	w.t.Helper()
	for _, each := range all {
		for _, op := range each.doc.operations() {
			asks := op.method == http.MethodPost && (strings.Contains(op.path, "/export") || op.OperationID == "search-knowledge")
			if !takesKey(op) || pathParameter(op) != "" || op.method != http.MethodGet && !asks {
				continue
			}
			body := ""
			if bodySchema(op) != nil {
				body = string(encode(w.t, each.body(op)))
			}
			if op.OperationID == "search-knowledge" {
				body = `{"query": "where is the depot?"}`
			}
			r := w.request(op.method, each.path(op), nil, body)
			sign(r)
			got := w.do(r)
			if got.status >= 500 {
				w.t.Errorf("%s %s: %d %s", op.method, op.path, got.status, got.body)
			}
			for _, word := range words {
				if at := strings.Index(string(got.body), word); at >= 0 {
					out = append(out, op.method+" "+op.path+": "+string(got.body[max(0, at-150):at+len(word)]))
				}
			}
		}
	}
	return out
}
