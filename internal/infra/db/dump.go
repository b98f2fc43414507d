package db

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/pressly/goose/v3"
	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// Schema says which database a dump was made of.
type Schema struct {
	Kind     string  `json:"kind"`     // sqlite3 or postgres
	Versions []int64 `json:"versions"` // of the applied migrations, in the order in which they were
}

// AddFile begins a file of a dump, with its size in bytes, and returns where its content is written.
type AddFile func(name string, size int64) (io.Writer, error)

// NextFile returns the next file of a dump and its content, which can be read until the next call; io.EOF after the
// last one.
type NextFile func() (name string, content io.Reader, err error)

// ErrInUse is the reason why a database is not replaced: processes use it.
var ErrInUse = errors.New("other processes use the database: stop them first")

// OpenExisting opens a database as it is, without creating or migrating anything.
func OpenExisting(ctx context.Context, c Config) (*DB, error) {
	d, err := open(c)
	if err != nil {
		return nil, err
	}
	if d.file != "" {
		if _, err := os.Stat(d.file); err != nil {
			return nil, errors.Join(fmt.Errorf("there is no database: %w", err), d.Close())
		}
	}
	if err := d.read.PingContext(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("the database does not answer: %w", err), d.Close())
	}
	return d, nil
}

// Schema reads which migrations the database has; none if it is empty.
func (d *DB) Schema(ctx context.Context) (Schema, error) {
	s := Schema{Kind: d.dialect.Name}
	tables, err := d.tables(ctx)
	if err != nil || !slices.Contains(tables, goose.DefaultTablename) {
		return s, err
	}
	rows, err := d.Query(ctx, `SELECT version_id FROM goose_db_version WHERE version_id > 0 ORDER BY id`)
	if err != nil {
		return s, err
	}
	defer rows.Close()
	for rows.Next() {
		var version int64
		if err := rows.Scan(&version); err != nil {
			return s, err
		}
		s.Versions = append(s.Versions, version)
	}
	return s, rows.Err()
}

// Knows returns an error if a migration of s is not one of this program's: s is of a newer version.
func Knows(s Schema) error {
	if s.Kind != postgres.Name && s.Kind != sqliteDialect.Name {
		return fmt.Errorf("it is of a kind of database that this version does not have: %.40q", s.Kind)
	}
	files, err := migrations.ReadDir("migrations")
	if err != nil {
		return err
	}
	known := map[int64]bool{}
	for _, file := range files {
		version, err := goose.NumericComponent(file.Name())
		if err != nil {
			return err
		}
		known[version] = true
	}
	for _, version := range s.Versions {
		if !known[version] {
			return fmt.Errorf("it has migration %d, which this version does not know: it was made by a newer one", version)
		}
	}
	return nil
}

// Kind is the name of the kind of database at c, as in Schema.
func (c Config) Kind() (string, error) {
	d, err := open(c)
	if err != nil {
		return "", err
	}
	return d.dialect.Name, d.Close()
}

// Size is roughly the number of bytes that the database takes.
func (d *DB) Size(ctx context.Context) (n int64, err error) {
	query := `SELECT page_count * page_size FROM pragma_page_count, pragma_page_size`
	if d.dialect.dollar {
		query = `SELECT pg_database_size(current_database())`
	}
	err = d.QueryRow(ctx, query).Scan(&n)
	return n, err
}

func (d *DB) tables(ctx context.Context) (names []string, err error) {
	query := `SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name`
	if d.dialect.dollar {
		query = `SELECT relname FROM pg_class WHERE relkind IN ('r', 'p') AND relnamespace = current_schema()::regnamespace
			AND NOT EXISTS (SELECT 1 FROM pg_depend WHERE objid = pg_class.oid AND deptype = 'e') ORDER BY relname`
	}
	rows, err := d.Query(ctx, query)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			return nil, err
		}
		names = append(names, name)
	}
	return names, rows.Err()
}

// Dump adds the files of a dump of the database as it was at one moment, while others write. began is called when this
// moment has passed, before the first file. scratch is a folder with room for a copy of a SQLite database.
func (d *DB) Dump(ctx context.Context, scratch string, began func() error, add AddFile) error {
	if d.dialect.dollar {
		return d.dumpPostgres(ctx, began, add)
	}
	return d.dumpSQLite(ctx, scratch, began, add)
}

// imageName is the only file of a dump of SQLite: the database file itself.
const imageName = "vedette.db"

func (d *DB) dumpSQLite(ctx context.Context, scratch string, began func() error, add AddFile) error {
	image := filepath.Join(scratch, imageName)
	// A connection of its own: the writer's would make others wait, and readers may not write files.
	own, err := openSQLite(d.file)
	if err != nil {
		return err
	}
	defer own.Close()
	if _, err := own.write.ExecContext(ctx, `VACUUM INTO ?`, image); err != nil {
		return fmt.Errorf("copying the database: %w", err)
	}
	defer os.Remove(image)
	if err := began(); err != nil {
		return err
	}
	f, err := os.Open(image)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	w, err := add(imageName, info.Size())
	if err == nil {
		_, err = io.Copy(w, f)
	}
	return err
}

// Restoration puts a dump in the place of a database.
type Restoration struct {
	config Config
	schema Schema
	file   string // the SQLite file; empty on PostgreSQL
}

// NewRestoration prepares to put a dump with this schema at c. The kinds of database must be equal.
func NewRestoration(c Config, s Schema) (*Restoration, error) {
	if err := Knows(s); err != nil {
		return nil, err
	}
	d, err := open(c)
	if err != nil {
		return nil, err
	}
	r := &Restoration{config: c, schema: s, file: d.file}
	if d.dialect.Name != s.Kind {
		err = fmt.Errorf("it is of %s and cannot be restored into %s", s.Kind, d.dialect.Name)
	}
	return r, errors.Join(err, d.Close())
}

// Used reports whether the place has a database that somebody may want to keep, and returns ErrInUse while processes
// have it open.
func (r *Restoration) Used(ctx context.Context) (bool, error) {
	if r.file == "" {
		return r.usedPostgres(ctx)
	}
	info, err := os.Stat(r.file)
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	// Opened for itself alone, which works only while nobody else has it open.
	alone, err := sql.Open("sqlite", "file:"+(&url.URL{Path: r.file}).EscapedPath()+
		"?_pragma=busy_timeout(200)&_pragma=locking_mode(EXCLUSIVE)")
	if err != nil {
		return true, err
	}
	defer alone.Close()
	_, err = alone.ExecContext(ctx, `SELECT count(*) FROM sqlite_master`)
	if lite, ok := errors.AsType[*sqlite.Error](err); ok && lite.Code()&0xff == sqlite3.SQLITE_BUSY {
		return true, ErrInUse
	}
	return info.Size() > 0, ctx.Err() // one that cannot be read may be replaced
}

// Take reads a file of the dump before anything is replaced.
func (r *Restoration) Take(name string, content io.Reader) error {
	if r.file == "" {
		_, err := io.Copy(io.Discard, content) // Finish reads it again
		return err
	}
	if name != imageName {
		return fmt.Errorf("unknown file %.80q", name)
	}
	if err := os.MkdirAll(filepath.Dir(r.file), 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(r.taken(), os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, content)
	return errors.Join(err, f.Sync(), f.Close())
}

func (r *Restoration) taken() string { return r.file + ".restoring" }

// Abandon removes what Take has left.
func (r *Restoration) Abandon() error {
	if r.file == "" {
		return nil
	}
	return removeSQLite(r.taken())
}

// Steps are what a restoration does besides replacing the database.
type Steps struct {
	Again  NextFile                               // reads the files once more, if need be
	Begin  func() error                           // called before the first change
	Queued func(ctx context.Context, d *DB) error // creates tables that have migrations of their own
	Ready  func() error                           // called when all is in place but not yet visible
}

// Finish replaces the database by the dump, all files of which were given to Take, and migrates an older schema. While
// Begin has not been called, nothing has changed.
func (r *Restoration) Finish(ctx context.Context, steps Steps) error {
	if r.file == "" {
		return r.finishPostgres(ctx, steps)
	}
	d, err := Open(ctx, Config{URL: "sqlite:" + r.taken()})
	if err != nil {
		return fmt.Errorf("the database of the backup: %w", err)
	}
	if err := d.Close(); err != nil {
		return err
	}
	for _, step := range []func() error{steps.Begin, steps.Ready} {
		if err := step(); err != nil {
			return err
		}
	}
	for _, suffix := range sqliteSuffixes {
		if err := os.Remove(r.file + suffix); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	if err := os.Rename(r.taken(), r.file); err != nil {
		return err
	}
	return syncFolder(filepath.Dir(r.file))
}

// sqliteSuffixes are those of the files beside a SQLite database.
var sqliteSuffixes = []string{"-wal", "-shm", ".lock"}

// removeSQLite removes a database file and what belongs to it, if they exist.
func removeSQLite(path string) error {
	var failed error
	for _, suffix := range append(sqliteSuffixes, "") {
		if err := os.Remove(path + suffix); !errors.Is(err, os.ErrNotExist) {
			failed = errors.Join(failed, err)
		}
	}
	return failed
}

func syncFolder(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// dropTimeout is how long a restoration waits for the locks of tables that it replaces.
const dropTimeout = 10 * time.Second
