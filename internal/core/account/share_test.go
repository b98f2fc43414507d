package account

import (
	"testing"

	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/db/dbtest"
)

// TestAPlanIsAShareOfTheWorkers: a team has the weight of its plan from its first day, and loses it with its row.
func TestAPlanIsAShareOfTheWorkers(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		a := open(t, d, Config{DefaultPlan: Enterprise})
		u, ctx := mustUser(t, a, NewUser{Email: "ada@example.com"})
		weight := func() (w int, err error) {
			return db.Value[int](ctx, d, `SELECT weight FROM queue_share WHERE team_id = ?`, u.TeamID)
		}
		if w, err := weight(); err != nil || w != 4 {
			t.Errorf("a new team of the plan ENT has the weight %d, %v", w, err)
		}
		for plan, want := range map[Plan]int{Free: 1, Pro: 2, Enterprise: 4} {
			if _, err := a.SetPlan(ctx, u.TeamID, plan); err != nil {
				t.Fatal(err)
			}
			if w, err := weight(); err != nil || w != want {
				t.Errorf("the plan %s has the weight %d, want %d, %v", plan, w, want, err)
			}
		}
		if _, err := d.Exec(ctx, `DELETE FROM team WHERE id = ?`, u.TeamID); err != nil {
			t.Fatal(err)
		}
		if _, err := weight(); !db.IsNoRows(err) {
			t.Errorf("the share of a team that was deleted: %v", err)
		}
	})
}
