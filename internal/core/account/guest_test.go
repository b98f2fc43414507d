package account

import (
	"testing"

	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/db/dbtest"
)

// A guest sees where a team's webhook goes, and not the rest of its URL, which may be a secret; others see all.
func TestGuestsSeeNoWebhookURL(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		a := open(t, d, Config{})
		_, ctx := mustUser(t, a, NewUser{Email: "ada@example.com", Team: "blue", Admin: true})
		ada, err := From(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := d.Exec(t.Context(), `UPDATE team SET webhook_url = ? WHERE id = ?`,
			"https://user:word@hooks.example.com/T0/s3cret?key=s3cret#s3cret", ada.TeamID); err != nil {
			t.Fatal(err)
		}
		for role, want := range map[Role]string{
			Guest: "https://hooks.example.com/…", Viewer: "https://user:word@hooks.example.com/T0/s3cret?key=s3cret#s3cret",
		} {
			c := ada
			c.Role = role
			team, err := a.FindTeam(WithCaller(t.Context(), c))
			if err != nil || team.WebhookURL != want {
				t.Errorf("%s sees %q, %v", role, team.WebhookURL, err)
			}
		}
	})
}
