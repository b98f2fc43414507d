package stories

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/txtar"
	"github.com/vedette-sec/vedette/internal/agent/llm"
	"github.com/vedette-sec/vedette/internal/core/asset"
	"github.com/vedette-sec/vedette/internal/core/catalog"
	"github.com/vedette-sec/vedette/internal/core/model"
	"github.com/vedette-sec/vedette/internal/discover"
	templateset "github.com/vedette-sec/vedette/internal/engine/templates/update"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/ids"
)

// probe is how TestEveryParameter tries the parameters of an operation.
type probe struct {
	op     string // as the table of coverage has it
	before string // a request that makes what the operation is about: METHOD PATH BODY; {id} is the id in its answer
	path   string // with the parameters that every call has
	body   string // with the fields that every call has; empty: none
	after  string // a request that removes what the call made, so that the next one can make it again
	// look are paths whose answers show what the call did, when its own answer cannot; {id} is the id in its answer.
	look []string
	// values are, by name, values to try, separated by |: one of them must change the answer. Fields of the body have JSON.
	query, fields map[string]string
}

// TestEveryParameter sends each documented parameter for which the table of coverage names this test, and fails when
// the answer is the same as without it. A parameter that is refused by name or warned of is not ignored either, if the
// table says so.
func TestEveryParameter(t *testing.T) {
	text, err := os.ReadFile("testdata/parameters.txtar")
	if err != nil {
		t.Fatal(err)
	}
	s := tell(t, "sqlite", txtar.Parse(text))
	s.seed()
	rows := map[string]row{}
	for _, r := range readTable(t) {
		rows[r.key()] = r
	}
	tried := map[string]bool{}
	for _, p := range probes() {
		base := s.probe(p, "", nil)
		if again := s.probe(p, "", nil); again.text != base.text {
			t.Errorf("%s: two equal calls are answered differently:\n%s\n%s", p.op, base.text, again.text)
		}
		if base.status >= 300 {
			t.Errorf("%s: %d %s", p.op, base.status, base.text)
			continue
		}
		for _, r := range rows {
			if r.op == p.op && (r.in == "operation" || r.in == "path") {
				tried[r.key()] = true
			}
		}
		for _, in := range []struct {
			kind   string
			values map[string]string
		}{{"query", p.query}, {"body", p.fields}} {
			for _, name := range slices.Sorted(maps.Keys(in.values)) {
				r, known := rows[p.op+"\t"+in.kind+"\t"+name]
				if !known {
					t.Errorf("%s: the table has no %s %s", p.op, in.kind, name)
				}
				tried[r.key()] = true
				if outer, _, nested := strings.Cut(name, "."); nested {
					tried[row{op: p.op, in: in.kind, name: outer}.key()] = true
				}
				if problem := s.try(p, base, in.kind, name, in.values[name], r.status); problem != "" {
					t.Errorf("%s, %s %s: %s", p.op, in.kind, name, problem)
				}
			}
		}
	}
	for key, r := range rows {
		if strings.Contains(r.shown, "TestEveryParameter") && !tried[key] && !strings.Contains(r.name, "[].") {
			t.Errorf("%s is not tried", strings.ReplaceAll(key, "\t", " "))
		}
	}
}

// seed adds what no request can make at once: early templates, assets of other kinds, and an age of more than a year, so that
// ranges of time pick something else than all.
func (s *story) seed() {
	d, err := db.OpenExisting(s.t.Context(), db.Config{URL: s.database})
	if err != nil {
		s.t.Fatal(err)
	}
	defer d.Close()
	folder := s.t.TempDir()
	for _, id := range []string{"early-one", "early-two"} {
		if err := os.WriteFile(folder+"/"+id+".yaml", []byte(written(id)), 0o600); err != nil {
			s.t.Fatal(err)
		}
	}
	if _, err := catalog.New(d, catalog.Config{}).Import(s.t.Context(), catalog.Source{Source: templateset.Source{From: folder}, Early: true}); err != nil {
		s.t.Fatal(err)
	}
	dangling := []discover.Misconfiguration{{Type: "dangling_dns", Detail: "to nobody"}}
	seen := asset.Seen{TeamID: s.values["alice.team"], EnumerationID: s.values["enumeration2"], Run: 1, At: time.Now(),
		Assets: []discover.Asset{{Host: "a.example.com", Misconfiguration: dangling},
			{Host: "b.example.com", Misconfiguration: dangling}}}
	if err := d.Tx(s.t.Context(), func(tx *db.Tx) error {
		_, err := asset.New(d, nil, nil).Observe(s.t.Context(), tx, seen)
		return err
	}); err != nil {
		s.t.Fatal(err)
	}
	s.seedUsage(d)
	long := (400 * 24 * time.Hour).Microseconds()
	for _, column := range []string{"finding.created_at", "finding_change.at", "asset.created_at", "asset_change.at",
		"enumeration.created_at"} {
		table, name, _ := strings.Cut(column, ".")
		if _, err := d.Exec(s.t.Context(), `UPDATE `+table+` SET `+name+` = `+name+` - ?`, long); err != nil {
			s.t.Fatalf("%s: %v", column, err)
		}
	}
}

// seedUsage adds two rows of usage, as of tasks with a language model.
func (s *story) seedUsage(d *db.DB) {
	var alice string
	if err := d.QueryRow(s.t.Context(), `SELECT id FROM user_account WHERE email = ?`, "alice@example.com").
		Scan(&alice); err != nil {
		s.t.Fatal(err)
	}
	for i, task := range []string{"task", "task2"} {
		if err := model.New(d, nil, nil, model.Config{}).RecordUsage(s.t.Context(), nil, model.Row{
			StreamID: ids.New(), TaskID: s.values[task], TeamID: s.values["alice.team"], UserID: alice, Title: "check",
			Model: "opus-4.7", Provider: llm.ProviderAnthropic, Status: "completed", BYOK: i == 0, Priced: true,
			Micros: int64(100 + i), Steps: 4, Calls: 3, Agents: 1, CreatedAt: time.Date(2026, 3, 1+i, 0, 0, 0, 0, time.UTC),
		}); err != nil {
			s.t.Fatal(err)
		}
	}
}

// written is a template.
func written(id string) string {
	return "id: " + id + "\ninfo: {name: " + id + ", author: a, severity: low}\nhttp:\n- path: ['{{BaseURL}}/']\n" +
		"  matchers: [{type: word, words: [x]}]\n"
}

// outcome is an answer as far as two of them are compared.
type outcome struct {
	status   int
	text     string // without what is different each time
	warnings string
	body     string
}

// try sends a parameter, and says what is wrong with the answer.
func (s *story) try(p probe, base outcome, kind, name, values, status string) string {
	var last outcome
	for value := range strings.SplitSeq(values, "|") {
		query, field := "", map[string]json.RawMessage(nil)
		if kind == "query" {
			query = url.QueryEscape(name) + "=" + url.QueryEscape(s.fill(value))
		} else {
			field = map[string]json.RawMessage{name: json.RawMessage(s.fill(value))}
		}
		last = s.probe(p, query, field)
		named := strings.Contains(last.body, name)
		switch {
		case status == "refused" && last.status >= 400 && last.status < 500 && named,
			status == "warns" && strings.Contains(last.warnings, name+" has no effect"),
			status == "acts" && last.status < 300 && last.text != base.text && !strings.Contains(last.warnings, name):
			return ""
		}
	}
	return fmt.Sprintf("the table says %q, the answer to %s is %d %.600s %s", status, values, last.status, last.text,
		last.warnings)
}

// probe sends a call with a further query parameter and field of the body.
func (s *story) probe(p probe, query string, field map[string]json.RawMessage) outcome {
	s.t.Helper()
	delete(s.values, "id")
	if p.before != "" {
		words := strings.SplitN(p.before, " ", 3)
		s.keepID(s.request(s.fill(words[0]+" "+words[1])+" as alice", append(words, "")[2]))
	}
	method, _, _ := strings.Cut(p.op, " ")
	path := s.fill(p.path)
	if query != "" && strings.Contains(path, "?") {
		path += "&" + query
	} else if query != "" {
		path += "?" + query
	}
	body := s.fill(p.body)
	for name, value := range field {
		body = withField(s.t, body, name, value)
	}
	got := s.request(method+" "+path+" as alice", body)
	out := outcome{status: got.status, warnings: strings.Join(got.header.Values("X-Warning"), "\n"), body: string(got.body)}
	if got.status < 300 {
		s.keepID(got)
	}
	out.text = s.comparable(got.body)
	if got.status < 300 {
		for _, look := range p.look {
			out.text += "\n" + s.comparable(s.request("GET "+s.fill(look)+" as alice", "").body)
		}
	}
	if p.after != "" {
		s.request(s.fill(p.after)+" as alice", "")
	}
	return out
}

// keepID keeps the id of what a request made.
func (s *story) keepID(got *answer) {
	var made struct {
		ID       any    `json:"id"`
		Template string `json:"template_id"`
		Result   struct {
			Template string `json:"template_id"`
		} `json:"result"`
	}
	_ = json.Unmarshal(got.body, &made) // another answer has none
	for _, id := range []any{made.ID, made.Template, made.Result.Template} {
		if id != nil && id != "" {
			s.values["id"] = fmt.Sprint(id)
			return
		}
	}
}

// withField is a JSON object with a field, of which the name is a path such as filters.host.
func withField(t *testing.T, object, name string, value json.RawMessage) string {
	t.Helper()
	fields := map[string]json.RawMessage{}
	if object != "" {
		if err := json.Unmarshal([]byte(object), &fields); err != nil {
			t.Fatalf("%s: %v", object, err)
		}
	}
	if outer, inner, nested := strings.Cut(name, "."); nested {
		name, value = outer, json.RawMessage(withField(t, string(fields[outer]), inner, value))
	}
	fields[name] = value
	text, err := json.Marshal(fields)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return string(text)
}

var (
	volatile  = regexp.MustCompile(`\d{4}-\d\d-\d\dT[0-9:.]+Z?|"[0-9hm.]+[µm]?s"|"[a-z_]+_ms":\d+|D:\d{14}Z?|20\d{6}-\d{4}`)
	logURL    = regexp.MustCompile(`"url":"(/v1/[^"]*)"`)
	notShared = []string{"filters", "warnings", "status", "progress", "enumeration_stats", "total_assets", "new_assets",
		"total_targets", "total_targets_processed", "denied", "completed_at"}
)

// comparable is an answer without what is different each time, and without the echo of the request.
func (s *story) comparable(body []byte) string {
	if link := logURL.FindSubmatch(body); link != nil {
		var decoded struct{ URL string }
		_ = json.Unmarshal(body, &decoded) // it matched
		return s.comparable(s.request("GET "+decoded.URL+" as alice", "").body)
	}
	text := string(body)
	var object map[string]json.RawMessage
	if json.Unmarshal(body, &object) == nil {
		var nested map[string]json.RawMessage
		if json.Unmarshal(object["data"], &nested) == nil && nested != nil { // one thing
			object = nested
		}
		for _, key := range notShared {
			delete(object, key)
		}
		if compact, err := json.Marshal(object); err == nil {
			text = string(compact)
		}
	}
	if id := s.values["id"]; id != "" {
		text = strings.ReplaceAll(text, id, "ID")
	}
	return volatile.ReplaceAllString(text, "~")
}
