package exports

import (
	"testing"
	"time"

	"github.com/vedette-sec/vedette/internal/core/export"
	"github.com/vedette-sec/vedette/internal/infra/errs"
)

func TestKindsOfExports(t *testing.T) {
	for want, e := range map[string]export.Export{
		"results": {}, "scan": {ScanID: "s"}, "assets": {About: export.OfAssets}, "scan_log": {About: export.OfLog, ScanID: "s"},
		"enumeration": {About: export.OfAssets, Assets: "e"},
	} {
		if got := exportOf(e); got.ItemType != want || got.URL != "" {
			t.Errorf("%s: %+v", want, got)
		}
	}
	if got := exportOf(export.Export{ID: "x", State: export.Finished}); got.URL != "/v1/export/x/download" {
		t.Errorf("%+v", got)
	}
}

func TestFilterOfAnExport(t *testing.T) {
	now := time.Date(2026, 5, 10, 0, 0, 0, 0, time.UTC)
	f, err := ExportRequest{Time: "last_day", EndDate: "2026-05-09",
		ScanExportRequest: ScanExportRequest{Status: "open, fixed", Port: []int{443}}}.filter(now)
	if err != nil || len(f.Statuses) != 2 || !f.Since.Equal(now.AddDate(0, 0, -1)) || !f.Until.Equal(now) {
		t.Errorf("%+v, %v", f, err)
	}
	f, err = ExportRequest{Time: "last_day", StartDate: "2026-01-01"}.filter(now)
	if err != nil || f.Since.Month() != time.January {
		t.Errorf("start_date does not win: %s, %v", f.Since, err)
	}
	for param, r := range map[string]ExportRequest{
		"vuln_status": {ScanExportRequest: ScanExportRequest{Status: "lost"}},
		"port":        {ScanExportRequest: ScanExportRequest{Port: []int{65536}}},
		"start_date":  {StartDate: "x"},
	} {
		if _, err := r.filter(now); errs.From(err) == nil || errs.From(err).Param != param {
			t.Errorf("%s: %v", param, err)
		}
	}
}
