package roster

import (
	"testing"

	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/db/dbtest"
	"github.com/vedette-sec/vedette/internal/infra/errs"
)

func TestMain(m *testing.M) { dbtest.Main(m) }

// Members are found in their own team alone; a stranger, a guest and who was only invited get no work.
func TestMembers(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		accounts, err := account.Open(t.Context(), d, account.Config{DefaultPlan: account.Enterprise})
		if err != nil {
			t.Fatal(err)
		}
		team := ""
		for _, u := range []account.NewUser{{Email: "alice@example.com", Team: "blue"}, {Email: "bob@example.com", Team: "blue"},
			{Email: "gus@example.com", Team: "blue"}, {Email: "eve@example.com", Team: "red"}} {
			made, err := accounts.CreateUser(t.Context(), u)
			if err != nil {
				t.Fatal(err)
			}
			if u.Email == "alice@example.com" {
				team = made.TeamID
			}
		}
		if _, err := accounts.AssignRole(t.Context(), "gus@example.com", "blue", string(account.Guest)); err != nil {
			t.Fatal(err)
		}
		if _, err := d.Exec(t.Context(), `INSERT INTO invitation (team_id, email, role, created_at) VALUES (?, ?, ?, 0)`, team,
			"ida@example.com", account.Member); err != nil {
			t.Fatal(err)
		}
		found, err := Find(t.Context(), d, team, []string{"BOB@example.com", "eve@example.com", "ida@example.com", "no\x00one"})
		if err != nil || len(found) != 1 || found["bob@example.com"].UserID == "" {
			t.Errorf("%v, %v", found, err)
		}
		for email, ok := range map[string]bool{"Bob@example.com": true, "gus@example.com": false, "eve@example.com": false,
			"ida@example.com": false, "": false} {
			m, err := Worker(t.Context(), d, team, "assignee", email)
			if ok != (err == nil) || !ok && !errs.Is(err, errs.Invalid) || ok && m.Email != "bob@example.com" {
				t.Errorf("%q: %+v, %v", email, m, err)
			}
		}
	})
}
