package tested_test

import (
	"context"
	"testing"

	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/core/finding"
	"github.com/vedette-sec/vedette/internal/core/finding/findingtest"
	"github.com/vedette-sec/vedette/internal/core/finding/tested"
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

// Each sighting is a test that found it; another team's and unknown hashes are left out.
func TestHistory(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		_, _, team := stored(t, d, 3, 4)
		hash := finding.Fingerprint(findingtest.Event(3), "")
		got, err := tested.History(t.Context(), d, team, []string{hash, "none", hash}, 5)
		if err != nil || len(got) != 1 || len(got[hash]) != 1 {
			t.Fatalf("%+v, %v", got, err)
		}
		if v := got[hash][0]; !v.Matched || v.TemplateID != "CVE-2024-3" || v.Severity != "medium" || v.Hash != hash {
			t.Errorf("%+v", v)
		}
		if got, err := tested.History(t.Context(), d, "another", []string{hash}, 5); err != nil || len(got) > 0 {
			t.Errorf("another team: %+v, %v", got, err)
		}
	})
}
