package app

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/infra/db/dbtest"
	"github.com/vedette-sec/vedette/internal/infra/ids"
)

// seeds are requests that give the victim data in which MARK is a word of theirs alone.
var seeds = []struct{ method, path, body string }{
	{"POST", "/api/v1/tasks", `{"task": "check http://127.0.0.1:9/MARK", "response_format": "json"}`},
	{"POST", "/api/v1/agents/user", `{"name": "agent MARK", "description": "MARK", "system_context": "MARK"}`},
	{"POST", "/api/v1/skills", `{"name": "MARK", "description": "MARK", "instructions": "MARK", "files": [{"path": "MARK.md", "content": "MARK"}]}`},
	{"POST", "/api/v1/prompts", `{"name": "MARK", "description": "MARK", "text": "check MARK {{url}}"}`},
	{"POST", "/api/v1/secrets", `{"name": "SECRET", "value": "value-of-MARK", "description": "MARK"}`},
	{"POST", "/api/v1/tools",
		`{"name": "tool_MARK", "description": "MARK", "method": "GET", "url": "http://127.0.0.1:9/MARK"}`},
	{"POST", "/api/v1/mcp/servers", `{"name": "sMARK", "url": "http://127.0.0.1:9/MARK", "bearer_token": "bearer-of-MARK-0123456789"}`},
	{"POST", "/api/v1/dynamic-toolkits", `{"toolkit_id": "kMARK", "name": "MARK", "env_vars": ["SECRET"], "init_code": "// MARK"}`},
	{"POST", "/api/v1/dynamic-tools", `{"tool_id": "pMARK", "toolkit_id": "kMARK", "description": "MARK", "code": "export function run() { return 'MARK' }"}`},
	{"PUT", "/api/v1/memory", `{"facts": ["MARK"], "insights": ["MARK"]}`},
	{"POST", "/api/v1/files?key=MARK.txt", `MARK`},
	{"POST", "/api/v1/ssh-keys", `{"name": "MARK", "password": "MARK-secret", "default_host": "MARK.example.com"}`},
	{"POST", "/api/v1/projects", `{"name": "MARK", "settings_md": "MARK"}`},
	{"POST", "/api/v1/schedules", `{"task_message": "check http://127.0.0.1:9/MARK", "name": "MARK", "scan_frequency": "daily"}`},
	{"PATCH", "/api/v1/teams", `{"webhook_url": "http://127.0.0.1:9/MARK", "webhook_secret_name": "SECRET"}`},
	{"POST", "/v1/template", `{"template": "id: MARK\ninfo: {name: 'MARK', author: ada}\nhttp:\n` +
		`  - path: ['{{BaseURL}}/MARK']\n    matchers: [{type: status, status: [200]}]\n"}`},
	{"POST", "/v1/domain", `{"domain": "MARK.example.com"}`},
	{"POST", "/v1/scans/config", `{"name": "MARK", "config_type": "scan", "config": "rate-limit: 1 # MARK"}`},
	{"POST", "/v1/scans/config", `{"name": "alerts MARK", "config_type": "alerting", ` +
		`"config": "slack: {webhook_url: 'http://127.0.0.1:9/hook-of-MARK'}"}`},
	{"POST", "/v1/scans/config", `{"name": "issues MARK", "config_type": "reporting", ` +
		`"config": "github: {owner: MARK, project-name: p, token: tracker-of-MARK, base-url: 'http://127.0.0.1:9'}"}`},
	{"POST", "/v1/scans",
		`{"name": "MARK", "targets": ["http://127.0.0.1:9/MARK"], "templates": ["vedette-backup-zip"]}`},
	{"POST", "/v1/asset/enumerate", `{"name": "MARK", "enrichment_inputs": ["127.0.0.1"], "steps": ["http_probe"]}`},
	{"POST", "/v1/scans/config/exclude", `{"exclude_type": "enumeration_target", "values": ["*.MARK.example.com"]}`},
	{"POST", "/v1/scans/import", `{"template-id": "MARK", "host": "MARK.example.com", "type": "http", ` +
		`"matched-at": "http://MARK.example.com/", "info": {"name": "MARK", "severity": "low"}}`},
	{"POST", "/v1/scans/config/severity", `{"template_id": "MARK", "custom_severity": "low"}`},
	{"POST", "/v1/scans/results/export?async=true", `{"search": "MARK"}`},
	{"POST", "/v1/export/schedule", `{"name": "MARK", "frequency": "weekly", "start_time": "07:00", "search": "MARK"}`},
	{"POST", "/v1/user/team/member", `{"email": "MARK@example.com", "role": "VIEWER"}`},
	{"POST", "/api/v1/triage/queues", `{"name": "MARK", "selection": {"search": "MARK"}}`},
	{"POST", "/api/v1/triage/rules", `{"name": "MARK", "match": {"tags": ["MARK"]}, "set": {"labels": ["MARK"]}}`},
	{"PATCH", "/v1/user/team", `{"name": "team MARK"}`},
}

// seed gives the victim data, and finds which rows of the database are theirs.
func (w *walk) seed() {
	w.t.Helper()
	mark := "zq" + strings.ToLower(ids.Random(10))
	fill := func(s string) string { return strings.ReplaceAll(s, "MARK", mark) }
	for _, s := range seeds {
		if got := w.do(w.request(s.method, fill(s.path), &w.admin, fill(s.body))); got.status/100 != 2 {
			w.t.Fatalf("%s %s: %d %s", s.method, s.path, got.status, got.body)
		}
	}
	w.marks = []string{mark, w.admin.TeamID, w.admin.Email, w.admin.UserID}
	for _, query := range w.owned() {
		w.parts = append(w.parts, &part{query: query, tables: tablesOf(query)})
	}
}

// walks are the two APIs of one server, with a team that has data.
func walks(t testing.TB, engine string) map[string]*walk {
	out := map[string]*walk{}
	var first *walk
	for surface, a := range attackers(t, engine) {
		w := &walk{attacker: a, engine: engine}
		if first == nil {
			first = w
			w.seed()
		}
		w.marks, w.parts = first.marks, first.parts
		out[surface] = w
	}
	return out
}

// columns are those of each table of the database, by its name.
func (w *walk) columns() map[string][]string {
	w.t.Helper()
	list := `SELECT t.name, c.name FROM sqlite_master t, pragma_table_info(t.name) c WHERE t.type = 'table'`
	if w.engine == "postgres" {
		list = `SELECT table_name, column_name FROM information_schema.columns WHERE table_schema = 'public'`
	}
	out := map[string][]string{}
	for _, row := range w.read(list) {
		name := fmt.Sprint(row[0])
		out[name] = append(out[name], fmt.Sprint(row[1]))
	}
	return out
}

// owned are queries of all rows that belong to the victim: those of their team and themselves, and those that refer
// to such a row.
func (w *walk) owned() (out []string) {
	w.t.Helper()
	tables := w.columns()
	where := func(name string) string {
		columns := tables[name]
		switch {
		case name == "team":
			return "id = '" + w.admin.TeamID + "'"
		case name == "user_account":
			return "id = '" + w.admin.UserID + "'"
		case slices.Contains(columns, "team_id"):
			return "team_id = '" + w.admin.TeamID + "'"
		case slices.Contains(columns, "user_id"):
			return "user_id = '" + w.admin.UserID + "'"
		}
		return ""
	}
	for name, columns := range tables {
		is := where(name)
		for _, column := range columns {
			parent, refers := strings.CutSuffix(column, "_id")
			if of := tables[parent]; is == "" && refers && slices.Contains(of, "id") && where(parent) != "" {
				is = column + " IN (SELECT id FROM " + parent + " WHERE " + where(parent) + ")"
			}
		}
		if is != "" && name != "audit_entry" && name != "audit_chain" { // a member's refused requests are written down too
			out = append(out, `SELECT "`+strings.Join(columns, `", "`)+`" FROM `+name+" WHERE "+is)
		}
	}
	slices.Sort(out)
	return out
}

// read are the rows of a query.
func (w *walk) read(query string) (out [][]any) {
	w.t.Helper()
	rows, err := w.db.Writer().QueryContext(context.Background(), query)
	if err != nil {
		w.t.Fatalf("%s: %v", query, err)
	}
	defer rows.Close()
	columns, err := rows.Columns()
	for err == nil && rows.Next() {
		values, into := make([]any, len(columns)), make([]any, len(columns))
		for i := range values {
			into[i] = &values[i]
		}
		err = rows.Scan(into...)
		out = append(out, values)
	}
	if err = cmp.Or(err, rows.Err()); err != nil {
		w.t.Fatalf("%s: %v", query, err)
	}
	return out
}

// belongings are digests of the victim's rows, by query. A query whose tables were not written since is not made again.
func (w *walk) belongings() map[string]string {
	w.t.Helper()
	out := map[string]string{}
	w.written.look(w.t)
	for _, part := range w.parts {
		if at := w.written.times(w.t, part.tables); part.digest == "" || at != part.at {
			var lines []string
			for _, row := range w.read(part.query) {
				lines = append(lines, fmt.Sprint(row))
			}
			slices.Sort(lines)
			part.digest = fmt.Sprintf("%d rows, %x", len(lines), sha256.Sum256([]byte(strings.Join(lines, "\n"))))
			part.at = at
		}
		out[part.query] = part.digest
	}
	return out
}

// unchanged compares the victim's rows with those of before.
func (w *walk) unchanged(before map[string]string, about string) {
	w.t.Helper()
	after := w.belongings()
	for query, was := range before {
		if after[query] != was {
			_, rows, _ := strings.Cut(query, " FROM ")
			w.t.Errorf("%s changed %s: from %s to %s", about, rows, was, after[query])
		}
	}
}

// leak is a part of the answer that belongs to the victim and was not in the request.
func (w *walk) leak(r *http.Request, body string, got answer) string {
	sent := r.URL.String() + r.Header.Get("X-Team-Id") + body
	if plain, err := url.QueryUnescape(sent); err == nil {
		sent += plain
	}
	for _, mark := range w.marks {
		if !strings.Contains(sent, mark) && bytes.Contains(got.body, []byte(mark)) {
			return mark
		}
	}
	return ""
}

// sent sends a request of a walker, and checks what holds for all of them.
func (w *walk) sent(op *operation, path, body string, by walker) answer {
	w.t.Helper()
	r := w.request(op.method, path, nil, body)
	by.sign(r)
	got := w.do(r)
	about := fmt.Sprintf("%s %s of %s", op.method, path, by.name)
	want := by.want(op)
	if got.status >= 500 || want != 0 && got.status != want || want == 0 && got.status == http.StatusUnauthorized {
		w.t.Errorf("%s: %d, want %d: %s\n%s", about, got.status, want, got.body, w.logs.line(got.header.Get("X-Request-Id")))
	}
	if got.status >= 400 {
		if _, err := got.refusal(w.platform); err != nil {
			w.t.Errorf("%s: %v: %s", about, err, got.body)
		}
	}
	if leak := w.leak(r, body, got); leak != "" && (by.foreign || got.status >= 400) {
		w.t.Errorf("%s: %d, and the answer has %q of the victim: %s", about, got.status, leak, got.body)
	}
	return got
}

// TestWalks: every operation of both contracts is called by everybody who has no right to it, or not all rights, with
// the ids of another team. The status is that of their kind, the answer has nothing of the team's, and no row of the
// team's changes.
func TestWalks(t *testing.T) {
	for _, engine := range dbtest.Engines {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			walked, shown := 0, 0
			for surface, w := range walks(t, engine) {
				eve := w.member("eves "+surface, account.Admin)
				walkers := slices.Concat(w.outsiders(), w.naming(eve), w.roles())
				for _, op := range w.doc.operations() {
					path, body := w.path(op), "" // makes what it names
					if bodySchema(op) != nil {
						body = string(encode(t, w.body(op)))
					}
					if op.method == http.MethodGet {
						r := w.request(op.method, path, &w.admin, "")
						if w.leak(r, "", w.do(r)) != "" {
							shown++
						}
					}
					without, open := public[op.OperationID]
					if open != allowsAnonymous(op) {
						t.Errorf("%s: the contract says that it needs no credentials: %v", op.OperationID, allowsAnonymous(op))
					}
					before := w.belongings()
					for _, by := range walkers {
						if open {
							if without == 0 || by.name != nobody {
								continue
							}
							by.want = always(without)
						}
						if by.want(op) == 0 && op.method != http.MethodGet {
							continue // they may change it: see TestRoles
						}
						w.sent(op, path, body, by)
						walked++
					}
					w.unchanged(before, op.method+" "+path)
				}
			}
			t.Logf("%d walks; %d operations show the team its data", walked, shown)
			if walked < 2000 || shown < 20 {
				t.Errorf("%d walks, and %d operations show the team its data", walked, shown)
			}
		})
	}
}

// identifiers are the fields of an operation's body and query that name things by their ids.
func (w *walk) identifiers(op *operation) (fields map[string]*schema, queries []string) {
	fields = map[string]*schema{}
	named := func(name string) bool {
		return strings.HasSuffix(name, "id") || strings.HasSuffix(name, "ids") || strings.HasSuffix(name, "keys")
	}
	if root := bodySchema(op); root != nil {
		for name, s := range w.doc.deref(root).Properties {
			if s = w.doc.deref(s); named(name) && (s.is("string") || s.is("array")) {
				fields[name] = s
			}
		}
	}
	for _, p := range op.Parameters {
		if p.In == "query" && named(p.Name) {
			queries = append(queries, p.Name)
		}
	}
	return fields, queries
}

// TestForeignIDsInBodies: ids of another team in each field and parameter that takes ids, sent by a stranger for their
// own things, change nothing of that team and show nothing of it, then or later.
func TestForeignIDsInBodies(t *testing.T) {
	for _, engine := range dbtest.Engines {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			tried := 0
			for surface, w := range walks(t, engine) {
				a := w.attacker
				var theirs []string
				for _, make := range []func(*attacker) string{(*attacker).scan, (*attacker).vuln, (*attacker).enumeration,
					(*attacker).asset, (*attacker).config, (*attacker).template, (*attacker).another, (*attacker).secret,
					(*attacker).agent, (*attacker).mcpServer, (*attacker).tool, (*attacker).group, (*attacker).policy,
					(*attacker).domain, (*attacker).mapping, (*attacker).export, (*attacker).schedule, (*attacker).project,
					(*attacker).sshKey, (*attacker).sshHost, (*attacker).skill, (*attacker).prompt} {
					theirs = append(theirs, make(a))
				}
				own := *a
				own.admin, own.made = w.member("eves "+surface, account.Admin), map[string]string{"provider": "openai-compatible",
					"public": "vedette-backup-zip"}
				own.taskID, own.made["issue"] = own.task(own.admin)
				own.made["id"], own.made["task_id"] = own.taskID, own.taskID
				eve := walker{"a stranger", by(own.admin), always(0), true}
				for _, op := range a.doc.operations() {
					if allowsAnonymous(op) || isInternal(op) || op.OperationID == "generate-template" ||
						strings.Contains(op.path, "/apikey") || strings.Contains(op.path, "/sessions") {
						continue // what is the caller's own is walked on in TestWalks
					}
					fields, queries := w.identifiers(op)
					for name, s := range fields {
						values := []any{theirs}
						if s.is("string") {
							values = nil
							for _, id := range theirs {
								values = append(values, id)
							}
						}
						for _, value := range values {
							doc := own.body(op)
							doc[name] = value
							tried++
							w.intrude(op, own.path(op), string(encode(t, doc)), eve)
						}
					}
					for _, name := range queries {
						for _, id := range append(slices.Clone(theirs), strings.Join(theirs, ",")) {
							path, body := own.path(op), ""
							base, query, _ := strings.Cut(path, "?")
							values, _ := url.ParseQuery(query)
							values.Set(name, id)
							if bodySchema(op) != nil {
								body = string(encode(t, own.body(op)))
							}
							tried++
							w.intrude(op, base+"?"+values.Encode(), body, eve)
						}
					}
				}
				for _, op := range a.doc.operations() { // what came of it
					if op.method == http.MethodGet && takesKey(op) && pathParameter(op) == "" {
						w.intrude(op, own.path(op), "", eve)
					}
				}
			}
			t.Logf("%d requests", tried)
			if tried < 300 {
				t.Errorf("%d requests only", tried)
			}
		})
	}
}

// intrude sends a request of a stranger, and checks that it gets and changes nothing of the victim's.
func (w *walk) intrude(op *operation, path, body string, by walker) {
	w.t.Helper()
	before := map[string]string(nil)
	if op.method != http.MethodGet {
		before = w.belongings()
	}
	r := w.request(op.method, path, nil, body)
	by.sign(r)
	got := w.do(r)
	if got.status >= 500 {
		w.t.Errorf("%s %s %s: %d %s", op.method, path, body, got.status, got.body)
	}
	if leak := w.leak(r, body, got); leak != "" {
		w.t.Errorf("%s %s %s shows %q: %s", op.method, path, body, leak, got.body)
	}
	if before != nil {
		w.unchanged(before, op.method+" "+path+" "+body)
	}
}
