// Package dbtest runs a test on each database: on SQLite in a temporary file, and on a PostgreSQL server that
// the tests start (or find by VEDETTE_TEST_POSTGRES, a URL whose user may create databases).
//
// A package that uses it calls Main in its TestMain:
//
//	func TestMain(m *testing.M) { dbtest.Main(m) }
package dbtest

import (
	"context"
	"database/sql"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/ids"
)

// Main runs the package's tests, stops the PostgreSQL server and exits.
func Main(m *testing.M) { os.Exit(Run(m)) }

// Run is Main for a TestMain with its own clean-up; the caller exits with the returned code.
func Run(m *testing.M) (code int) {
	code = m.Run()
	if server.stop != nil {
		server.stop()
	}
	return code
}

// Each runs fn on each database, newly created and migrated, in parallel with other tests.
func Each(t *testing.T, fn func(t *testing.T, d *db.DB)) {
	t.Helper()
	for _, engine := range Engines {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			fn(t, Open(t, engine))
		})
	}
}

// Engines are the names of the databases that Each runs on.
var Engines = []string{"sqlite", "postgres"}

// Open opens a new database of the named kind until the end of the test.
func Open(t testing.TB, engine string) *db.DB {
	t.Helper()
	d, err := db.Open(t.Context(), db.Config{URL: URL(t, engine)})
	if err != nil {
		t.Fatalf("opening %s: %v", engine, err)
	}
	t.Cleanup(func() { d.Close() })
	return d
}

// URL creates a new migrated, empty database and returns its URL, for a test that opens it itself or passes it
// to the real binary.
func URL(t testing.TB, engine string) string {
	t.Helper()
	if engine == "sqlite" {
		return "sqlite:" + filepath.Join(t.TempDir(), "vedette.db")
	}
	admin := adminURL(t)
	name := "t_" + ids.Random(12)
	if err := onServer(admin, fmt.Sprintf(`CREATE DATABASE %q TEMPLATE %q`, name, server.template)); err != nil {
		t.Fatalf("creating a test database: %v", err)
	}
	t.Cleanup(func() {
		if err := onServer(admin, fmt.Sprintf(`DROP DATABASE IF EXISTS %q WITH (FORCE)`, name)); err != nil {
			t.Logf("dropping the test database: %v", err)
		}
	})
	return withDatabase(admin, name)
}

var server struct {
	once     sync.Once
	err      error
	url      string
	template string // a migrated database that tests copy
	stop     func()
}

// adminURL is the URL of the server's maintenance database. The first call starts the server.
func adminURL(t testing.TB) string {
	t.Helper()
	server.once.Do(func() {
		server.url = os.Getenv("VEDETTE_TEST_POSTGRES")
		if server.url == "" {
			server.url, server.stop, server.err = Start()
			if server.err != nil {
				return
			}
		}
		server.template = "template_" + ids.Random(12)
		if server.err = onServer(server.url, fmt.Sprintf(`CREATE DATABASE %q`, server.template)); server.err != nil {
			return
		}
		var d *db.DB
		if d, server.err = db.Open(context.Background(), db.Config{URL: withDatabase(server.url, server.template)}); server.err == nil {
			server.err = d.Close()
		}
	})
	if server.err != nil {
		t.Fatalf("PostgreSQL for the tests: %v", server.err)
	}
	return server.url
}

func onServer(admin, statement string) error {
	conn, err := sql.Open("pgx", admin)
	if err != nil {
		return err
	}
	defer conn.Close()
	_, err = conn.Exec(statement)
	return err
}

func withDatabase(admin, name string) string {
	u, err := url.Parse(admin)
	if err != nil {
		panic(err) // adminURL has used it already
	}
	u.Path = "/" + name
	// Longer than in production: an overloaded machine must not look like a frozen process.
	q := u.Query()
	q.Set("idle_in_transaction_session_timeout", "60s")
	u.RawQuery = q.Encode()
	return u.String()
}
