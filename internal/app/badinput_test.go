package app

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/core/account/factor/factortest"
	"github.com/vedette-sec/vedette/internal/core/catalog"
	templateset "github.com/vedette-sec/vedette/internal/engine/templates/update"
	"github.com/vedette-sec/vedette/internal/infra/db/dbtest"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/ids"
	"pgregory.net/rapid"
)

// attacker sends invalid requests that are generated from an OpenAPI document.
type attacker struct {
	*testServer
	doc      *contract
	platform bool
	admin    person
	taskID   string
	makers   map[string]func(*attacker) string // path parameter → makes one of the admin's things, and gives its id
	made     map[string]string                 // path parameter → the id of one that stays
	turn     int                               // see textsFor
	seen     map[*schema]bool                  // types of fields that were tried
	tried    map[string]bool                   // parameters that were
}

func attackers(t testing.TB, engine string) map[string]*attacker {
	h := serve(t, engine, append(withApp(t), "WEBHOOK_ALLOW=127.0.0.1/32", "API_KEYS_PER_USER=10000",
		"PUBLIC_URL=https://vedette.example")...)
	admin := h.person("ada", "blue", account.Admin)
	taskID, issueID := h.task(admin)
	out := map[string]*attacker{}
	for _, surface := range []string{"agent", "platform"} {
		a := &attacker{h, contractOf(t, Config{}, surface), surface == "platform", admin, taskID, nil,
			map[string]string{"id": taskID, "task_id": taskID, "issue": issueID, "provider": "openai-compatible"}, 0,
			map[*schema]bool{}, map[string]bool{}}
		a.makers = map[string]func(*attacker) string{"config_id": (*attacker).config, "session_id": (*attacker).session, "invited_team_id": (*attacker).invitation,
			"key_id": (*attacker).key, "security_key_id": (*attacker).securityKey,
			"mapping_id": (*attacker).mapping,
			"scan_id":    (*attacker).scan, "enumerate_id": (*attacker).enumeration, "vuln_id": (*attacker).vuln,
			"export_id": (*attacker).export, "domain_id": (*attacker).domain, "asset_id": (*attacker).asset,
			"group_id": (*attacker).group, "policy_id": (*attacker).policy,
			"template_id": (*attacker).template, "share": (*attacker).share, "early": (*attacker).early,
			"id": (*attacker).another, "secret_id": (*attacker).secret, "agent_id": (*attacker).agent,
			"mcp_server_id": (*attacker).mcpServer, "tool_id": (*attacker).tool, "toolkit_id": (*attacker).toolkit, "dynamic_tool_id": (*attacker).program, "schedule_id": (*attacker).schedule, "report_schedule_id": (*attacker).reportSchedule, "project_id": (*attacker).project,
			"ssh_key_id": (*attacker).sshKey, "ssh_host_id": (*attacker).sshHost, "eventId": (*attacker).networkEvent, "replay_id": (*attacker).networkReplay,
			"queue_id": (*attacker).triageQueue,
			"rule_id":  (*attacker).triageRule, "audit_log_id": (*attacker).auditLog, "suggestion_id": (*attacker).suggestion,
			"skill_id": (*attacker).skill, "source_id": (*attacker).source, "template_key": (*attacker).templateKey, "prompt_id": (*attacker).prompt,
			"github_installation_id": (*attacker).installation, "github_repo": (*attacker).installation,
			"gitlab_connection_id": (*attacker).gitlab, "gitlab_project_id": (*attacker).gitlab}
		a.made["listed_agent_id"] = "vedette-web-tester"
		a.made["public"] = "vedette-backup-zip"
		out[surface] = a
	}
	return out
}

// bad is one request that must be refused or harmless.
type bad struct {
	name   string
	op     *operation
	path   string // with the query
	header http.Header
	before []byte // comes before the body
	body   []byte
	// names is what a refusal's message must contain; refuse: the answer must be 4xx.
	names  string
	refuse bool
	status int // that exactly, unless 0
}

func (a *attacker) send(t rapid.TB, b bad) {
	t.Helper()
	a.sendAfter(t, b, "")
}

// sendAfter is send where the state of the database is known from the request before; "": it is not. It answers with
// the state that the request left, or "".
func (a *attacker) sendAfter(t rapid.TB, b bad, before string) string {
	t.Helper()
	method := b.op.method
	if method == http.MethodGet {
		before = ""
	} else if before == "" {
		before = a.state()
	}
	r, err := http.NewRequest(method, a.base, bytes.NewReader(b.body))
	if err != nil {
		t.Fatal(err)
	}
	if len(b.before) > 0 {
		r.ContentLength = int64(len(b.before) + len(b.body))
		r.GetBody = func() (io.ReadCloser, error) {
			return io.NopCloser(io.MultiReader(bytes.NewReader(b.before), bytes.NewReader(b.body))), nil
		}
		r.Body, _ = r.GetBody()
	}
	r.URL.Opaque = strings.TrimPrefix(a.base, "http:") + b.path
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Authorization", "Bearer "+a.admin.token)
	r.Header.Set("X-Internal-API-Key", serviceKey)
	maps.Copy(r.Header, b.header)
	got := a.do(r)
	about := fmt.Sprintf("%s %s: %s: %.300q", method, b.op.path, b.name, b.body)
	switch {
	case got.status >= 500:
		t.Errorf("%s\nanswers %d: %s\n%s", about, got.status, got.body, a.logs.line(got.header.Get("X-Request-Id")))
	case got.status < 300:
		if b.refuse {
			t.Errorf("%s\nis taken: %d %s", about, got.status, got.body)
			return ""
		}
		return ""
	}
	message, err := got.refusal(a.platform)
	if err != nil {
		t.Errorf("%s\nanswers %d: %v\n%s", about, got.status, err, got.body)
		return ""
	}
	for _, c := range "9kwx" { // of which long bad values are made
		if bytes.Contains(got.body, bytes.Repeat([]byte{byte(c)}, 201)) {
			t.Errorf("%s\nrepeats more than 200 bytes of what was sent: %.400s", about, got.body)
			return ""
		}
	}
	if !strings.Contains(message, b.names) {
		t.Errorf("%s\ndoes not name %q: %s", about, b.names, got.body)
		return ""
	}
	if b.status != 0 && got.status != b.status {
		t.Errorf("%s\nanswers %d, want %d: %s", about, got.status, b.status, got.body)
		return ""
	}
	if before == "" {
		return ""
	}
	after := a.state()
	if before != after {
		t.Errorf("%s\nis refused, and changed the database from\n%sto\n%s", about, before, after)
	}
	return after
}

// path fills the path of an operation with ids that exist, and the required parameters.
func (a *attacker) path(op *operation) string {
	return a.pathTo(op, a.existingID(op))
}

// existingID is the id of an object of the admin that fits an operation; for deletions a new one.
func (a *attacker) existingID(op *operation) string {
	name := pathParameter(op)
	for part, called := range map[string]string{"/issues/": "issue", "/template/public/": "public",
		"/template/early/": "early", "/template/share/": "share", "/template-keys/": "template_key",
		"/github/repos/": "github_repo"} {
		if name != "" && strings.Contains(op.path, part) {
			name = called
		}
	}
	maker, makes := a.makers[name]
	switch {
	case makes && op.method == http.MethodDelete:
		return maker(a)
	case makes && a.made[name] == "":
		a.made[name] = maker(a)
	case a.made[name] == "" && name != "":
		a.t.Fatalf("%s: nothing is known to have a %s", op.path, name)
	}
	return a.made[name]
}

// session signs the admin in once more.
func (a *attacker) session() string {
	a.t.Helper()
	ctx := account.WithCaller(context.Background(), a.admin.Caller)
	if _, err := a.Accounts.IssueToken(ctx, a.admin.Email); err != nil {
		a.t.Fatal(err)
	}
	found, err := a.Accounts.FindSessions(ctx)
	if err != nil || len(found) == 0 {
		a.t.Fatalf("the admin's sessions: %v, %v", found, err)
	}
	return found[0].ID
}

// key makes a further API key of the admin, in place of an earlier one.
func (a *attacker) key() string {
	a.t.Helper()
	err := a.Accounts.RevokeKeyOf(context.Background(), a.admin.Email, "further")
	if err != nil && !errs.Is(err, errs.NotFound) {
		a.t.Fatal(err)
	}
	_, made, err := a.Accounts.CreateKeyOf(context.Background(), a.admin.Email, account.KeyOptions{Name: "further"})
	if err != nil {
		a.t.Fatal(err)
	}
	return made.ID
}

// securityKey is the admin's security key, a second factor.
func (a *attacker) securityKey() string {
	a.t.Helper()
	c, err := a.Accounts.ByBearer(context.Background(), a.admin.token)
	if err != nil {
		a.t.Fatal(err)
	}
	ctx := account.WithCaller(context.Background(), c)
	own, err := a.Accounts.OwnFactors(ctx)
	if err != nil {
		a.t.Fatal(err)
	}
	if found, err := own.Keys(ctx); err != nil || len(found) > 0 {
		if err != nil {
			a.t.Fatal(err)
		}
		return found[0].ID
	}
	options, err := a.Accounts.BeginSecurityKey(ctx, "correct-horse", "192.0.2.1")
	if err != nil {
		a.t.Fatal(err)
	}
	key := factortest.New(a.t, "https://vedette.example")
	made, _, err := a.Accounts.FinishSecurityKey(ctx, "blue", key.Create(encode(a.t, options)))
	if err != nil {
		a.t.Fatal(err)
	}
	return made.ID
}

// invitation is a team of somebody else that has invited the admin.
func (a *attacker) invitation() string {
	a.t.Helper()
	name := "host-" + strings.ToLower(ids.Random(6))
	host := a.person(name, name, account.Admin)
	if err := a.Accounts.Invite(account.WithCaller(context.Background(), host.Caller), a.admin.Email,
		account.Member); err != nil {
		a.t.Fatal(err)
	}
	return host.TeamID
}

// config creates a configuration.
func (a *attacker) config() string {
	a.t.Helper()
	got := a.do(a.request(http.MethodPost, "/v1/scans/config", &a.admin,
		`{"name": "n", "config_type": "scan", "config": "rate-limit: 1"}`))
	var made struct{ ID string }
	if err := json.Unmarshal(got.body, &made); err != nil || made.ID == "" {
		a.t.Fatalf("making a configuration: %d %s", got.status, got.body)
	}
	return made.ID
}

// mapping creates a severity mapping.
func (a *attacker) mapping() string {
	a.t.Helper()
	got := a.do(a.request(http.MethodPost, "/v1/scans/config/severity", &a.admin,
		`{"template_id": "`+ids.New()+`", "custom_severity": "low"}`))
	var made struct{ ID int64 }
	if err := json.Unmarshal(got.body, &made); err != nil || made.ID == 0 {
		a.t.Fatalf("making a severity mapping: %d %s", got.status, got.body)
	}
	return strconv.FormatInt(made.ID, 10)
}

// enumeration creates an enumeration.
func (a *attacker) enumeration() string {
	a.t.Helper()
	got := a.do(a.request(http.MethodPost, "/v1/asset/enumerate", &a.admin,
		`{"enrichment_inputs": ["127.0.0.1"], "steps": ["http_probe"]}`))
	var made struct{ ID string }
	if err := json.Unmarshal(got.body, &made); err != nil || made.ID == "" {
		a.t.Fatalf("making an enumeration: %d %s", got.status, got.body)
	}
	return made.ID
}

// another creates a further task.
func (a *attacker) another() string {
	a.t.Helper()
	id, _ := a.task(a.admin)
	return id
}

// closedServer is an address that refuses connections.
const closedServer = "http://127.0.0.1:9/mcp"

// mcpServer connects an MCP server that does not answer.
func (a *attacker) mcpServer() string {
	a.t.Helper()
	return a.createdID("/api/v1/mcp/servers",
		`{"name": "s`+strings.ToLower(ids.Random(12))+`", "url": "`+closedServer+`"}`)
}

// tool describes an HTTP tool.
func (a *attacker) tool() string {
	a.t.Helper()
	return a.createdID("/api/v1/tools",
		`{"name": "t`+strings.ToLower(ids.Random(12))+`", "description": "d", "method": "GET", "url": "`+closedServer+`"}`)
}

func (a *attacker) toolkit() string {
	a.t.Helper()
	return a.createdID("/api/v1/dynamic-toolkits", `{"toolkit_id": "k`+strings.ToLower(ids.Random(12))+`", "name": "n"}`)
}

func (a *attacker) program() string {
	a.t.Helper()
	return a.createdID("/api/v1/dynamic-tools", `{"tool_id": "t`+strings.ToLower(ids.Random(12))+`", "description": "d", "code": "export function run() {}"}`)
}

// createdID creates something through the agent API as the admin, and returns its id.
func (a *attacker) createdID(path, body string) string {
	a.t.Helper()
	got := a.do(a.request(http.MethodPost, path, &a.admin, body))
	var made struct{ ID string }
	if err := json.Unmarshal(got.body, &made); err != nil || made.ID == "" {
		a.t.Fatalf("POST %s: %d %s", path, got.status, got.body)
	}
	return made.ID
}

// secret creates a secret.
func (a *attacker) secret() string {
	a.t.Helper()
	got := a.do(a.request(http.MethodPost, "/api/v1/secrets", &a.admin,
		`{"name": "S`+strings.ToUpper(ids.Random(12))+`", "value": "v"}`))
	var made struct{ ID string }
	if err := json.Unmarshal(got.body, &made); err != nil || made.ID == "" {
		a.t.Fatalf("making a secret: %d %s", got.status, got.body)
	}
	return made.ID
}

// agent describes an agent.
func (a *attacker) agent() string {
	a.t.Helper()
	got := a.do(a.request(http.MethodPost, "/api/v1/agents/user", &a.admin, `{"name": "A`+ids.Random(12)+`"}`))
	var made struct{ ID string }
	if err := json.Unmarshal(got.body, &made); err != nil || made.ID == "" {
		a.t.Fatalf("making an agent: %d %s", got.status, got.body)
	}
	return made.ID
}

// template creates a template.
func (a *attacker) template() string {
	a.t.Helper()
	got := a.do(a.request(http.MethodPost, "/v1/template", &a.admin,
		`{"template": "id: mine\ninfo: {name: Mine, author: ada}\nhttp: [{path: ['{{BaseURL}}/'], matchers: [{type: status, status: [200]}]}]\n"}`))
	var made struct {
		ID string `json:"template_id"`
	}
	if err := json.Unmarshal(got.body, &made); err != nil || made.ID == "" {
		a.t.Fatalf("making a template: %d %s", got.status, got.body)
	}
	return made.ID
}

// share makes a template and shares it with its own team.
func (a *attacker) share() string {
	a.t.Helper()
	got := a.do(a.request(http.MethodPost, "/v1/template/share", &a.admin,
		`{"template_id": "`+a.template()+`", "share_type": "organization"}`))
	var made struct {
		Result struct {
			ID string `json:"template_id"`
		}
	}
	if err := json.Unmarshal(got.body, &made); err != nil || made.Result.ID == "" {
		a.t.Fatalf("sharing a template: %d %s", got.status, got.body)
	}
	return made.Result.ID
}

// early imports an early set of one template.
func (a *attacker) early() string {
	a.t.Helper()
	dir := a.t.TempDir()
	text := "id: soon\ninfo: {name: Soon, author: ada}\nhttp: [{path: ['{{BaseURL}}/'], matchers: [{type: status, status: [200]}]}]\n"
	if err := os.WriteFile(filepath.Join(dir, "soon.yaml"), []byte(text), 0o600); err != nil {
		a.t.Fatal(err)
	}
	if _, err := a.catalog.Import(context.Background(), catalog.Source{Source: templateset.Source{From: dir}, Early: true}); err != nil {
		a.t.Fatal(err)
	}
	return "soon"
}

// scan creates a scan with one finding.
func (a *attacker) scan() string {
	a.t.Helper()
	got := a.do(a.request(http.MethodPost, "/v1/scans/import", &a.admin,
		`{"template-id": "x", "host": "`+ids.New()+
			`.example.com", "info": {"name": "n", "severity": "low"}, "type": "http", "issue_trackers": {"github": {"id": "1", "url": "http://x/1"}}}`))
	var made struct{ ID string }
	if err := json.Unmarshal(got.body, &made); err != nil || made.ID == "" {
		a.t.Fatalf("making a scan: %d %s", got.status, got.body)
	}
	return made.ID
}

// vuln creates a scan with one finding, and gives the finding.
func (a *attacker) vuln() string {
	a.t.Helper()
	got := a.do(a.request(http.MethodGet, "/v1/scans/results?scan_ids="+a.scan(), &a.admin, ""))
	var list struct {
		Data []struct {
			ID string `json:"vuln_id"`
		}
	}
	if err := json.Unmarshal(got.body, &list); err != nil || len(list.Data) != 1 {
		a.t.Fatalf("finding a finding: %d %s", got.status, got.body)
	}
	return list.Data[0].ID
}

// triageQueue creates a queue of triage with one finding in it.
func (a *attacker) triageQueue() string {
	a.t.Helper()
	a.vulnOf("low")
	return a.triage("/queues", `{"name": "`+ids.New()+`", "selection": {"severity": ["low"]}}`)
}

// triageRule creates a rule of triage.
func (a *attacker) triageRule() string {
	a.t.Helper()
	return a.triage("/rules", `{"name": "`+ids.New()+`", "match": {"tags": ["none"]}, "set": {"labels": ["x"]}}`)
}

// suggestion creates a suggestion for a finding.
func (a *attacker) suggestion() string {
	a.t.Helper()
	return a.triage("/suggestions", `{"vuln_ids": ["`+a.vulnOf("info")+`"]}`)
}

func (a *attacker) triage(path, body string) string {
	a.t.Helper()
	got := a.do(a.request(http.MethodPost, "/api/v1/triage"+path, &a.admin, body))
	if got.status == http.StatusConflict { // there are as many as there may be
		if _, err := a.db.Exec(a.t.Context(), `DELETE FROM triage_`+strings.TrimSuffix(path[1:], "s")); err != nil {
			a.t.Fatal(err)
		}
		got = a.do(a.request(http.MethodPost, "/api/v1/triage"+path, &a.admin, body))
	}
	var made struct {
		ID          string
		Suggestions []struct{ ID string }
	}
	err := json.Unmarshal(got.body, &made)
	if len(made.Suggestions) > 0 {
		made.ID = made.Suggestions[0].ID
	}
	if err != nil || made.ID == "" {
		a.t.Fatalf("making a thing of triage: %d %s", got.status, got.body)
	}
	return made.ID
}

// vulnOf creates a finding of a severity, which has a CVSS score of another.
func (a *attacker) vulnOf(severity string) string {
	a.t.Helper()
	got := a.do(a.request(http.MethodPost, "/v1/scans/import", &a.admin, `{"template-id": "y", "host": "`+ids.New()+
		`.example.com", "info": {"name": "n", "severity": "`+severity+`", "classification": {"cvss-score": 9.8}}, "type": "http"}`))
	var made struct{ ID string }
	if err := json.Unmarshal(got.body, &made); err != nil || made.ID == "" {
		a.t.Fatalf("making a scan: %d %s", got.status, got.body)
	}
	got = a.do(a.request(http.MethodGet, "/v1/scans/results?severity="+severity+"&scan_ids="+made.ID, &a.admin, ""))
	var list struct {
		Data []struct {
			ID string `json:"vuln_id"`
		}
	}
	if err := json.Unmarshal(got.body, &list); err != nil || len(list.Data) != 1 {
		a.t.Fatalf("finding a finding: %d %s", got.status, got.body)
	}
	return list.Data[0].ID
}

// export creates an export job, which no worker runs.
func (a *attacker) export() string {
	a.t.Helper()
	got := a.do(a.request(http.MethodPost, "/v1/scans/results/export?async=true", &a.admin, "{}"))
	var made struct {
		ID string `json:"export_id"`
	}
	if err := json.Unmarshal(got.body, &made); err != nil || made.ID == "" {
		a.t.Fatalf("asking for an export: %d %s", got.status, got.body)
	}
	return made.ID
}

// domain adds a domain.
func (a *attacker) domain() string {
	a.t.Helper()
	got := a.do(a.request(http.MethodPost, "/v1/domain", &a.admin,
		`{"domain": "`+strings.ToLower(ids.Random(12))+`.example.com"}`))
	var made struct{ ID string }
	if err := json.Unmarshal(got.body, &made); err != nil || made.ID == "" {
		a.t.Fatalf("adding a domain: %d %s", got.status, got.body)
	}
	return made.ID
}

// pathParameter is the name of an operation's first path parameter; empty without one.
func pathParameter(op *operation) string {
	_, rest, _ := strings.Cut(op.path, "{")
	name, _, _ := strings.Cut(rest, "}")
	return name
}

// pathTo is an operation's path for one thing, with the query that it needs.
func (a *attacker) pathTo(op *operation, id string) string {
	path := strings.Replace(op.path, "{"+pathParameter(op)+"}", id, 1)
	query := url.Values{}
	for _, p := range op.Parameters {
		if p.In == "query" && p.Required {
			query.Set(p.Name, fmt.Sprint(a.example(p.Schema, p.Name)))
		}
	}
	if len(query) > 0 {
		path += "?" + query.Encode()
	}
	return path
}

// example is a valid value of a schema.
func (a *attacker) example(s *schema, name string) any {
	s = a.doc.deref(s)
	switch {
	case len(s.Enum) > 0:
		return s.Enum[0]
	case s.is("object"):
		out := map[string]any{}
		for _, field := range s.Required {
			out[field] = a.example(s.Properties[field], field)
		}
		return out
	case s.is("array"):
		out := []any{a.example(s.Items, name)}
		for len(out) < s.MinItems {
			out = append(out, out[0])
		}
		return out
	case s.is("integer"), s.is("number"):
		if s.Minimum != nil {
			return *s.Minimum
		}
		return 1
	case s.is("boolean"):
		return false
	case s.Format == "uuid":
		return ids.New()
	case name == "email":
		return "ada@example.com"
	}
	return "words"
}

func bodySchema(op *operation) *schema {
	if op.RequestBody == nil {
		return nil
	}
	return op.RequestBody.Content["application/json"].Schema
}

// body is a valid body of the operation, without streaming.
func (a *attacker) body(op *operation) map[string]any {
	s := bodySchema(op)
	if s == nil {
		return nil
	}
	doc := a.example(s, "").(map[string]any)
	switch op.OperationID {
	case "create-task":
		doc["task"], doc["response_format"] = "check http://127.0.0.1:9/", "json"
	case "abort-task-tools":
		doc["tool_call_id"] = "main/1"
	case "create-agent":
		doc["name"] = "A" + ids.Random(12)
	case "add-severity-mapping", "update-severity-mapping": // it needs this or cvss_vector
		doc["custom_severity"] = "low"
	case "create-secret":
		doc["name"] = "S" + strings.ToUpper(ids.Random(12))
	case "connect-mcp-server":
		doc["name"], doc["url"] = "s"+strings.ToLower(ids.Random(12)), closedServer
	case "create-tool":
		doc["name"], doc["url"] = "t"+strings.ToLower(ids.Random(12)), closedServer
	}
	return doc
}

func encode(t rapid.TB, doc any) []byte {
	t.Helper()
	text, err := json.Marshal(doc)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestBadInputIsRefusedInShape(t *testing.T) {
	for _, engine := range dbtest.Engines {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			for surface, a := range attackers(t, engine) {
				methods := map[string]bool{}
				for _, op := range a.doc.operations() {
					cases := slices.Concat(a.fieldCases(t, op), a.parameterCases(t, op))
					if engine == "sqlite" { // what is refused before any database is asked, once
						cases = append(cases, a.bodyCases(t, op)...)
					}
					if !methods[op.method] {
						cases = append(cases, a.headerCases(t, op)...)
					}
					methods[op.method] = true
					state := ""
					for i, b := range cases {
						if engine == "sqlite" || i%4 == 0 || strings.Contains(b.name, "NUL") || strings.Contains(b.name, `\x`) {
							state = a.sendAfter(t, b, state)
						}
					}
					t.Logf("%s: %s %s: %d requests", surface, op.method, op.path, len(cases))
				}
			}
		})
	}
}

// TestAnyValueInAnyField puts arbitrary JSON into each field.
func TestAnyValueInAnyField(t *testing.T) {
	a := attackers(t, "sqlite")["agent"]
	var withBody []*operation
	for _, op := range a.doc.operations() {
		if bodySchema(op) != nil && op.OperationID != "login" { // a login costs a password hash
			withBody = append(withBody, op)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		op := rapid.SampledFrom(withBody).Draw(t, "operation")
		doc := a.body(op)
		fields := slices.Sorted(maps.Keys(a.doc.deref(bodySchema(op)).Properties))
		for _, field := range rapid.SliceOfNDistinct(rapid.SampledFrom(fields), 1, 3, rapid.ID).Draw(t, "fields") {
			doc[field] = anyJSON(3).Draw(t, field)
		}
		if op.OperationID == "create-task" {
			doc["response_format"] = "json"
		}
		a.send(t, bad{name: "any value", op: op, path: a.path(op), body: encode(t, doc)})
	})
}

// anyJSON draws a JSON value of a depth.
func anyJSON(depth int) *rapid.Generator[any] {
	kinds := []*rapid.Generator[any]{
		rapid.Just[any](nil), rapid.Bool().AsAny(), rapid.String().AsAny(), rapid.Int64().AsAny(),
		rapid.Float64Range(-1e300, 1e300).AsAny(),
	}
	if depth > 0 {
		kinds = append(kinds, rapid.SliceOfN(rapid.Deferred(func() *rapid.Generator[any] { return anyJSON(depth - 1) }), 0,
			4).AsAny(),
			rapid.MapOfN(rapid.String(), rapid.Deferred(func() *rapid.Generator[any] { return anyJSON(depth - 1) }), 0,
				4).AsAny())
	}
	return rapid.OneOf(kinds...)
}

// FuzzRequest sends any bytes as the body, and any text as the query, of any operation.
func FuzzRequest(f *testing.F) {
	attackers := attackers(f, "sqlite")
	var all []*operation
	of := map[*operation]*attacker{}
	for _, surface := range []string{"agent", "platform"} {
		for _, op := range attackers[surface].doc.operations() {
			if op.OperationID != "login" {
				all = append(all, op)
				of[op] = attackers[surface]
			}
		}
	}
	for i, op := range all {
		f.Add(uint8(i), "limit=1&status=queued&cursor=x", encode(f, of[op].body(op)))
		f.Add(uint8(i), "%zz", []byte(`{"task":"x","message":{"parts":[{"type":"text"}]}`))
	}
	f.Fuzz(func(t *testing.T, i uint8, query string, body []byte) {
		op := all[int(i)%len(all)]
		a := *of[op]
		h := *a.testServer
		h.t, a.testServer = t, &h
		path, _, _ := strings.Cut(a.path(op), "?")
		a.send(t, bad{name: "fuzz", op: op, path: path + "?" + strings.Map(visible, query), body: body})
	})
}

// visible drops characters that are invalid in a request line.
func visible(r rune) rune {
	if r <= ' ' || r >= 0x7f || r == '#' {
		return -1
	}
	return r
}
