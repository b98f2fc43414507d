package jobs

import (
	"strings"
	"testing"

	"github.com/vedette-sec/vedette/internal/core/finding"
	"github.com/vedette-sec/vedette/internal/core/scan"
	"github.com/vedette-sec/vedette/internal/core/setting"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/db/dbtest"
	"github.com/vedette-sec/vedette/internal/notify/tracker/trackertest"
	"github.com/vedette-sec/vedette/lab/weaksite"
)

func TestFindingsOfAScanAreFiled(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		base, _ := site(t, weaksite.New(7))
		o := open(t, d)
		gh := trackertest.New(t, "github")
		o.configure(t, setting.Reporting, true, gh.Config()+"allow-list: {severity: [critical, high]}\n")
		made, err := o.scans.Create(o.ctx, scan.NewScan{Config: scan.Config{Targets: []string{base}, All: true}})
		if err != nil {
			t.Fatal(err)
		}
		o.scanEnds(t, made.ID)
		worst := o.found(t, finding.Filter{ScanIDs: []string{made.ID}, Severities: []string{"critical", "high"}})
		yes := true
		filed := func(n int) []finding.Finding {
			t.Helper()
			var with []finding.Finding
			until(t, "issues", func() bool {
				with = o.found(t, finding.Filter{Ticket: &yes})
				return len(with) == n
			})
			return with
		}
		for _, f := range filed(len(worst)) {
			if issue := f.Event.IssueTrackers["github"]; issue.ID == "" || !strings.HasPrefix(issue.URL, "https://gh/") ||
				f.Severity != "high" && f.Severity != "critical" {
				t.Errorf("%s: %+v", f.Severity, issue)
			}
		}
		if issues, _, comments, _ := gh.Counts(); issues != len(worst) || comments != 0 {
			t.Errorf("%d issues and %d comments of %d findings", issues, comments, len(worst))
		}
		// A rescan, and another scan of the same target, comment.
		if _, err := o.scans.Rescan(o.ctx, made.ID); err != nil {
			t.Fatal(err)
		}
		o.scanEnds(t, made.ID)
		until(t, "comments", func() bool { _, _, comments, _ := gh.Counts(); return comments == len(worst) })
		other, err := o.scans.Create(o.ctx, scan.NewScan{Config: scan.Config{Targets: []string{base}, All: true}})
		if err != nil {
			t.Fatal(err)
		}
		o.scanEnds(t, other.ID)
		until(t, "issues of the other scan", func() bool {
			return len(o.found(t, finding.Filter{ScanIDs: []string{other.ID}, Ticket: &yes})) == len(worst)
		})
		until(t, "comments", func() bool { _, _, comments, _ := gh.Counts(); return comments >= 2*len(worst) })
		if issues, _, comments, _ := gh.Counts(); issues != len(worst) || comments != 2*len(worst) {
			t.Errorf("%d issues and %d comments of %d findings", issues, comments, len(worst))
		}
		// A decision about them closes their issues.
		if _, err := o.findings.SetStatus(o.ctx, finding.Filter{Severities: []string{"critical", "high"}}, finding.Fixed); err != nil {
			t.Fatal(err)
		}
		until(t, "closed issues", func() bool {
			_, changes, _, _ := gh.Counts()
			return changes == len(worst)
		})
		for _, issue := range gh.Issues() {
			if issue.State != trackertest.Done {
				t.Errorf("%+v", issue.State)
			}
		}
	})
}
