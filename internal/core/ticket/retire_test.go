package ticket

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/vedette-sec/vedette/internal/core/finding"
	"github.com/vedette-sec/vedette/internal/core/finding/timeline"
	"github.com/vedette-sec/vedette/internal/core/finding/undo"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/db/dbtest"
	"github.com/vedette-sec/vedette/internal/notify/tracker/trackertest"
)

// TestIssuesOfJoinedFindings: of two findings with issues in the same tracker that are joined, the second one's issue is
// closed with one comment that names the first one's, whatever the tracker answers meanwhile, and opened again when they
// are split.
func TestIssuesOfJoinedFindings(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		r := setUp(t, d)
		for i, provider := range trackertest.Providers() {
			desk, configID := r.desk(t, provider, "comments: true")
			first, second := r.found(t, 2*i), r.found(t, 2*i+1)
			k := r.want(t, desk, configID, first)
			r.run(t)
			r.want(t, desk, configID, second)
			r.run(t)
			one, other := desk.Issues()[0].ID, desk.Issues()[1].ID
			issue := func(id string) trackertest.Issue {
				list := desk.Issues()
				return list[slices.IndexFunc(list, func(i trackertest.Issue) bool { return i.ID == id })]
			}
			named := func() (n int) {
				for _, c := range issue(other).Comments {
					if strings.Contains(c.Text, "became part of another one") && strings.Contains(c.Text, r.ticket(t, k).IssueID) {
						n++
					}
				}
				return n
			}
			desk.Down(true)
			if _, err := r.findings.Join(r.alice, []string{first.ID, second.ID}); err != nil {
				t.Fatal(err)
			}
			r.run(t)
			desk.Down(false)
			r.wait(t, time.Hour)
			r.wait(t, time.Hour)
			if i := issue(other); i.State != trackertest.Declined && i.State != trackertest.Done || named() != 1 {
				t.Errorf("%s: the issue is %s and has %d comments that name the first one: %+v", provider, i.State, named(), i.Comments)
			}
			if i := issue(one); i.State != trackertest.Open || strings.Contains(fmt.Sprint(i.Comments), "became part") {
				t.Errorf("%s: the first one's issue is %s, %+v", provider, i.State, i.Comments)
			}
			r.decide(t, first, finding.FixInProgress)
			r.run(t)
			if a, b := issue(one).State, issue(other).State; a != trackertest.Progress || b == trackertest.Progress {
				t.Errorf("%s: decided: the issues are %s and %s", provider, a, b)
			}
			r.decide(t, first, finding.Open)
			_, err := r.findings.Split(r.alice, second.ID)
			if i%2 == 1 { // the split, and the join, are taken back
				for _, kind := range []timeline.Kind{timeline.SplitChange, timeline.JoinedChange} {
					operation, err := db.Value[string](r.alice, d, `SELECT max(operation) FROM finding_change WHERE team_id = ? AND no = ?
						AND type = ? AND NOT undone`, r.team, second.No(), kind)
					if err == nil {
						_, err = undo.New(d, r.findings).Undo(r.alice, "", operation)
					}
					if err != nil {
						t.Fatalf("%s: %v", kind, err)
					}
				}
			}
			if err != nil {
				t.Fatal(err)
			}
			r.run(t)
			list := desk.Issues() // a closed record of some trackers has a new one in its place
			if last := list[len(list)-1]; last.State != trackertest.Open || named() != 1 {
				t.Errorf("%s: split: the issue is %s, %+v", provider, last.State, last)
			}
		}
	})
}
