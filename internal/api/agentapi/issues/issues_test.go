package issues

import (
	"testing"
	"time"

	"github.com/vedette-sec/vedette/internal/core/finding"
	"github.com/vedette-sec/vedette/internal/core/task"
)

// What a request says is what the service gets.
func TestRequests(t *testing.T) {
	status := task.IssueStatus("triaged")
	r := Request{Title: "t", Target: "a.example.com", Status: &status, Evidence: &Evidence{"q", "p"}}.report()
	if r.Status != finding.Triaged || r.Request != "q" || r.Response != "p" {
		t.Errorf("%+v", r)
	}
	f := Query{Since: "2026-01-02T03:04:05Z", Severity: "low", Unverified: true}.filter()
	if !f.Since.Equal(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)) || !f.Until.IsZero() || f.Severity != "low" || !f.Unverified {
		t.Errorf("%+v", f)
	}
}
