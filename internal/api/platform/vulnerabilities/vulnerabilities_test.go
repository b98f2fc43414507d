package vulnerabilities

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/vedette-sec/vedette/internal/core/feed"
	"github.com/vedette-sec/vedette/internal/core/vulnerability"
)

// What is not known is null, or an empty list, and never a zero that reads like a value.
func TestResultOf(t *testing.T) {
	now := time.Date(2026, 1, 11, 0, 0, 0, 0, time.UTC)
	text, err := json.Marshal(resultOf(vulnerability.Vulnerability{ID: "GHSA-1", Severity: "unknown", Sources: []string{"osv"}}, now))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"cvss_score":null`, `"epss_score":null`, `"age_in_days":null`, `"cve_created_at":null`, `"is_remote":null`,
		`"kev":[]`, `"pocs":[]`, `"affected_products":[]`, `"doc_type":"osv"`, `"template_coverage":"not_covered"`} {
		if !strings.Contains(string(text), want) {
			t.Errorf("%s is not in %s", want, text)
		}
	}
	r := resultOf(vulnerability.Vulnerability{
		ID: "CVE-2026-0001", Score: 9.8, Vector: "CVSS:3.1/AV:N/AC:L/PR:L/UI:N/S:U/C:H/I:H/A:H", EPSS: feed.Score{Score: 0.1, Percentile: 0.5},
		Published: now.AddDate(0, 0, -10), Exploited: &feed.Exploited{Added: "2026-01-05"},
		Template: &vulnerability.Template{ID: "CVE-2026-0001", Path: "http/cves/CVE-2026-0001.yaml"},
	}, now)
	if *r.CVSSScore != 9.8 || *r.AgeInDays != 10 || !*r.IsRemote || !*r.IsAuth || !r.IsKEV || !r.IsPOC || r.POCCount != 0 ||
		r.Directory != "http/cves" || r.Filename != "CVE-2026-0001.yaml" || *r.EPSSScore != 0.1 {
		t.Errorf("%+v", r)
	}
}
