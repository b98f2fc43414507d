package export

import (
	"strings"
	"testing"

	"github.com/vedette-sec/vedette/internal/core/export/report"
	"github.com/vedette-sec/vedette/internal/core/finding"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/db/dbtest"
)

// input is what a report is made of.
func (r room) input(t *testing.T, request Request) report.Input {
	t.Helper()
	request.Format = HTML
	f, err := r.Open(r.alice, request)
	if err != nil {
		t.Fatal(err)
	}
	in, err := f.input(r.alice)
	if err != nil {
		t.Fatal(err)
	}
	return in
}

// TestReportHasAWeaknessOnce: what a scan and tasks saw is one finding of a report of the team, whoever saw it first, with
// all that saw it and how it was confirmed.
func TestReportHasAWeaknessOnce(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		r := setUp(t, d)
		all := events(0, 3) // 0: first seen by the scan, 1: first by a task, 2: by tasks alone
		r.add(t, "s", all[0])
		first := r.task(t, all...)
		r.add(t, "s", all[1])
		second := r.task(t, all[2])
		in := r.input(t, Request{})
		if in.Totals.All != 3 || len(in.Findings) != 3 {
			t.Fatalf("%d are counted, %d described", in.Totals.All, len(in.Findings))
		}
		want := map[string]string{
			all[0].TemplateID + all[0].MatchedAt: "Scan s\nTask " + first,
			all[1].TemplateID + all[1].MatchedAt: "Task " + first,
			all[2].TemplateID + all[2].MatchedAt: "Task " + first + "\nTask " + second,
		}
		for _, f := range in.Findings {
			if from := want[f.TemplateID+f.Place]; f.From != from || !strings.HasPrefix(f.Verified, "2 of 2") || len(f.Exchanges) < 2 {
				t.Errorf("%s: from %q, want %q; verified %q by %d exchanges", f.Place, f.From, from, f.Verified, len(f.Exchanges))
			}
		}
		if len(in.Works) != 2 { // the scan has no row
			t.Errorf("%d tasks are described", len(in.Works))
		}
		if in := r.input(t, Request{TaskID: second}); in.Totals.All != 1 {
			t.Errorf("the report of a task has %d", in.Totals.All)
		}
		for name, f := range map[string]finding.Filter{"kev": {KEV: new(true)}, "due": {Due: []string{"overdue"}},
			"assignee": {Assignees: []string{"a@example.com"}}, "epss": {MinEPSS: .5}} {
			if in := r.input(t, Request{Filter: f}); in.Totals.All != 0 {
				t.Errorf("%s: %d findings that the filter does not pick", name, in.Totals.All)
			}
		}
	})
}
