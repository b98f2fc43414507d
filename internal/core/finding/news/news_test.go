package news

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/core/finding"
	"github.com/vedette-sec/vedette/internal/core/finding/decision"
	"github.com/vedette-sec/vedette/internal/core/finding/findingtest"
	"github.com/vedette-sec/vedette/internal/core/finding/move"
	"github.com/vedette-sec/vedette/internal/core/finding/work"
	"github.com/vedette-sec/vedette/internal/core/inbox"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/db/dbtest"
	"github.com/vedette-sec/vedette/internal/infra/page"
)

func TestMain(m *testing.M) { dbtest.Main(m) }

// An accepted risk ends at its time, for all sightings of the weakness and with an entry in the timeline; one that a
// person has decided about meanwhile does not, nor does one of another team or without an end. Who looks after it is
// told once, however often the job runs.
func TestARiskEnds(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		accounts, err := account.Open(t.Context(), d, account.Config{})
		if err != nil {
			t.Fatal(err)
		}
		u, err := accounts.CreateUser(t.Context(), account.NewUser{Email: "alice@example.com"})
		if err != nil {
			t.Fatal(err)
		}
		alice := account.WithCaller(t.Context(), account.Caller{UserID: u.ID, Email: u.Email, TeamID: u.TeamID, Role: account.Admin})
		findings, in := finding.New(d, nil), inbox.New(d, nil, "")
		add := func(scan string, which ...int) {
			t.Helper()
			var seen []finding.Sighting
			for _, i := range which {
				seen = append(seen, finding.Sighting{Event: findingtest.Event(i)})
			}
			if err := d.Tx(t.Context(), func(tx *db.Tx) error {
				_, err := findings.Add(t.Context(), tx, finding.Origin{TeamID: u.TeamID, ScanID: scan, Run: 1}, seen)
				return err
			}); err != nil {
				t.Fatal(err)
			}
		}
		add("s1", 1, 2, 3)
		found, _, err := findings.FindAll(alice, finding.Filter{}, nil, page.Window{Limit: 10})
		if err != nil || len(found) != 3 {
			t.Fatal(found, err)
		}
		if _, err := work.New(d, findings, in).Assign(alice, finding.Filter{IDs: []string{found[0].ID}}, "alice@example.com"); err != nil {
			t.Fatal(err)
		}
		end := time.Now().Add(time.Hour)
		for i, risk := range []decision.Decision{
			{Status: move.AcceptedRisk, Reason: "behind a VPN", Until: end}, {Status: move.AcceptedRisk, Reason: "for good"},
			{Status: move.AcceptedRisk, Reason: "for now", Until: end},
		} {
			if n, err := findings.SetDecision(alice, finding.Filter{IDs: []string{found[i].ID}}, risk); err != nil || n != 1 {
				t.Fatal(n, err)
			}
		}
		if _, err := findings.SetStatus(alice, finding.Filter{IDs: []string{found[2].ID}}, move.Fixed); err != nil {
			t.Fatal(err)
		}
		add("s2", 1, 2, 3)
		n := New(d, findings, in, slog.New(slog.DiscardHandler))
		statuses := func() (out []move.State) {
			t.Helper()
			for _, f := range found {
				now, err := findings.Find(alice, f.ID)
				if err != nil {
					t.Fatal(err)
				}
				out = append(out, move.StateOf(now.Status, now.IsRegression))
			}
			return out
		}
		for _, at := range []struct {
			now  time.Time
			want move.State
		}{{time.Now(), "accepted_risk"}, {end.Add(time.Second), "open"}, {end.Add(time.Minute), "open"}} {
			n.now = func() time.Time { return at.now }
			if err := n.EndRisks(context.Background()); err != nil {
				t.Fatal(err)
			}
			if got := statuses(); got[0] != at.want || got[1] != "accepted_risk" || got[2] == "open" {
				t.Errorf("at %v: %v", at.now, got)
			}
		}
		_, changes, err := findings.Timeline(alice, found[0].ID)
		last := changes[len(changes)-1]
		if err != nil || last.To != "open" || last.Actor != "" || last.Reason == "" || changes[len(changes)-2].Until.IsZero() {
			t.Errorf("%+v, %v", changes, err)
		}
		for range 2 {
			told, ok, err := n.Tell(t.Context(), finding.NewsArgs{TeamID: u.TeamID, RiskEnded: true,
				Weaknesses: []string{found[0].Hash, "gone"}, Operation: last.Operation})
			if err != nil || !ok || told.FindingID == "" || told.Alert.Message == "" {
				t.Errorf("%+v %v %v", told, ok, err)
			}
		}
		messages, _, _, err := in.Find(alice, false, page.Window{Limit: 10})
		if err != nil || len(messages) != 1 || messages[0].Kind != inbox.RiskEnded {
			t.Errorf("%+v, %v", messages, err)
		}
	})
}
