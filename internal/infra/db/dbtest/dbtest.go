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
	"strings"
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

// Prepare adds to the migrated databases that tests copy, so that what each test of a package needs is made once. Set
// by a TestMain.
var Prepare = func(context.Context, *db.DB) error { return nil }

// migrate makes a migrated and prepared database.
func migrate(url string) error {
	d, err := db.Open(context.Background(), db.Config{URL: url})
	if err != nil {
		return err
	}
	return errors.Join(Prepare(context.Background(), d), d.Close())
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
	if err := migrate("sqlite:" + file); err != nil { // the last one to close it leaves nothing beside the file
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
		server.err = migrate(withDatabase(server.url, server.template))
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
// there.
func Start() (adminURL string, stop func(), err error) {
	s, err := newServer()
	if err != nil {
		return "", nil, err
	}
	if err := s.run(); err != nil {
		s.remove()
		return "", nil, err
	}
	return s.url, s.remove, nil
}

// Server is a PostgreSQL server of a test's own, which it may stop and start.
type Server struct {
	t       testing.TB
	bin     string
	dir     string // has the cluster and the socket
	url     string
	as      *syscall.SysProcAttr
	process *exec.Cmd // nil: it does not run
	exited  chan error
}

// NewServer runs a server until the end of the test.
func NewServer(t testing.TB) *Server {
	t.Helper()
	s, err := newServer()
	if err != nil {
		t.Fatal(err)
	}
	s.t = t
	t.Cleanup(s.remove)
	s.Start()
	return s
}

// URL is the URL of the database postgres there, which is empty at first.
func (s *Server) URL() string { return s.url }

// Start starts the server again, and waits until it answers.
func (s *Server) Start() {
	s.t.Helper()
	if err := s.run(); err != nil {
		s.t.Fatal(err)
	}
}

// Stop ends the server and all connections to it: with a message to each, or as in a crash.
func (s *Server) Stop(crash bool) {
	if s.process == nil {
		return
	}
	how := syscall.SIGINT
	if crash {
		how = syscall.SIGQUIT
	}
	s.process.Process.Signal(how)
	<-s.exited
	s.process = nil
}

func (s *Server) remove() {
	s.Stop(true) // at once: nothing in it is worth a checkpoint
	os.RemoveAll(s.dir)
}

// newServer makes a cluster. PostgreSQL refuses to run as root, so root runs it as the user postgres or nobody.
func newServer() (s *Server, err error) {
	bin, err := binaries()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "vedette-pg-")
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			os.RemoveAll(dir)
		}
	}()
	as, err := unprivileged(dir)
	if err != nil {
		return nil, err
	}
	initdb := exec.Command(filepath.Join(bin, "initdb"), "-D", filepath.Join(dir, "data"), "-U", "vedette", "-A", "trust",
		"-E", "UTF8", "--locale=C", "--no-sync")
	initdb.SysProcAttr = as
	initdb.Dir = dir
	if out, err := initdb.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("initdb: %w\n%s", err, out)
	}
	return &Server{bin: bin, dir: dir, as: as, url: "postgres://vedette@/postgres?host=" + url.QueryEscape(dir)}, nil
}

func (s *Server) run() error {
	var log bytes.Buffer
	s.process = exec.Command(filepath.Join(s.bin, "postgres"), "-D", filepath.Join(s.dir, "data"), "-k", s.dir,
		"-c", "listen_addresses=", "-c", "fsync=off", "-c", "full_page_writes=off", "-c", "max_connections=300")
	if s.t == nil { // nobody stops it, so nothing can be lost
		s.process.Args = append(s.process.Args, "-c", "synchronous_commit=off")
	}
	s.process.SysProcAttr = s.as
	s.process.Dir = s.dir
	s.process.Stderr = &log
	if err := s.process.Start(); err != nil {
		s.process = nil
		return err
	}
	process, exited := s.process, make(chan error, 1)
	s.exited = exited
	go func() { exited <- process.Wait() }()
	if err := waitReady(s.url, exited); err != nil {
		s.Stop(true)
		return fmt.Errorf("%w\n%s", err, log.Bytes())
	}
	return nil
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
