// Package db opens the database, migrates it and runs statements and transactions: one SQL text over
// database/sql for SQLite (a file in the data directory) and PostgreSQL (a URL).
//
// Every value is a ?, which is rewritten for PostgreSQL. On SQLite there is one writer connection and a pool
// of readers (WAL), so a transaction must use its Tx and never the DB. Dialect holds the differences between
// the databases; no other package asks which one it is.
package db

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/vedette-sec/vedette/internal/infra/outage"
	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// Config is the location of the database.
type Config struct {
	URL string // postgres://…, or sqlite:PATH; empty: sqlite in DataDir
	Dir string // data directory for the default SQLite file vedette.db
	// KeepSchema refuses a database of an older version instead of upgrading it, for commands that run beside a
	// server. A new database gets its tables all the same.
	KeepSchema bool
}

// DB is the open database. Its Exec runs outside any transaction. On SQLite, Query and QueryRow use a read-only
// connection: a statement that writes and returns rows needs a Tx.
type DB struct {
	statements
	URL   string // the PostgreSQL URL; empty on SQLite
	file  string // the SQLite file; empty on PostgreSQL
	write *sql.DB
	read  *sql.DB

	room atomic.Pointer[outage.Room]

	preparing sync.Mutex
	prepared  map[string]*sql.Stmt // statements of QueryOften by their text; guarded by preparing
}

const sqliteReaders = 4 // more would only wait for a CPU

// Open opens the database, creating a missing SQLite file, and migrates it. Several processes may open
// one database at once. It fails with ErrNewerSchema and, with Config.KeepSchema, with ErrOlderSchema.
func Open(ctx context.Context, c Config) (*DB, error) {
	d, err := open(c)
	if err != nil {
		return nil, err
	}
	if err := d.setUp(ctx, c.KeepSchema); err != nil {
		return nil, errors.Join(err, d.Close())
	}
	return d, nil
}

// setUp connects and migrates, one process at a time: not every step of creating a SQLite database waits for SQLite's
// own locks.
func (d *DB) setUp(ctx context.Context, keepSchema bool) error {
	unlock, err := d.lockSchema(ctx)
	if err != nil {
		return err
	}
	if err := d.write.PingContext(ctx); err != nil {
		return errors.Join(fmt.Errorf("the database does not answer: %w", err), unlock())
	}
	return errors.Join(d.migrate(ctx, keepSchema), unlock())
}

func open(c Config) (*DB, error) {
	switch {
	case strings.HasPrefix(c.URL, "postgres://"), strings.HasPrefix(c.URL, "postgresql://"):
		config, err := pgx.ParseConfig(c.URL)
		if err != nil {
			return nil, fmt.Errorf("database URL: %w", err)
		}
		for name, value := range map[string]string{
			// A process that freezes in a transaction must not keep its locks.
			"idle_in_transaction_session_timeout": "10s",
			// A plan for any values suits none of a list's filters: it reads a million rows where an index
			// has ten.
			"plan_cache_mode": "force_custom_plan",
			"jit":             "off", // compiling takes longer than most lists
		} {
			if _, inURL := config.RuntimeParams[name]; !inURL {
				config.RuntimeParams[name] = value
			}
		}
		pool := stdlib.OpenDB(*config)
		const most = 20
		pool.SetMaxOpenConns(most)
		pool.SetMaxIdleConns(most) // with fewer, connections are opened and closed all the time under load
		pool.SetConnMaxIdleTime(5 * time.Minute)
		return newDB(&DB{URL: c.URL, write: pool, read: pool}, postgres), nil
	case c.URL == "", strings.HasPrefix(c.URL, "sqlite:"):
		path := strings.TrimPrefix(strings.TrimPrefix(c.URL, "sqlite:"), "//")
		if path == "" {
			path = filepath.Join(c.Dir, "vedette.db")
		}
		return openSQLite(path)
	default:
		scheme, _, _ := strings.Cut(c.URL, ":")
		return nil, fmt.Errorf("database URL: unknown scheme %q (postgres:// or sqlite:)", scheme)
	}
}

func openSQLite(path string) (*DB, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, fmt.Errorf("data directory: %w", err)
	}
	if err := keepPrivate(path); err != nil {
		return nil, err
	}
	pragmas := []string{
		"busy_timeout(10000)", // first: every later pragma may have to wait for another process
		"journal_mode(WAL)",
		"synchronous(FULL)", // an acknowledged write is on disk, also after a power cut
		"foreign_keys(1)", "temp_store(MEMORY)",
	}
	dsn := func(extra ...string) string {
		q := url.Values{"_pragma": append(pragmas, extra...), "_txlock": {"immediate"}}
		return "file:" + (&url.URL{Path: path}).EscapedPath() + "?" + q.Encode()
	}
	// The writer has a large page cache and a late checkpoint, because it writes keys in random order. The cache takes
	// twice what is said here, as the driver rounds the memory of a page up to 8 KiB.
	// Readers rely on the file cache of the system.
	write, err := sql.Open("sqlite", dsn("cache_size(-16000)", "wal_autocheckpoint(8000)"))
	if err != nil {
		return nil, err
	}
	write.SetMaxOpenConns(1)
	read, err := sql.Open("sqlite", dsn("cache_size(-2000)", "query_only(1)"))
	if err != nil {
		return nil, err
	}
	read.SetMaxOpenConns(sqliteReaders)
	read.SetMaxIdleConns(sqliteReaders)
	return newDB(&DB{write: write, read: read, file: path}, sqliteDialect), nil
}

// keepPrivate creates the database file for its owner alone, or takes others' rights to it away. SQLite creates the
// files beside it (-wal, -shm) with the same mode.
func keepPrivate(path string) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return fmt.Errorf("database: %w", err)
	}
	defer f.Close()
	for _, name := range []string{path, path + "-wal", path + "-shm"} {
		info, err := os.Stat(name)
		if err == nil && info.Mode().Perm()&0o077 != 0 {
			err = os.Chmod(name, info.Mode().Perm()&0o700)
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("database: %w", err)
		}
	}
	return nil
}

func newDB(d *DB, dialect Dialect) *DB {
	d.statements = statements{dialect, d.read, d.write}
	return d
}

// Close closes all connections.
func (d *DB) Close() error {
	err := d.write.Close()
	if d.read != d.write {
		err = errors.Join(err, d.read.Close())
	}
	return err
}

// Ping reports whether the database answers.
func (d *DB) Ping(ctx context.Context) error { return d.read.PingContext(ctx) }

// KeepRoom sets the free space, in bytes, below which CheckRoom fails: on the volume of the folder, and on that of the
// database file if there is one. See outage.Room.
func (d *DB) KeepRoom(floor int64, folder string) {
	r := &outage.Room{Folders: []string{folder}, Floor: floor}
	if d.file != "" && filepath.Dir(d.file) != filepath.Clean(folder) {
		r.Folders = append(r.Folders, filepath.Dir(d.file))
	}
	d.room.Store(r)
}

// CheckRoom fails with NoSpace when the disk is almost full, and with Unavailable when it cannot be written. Whoever
// begins new work asks first.
func (d *DB) CheckRoom() error { return d.room.Load().Check() }

// Writer is the pool for writes, for a library with its own SQL.
func (d *DB) Writer() *sql.DB { return d.write }

// Querier runs statements: the DB itself or a transaction.
type Querier interface {
	Exec(ctx context.Context, query string, args ...any) (int64, error)
	Query(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRow(ctx context.Context, query string, args ...any) *sql.Row
	Dialect() Dialect
}

// statements implements Querier.
type statements struct {
	dialect Dialect
	reader  interface {
		QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
		QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
	}
	writer interface {
		ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	}
}

// Exec runs a statement and returns the number of affected rows.
func (s *statements) Exec(ctx context.Context, query string, args ...any) (int64, error) {
	return affected(s.writer.ExecContext(ctx, s.dialect.rebind(query), args...))
}

// Query reads rows.
func (s *statements) Query(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	return s.reader.QueryContext(ctx, s.dialect.rebind(query), args...)
}

// QueryRow reads one row.
func (s *statements) QueryRow(ctx context.Context, query string, args ...any) *sql.Row {
	return s.reader.QueryRowContext(ctx, s.dialect.rebind(query), args...)
}

// Watch has fn called with each statement before it runs, for tests. It is called before anything else uses d.
func (d *DB) Watch(fn func(query string)) { d.dialect.watch = fn }

// Dialect is the dialect of the database.
func (s *statements) Dialect() Dialect { return s.dialect }

// QueryOften is QueryRow for constant statements that run with every request and read few rows. On SQLite the
// statement stays prepared and does not end with ctx: parsing it and watching ctx cost much.
func (d *DB) QueryOften(ctx context.Context, query string, args ...any) *sql.Row {
	if !d.dialect.prepares || ctx.Err() != nil {
		return d.QueryRow(ctx, query, args...)
	}
	statement, err := d.prepare(ctx, query) //nolint:sqlclosecheck // it is kept
	if err != nil {
		return d.QueryRow(ctx, query, args...) // returns the error
	}
	return statement.QueryRowContext(context.WithoutCancel(ctx), args...)
}

func (d *DB) prepare(ctx context.Context, query string) (*sql.Stmt, error) {
	d.preparing.Lock()
	defer d.preparing.Unlock()
	if statement := d.prepared[query]; statement != nil {
		return statement, nil
	}
	statement, err := d.read.PrepareContext(ctx, query) //nolint:sqlclosecheck // it is kept
	if err == nil {
		if d.prepared == nil {
			d.prepared = map[string]*sql.Stmt{}
		}
		d.prepared[query] = statement
	}
	return statement, err
}

// Tx is a transaction on one connection. Libraries that write in the same transaction use Conn.
type Tx struct {
	statements
	SQL   *sql.Tx
	Conn  *sql.Conn
	after []func()
}

// AfterCommit runs fn after a successful commit.
func (t *Tx) AfterCommit(fn func()) { t.after = append(t.after, fn) }

// Tx runs fn in a transaction, which is committed when fn returns nil and rolled back otherwise. On SQLite it
// takes the write lock at its start.
func (d *DB) Tx(ctx context.Context, fn func(tx *Tx) error) error {
	conn, err := d.write.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	stx, err := conn.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	tx := &Tx{statements: statements{d.dialect, stx, stx}, SQL: stx, Conn: conn}
	defer stx.Rollback() // does nothing after a commit; undoes everything after a panic
	if err := fn(tx); err != nil {
		return err
	}
	if err := stx.Commit(); err != nil {
		return err
	}
	for _, fn := range tx.after {
		fn()
	}
	return nil
}

// Snapshot runs fn with statements that all see the database as it was at the first of them, whatever others
// write meanwhile. They only read. fn must read through q alone: on SQLite few connections read.
func (d *DB) Snapshot(ctx context.Context, fn func(q Querier) error) error {
	stx, err := d.read.BeginTx(ctx, &sql.TxOptions{Isolation: sql.LevelRepeatableRead, ReadOnly: true})
	if err != nil {
		return err
	}
	defer stx.Rollback() // there is nothing to commit
	return fn(&statements{d.dialect, stx, stx})
}

// IsDuplicate reports whether err is a violation of a unique or primary key.
func IsDuplicate(err error) bool {
	if pg, ok := errors.AsType[*pgconn.PgError](err); ok {
		return pg.Code == "23505"
	}
	lite, ok := errors.AsType[*sqlite.Error](err)
	return ok && (lite.Code() == sqlite3.SQLITE_CONSTRAINT_UNIQUE || lite.Code() == sqlite3.SQLITE_CONSTRAINT_PRIMARYKEY)
}

// IsTimeout reports whether PostgreSQL ended a statement that took longer than its statement_timeout.
func IsTimeout(err error) bool {
	pg, ok := errors.AsType[*pgconn.PgError](err)
	return ok && pg.Code == "57014"
}

// IsNoRows reports whether err means that QueryRow found no row.
func IsNoRows(err error) bool { return errors.Is(err, sql.ErrNoRows) }

func affected(res sql.Result, err error) (int64, error) {
	if err != nil {
		return 0, err
	}
	return res.RowsAffected()
}
