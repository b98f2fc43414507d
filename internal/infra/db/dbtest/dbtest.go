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
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
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
	if server.admin != nil {
		server.admin.Close()
	}
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

// Prepare adds to the migrated databases that tests copy, so that what each test of a package needs is made once. Set
// by a TestMain; nil adds nothing.
var Prepare func(context.Context, *db.DB) error

// prepare does Prepare on a migrated database.
func prepare(url string) error {
	if Prepare == nil {
		return nil
	}
	return openAndClose(url, Prepare)
}

// migrate migrates a database.
func migrate(url string) error {
	return openAndClose(url, func(context.Context, *db.DB) error { return nil })
}

func openAndClose(url string, do func(context.Context, *db.DB) error) error {
	d, err := db.Open(context.Background(), db.Config{URL: url})
	if err != nil {
		return err
	}
	return errors.Join(do(context.Background(), d), d.Close())
}

// Engines are the names of the databases that Each runs on. Under the race detector it is PostgreSQL alone: what may
// race is our code, which is the same on both, and SQLite is Go code that the detector makes several times slower.
var Engines = engines

// Open opens a new database of the named kind until the end of the test.
func Open(t testing.TB, engine string) *db.DB {
	t.Helper()
	d, err := db.Open(t.Context(), db.Config{URL: MigratedURL(t, engine)})
	if err != nil {
		t.Fatalf("opening %s: %v", engine, err)
	}
	if engine == "sqlite" {
		d.Watch(watch)
	}
	t.Cleanup(func() {
		checkPlans(t, d)
		d.Close()
	})
	return d
}

// MigratedURL creates a new migrated, empty database and returns its URL, for a test that opens it itself.
func MigratedURL(t testing.TB, engine string) string {
	t.Helper()
	url := URL(t, engine)
	if file, ok := strings.CutPrefix(url, "sqlite:"); ok {
		if err := os.WriteFile(file, migratedFile(t), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return url
}

// URL is that of a new database, for a test that passes it to the real binary. On PostgreSQL it is migrated and empty;
// SQLite makes the file when it is opened, and a backup is restored only where there is none.
func URL(t testing.TB, engine string) string {
	t.Helper()
	if engine == "sqlite" {
		return "sqlite:" + filepath.Join(t.TempDir(), "vedette.db")
	}
	admin := adminURL(t)
	name := "t_" + ids.Random(12)
	if err := onServer(fmt.Sprintf(`CREATE DATABASE %q TEMPLATE %q %s`, name, server.template, server.copying)); err != nil {
		t.Fatalf("creating a test database: %v", err)
	}
	t.Cleanup(func() {
		if err := onServer(fmt.Sprintf(`DROP DATABASE IF EXISTS %q WITH (FORCE)`, name)); err != nil {
			t.Logf("dropping the test database: %v", err)
		}
	})
	return withDatabase(admin, name)
}

// migratedFile is a SQLite database that tests copy, because to migrate one takes longer than most tests.
func migratedFile(t testing.TB) []byte {
	t.Helper()
	data, err := migrated()
	if err != nil {
		t.Fatalf("migrating a SQLite database for the tests: %v", err)
	}
	return data
}

var migrated = sync.OnceValues(func() (data []byte, err error) {
	dir, err := os.MkdirTemp("", "vedette-sqlite-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "vedette.db")
	if err := copyMigrated(file); err != nil {
		return nil, err
	}
	if err := prepare("sqlite:" + file); err != nil { // the last one to close it leaves nothing beside the file
		return nil, err
	}
	if _, err := os.Stat(file + "-wal"); !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("something is left beside the database: %w", err)
	}
	return os.ReadFile(file)
})

var server struct {
	once     sync.Once
	err      error
	url      string
	admin    *sql.DB // of the server's maintenance database
	template string  // a migrated database that tests copy
	copying  string  // how, as CREATE DATABASE has it
	stop     func()
}

// adminURL is the URL of the server's maintenance database. The first call starts the server.
func adminURL(t testing.TB) string {
	t.Helper()
	server.once.Do(func() { server.err = startServer() })
	if server.err != nil {
		t.Fatalf("PostgreSQL for the tests: %v", server.err)
	}
	return server.url
}

func startServer() (err error) {
	has := false
	if server.url = os.Getenv("VEDETTE_TEST_POSTGRES"); server.url == "" {
		if server.url, server.template, server.stop, err = startMigrated(); err != nil {
			return err
		}
		has = server.template != ""
	}
	if server.admin, err = sql.Open("pgx", server.url); err != nil {
		return err
	}
	server.admin.SetMaxOpenConns(2)
	var version int
	if err := server.admin.QueryRow(`SELECT current_setting('server_version_num')::int`).Scan(&version); err != nil {
		return err
	}
	if version >= 150000 {
		server.copying = "STRATEGY FILE_COPY" // half the processor's time of writing each page into the log
	}
	if !has {
		server.template = "template_" + ids.Random(12)
		if err := onServer(fmt.Sprintf(`CREATE DATABASE %q`, server.template)); err != nil {
			return err
		}
	}
	url := withDatabase(server.url, server.template)
	if !has {
		if err := migrate(url); err != nil {
			return err
		}
	}
	return prepare(url)
}

func onServer(statement string) error {
	_, err := server.admin.Exec(statement)
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
