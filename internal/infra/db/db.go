// Package db opens the house's database and lends it out: one SQL text over
// database/sql for SQLite (a file in the data directory) and PostgreSQL (a URL).
//
// SQL is written by hand with ? for every value; the kit rebinds for PostgreSQL.
// On SQLite there is one writer connection and a pool of readers (WAL), so a
// transaction must use the Tx it was given and never the DB inside it. What one
// engine spells differently is a Dialect; no other room asks which engine it is.
package db

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
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"
	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// Config says where the database is.
type Config struct {
	URL string // postgres://…, or sqlite:PATH; empty: sqlite in DataDir
	Dir string // data directory for the default SQLite file vedette.db
}

// DB is the open database.
type DB struct {
	Dialect Dialect
	URL     string // the PostgreSQL URL; empty on SQLite
	file    string // the SQLite file; empty on PostgreSQL
	write   *sql.DB
	read    *sql.DB

	preparing sync.Mutex
	prepared  map[string]*sql.Stmt // by the text of QueryOften; guarded by preparing
}

// SQLite readers at once; more only queue for the processor.
const sqliteReaders = 4

// Open opens the database, creating the SQLite file when there is none, and brings its
// schema up to date. Several processes may open one PostgreSQL database at once.
func Open(ctx context.Context, c Config) (*DB, error) {
	d, err := open(c)
	if err != nil {
		return nil, err
	}
	if err := d.setUp(ctx); err != nil {
		return nil, errors.Join(err, d.Close())
	}
	return d, nil
}

// setUp connects for the first time and migrates. On SQLite one process at a time
// does it: not every step of making a file waits for another's lock.
func (d *DB) setUp(ctx context.Context) error {
	if d.file != "" {
		unlock, err := lockFile(d.file + ".lock")
		if err != nil {
			return fmt.Errorf("data directory: %w", err)
		}
		defer unlock() //nolint:errcheck // closing a file that was not written to
	}
	if err := d.write.PingContext(ctx); err != nil {
		return fmt.Errorf("the database does not answer: %w", err)
	}
	return d.migrate(ctx)
}

// idleInTransaction is the setting of PostgreSQL that ends a session which does nothing for
// so long in a transaction.
const idleInTransaction = "idle_in_transaction_session_timeout"

// planCache is the setting of PostgreSQL that says whether a statement's plan is kept for
// other values.
const planCache = "plan_cache_mode"

func open(c Config) (*DB, error) {
	switch {
	case strings.HasPrefix(c.URL, "postgres://"), strings.HasPrefix(c.URL, "postgresql://"):
		config, err := pgx.ParseConfig(c.URL)
		if err != nil {
			return nil, fmt.Errorf("database URL: %w", err)
		}
		// A process that freezes in a transaction must not keep its locks from the others. The
		// URL may say for how long.
		if _, said := config.RuntimeParams[idleInTransaction]; !said {
			config.RuntimeParams[idleInTransaction] = "10s"
		}
		// A plan for any values suits none of a list's filters: it reads a million rows where an
		// index has ten.
		if _, said := config.RuntimeParams[planCache]; !said {
			config.RuntimeParams[planCache] = "force_custom_plan"
		}
		pool := stdlib.OpenDB(*config)
		const most = 20
		pool.SetMaxOpenConns(most)
		pool.SetMaxIdleConns(most) // fewer, and under load connections are made and closed all the time
		pool.SetConnMaxIdleTime(5 * time.Minute)
		return &DB{Dialect: postgres, URL: c.URL, write: pool, read: pool}, nil
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
	// busy_timeout comes first: every later pragma may have to wait for another process.
	// synchronous(FULL): an acknowledged write is on disk, also after a power cut.
	pragmas := []string{"busy_timeout(10000)", "journal_mode(WAL)", "synchronous(FULL)", "foreign_keys(1)", "temp_store(MEMORY)"}
	dsn := func(extra ...string) string {
		q := url.Values{"_pragma": append(pragmas, extra...), "_txlock": {"immediate"}}
		return "file:" + (&url.URL{Path: path}).EscapedPath() + "?" + q.Encode()
	}
	// A page in a cache takes 8 KB of memory, and the system keeps files in its own. Only the
	// writer, who meets keys in no order, has many; and writes home less often those that
	// change again and again.
	write, err := sql.Open("sqlite", dsn("cache_size(-32000)", "wal_autocheckpoint(8000)"))
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
	return &DB{Dialect: sqliteDialect, write: write, read: read, file: path}, nil
}

// Close closes every connection.
func (d *DB) Close() error {
	err := d.write.Close()
	if d.read != d.write {
		err = errors.Join(err, d.read.Close())
	}
	return err
}

// Ping reports whether the database answers.
func (d *DB) Ping(ctx context.Context) error { return d.read.PingContext(ctx) }

// Writer is the pool that writes go through, for a library that brings its own SQL.
func (d *DB) Writer() *sql.DB { return d.write }

// Querier is what a store function needs: the DB itself, or a transaction.
type Querier interface {
	Exec(ctx context.Context, query string, args ...any) (int64, error)
	Query(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRow(ctx context.Context, query string, args ...any) *sql.Row
	Speaks() Dialect
}

// Exec runs a statement outside any transaction and returns the rows it touched.
func (d *DB) Exec(ctx context.Context, query string, args ...any) (int64, error) {
	return affected(d.write.ExecContext(ctx, d.Dialect.rebind(query), args...))
}

// Query reads. On SQLite it uses a reader connection: a statement that writes and
// returns rows belongs into a Tx.
func (d *DB) Query(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	return d.read.QueryContext(ctx, d.Dialect.rebind(query), args...)
}

// QueryRow reads one row; see Query.
func (d *DB) QueryRow(ctx context.Context, query string, args ...any) *sql.Row {
	return d.read.QueryRowContext(ctx, d.Dialect.rebind(query), args...)
}

// QueryOften is QueryRow for a text that every request brings and that never changes: it
// stays prepared where the driver would parse it each time. It should look at a row or two:
// there it is not broken off when ctx ends, for that takes the driver a goroutine each time.
func (d *DB) QueryOften(ctx context.Context, query string, args ...any) *sql.Row {
	if !d.Dialect.prepares || ctx.Err() != nil {
		return d.QueryRow(ctx, query, args...)
	}
	statement, err := d.prepare(ctx, query) //nolint:sqlclosecheck // it stays
	if err != nil {
		return d.QueryRow(ctx, query, args...) // which says what is wrong
	}
	return statement.QueryRowContext(context.WithoutCancel(ctx), args...)
}

// prepare is the statement of a text; the first time it is made.
func (d *DB) prepare(ctx context.Context, query string) (*sql.Stmt, error) {
	d.preparing.Lock()
	defer d.preparing.Unlock()
	if statement := d.prepared[query]; statement != nil {
		return statement, nil
	}
	statement, err := d.read.PrepareContext(ctx, query) //nolint:sqlclosecheck // it stays
	if err == nil {
		if d.prepared == nil {
			d.prepared = map[string]*sql.Stmt{}
		}
		d.prepared[query] = statement
	}
	return statement, err
}

// Speaks is the dialect of the database.
func (d *DB) Speaks() Dialect { return d.Dialect }

// Tx is a transaction. It is bound to one connection, which Conn lends to a library
// that wants to write in the same transaction.
type Tx struct {
	SQL     *sql.Tx
	Conn    *sql.Conn
	dialect Dialect
	before  []func(ctx context.Context) error
	after   []func()
}

// Exec runs a statement in the transaction and returns the rows it touched.
func (t *Tx) Exec(ctx context.Context, query string, args ...any) (int64, error) {
	return affected(t.SQL.ExecContext(ctx, t.dialect.rebind(query), args...))
}

// Query reads in the transaction.
func (t *Tx) Query(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	return t.SQL.QueryContext(ctx, t.dialect.rebind(query), args...)
}

// QueryRow reads one row in the transaction.
func (t *Tx) QueryRow(ctx context.Context, query string, args ...any) *sql.Row {
	return t.SQL.QueryRowContext(ctx, t.dialect.rebind(query), args...)
}

// Speaks is the dialect of the database.
func (t *Tx) Speaks() Dialect { return t.dialect }

// BeforeCommit runs fn as the last thing of the transaction: for a row that many want, and
// that is then held for no longer than the commit takes. An error of it is the transaction's.
func (t *Tx) BeforeCommit(fn func(ctx context.Context) error) { t.before = append(t.before, fn) }

// AfterCommit runs fn once the transaction is on disk, and never if it is not.
func (t *Tx) AfterCommit(fn func()) { t.after = append(t.after, fn) }

// Tx runs fn in a transaction: committed when fn returns nil, rolled back otherwise.
// On SQLite the write lock is taken at its start.
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
	tx := &Tx{SQL: stx, Conn: conn, dialect: d.Dialect}
	defer stx.Rollback() // does nothing after a commit; undoes everything after a panic
	if err := fn(tx); err != nil {
		return err
	}
	for _, fn := range tx.before {
		if err := fn(ctx); err != nil {
			return err
		}
	}
	if err := stx.Commit(); err != nil {
		return err
	}
	for _, fn := range tx.after {
		fn()
	}
	return nil
}

// IsDuplicate reports whether err is a unique or primary key that is taken.
func IsDuplicate(err error) bool {
	if pg, ok := errors.AsType[*pgconn.PgError](err); ok {
		return pg.Code == "23505"
	}
	lite, ok := errors.AsType[*sqlite.Error](err)
	return ok && (lite.Code() == sqlite3.SQLITE_CONSTRAINT_UNIQUE || lite.Code() == sqlite3.SQLITE_CONSTRAINT_PRIMARYKEY)
}

// IsNoRows reports whether err says that a row which was asked for is not there.
func IsNoRows(err error) bool { return errors.Is(err, sql.ErrNoRows) }

func affected(res sql.Result, err error) (int64, error) {
	if err != nil {
		return 0, err
	}
	return res.RowsAffected()
}
