package amend_test

import (
	"context"
	"slices"
	"testing"

	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/core/finding"
	"github.com/vedette-sec/vedette/internal/core/finding/amend"
	"github.com/vedette-sec/vedette/internal/core/finding/findingtest"
	"github.com/vedette-sec/vedette/internal/core/finding/timeline"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/db/dbtest"
	"github.com/vedette-sec/vedette/internal/infra/page"
)

func TestMain(m *testing.M) { dbtest.Main(m) }

// stored is a team with the findings of some events in a scan.
func stored(t *testing.T, d *db.DB, events ...int) (fs *finding.Findings, alice context.Context, team string) {
	t.Helper()
	accounts, err := account.Open(t.Context(), d, account.Config{})
	if err != nil {
		t.Fatal(err)
	}
	u, err := accounts.CreateUser(t.Context(), account.NewUser{Email: "alice@example.com", Admin: true})
	if err != nil {
		t.Fatal(err)
	}
	alice = account.WithCaller(t.Context(), account.Caller{UserID: u.ID, Email: "alice@example.com", TeamID: u.TeamID, Role: u.Role})
	fs = finding.New(d, nil)
	var seen []finding.Sighting
	for _, i := range events {
		seen = append(seen, finding.Sighting{Event: findingtest.Event(i)})
	}
	if err := d.Tx(t.Context(), func(tx *db.Tx) error {
		_, err := fs.Add(t.Context(), tx, finding.Origin{TeamID: u.TeamID, ScanID: "s"}, seen)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return fs, alice, u.TeamID
}

// A change of several things is in the finding and in its timeline, and says afterwards what is held fast.
func TestApply(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		fs, alice, team := stored(t, d, 3)
		one := func() finding.Finding {
			t.Helper()
			found, _, err := fs.FindAll(alice, finding.Filter{}, nil, page.Window{Limit: 10})
			if err != nil || len(found) != 1 {
				t.Fatalf("%+v, %v", found, err)
			}
			return found[0]
		}
		if held, err := amend.HeldOf(alice, d, team, []finding.Finding{one()}); err != nil || held[0] != (amend.Held{}) {
			t.Errorf("at first: %+v, %v", held, err)
		}
		change := amend.Change{Status: finding.Triaged, Severity: "low", Labels: []string{"b", "a"}, Rule: "R", Actor: "bob@example.com"}
		if err := d.Tx(alice, func(tx *db.Tx) error { return amend.Apply(alice, fs, tx, team, one(), change) }); err != nil {
			t.Fatal(err)
		}
		f, changes, err := fs.Timeline(alice, one().ID)
		if err != nil || f.Status != finding.Triaged || f.Severity != "low" || !slices.Equal(f.Labels, []string{"a", "b"}) {
			t.Errorf("%+v, %v", f, err)
		}
		var kinds []timeline.Kind
		for _, c := range changes {
			kinds = append(kinds, c.Type)
		}
		for _, want := range []timeline.Kind{timeline.RuleApplied, timeline.SeverityChange, timeline.LabelsChange, timeline.StatusChange} {
			if !slices.Contains(kinds, want) {
				t.Errorf("%s is not in the timeline: %v", want, kinds)
			}
		}
		held, err := amend.HeldOf(alice, d, team, []finding.Finding{f})
		if err != nil || held[0] != (amend.Held{DecidedBy: "bob@example.com", IsPinned: true}) {
			t.Errorf("afterwards: %+v, %v", held, err)
		}
	})
}
