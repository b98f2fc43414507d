package group_test

import (
	"context"
	"testing"

	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/core/finding"
	"github.com/vedette-sec/vedette/internal/core/finding/findingtest"
	"github.com/vedette-sec/vedette/internal/core/finding/group"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/db/dbtest"
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

// Groups count weaknesses by name and severity, the worst first.
func TestOf(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		fs, _, team := stored(t, d, 5, 4, 5+53*7, 3)
		got, err := group.Of(t.Context(), fs, team, finding.Filter{})
		if err != nil {
			t.Fatal(err)
		}
		want := []group.Group{{Name: "Weakness of kind CVE-2024-5", Severity: "critical", Count: 2},
			{Name: "Weakness of kind CVE-2024-4", Severity: "high", Count: 1},
			{Name: "Weakness of kind CVE-2024-3", Severity: "medium", Count: 1}}
		if len(got) != len(want) {
			t.Fatalf("%+v", got)
		}
		for i := range want {
			if got[i] != want[i] {
				t.Errorf("%d: %+v, want %+v", i, got[i], want[i])
			}
		}
		if other, err := group.Of(t.Context(), fs, "another", finding.Filter{}); err != nil || len(other) > 0 {
			t.Errorf("another team: %+v, %v", other, err)
		}
	})
}
