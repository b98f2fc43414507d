package triage

import (
	"testing"

	"github.com/vedette-sec/vedette/internal/core/finding"
)

// A finding of a task names the task, and one of a scan the scan.
func TestFindingsSayWhoSawThem(t *testing.T) {
	if got := findingOf(finding.Finding{ScanID: "x", IsTask: true}); got.TaskID != "x" || got.ScanID != "" {
		t.Errorf("%+v", got)
	}
	if got := findingOf(finding.Finding{ScanID: "x"}); got.ScanID != "x" || got.TaskID != "" {
		t.Errorf("%+v", got)
	}
	if w := (Window{Limit: 2, Offset: 4}); !w.more(2, 7) || w.more(2, 6) {
		t.Error("the end of a list is where its total is reached")
	}
}
