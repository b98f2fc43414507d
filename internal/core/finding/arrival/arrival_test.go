package arrival_test

import (
	"testing"

	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/core/finding/arrival"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/db/dbtest"
	"github.com/vedette-sec/vedette/internal/infra/queue"
)

func TestMain(m *testing.M) { dbtest.Main(m) }

// The job is queued once for a team that has rules, and never for one without.
func TestTellRules(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		accounts, err := account.Open(t.Context(), d, account.Config{})
		if err != nil {
			t.Fatal(err)
		}
		u, err := accounts.CreateUser(t.Context(), account.NewUser{Email: "alice@example.com", Admin: true})
		if err != nil {
			t.Fatal(err)
		}
		q, err := queue.Open(t.Context(), d, queue.Config{})
		if err != nil {
			t.Fatal(err)
		}
		tell := func() {
			t.Helper()
			if err := d.Tx(t.Context(), func(tx *db.Tx) error {
				return arrival.TellRules(t.Context(), tx, q, u.TeamID, db.At(u.CreatedAt))
			}); err != nil {
				t.Fatal(err)
			}
		}
		jobs := func() int {
			t.Helper()
			n, err := db.Value[int](t.Context(), d, `SELECT count(*) FROM river_job WHERE kind = ?`, arrival.Args{}.Kind())
			if err != nil {
				t.Fatal(err)
			}
			return n
		}
		tell()
		if n := jobs(); n != 0 {
			t.Errorf("%d jobs for a team without rules", n)
		}
		if _, err := d.Exec(t.Context(), `INSERT INTO triage_progress (team_id, has_rules, last_no, last_rev) VALUES (?, ?, 0, 0)`, u.TeamID, true); err != nil {
			t.Fatal(err)
		}
		tell()
		tell()
		if n := jobs(); n != 1 {
			t.Errorf("%d jobs for two arrivals", n)
		}
	})
}
