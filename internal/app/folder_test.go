package app

import (
	"log/slog"
	"strings"
	"testing"

	"github.com/vedette-sec/vedette/internal/infra/db/dbtest"
)

// TestOneProcessAPartOnAnEmbeddedDatabase: a folder has one server and one worker, in one process or in two.
func TestOneProcessAPartOnAnEmbeddedDatabase(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	open := func(role, database string) (*App, error) {
		c, _, err := Load(nil, []string{
			"VEDETTE_DATA_DIR=" + dir, "VEDETTE_ROLE=" + role, "VEDETTE_DATABASE=" + database, "VEDETTE_LISTEN=127.0.0.1:0",
		}, "")
		if err != nil {
			t.Fatal(err)
		}
		return Open(t.Context(), c, slog.New(slog.DiscardHandler))
	}
	for _, c := range []struct {
		first  string
		refuse []string
		also   string // a role that may join it; empty: none
	}{
		{RoleAll, []string{RoleAll, RoleServer, RoleWorker}, ""},
		{RoleServer, []string{RoleAll, RoleServer}, RoleWorker},
		{RoleWorker, []string{RoleAll, RoleWorker}, RoleServer},
	} {
		first, err := open(c.first, "")
		if err != nil {
			t.Fatal(err)
		}
		for _, role := range c.refuse {
			if second, err := open(role, ""); err == nil {
				t.Errorf("beside %s, %s started", c.first, role)
				_ = second.Close()
			} else if !strings.Contains(err.Error(), "another vedette") || !strings.Contains(err.Error(), dir) ||
				!strings.Contains(err.Error(), "--data-dir") {
				t.Errorf("beside %s, %s says %v", c.first, role, err)
			}
		}
		if c.also != "" {
			second, err := open(c.also, "")
			if err != nil {
				t.Fatalf("beside %s, %s does not start, although refused ones gave their locks back: %v", c.first, c.also, err)
			}
			if err := second.Close(); err != nil {
				t.Error(err)
			}
		}
		if err := first.Close(); err != nil {
			t.Error(err)
		}
	}
	url := dbtest.URL(t, "postgres") // several processes share it, and a folder on one machine too
	for range 2 {
		a, err := open(RoleAll, url)
		if err != nil {
			t.Fatal(err)
		}
		defer a.Close()
	}
}
