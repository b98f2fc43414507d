package task

import (
	"context"
	"testing"

	"github.com/vedette-sec/vedette/internal/core/finding"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/db/dbtest"
	"github.com/vedette-sec/vedette/internal/infra/page"
)

// listed are the findings of alice's team, each weakness once.
func (b bench) listed(t *testing.T, ctx context.Context) []finding.Finding {
	t.Helper()
	found, _, err := b.findings.FindAll(ctx, finding.Filter{}, nil, page.Window{Limit: 100})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// What a task has verified is a finding of the team, the same as what a scan saw with the template; its status is one.
func TestIssuesAreFindings(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		b := setUp(t, d)
		first := b.mustStart(t, b.mustCreate(t, NewTask{}).ID)
		verified(t, first, "http://h/a")
		found := b.listed(t, b.alice)
		if len(found) != 1 || !found[0].IsTask || found[0].ScanID != first.Task.ID || found[0].Severity != "high" {
			t.Fatalf("%+v", found)
		}
		issue, err := first.Issues(t.Context())
		if err != nil || len(issue) != 1 || issue[0].VulnID != found[0].ID {
			t.Fatalf("%+v, %v", issue, err)
		}
		err = d.Tx(t.Context(), func(tx *db.Tx) error {
			_, err := b.findings.Add(t.Context(), tx, finding.Origin{TeamID: first.Task.TeamID, ScanID: "s"},
				[]finding.Sighting{{Event: event("http://h/a")}})
			return err
		})
		if err != nil || len(b.listed(t, b.alice)) != 1 {
			t.Errorf("a scan saw it, too: %d findings, %v", len(b.listed(t, b.alice)), err)
		}
		to := FalsePositive
		if i, err := b.UpdateIssue(b.alice, issue[0].ID, IssueUpdate{Status: &to}); err != nil || i.Status != to {
			t.Errorf("%s, %v", i.Status, err)
		}
		if found = b.listed(t, b.alice); found[0].Status != finding.FalsePositive {
			t.Errorf("the finding is %s", found[0].Status)
		}
		second := b.mustStart(t, b.mustCreate(t, NewTask{}).ID)
		verified(t, second, "http://h/a")
		if i, err := second.Issues(t.Context()); err != nil || i[0].Status != FalsePositive {
			t.Errorf("what was decided holds for a later task: %+v, %v", i, err)
		}
		if _, err := b.findings.SetStatus(b.alice, finding.Filter{IDs: []string{found[0].ID}}, finding.Triaged); err != nil {
			t.Fatal(err)
		}
		for _, status := range []IssueStatus{Triaged, FalsePositive} {
			_, n, err := b.FindIssues(b.alice, IssueFilter{Status: status, Limit: 10})
			if want := map[IssueStatus]int{Triaged: 2}[status]; err != nil || n != want {
				t.Errorf("%d issues are %s, want %d, %v", n, status, want, err)
			}
		}
		if err := b.Delete(b.alice, first.Task.ID); err != nil {
			t.Fatal(err)
		}
		if found = b.listed(t, b.alice); len(found) != 1 || found[0].ScanID != "s" {
			t.Errorf("after the task was deleted: %+v", found)
		}
	})
}

// What a private task found is nobody's but its owner's, until they share it.
func TestPrivateIssuesAreNoFindings(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		b := setUp(t, d)
		run := b.mustStart(t, b.mustCreate(t, NewTask{Options: Options{Visibility: string(Private)}}).ID)
		verified(t, run, "http://h/a")
		if found := b.listed(t, b.bob); len(found) != 0 {
			t.Fatalf("%+v", found)
		}
		issues, err := run.Issues(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		to := AcceptedRisk
		if _, err := b.UpdateIssue(b.alice, issues[0].ID, IssueUpdate{Status: &to}); err != nil {
			t.Fatal(err)
		}
		for _, v := range []Visibility{Team, Private, Team} {
			if _, err := b.Update(b.alice, run.Task.ID, Update{Visibility: &v}); err != nil {
				t.Fatal(err)
			}
			found := b.listed(t, b.bob)
			if (len(found) == 1) != (v == Team) || v == Team && found[0].Status != finding.AcceptedRisk {
				t.Errorf("%s: %+v", v, found)
			}
			if i, err := run.Issues(t.Context()); err != nil || i[0].Status != AcceptedRisk {
				t.Errorf("%s: the issue is %+v, %v", v, i, err)
			}
		}
	})
}

// Issues that an older version stored become findings at the start.
func TestIssuesFromBeforeBecomeFindings(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		b := setUp(t, d)
		run := b.mustStart(t, b.mustCreate(t, NewTask{}).ID)
		verified(t, run, "http://h/a")
		before := b.listed(t, b.alice)
		if err := d.Tx(t.Context(), func(tx *db.Tx) error {
			return b.findings.DeleteOfScan(t.Context(), tx, run.Task.TeamID, run.Task.ID)
		}); err != nil {
			t.Fatal(err)
		}
		if _, err := d.Exec(t.Context(), `UPDATE issue SET finding_id = ''`); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if err := b.Backfill(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if after := b.listed(t, b.alice); len(after) != 1 || after[0].ID != before[0].ID {
			t.Errorf("%+v", after)
		}
	})
}
