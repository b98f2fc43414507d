package db

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"syscall"

	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/database"
)

// Each service has its own block of numbers (00010 account, 00020 queue …), so that parallel changes do not
// collide. $JSON and $BYTES are replaced by the dialect's column types.
//
//go:embed migrations/*.sql
var migrations embed.FS

var (
	// ErrNewerSchema is a database whose schema a later version of this program has changed.
	ErrNewerSchema = errors.New("the database was upgraded by a newer version of Vedette: use that version, or restore a backup " +
		"that was made before the upgrade")
	// ErrOlderSchema is a database of an earlier version, opened with Config.KeepSchema.
	ErrOlderSchema = errors.New("the database is of an older version of Vedette: the server of this version upgrades it when " +
		"it starts")
)

// migrate brings the schema to that of this program. A schema that is newer is refused, because this program does
// not know what its columns mean; one that is older is refused too if it shall be kept.
func (d *DB) migrate(ctx context.Context, keep bool) error {
	provider, err := d.migrator()
	if err != nil {
		return err
	}
	applied, err := d.applied(ctx, provider)
	if err != nil {
		return fmt.Errorf("reading the version of the database: %w", err)
	}
	isNew, isOlder := len(applied) == 0, false
	for _, source := range provider.ListSources() {
		isOlder = isOlder || !applied[source.Version]
		delete(applied, source.Version)
	}
	switch {
	case len(applied) > 0:
		return ErrNewerSchema
	case keep && isOlder && !isNew:
		return ErrOlderSchema
	}
	if _, err := provider.Up(ctx); err != nil {
		return fmt.Errorf("migrating the database: %w", err)
	}
	return nil
}

// applied returns the numbers of the migrations that the database has had; none for a new database.
func (d *DB) applied(ctx context.Context, provider *goose.Provider) (map[int64]bool, error) {
	if _, err := provider.GetDBVersion(ctx); err != nil { // it also makes goose's table
		return nil, err
	}
	store, err := database.NewStore(goose.Dialect(d.dialect.Name), goose.DefaultTablename)
	if err != nil {
		return nil, err
	}
	rows, err := store.ListMigrations(ctx, d.write)
	if err != nil {
		return nil, err
	}
	applied := map[int64]bool{}
	for _, row := range rows {
		if row.Version > 0 { // 0 is goose's own row
			applied[row.Version] = true
		}
	}
	return applied, nil
}

// Migrate applies one migration, or reverts it, for tests of what it does to existing rows.
func (d *DB) Migrate(ctx context.Context, version int64, up bool) error {
	provider, err := d.migrator()
	if err != nil {
		return err
	}
	_, err = provider.ApplyVersion(ctx, version, up)
	return err
}

func (d *DB) migrator() (*goose.Provider, error) {
	scripts, err := fs.Sub(migrations, "migrations")
	if err != nil {
		return nil, err
	}
	// Services number their migrations independently, so a later release may add a number below
	// the newest applied one.
	options := []goose.ProviderOption{goose.WithAllowOutofOrder(true), goose.WithDisableGlobalRegistry(true)}
	provider, err := goose.NewProvider(goose.Dialect(d.dialect.Name), d.write, dialectFS{scripts, d.dialect}, options...)
	if err != nil {
		return nil, fmt.Errorf("migrations: %w", err)
	}
	return provider, nil
}

// lockSchema waits until no other process sets this database up. Goose's own lock of PostgreSQL would ask every five
// seconds.
func (d *DB) lockSchema(ctx context.Context) (unlock func() error, err error) {
	if d.file != "" {
		unlock, err := lockFile(d.file+".lock", syscall.LOCK_EX)
		if err != nil {
			return nil, fmt.Errorf("data directory: %w", err)
		}
		return unlock, nil
	}
	conn, err := d.write.Conn(ctx)
	if err != nil {
		return nil, fmt.Errorf("the database does not answer: %w", err)
	}
	const schema = 0x76656465747465 // "vedette"
	if _, err := conn.ExecContext(ctx, `SELECT pg_advisory_lock($1)`, schema); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return func() error {
		_, err := conn.ExecContext(context.WithoutCancel(ctx), `SELECT pg_advisory_unlock($1)`, schema)
		return errors.Join(err, conn.Close())
	}, nil
}

// lockFile takes a lock alone (syscall.LOCK_EX) or with others (LOCK_SH). Who cannot have it waits, or is refused with
// LOCK_NB.
func lockFile(path string, how int) (unlock func() error, err error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), how); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f.Close, nil // closing the file releases the lock
}

type dialectFS struct {
	fs.FS
	dialect Dialect
}

func (f dialectFS) Open(name string) (fs.File, error) {
	file, err := f.FS.Open(name)
	if err != nil || !strings.HasSuffix(name, ".sql") {
		return file, err
	}
	script, err := io.ReadAll(file)
	if err != nil {
		return nil, err
	}
	return expandedFile{file, strings.NewReader(f.dialect.expand(string(script)))}, nil
}

type expandedFile struct {
	fs.File
	text *strings.Reader
}

func (f expandedFile) Read(p []byte) (int, error) { return f.text.Read(p) }
