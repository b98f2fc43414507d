package app

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/core/notification"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/db/dbtest"
	"github.com/vedette-sec/vedette/internal/infra/page"
)

// writtenAt are answers that say when they were written, or have an id or a signature of their own.
var writtenAt = regexp.MustCompile(`/export\b.*[?&]type=(pdf|docx|html|cyclonedx|csaf|openvex|ocsf)\b|/evidence/(export|key)\b|/results/(diff|series)\b`)

// TestDatabasesAnswerAlike runs two servers with the same rows, one on SQLite and one on PostgreSQL.
// Thousands of random requests with any filters, sort orders and pages of the OpenAPI document must
// get the same bytes from both.
func TestDatabasesAnswerAlike(t *testing.T) {
	data := "DATA_DIR=" + t.TempDir()
	sqlite := serve(t, "sqlite", data)
	ada := sqlite.person("ada", "blue", account.Admin)
	sqlite.createAll(&ada)
	url := dbtest.URL(t, "postgres")
	copyRows(t, sqlite.db, url)
	postgres := serve(t, "postgres", data, "DATABASE="+url)

	doc := contractOf(t, Config{}, "platform")
	a := requester{testServer: sqlite, doc: doc, rand: rand.New(rand.NewPCG(2, 11)), pools: sqlite.pools(&ada)}
	requests, least := 6000, 40
	if testing.Short() {
		requests, least = 600, 4
	}
	good, failed := map[string]int{}, 0
	for range requests {
		op, path := a.request()
		if strings.Contains(path, "mask=none") { // is noted in the audit log, with a time of its own
			continue
		}
		left, right := sqlite.do(sqlite.request(http.MethodGet, path, &ada, "")),
			postgres.do(postgres.request(http.MethodGet, path, &ada, ""))
		kind := left.header.Get("Content-Type")
		same := withoutID(left) == withoutID(right) || writtenAt.MatchString(path)
		if left.status != right.status || kind != right.header.Get("Content-Type") || !same {
			t.Errorf("GET %s\nSQLite:     %d %.3000s\nPostgreSQL: %d %.3000s", path, left.status, left.body, right.status,
				right.body)
			if failed++; failed == 10 {
				t.Fatal("and so on")
			}
		}
		if left.status == http.StatusOK {
			good[op.path]++
		}
	}
	for path, n := range good {
		t.Logf("%5d good answers of GET %s", n, path)
	}
	for _, path := range []string{"/v1/scans", "/v1/scans/results", "/v1/scans/vuln/changelogs", "/v1/scans/history",
		"/v1/scans/config", "/v1/team/alert_log"} {
		if good[path] < least {
			t.Errorf("only %d of %d requests were good ones of %s", good[path], requests, path)
		}
	}
}

// names are chosen to show differences in how databases sort and fold case.
var names = []string{"alpha", "Beta", "beta", "ALPHA 2", "Ärger", "ärger", "_x", "100%", "a_b", `back\slash`, "Zed",
	"ß", "e\u0301", "é", "10", "9", "\u65e5\u672c", "'quoted'"}

// createAll creates rows of every kind through the API.
func (h *testServer) createAll(p *person) {
	h.t.Helper()
	must := func(method, path, body string) (made struct{ ID string }) {
		h.t.Helper()
		got := h.do(h.request(method, path, p, body))
		if got.status/100 != 2 {
			h.t.Fatalf("%s %s %.200s: %d %s", method, path, body, got.status, got.body)
		}
		_ = json.Unmarshal(got.body, &made) // not every answer has an id
		return made
	}
	n := 0
	var scans []string
	for i, name := range names {
		var lines strings.Builder
		for range 1 + i*3 {
			n++
			fmt.Fprintf(&lines, `{"template-id":"t%d","template-path":"%s/x.yaml","info":{"name":%q,"author":["a"],"severity":%q,"tags":["Tag%d","all"]},"type":"http","host":%q,"port":%q,"matched-at":"https://h/%d","timestamp":"2026-01-02T03:04:%02d.5Z","ip":%q}`+"\n",
				n%11, []string{"http/cves", "dns", "ssl"}[n%3], names[n*5%len(names)],
				[]string{"critical", "high", "medium", "low", "info", "odd"}[n%6], n%4,
				[]string{"H1.example.com", "h2.example.com", "example.com", "b.example.org", "bücher.example", "192.0.2.7",
					"localhost"}[n%7], []string{"", "443", "8080", "80"}[n%4], n, n%60,
				[]string{"", "10.0.0.1", "192.0.2.1"}[n%3])
		}
		scans = append(scans, must(http.MethodPost, "/v1/scans/import?name="+url.QueryEscape(name), lines.String()).ID)
	}
	for i, name := range names {
		text, err := json.Marshal(map[string]any{"name": name, "targets": []string{"127.0.0.1:9", "192.0.2.1"}[:1+i%2],
			"recommended": true, "schedule_only": i%2 == 0})
		if err != nil {
			h.t.Fatal(err)
		}
		scans = append(scans, must(http.MethodPost, "/v1/scans", string(text)).ID)
		if i%2 == 1 && i%3 > 0 {
			must(http.MethodPost, "/v1/scans/"+scans[len(scans)-1]+"/stop", "")
		}
		must(http.MethodPost, "/v1/scans/config",
			fmt.Sprintf(`{"name": %q, "config_type": "scan", "config": "rate-limit: %d"}`, name, i+1))
	}
	for i, status := range []string{"fixed", "open", "triaged", "false_positive"} {
		must(http.MethodPatch, "/v1/scans/vulns",
			fmt.Sprintf(`{"vuln_status": %q, "template": ["t%d", "t%d"]}`, status, i, i+1))
	}
	h.createAssets(*p)
	h.createNotices(*p, scans)
	ids := h.pools(p)["vuln_id"]
	for i, id := range ids[:20] {
		must(http.MethodPatch, "/v1/scans/vulns/labels",
			fmt.Sprintf(`{"ids": [%q], "type": "append", "labels": [%q, "seen"]}`, id, names[i%len(names)]))
	}
	must(http.MethodDelete, "/v1/scans/vulns", `{"template": ["t9"]}`)
	for _, name := range []string{"b.example.com", "a-b.example.com", "ab.example.com", "\u00e4.example.com"} {
		must(http.MethodPost, "/v1/domain", fmt.Sprintf(`{"domain": %q}`, name))
	}
	must(http.MethodDelete, "/v1/scans/"+scans[3], "")
	must(http.MethodPost, "/v1/asset/enumerate/group", `{"name": "Web", "filters": {"port": "443"}}`)
	must(http.MethodPost, "/v1/asset/policy", `{"policy_type": "delete", "policies": {"not_seen_for_days": 3}}`)
	must(http.MethodPost, "/v1/scans/config/severity", `{"template_id": "t3", "custom_severity": "medium"}`)
	must(http.MethodPost, "/v1/scans/config/exclude",
		`{"exclude_type": "scan_target", "values": ["*.example.net", "192.0.2.0/28"]}`)
}

// createNotices creates alerts about some scans.
func (h *testServer) createNotices(p person, scans []string) {
	h.t.Helper()
	ctx, notices := account.WithCaller(context.Background(), p.Caller), notification.New(h.db, h.queue)
	for i, id := range scans {
		body, _ := json.Marshal(map[string]string{"scan_name": names[i%len(names)]})
		one := notification.Notification{TeamID: p.TeamID, Kind: notification.OfScan, Subject: id, Run: 1,
			Event: []string{"finished", "running"}[i%2], ConfigID: "missing", Provider: "slack", Body: body}
		if err := notices.Add(ctx, []notification.Notification{one}); err != nil {
			h.t.Fatal(err)
		}
		added, _, err := notices.Find(ctx, notification.Filter{Subject: id}, page.Window{Limit: 1})
		if err != nil {
			h.t.Fatal(err)
		}
		if err := notices.End(ctx, nil, added[0].ID, notification.States[i%len(notification.States)],
			names[i%len(names)]); err != nil {
			h.t.Fatal(err)
		}
	}
}

// pools are plausible values of parameters, by name.
func (h *testServer) pools(p *person) map[string][]string {
	h.t.Helper()
	ids := func(path, key string) (out []string) {
		var list struct{ Data []map[string]any }
		got := h.do(h.request(http.MethodGet, path, p, ""))
		text := got.body
		if bytes.HasPrefix(text, []byte("[")) { // some lists are nothing but their items
			text = slices.Concat([]byte(`{"data":`), text, []byte("}"))
		}
		if err := json.Unmarshal(text, &list); err != nil || len(list.Data) == 0 {
			h.t.Fatalf("%s: %d %.200s (%v)", path, got.status, got.body, err)
		}
		for _, one := range list.Data {
			out = append(out, fmt.Sprint(one[key]))
		}
		return out
	}
	pools := map[string][]string{
		"scan_id": ids("/v1/scans?limit=1000", "scan_id"), "vuln_id": ids("/v1/scans/results?limit=1000", "vuln_id"),
		"config_id": ids("/v1/scans/config?limit=1000", "id"),
		"severity":  {"critical", "high", "low", "info", "unknown", "CRITICAL"},
		"host":      {"h1.example.com", "H2.example.com", "example.com", "bücher.example", "192.0.2.7"},
		"domain":    {"example.com", "com", "org", "example", "h1.example.com"}, "port": {"443", "80", "8080", "1"},
		"templates":   {"t1", "t2", "t10", "T1"},
		"vuln_status": {"open", "fixed", "triaged", "false_positive", "duplicate"}, "tags": {"tag1", "Tag2", "all", "none"},
		"labels":   {"seen", "Seen", "alpha", "ärger", "100%"},
		"category": {"http", "dns", "ssl", "cves"}, "hash": ids("/v1/scans/results?limit=1000", "vuln_hash"),
		"sort": {
			"created_at", "updated_at", "severity", "vuln_status", "host", "port", "template_id", "completed_at", "name",
			"status", "progress", "total_target", "total_template",
			"total_scan", "total_result", "rescan_count", "scan_time_elapsed", "scan_id", "id", "type",
		},
	}
	maps.Copy(pools, map[string][]string{
		"asset_id": ids("/v1/asset/enumerate/contents?limit=50", "id"), "enumerate_id": {"furnished"},
		"enumeration_id": {"furnished"},
		"ip":             {"192.0.2.0/28", "10.0.0.1", "2001:db8::/32"}, "technologies": {"nginx", "PHP", "nginx:1.18.0"},
		"title": {"log in", "é", "<b>"}, "cname": {"edge.example.net", "*.example.net"},
		"status_code": {"200", "404"}, "favicon": {"7"}, "from": {"2026-01-02"},
		"custom_filter": {`status_code >= 300`, `host ~ example && !(tls = expired)`, `(`},
	})
	pools["asset sort"] = []string{"created_at", "updated_at", "host", "port", "status_code", "content_length", "title",
		"ip", "technologies", "last_seen", "is_new"}
	pools["scan_ids"], pools["vuln_hash"], pools["subject_id"], pools["alert_config_id"] = pools["scan_id"], pools["hash"],
		pools["scan_id"], []string{"missing"}
	return pools
}

// requester generates random requests from an OpenAPI document.
type requester struct {
	*testServer
	doc   *contract
	rand  *rand.Rand
	pools map[string][]string
}

// request is a random reading operation with random parameters; lists are more frequent.
func (a requester) request() (*operation, string) {
	var reads []*operation
	for _, op := range a.doc.operations() {
		if op.method != http.MethodGet || len(op.Security) == 0 {
			continue
		}
		reads = append(reads, op)
		for range min(len(op.Parameters), 8) {
			reads = append(reads, op)
		}
	}
	op := reads[a.rand.IntN(len(reads))]
	path, query := op.path, url.Values{}
	for _, p := range op.Parameters {
		switch {
		case p.In == "path":
			path = strings.ReplaceAll(path, "{"+p.Name+"}", a.pick(append(a.pools[p.Name], "missing")))
		case p.Name == "async": // that would make something
		case p.Name == "domain" && op.OperationID == "get-associated-domains": // that would begin a search
		case p.In == "query" && (p.Required || a.rand.IntN(max(4, len(op.Parameters)/4)) == 0): // few of many
			query.Set(p.Name, a.value(op, p.Name, a.doc.deref(p.Schema)))
		}
	}
	if op.OperationID == "diff-enumeration" { // without it the answer has the time of day
		query.Set("to", "2027-01-01")
	}
	return op, path + "?" + query.Encode()
}

// value is a random value of a parameter, mostly valid.
func (a requester) value(op *operation, name string, s *schema) string {
	switch {
	case len(s.Enum) > 0:
		return fmt.Sprint(s.Enum[a.rand.IntN(len(s.Enum))])
	case s.is("boolean"):
		return strconv.FormatBool(a.rand.IntN(2) == 0)
	case s.is("integer"):
		return strconv.Itoa(a.rand.IntN([]int{3, 30, 300}[a.rand.IntN(3)]))
	}
	pool := a.pools[name]
	if strings.HasPrefix(name, "sort_") {
		pool = a.pools["sort"]
		if strings.HasPrefix(op.path, "/v1/asset") {
			pool = a.pools["asset sort"]
		}
	}
	if pool == nil || a.rand.IntN(50) == 0 {
		return a.pick(slices.Concat(names,
			[]string{"a", "E", "t1", "example", "%", "_", "Ä", "\u0301", "2026-01-02", "2026-01-02T00:00:00Z"}))
	}
	words := []string{a.pick(pool)}
	for a.rand.IntN(3) == 0 {
		words = append(words, a.pick(pool))
	}
	return strings.Join(words, ",")
}

func (a requester) pick(values []string) string { return values[a.rand.IntN(len(values))] }

// copyRows copies all rows of one database into another, except the queue's jobs and the tables of
// packages list and fulltext, which each database has in its own form: the server fills them at its start.
func copyRows(t testing.TB, from *db.DB, to string) {
	t.Helper()
	ctx := context.Background()
	d, err := db.Open(ctx, db.Config{URL: to})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	tables, err := from.Query(ctx, `SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite%' AND name NOT LIKE 'river%' AND name NOT LIKE 'goose%'
		AND name NOT LIKE 'list@_%' ESCAPE '@' AND name NOT LIKE '%@_list' ESCAPE '@' AND name NOT LIKE '%@_list@_%' ESCAPE '@'
		AND name <> 'knowledge_text' AND name NOT LIKE 'knowledge@_text@_%' ESCAPE '@'`)
	names, err := db.Collect(tables, err, func(r db.Row) (name string, err error) { return name, r.Scan(&name) })
	if err != nil {
		t.Fatal(err)
	}
	err = d.Tx(ctx, func(tx *db.Tx) error {
		if _, err := tx.Exec(ctx, `SET LOCAL session_replication_role = replica`); err != nil { // tables come in any order
			return err
		}
		for _, name := range names {
			if err := copyTable(ctx, from, tx, name); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func copyTable(ctx context.Context, from *db.DB, to *db.Tx, name string) error {
	if _, err := to.Exec(ctx, `DELETE FROM `+name); err != nil {
		return err
	}
	rows, err := from.Query(ctx, `SELECT * FROM `+name) //nolint:unqueryvet // a table as a whole is what is copied
	if err != nil {
		return err
	}
	defer rows.Close()
	columns, err := rows.ColumnTypes()
	if err != nil {
		return err
	}
	var quoted []string
	for _, c := range columns {
		quoted = append(quoted, strconv.Quote(c.Name()))
	}
	insert := `INSERT INTO ` + name + ` (` + strings.Join(quoted, ", ") + `) VALUES (?` +
		strings.Repeat(", ?", len(columns)-1) + `)`
	for rows.Next() {
		values := make([]any, len(columns))
		into := make([]any, len(columns))
		for i := range values {
			into[i] = &values[i]
		}
		if err := rows.Scan(into...); err != nil {
			return err
		}
		for i, c := range columns {
			if n, ok := values[i].(int64); ok && c.DatabaseTypeName() == "BOOLEAN" {
				values[i] = n != 0
			}
			if b, ok := values[i].([]byte); ok {
				values[i] = bytes.Clone(b)
			}
		}
		if _, err := to.Exec(ctx, insert, values...); err != nil {
			return err
		}
	}
	return rows.Err()
}
