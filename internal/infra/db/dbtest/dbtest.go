// Package dbtest runs a test on each database: on SQLite in a temporary file, and on a PostgreSQL server that
// the tests start (or find by VEDETTE_TEST_POSTGRES, a URL whose user may create databases).
//
// A package that uses it calls Main in its TestMain:
//
//	func TestMain(m *testing.M) { dbtest.Main(m) }
package dbtest

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

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
		if d, server.err = db.Open(context.Background(),
			db.Config{URL: withDatabase(server.url, server.template)}); server.err == nil {
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

// Start creates a PostgreSQL cluster in a temporary folder and runs it, without durability, on a unix socket
// there. PostgreSQL refuses to run as root, so root starts it as the user postgres or nobody.
func Start() (adminURL string, stop func(), err error) {
	bin, err := binaries()
	if err != nil {
		return "", nil, err
	}
	dir, err := os.MkdirTemp("", "vedette-pg-")
	if err != nil {
		return "", nil, err
	}
	defer func() {
		if err != nil {
			os.RemoveAll(dir)
		}
	}()
	as, err := unprivileged(dir)
	if err != nil {
		return "", nil, err
	}
	data := filepath.Join(dir, "data")
	initdb := exec.Command(filepath.Join(bin, "initdb"), "-D", data, "-U", "vedette", "-A", "trust", "-E", "UTF8",
		"--locale=C", "--no-sync")
	initdb.SysProcAttr = as
	initdb.Dir = dir
	if out, err := initdb.CombinedOutput(); err != nil {
		return "", nil, fmt.Errorf("initdb: %w\n%s", err, out)
	}
	var log bytes.Buffer
	server := exec.Command(filepath.Join(bin, "postgres"), "-D", data, "-k", dir, "-c", "listen_addresses=",
		"-c", "fsync=off", "-c", "synchronous_commit=off", "-c", "full_page_writes=off", "-c", "max_connections=300")
	server.SysProcAttr = as
	server.Dir = dir
	server.Stderr = &log
	if err := server.Start(); err != nil {
		return "", nil, err
	}
	exited := make(chan error, 1)
	go func() { exited <- server.Wait() }()
	stop = func() {
		server.Process.Signal(syscall.SIGQUIT) // at once: nothing in it is worth a checkpoint
		<-exited
		os.RemoveAll(dir)
	}
	adminURL = "postgres://vedette@/postgres?host=" + url.QueryEscape(dir)
	if err := waitReady(adminURL, exited); err != nil {
		stop()
		return "", nil, fmt.Errorf("%w\n%s", err, log.Bytes())
	}
	return adminURL, stop, nil
}

func waitReady(adminURL string, exited chan error) error {
	pool, err := sql.Open("pgx", adminURL)
	if err != nil {
		return err
	}
	defer pool.Close()
	deadline := time.After(30 * time.Second)
	for {
		if err = pool.Ping(); err == nil {
			return nil
		}
		select {
		case werr := <-exited:
			exited <- werr
			return fmt.Errorf("postgres ended: %w", errors.Join(werr, err))
		case <-deadline:
			return fmt.Errorf("postgres does not answer: %w", err)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// binaries finds the folder of PostgreSQL's programs: Debian keeps them off the PATH.
func binaries() (string, error) {
	if found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/initdb"); len(found) > 0 {
		return filepath.Dir(found[len(found)-1]), nil
	}
	path, err := exec.LookPath("initdb")
	if err != nil {
		return "", errors.New("initdb is not installed: install PostgreSQL (Debian: postgresql), or set VEDETTE_TEST_POSTGRES")
	}
	return filepath.Dir(path), nil
}

func unprivileged(dir string) (*syscall.SysProcAttr, error) {
	// A test process that is killed takes its server with it.
	attr := &syscall.SysProcAttr{Pdeathsig: syscall.SIGQUIT}
	if os.Getuid() != 0 {
		return attr, nil
	}
	u, err := user.Lookup("postgres")
	if err != nil {
		u, err = user.Lookup("nobody")
	}
	if err != nil {
		return nil, err
	}
	uid, _ := strconv.Atoi(u.Uid)
	gid, _ := strconv.Atoi(u.Gid)
	if err := os.Chown(dir, uid, gid); err != nil {
		return nil, err
	}
	attr.Credential = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
	return attr, nil
}
