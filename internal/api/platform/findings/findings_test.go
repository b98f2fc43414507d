package findings

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"reflect"
	"testing"
	"time"

	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/core/export"
	"github.com/vedette-sec/vedette/internal/core/finding"
	"github.com/vedette-sec/vedette/internal/core/finding/findingtest"
	"github.com/vedette-sec/vedette/internal/engine"
	"github.com/vedette-sec/vedette/internal/engine/syntax"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/db/dbtest"
)

func TestMain(m *testing.M) { dbtest.Main(m) }

// TestExportedFindingIsTheDocument: what an export copies is what a request for the
// finding encodes.
func TestExportedFindingIsTheDocument(t *testing.T) {
	d := dbtest.Open(t, "sqlite")
	accounts, err := account.Open(t.Context(), d, account.Config{})
	if err != nil {
		t.Fatal(err)
	}
	u, err := accounts.CreateUser(t.Context(), account.NewUser{Email: "alice@example.com"})
	if err != nil {
		t.Fatal(err)
	}
	ctx := account.WithCaller(t.Context(), account.Caller{UserID: u.ID, TeamID: u.TeamID, Role: account.Admin})
	findings := finding.New(d, nil)
	full := engine.Event{
		CurlCommand: "curl 'x'", ExtractedResults: []string{"<a>", "\u2028"}, ExtractorName: "e", Host: "h", IP: "192.0.2.1",
		MatchedAt: "https://h/x?a=\"b\"", MatchedLine: []int{1, 2},
		MatcherName: "m", MatcherStatus: true, Path: "/x", Request: "GET\x00", Response: "\\\"}", TemplateID: "full",
		TemplatePath: "http/x.yaml", Timestamp: time.Now().In(time.FixedZone("", 3600)),
		Type: "http", Error: "err", Port: "8443",
		IssueTrackers: map[string]engine.IssueTracker{"jira": {ID: "1", URL: "https://j"}}, Meta: map[string]string{"a": "b"},
		Global: true,
		Fuzzed: true, FuzzingMethod: "GET", AnalyzerDetails: "x",
		Info: syntax.Info{
			Name: "n & m", Author: []string{"a"}, Tags: []string{"t"}, Description: "d", Impact: "i", Remediation: "r",
			Reference: []string{"https://r"}, Severity: "HIGH",
			Metadata: map[string]any{"max-request": 2, "x": map[string]any{"y": nil}},
			Classification: &syntax.Classification{CPE: "c", CVEID: []string{"cve-1"}, CVSSMetrics: "v", CVSSScore: 9.8,
				CWEID: []string{"cwe-1"}, EPSSPercentile: 0.5, EPSSScore: 0.1},
		},
	}
	seen := []finding.Sighting{
		{Event: full, Target: "https://target", TemplateURL: "https://t", TemplateEncoded: "aWQ6"},
		{Event: engine.Event{TemplateID: "bare", Host: "bare.example.com"}},
		{Event: engine.Event{TemplateID: "hostless", MatchedAt: "nowhere"}},
	}
	for i := range 20 {
		seen = append(seen, finding.Sighting{Event: findingtest.Event(i)})
	}
	if err := d.Tx(ctx, func(tx *db.Tx) error {
		_, err := findings.Add(ctx, tx, finding.Origin{TeamID: u.TeamID, ScanID: "s", Run: 1}, seen)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	if _, err := findings.SetLabels(ctx, finding.Filter{Templates: []string{"full"}}, finding.ReplaceLabels,
		[]string{"prod", `a"b`}, ""); err != nil {
		t.Fatal(err)
	}
	for _, got := range exported(ctx, t,
		export.New(d, nil, export.Sources{Findings: findings}, slog.New(slog.DiscardHandler))) {
		id, _ := got["vuln_id"].(string)
		f, err := findings.Find(ctx, id)
		if err != nil {
			t.Fatal(err)
		}
		same(t, got, ScanVulnerability{vulnerabilityOf(f), eventOf(f), nil})
	}
}

// same holds what a stream says of a finding against the documented type of the answer.
func same(t *testing.T, got map[string]any, answer any) {
	t.Helper()
	text, err := json.Marshal(answer)
	if err != nil {
		t.Fatal(err)
	}
	var want map[string]any
	if err := json.Unmarshal(text, &want); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, want) {
		again, _ := json.Marshal(got)
		t.Errorf("streamed %s\nanswered %s", again, text)
	}
}

// exported is every finding as an export says it.
func exported(ctx context.Context, t *testing.T, exports *export.Exports) (all []map[string]any) {
	t.Helper()
	file, err := exports.Open(ctx, export.Request{Format: export.JSON})
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := file.Write(ctx, &out, nil); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(out.Bytes(), &all); err != nil || len(all) != 23 {
		t.Fatalf("%d findings, %v", len(all), err)
	}
	return all
}
