package interaction_test

import (
	"log/slog"
	"net/http/httptest"
	"path/filepath"
	"testing"
	"time"

	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/core/interaction"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/db/dbtest"
	"github.com/vedette-sec/vedette/internal/infra/queue"
	"github.com/vedette-sec/vedette/internal/infra/seal"
	"github.com/vedette-sec/vedette/internal/oast"
)

func TestMain(m *testing.M) { dbtest.Main(m) }

// TestSessions: each team has its own session, which another process and a restart continue; an interaction that
// belongs to no request is nobody's.
func TestSessions(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		server, err := oast.NewServer(oast.Config{Token: "t0ken"})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(server.Close)
		outside := httptest.NewServer(server)
		t.Cleanup(outside.Close)
		accounts, err := account.Open(t.Context(), d, account.Config{})
		if err != nil {
			t.Fatal(err)
		}
		var teams []string
		for _, email := range []string{"ada@example.com", "eve@example.com"} {
			u, err := accounts.CreateUser(t.Context(), account.NewUser{Email: email, Admin: true})
			if err != nil {
				t.Fatal(err)
			}
			teams = append(teams, u.TeamID)
		}
		q, err := queue.Open(t.Context(), d, queue.Config{})
		if err != nil {
			t.Fatal(err)
		}
		box, err := seal.Open(filepath.Join(t.TempDir(), "key"))
		if err != nil {
			t.Fatal(err)
		}
		c := interaction.Config{Server: outside.URL, Token: "t0ken", HTTP: outside.Client(), Keep: time.Hour}
		open := func(c interaction.Config) *interaction.Interactions {
			return interaction.New(d, q, box, c, slog.New(slog.DiscardHandler))
		}
		names := func(s *interaction.Interactions, team string) oast.Names {
			n, err := s.Names(t.Context(), team)
			if err != nil {
				t.Fatal(err)
			}
			return *n
		}
		one := open(c)
		ada, eve := names(one, teams[0]), names(one, teams[1])
		if ada.Correlation == eve.Correlation || ada.Host != outside.Listener.Addr().String() {
			t.Error(ada, eve)
		}
		if again := names(one, teams[0]); again != ada {
			t.Error("a session is begun twice:", again)
		}
		if other := names(open(c), teams[0]); other != ada {
			t.Error("another process has another session:", other)
		}
		_, address := ada.URL()
		resp, err := outside.Client().Get("http://" + address)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if err := one.Poll(t.Context()); err != nil {
			t.Error(err)
		}
		if _, ok, err := one.Request(t.Context(), interaction.JudgeArgs{Name: "unknown"}); ok || err != nil {
			t.Error(ok, err)
		}
		c.Token = "wrong"
		c.Server = outside.URL + "/" // another one, with no session
		if n, err := open(c).Names(t.Context(), teams[0]); err == nil {
			t.Error("a wrong token is taken:", n)
		}
	})
}
