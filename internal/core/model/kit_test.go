package model_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/vedette-sec/vedette/internal/agent/llm"
	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/core/model"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/db/dbtest"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/netguard"
	"github.com/vedette-sec/vedette/internal/infra/seal"
)

func TestMain(m *testing.M) { dbtest.Main(m) }

// room is the service with a few people in it.
type room struct {
	*model.Models
	t        *testing.T
	db       *db.DB
	accounts *account.Accounts
}

func open(t *testing.T, d *db.DB, c model.Config) *room {
	t.Helper()
	accounts, err := account.Open(t.Context(), d, account.Config{})
	if err != nil {
		t.Fatal(err)
	}
	box, err := seal.Open(filepath.Join(t.TempDir(), "key"))
	if err != nil {
		t.Fatal(err)
	}
	if c.Guard == nil {
		c.Guard = &netguard.Guard{Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}}
	}
	return &room{model.New(d, box, accounts, c), t, d, accounts}
}

// person makes a member of a team and gives their context.
func (r *room) person(name, team string, role account.Role) (context.Context, account.Caller) {
	r.t.Helper()
	u, err := r.accounts.CreateUser(r.t.Context(),
		account.NewUser{Email: name + "@example.com", Team: team, Admin: role == account.Admin})
	if err != nil {
		r.t.Fatal(err)
	}
	if _, err := r.db.Exec(r.t.Context(), `UPDATE member SET role = ? WHERE user_id = ?`, role, u.ID); err != nil {
		r.t.Fatal(err)
	}
	c := account.Caller{UserID: u.ID, Email: u.Email, TeamID: u.TeamID, Role: role}
	return account.WithCaller(r.t.Context(), c), c
}

// provider is a server that lists two models to whoever has the key "good", and says
// what it was asked with.
func provider(t *testing.T) (url string, asked *atomic.Int64) {
	t.Helper()
	asked = new(atomic.Int64)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		switch {
		case r.Header.Get("Authorization") != "Bearer good":
			w.WriteHeader(http.StatusUnauthorized)
		case r.URL.Path == "/v1/models":
			_, _ = io.WriteString(w, `{"data":[{"id":"small"},{"id":"large"}]}`)
		default:
			_, _ = fmt.Fprint(w, "data: {\"choices\":[{\"delta\":{\"content\":\"ok\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n")
		}
	}))
	t.Cleanup(server.Close)
	return server.URL + "/v1", asked
}

func code(err error) string {
	if err == nil {
		return ""
	}
	return errs.From(err).Code
}

// operators is a server-wide model.
func operators() *model.Server {
	return &model.Server{Config: llm.Config{Provider: llm.ProviderAnthropic, Key: "k"}}
}

var noon = time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)
