package issue

import (
	"strings"
	"testing"
	"time"

	"github.com/vedette-sec/vedette/internal/core/finding"
)

// The stories issues and abuse-* use the service; here are the rules of one report.
func TestReports(t *testing.T) {
	for want, r := range map[string]Report{
		"":         {Title: "t", Target: "https://a.example.com/x"},
		"title":    {Title: " ", Target: "a.example.com"},
		"target":   {Title: "t"},
		"severity": {Title: "t", Target: "a.example.com", Severity: "grave"},
		"status":   {Title: "t", Target: "a.example.com", Status: "gone"},
		"a URL":    {Title: "t", Target: "https:///x"},
	} {
		err := r.check("issues[3].")
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v", r, err)
		}
		if want == "" && (r.Severity != "unknown" || r.Status != finding.Open) {
			t.Errorf("%+v", r)
		}
	}
}

// What is reported under the same title at the same place is the same weakness, however the title is written.
func TestSameReport(t *testing.T) {
	hash := func(title, target string) string {
		return finding.Fingerprint(Report{Title: title, Target: target}.event(time.Now()), "")
	}
	if hash("Open  Redirect!", "https://a.example.com/x") != hash("open redirect", "https://a.example.com/x") {
		t.Error("the same title differs")
	}
	if hash("open redirect", "https://a.example.com/x") == hash("open redirect", "https://b.example.com/x") ||
		hash("open redirect", "https://a.example.com/x") == hash("closed redirect", "https://a.example.com/x") {
		t.Error("others are the same")
	}
}
