package feed

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/vedette-sec/vedette/internal/core/export/fact"
	"github.com/vedette-sec/vedette/internal/core/finding"
)

var at = time.Date(2026, 11, 25, 16, 0, 0, 0, time.UTC)

func sample(status finding.Status, severity string) fact.Finding {
	return fact.Finding{ID: "id", Hash: "hash", ScanID: "scan", Name: "Name </x>\n", Severity: severity, Status: status, TemplateID: "t",
		Host: "a.example.com", Port: 8443, Scheme: "https", Place: "https://a.example.com:8443/x", Parameter: "q", CWEs: []int{79, 80},
		CVEs: []string{"CVE-2021-44228"}, CVSS: fact.CVSS{Score: 9.8, Vector: "CVSS:3.1/AV:N/AC:L/PR:N/UI:N/S:U/C:H/I:H/A:H", Version: "3.1"},
		Description: "D", Impact: "I", Remediation: "R", References: []string{"https://example.com"}, Tags: []string{"a"},
		Extracted: []string{"x"}, CreatedAt: at, UpdatedAt: at.Add(time.Hour)}
}

// dojoKeys are the keys that DefectDojo's generic importer takes; it refuses a file with others.
var dojoKeys = strings.Fields(`title severity description date cwe cve cvssv3 cvssv3_score mitigation impact steps_to_reproduce
	severity_justification references active verified false_p out_of_scope risk_accepted under_review is_mitigated mitigated
	param payload static_finding dynamic_finding unique_id_from_tool vuln_id_from_tool service tags endpoints
	vulnerability_ids`)

func TestDefectDojo(t *testing.T) {
	flags := map[finding.Status]string{finding.Open: "active", finding.Triaged: "active verified", finding.FixInProgress: "active verified",
		finding.Fixed: "is_mitigated verified", finding.FalsePositive: "false_p", finding.AcceptedRisk: "risk_accepted verified",
		finding.Duplicate: ""}
	if len(flags) != len(finding.Statuses) {
		t.Fatal("a status is missing")
	}
	severities := map[string]string{"critical": "Critical", "high": "High", "medium": "Medium", "low": "Low", "info": "Info", "unknown": "Info"}
	for status, want := range flags {
		for severity, name := range severities {
			f := sample(status, severity)
			var doc struct{ Findings []map[string]any }
			file := append(AppendDojo([]byte(DojoHead), &f, "GET / HTTP/1.1", "HTTP/1.1 200 OK\n```"), DojoTail...)
			if err := json.Unmarshal(file, &doc); err != nil || len(doc.Findings) != 1 {
				t.Fatalf("%v: %s", err, file)
			}
			got := doc.Findings[0]
			for key := range got {
				if !slices.Contains(dojoKeys, key) && key != "nb_occurences" { //nolint:misspell // DefectDojo's spelling
					t.Errorf("DefectDojo does not know %s", key)
				}
			}
			for _, flag := range []string{"active", "verified", "false_p", "risk_accepted", "is_mitigated"} {
				if got[flag] != slices.Contains(strings.Fields(want), flag) {
					t.Errorf("%s: %s is %v", status, flag, got[flag])
				}
			}
			if got["severity"] != name || got["title"] == "" || got["description"] == "" || got["unique_id_from_tool"] != "hash" {
				t.Errorf("%s: %v", severity, got)
			}
		}
	}
	bad := fact.Finding{Severity: "low", Status: finding.Open, Host: "not a host/x", CreatedAt: at}
	if line := string(AppendDojo(nil, &bad, "", "")); strings.Contains(line, "endpoints") {
		t.Error(line)
	}
}

func TestOCSF(t *testing.T) {
	states := map[finding.Status]float64{finding.Open: 1, finding.Triaged: 2, finding.FixInProgress: 2, finding.FalsePositive: 3,
		finding.AcceptedRisk: 3, finding.Duplicate: 3, finding.Fixed: 4}
	severities := map[string]float64{"unknown": 0, "info": 1, "low": 2, "medium": 3, "high": 4, "critical": 5}
	if len(states) != len(finding.Statuses) || len(severities) != len(finding.Severities) {
		t.Fatal("one is missing")
	}
	for status, id := range states {
		for severity, level := range severities {
			f := sample(status, severity)
			if status == finding.Open {
				f.CVEs, f.CWEs = nil, nil
			}
			line := AppendOCSF(nil, &f, "1.0")
			var got map[string]any
			if err := json.Unmarshal(line, &got); err != nil || bytes.ContainsRune(line, '\n') {
				t.Fatalf("%v: %s", err, line)
			}
			for _, key := range []string{"activity_id", "category_uid", "class_uid", "type_uid", "time", "severity_id", "metadata", "finding_info",
				"vulnerabilities"} {
				if _, ok := got[key]; !ok {
					t.Errorf("%s is missing among %v", key, slices.Sorted(maps.Keys(got)))
				}
			}
			if got["status_id"] != id || got["severity_id"] != level || got["class_uid"] != 2002.0 ||
				got["type_uid"] != 200200+got["activity_id"].(float64) || got["time"] != float64(f.UpdatedAt.UnixMilli()) {
				t.Errorf("%s, %s: %v", status, severity, got)
			}
			v := got["vulnerabilities"].([]any)[0].(map[string]any)
			if v["cve"] == nil && v["cwe"] == nil {
				t.Errorf("neither cve nor cwe: %v", v)
			}
		}
	}
}
