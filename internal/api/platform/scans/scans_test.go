package scans

import (
	"slices"
	"testing"

	"github.com/vedette-sec/vedette/internal/core/export"
	"github.com/vedette-sec/vedette/internal/core/scan"
)

func TestTemplatesByURL(t *testing.T) {
	plain, urls := byURL([]string{"cve", "https://example.com/x.yaml", "http/cves/"})
	if !slices.Equal(plain, []string{"cve", "http/cves/"}) || !slices.Equal(urls, []string{"https://example.com/x.yaml"}) {
		t.Errorf("%q, %q", plain, urls)
	}
}

func TestLineOfALogSaysWhatFailed(t *testing.T) {
	failed := export.LineOf(scan.LogLine{Cell: scan.Cell{Target: "a", State: "failed", Reason: "refused"}})
	tested := export.LineOf(scan.LogLine{Cell: scan.Cell{Target: "a", State: "tested", Reason: "none", Matched: true}})
	if failed.Severity != "error" || failed.Error != "refused" || tested.Severity != "info" || tested.Error != "" ||
		!tested.Matched {
		t.Errorf("%+v\n%+v", failed, tested)
	}
	if runOf(0) != 0 || runOf(1) != 2 {
		t.Error("a scan that was launched again once has two runs")
	}
}
