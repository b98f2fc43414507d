package app

import (
	"net/http"
	"strings"
	"testing"

	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/infra/db/dbtest"
)

// readKey is a key of a person that may read only.
func (h *testServer) readKey(p person) string {
	h.t.Helper()
	k, _, err := h.Accounts.CreateKeyOf(h.t.Context(), p.Email, account.KeyOptions{Name: "reader", Scope: account.ScopeRead})
	if err != nil {
		h.t.Fatal(err)
	}
	return k.Key
}

// TestReadKeysChangeNothing sends every operation of both contracts with an operator's key of the scope read: only GET is
// allowed, also in a team that X-Team-Id names.
func TestReadKeysChangeNothing(t *testing.T) {
	for surface, a := range attackers(t, "sqlite") {
		name := "olga-" + surface
		olga := a.person(name, name, account.Admin)
		key := a.readKey(olga)
		ctx := account.WithCaller(t.Context(), olga.Caller)
		second, err := a.Accounts.CreateTeam(ctx, "second "+surface)
		if err != nil {
			t.Fatal(err)
		}
		refused := 0
		for _, op := range a.doc.operations() {
			if !takesKey(op) {
				continue
			}
			path := a.path(op) // makes what it names
			for _, team := range []string{"", second} {
				before := a.state()
				r := a.request(op.method, path, nil, string(encode(t, a.body(op))))
				r.Header.Set("X-Api-Key", key)
				if team != "" {
					r.Header.Set("X-Team-Id", team)
				}
				got := a.do(r)
				named := strings.Contains(string(got.body), `"read_only_key"`)
				if reads := op.method == http.MethodGet; named == reads || named && got.status != http.StatusForbidden {
					t.Errorf("%s %s: %d %s", op.method, op.path, got.status, got.body)
				}
				if !named {
					continue
				}
				if refused++; a.state() != before {
					t.Errorf("%s %s changed something", op.method, op.path)
				}
			}
		}
		if refused < 20 {
			t.Errorf("%s: only %d were refused", surface, refused)
		}
	}
}

// TestReadKeysChangeNothingByMCP calls every tool with a key of the scope read.
func TestReadKeysChangeNothingByMCP(t *testing.T) {
	for _, engine := range dbtest.Engines {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			h := serve(t, engine, "API_KEYS_PER_USER=2")
			ada := h.person("ada", "blue", account.Admin)
			taskID, _ := h.task(ada)
			ada.key = h.readKey(ada)
			agent := h.agent(ada)
			offered, err := agent.ListTools(t.Context(), nil)
			if err != nil {
				t.Fatal(err)
			}
			args := map[string]argsOf{
				"create_task": {"task": "check http://127.0.0.1:9/"}, "run_scan": {"targets": []string{"127.0.0.1:9"}},
				"discover_assets": {"hosts": []string{"127.0.0.1"}}, "stop_task": {"id": taskID}, "stop_scan": {"id": taskID},
				"list_assets": {}, "read_findings": {}, "search_templates": {},
			}
			before, refused := h.state(), 0
			for _, tool := range offered.Tools {
				sent, ok := args[tool.Name]
				if !ok {
					sent = argsOf{"id": taskID}
				}
				var out any
				code, message := call(t, agent, tool.Name, sent, &out)
				if (code == "read_only_key") == tool.Annotations.ReadOnlyHint {
					t.Errorf("%s: %s %s", tool.Name, code, message)
				}
				if code == "read_only_key" {
					refused++
				}
			}
			if refused == 0 || h.state() != before {
				t.Errorf("%d tools were refused; the database is as before: %v", refused, h.state() == before)
			}
		})
	}
}
