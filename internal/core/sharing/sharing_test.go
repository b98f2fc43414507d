package sharing

import (
	"slices"
	"testing"

	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/db/dbtest"
)

func TestMain(m *testing.M) { dbtest.Main(m) }

// What is shared is seen while its owner is in the team; what is not, and what is another team's, is never seen.
func TestVisible(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		accounts, err := account.Open(t.Context(), d, account.Config{})
		if err != nil {
			t.Fatal(err)
		}
		person := func(email, team string) account.User {
			u, err := accounts.CreateUser(t.Context(), account.NewUser{Email: email, Team: team, Admin: true})
			if err != nil {
				t.Fatal(err)
			}
			return u
		}
		alice, bob, eve := person("a@example.com", "blue"), person("b@example.com", "blue"), person("e@example.com", "red")
		seen := func() []string {
			got, err := db.Values[string](t.Context(), d, `SELECT x.name FROM (
				SELECT 'own' AS name, ? AS team_id, ? AS user_id, FALSE AS shared
				UNION ALL SELECT 'shared', ?, ?, TRUE UNION ALL SELECT 'kept', ?, ?, FALSE
				UNION ALL SELECT 'foreign', ?, ?, TRUE) x`+Visible("x")+` ORDER BY x.name`,
				alice.TeamID, alice.ID, bob.TeamID, bob.ID, bob.TeamID, bob.ID, eve.TeamID, eve.ID, alice.TeamID, alice.ID)
			if err != nil {
				t.Fatal(err)
			}
			return got
		}
		if got := seen(); !slices.Equal(got, []string{"own", "shared"}) {
			t.Errorf("with bob in the team: %q", got)
		}
		if _, err := d.Exec(t.Context(), `DELETE FROM member WHERE user_id = ?`, bob.ID); err != nil {
			t.Fatal(err)
		}
		if got := seen(); !slices.Equal(got, []string{"own"}) {
			t.Errorf("after bob has left: %q", got)
		}
		if Of(alice.ID, alice.ID) != Own || Of(bob.ID, alice.ID) != Team {
			t.Error("what is bob's is alice's")
		}
	})
}
