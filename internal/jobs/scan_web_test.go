package jobs

import (
	"fmt"
	"html"
	"net/http"
	"os"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/vedette-sec/vedette/internal/core/finding"
	"github.com/vedette-sec/vedette/internal/core/scan"
	"github.com/vedette-sec/vedette/internal/engine"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/db/dbtest"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/page"
)

// TestScanOfAnApplication finds what no template knows, says in the coverage what was tested, and tests again by the
// proof that was kept, until the application is repaired.
func TestScanOfAnApplication(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		var repaired atomic.Bool
		base, _ := site(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			name := r.FormValue("name")
			if repaired.Load() {
				name = html.EscapeString(name)
			}
			switch r.URL.Path {
			case "/":
				fmt.Fprint(w, `<a href="/hello?name=you">hello</a>`)
			case "/hello":
				fmt.Fprintf(w, "<p>Hello %s</p>", name)
			default:
				http.NotFound(w, r)
			}
		}))
		o := open(t, d)
		made, err := o.scans.Create(o.ctx, scan.NewScan{Config: scan.Config{Type: scan.Web, Targets: []string{base, "127.0.0.1:1"}}})
		if err != nil {
			t.Fatal(err)
		}
		done := o.scanEnds(t, made.ID)
		found := o.found(t, finding.Filter{ScanIDs: []string{made.ID}})
		if done.Status != scan.Finished || done.Numbers.Cells != 2 || done.Numbers.DoneCells != 2 || done.Numbers.DoneRequests < 10 || len(found) == 0 {
			t.Fatalf("%+v with %d findings", done, len(found))
		}
		var weak *finding.Finding
		for i := range found {
			if found[i].TemplateID == "webtest-xss-reflected" {
				weak = &found[i]
			}
		}
		if weak == nil || weak.Target != base || !strings.Contains(weak.Event.MatchedAt, "/hello?name=") {
			t.Fatalf("of %d findings none is the one in name: %+v", len(found), found[0])
		}
		c, err := o.scans.FindCoverage(o.ctx, made.ID, scan.CoverageFilter{State: engine.Tested}, page.Window{Limit: 10})
		if err != nil || c.Total != 2 || c.Matched != 1 || len(c.Cells) != 1 || c.Cells[0].Template != scan.WebTest ||
			!strings.Contains(c.Cells[0].Reason, "places") || c.Counts[engine.Failed] != 1 {
			t.Errorf("coverage %+v, %v", c, err)
		}
		if left, _ := os.ReadDir(os.TempDir()); len(left) > 0 {
			for _, f := range left {
				if strings.Contains(f.Name(), "webtest-"+made.ID) {
					t.Errorf("%s is left behind", f.Name())
				}
			}
		}
		for _, want := range []finding.RetestState{finding.Matched, finding.NotMatched} {
			repaired.Store(want == finding.NotMatched)
			if _, err := o.findings.QueueRetest(o.ctx, weak.ID, nil); err != nil {
				t.Fatal(err)
			}
			var got finding.Retest
			until(t, "the retest", func() bool {
				_, got, err = o.findings.FindRetest(o.ctx, weak.ID)
				return err != nil || got.State != finding.RetestQueued
			})
			if err != nil || got.State != want {
				t.Errorf("retest %+v, %v, want %s", got, err, want)
			}
		}
	})
}

// TestScanOfAnApplicationHasNoTemplates refuses what would have no effect.
func TestScanOfAnApplicationHasNoTemplates(t *testing.T) {
	o := open(t, dbtest.Open(t, "sqlite"))
	for field, c := range map[string]scan.Config{
		"templates": {Templates: []string{"x"}}, "all": {All: true}, "recommended": {Recommended: true},
		"early_templates": {EarlyTemplates: []string{"x"}}, "private_templates": {Inline: []scan.Inline{{Name: "x"}}},
	} {
		c.Type, c.Targets = scan.Web, []string{"http://127.0.0.1:1/"}
		_, err := o.scans.Create(o.ctx, scan.NewScan{Config: c})
		if e := errs.From(err); e.Kind != errs.Invalid || e.Param != field {
			t.Errorf("%s: %v", field, err)
		}
	}
}
