package app

import (
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/infra/db/dbtest"
	"github.com/vedette-sec/vedette/internal/oast"
)

// TestTheOutOfBandServerInTheProcess: the names of a team lead to it, it is asked without a network, and nobody else
// can register.
func TestTheOutOfBandServerInTheProcess(t *testing.T) {
	t.Parallel()
	load := func(listen string) Config {
		c, _, err := Load(map[string]any{
			"database": dbtest.URL(t, "sqlite"), "data_dir": t.TempDir(), "oast_listen": []string{listen},
		}, nil, "")
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	a, err := Open(t.Context(), load("http://127.0.0.1:0"), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	u, err := a.Accounts.CreateUser(t.Context(), account.NewUser{Email: "ada@example.com", Admin: true})
	if err != nil {
		t.Fatal(err)
	}
	names, err := a.Scans.Interactions.Names(t.Context(), u.TeamID)
	if err != nil || !strings.HasPrefix(names.Host, "127.0.0.1:") {
		t.Fatal(names, err)
	}
	_, address := names.URL()
	resp, err := http.Get("http://" + address)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if err := a.interactions.Poll(t.Context()); err != nil {
		t.Error(err)
	}
	if _, err := oast.NewClient(t.Context(), http.DefaultClient, "http://"+names.Host, ""); err == nil {
		t.Error("a stranger has registered")
	}
	for _, listen := range []string{"ldap://127.0.0.1:0", "gopher://127.0.0.1:0", "http://" + names.Host} {
		if b, err := Open(t.Context(), load(listen), slog.New(slog.DiscardHandler)); err == nil || !strings.Contains(err.Error(), "oast_listen") {
			t.Errorf("%s: %v", listen, err)
			if b != nil {
				_ = b.Close()
			}
		}
	}
}
