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
	"github.com/pressly/goose/v3/lock"
)

// Each service has its own block of numbers (00010 account, 00020 queue …), so that parallel changes do not
// collide. $JSON and $BYTES are replaced by the dialect's column types.
//
//go:embed migrations/*.sql
var migrations embed.FS

func (d *DB) migrate(ctx context.Context) error {
	provider, err := d.migrator()
	if err != nil {
		return err
	}
	if _, err := provider.Up(ctx); err != nil {
		return fmt.Errorf("migrating the database: %w", err)
	}
	return nil
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
	if d.dialect.Name == postgres.Name {
		locker, err := lock.NewPostgresSessionLocker()
		if err != nil {
			return nil, err
		}
		options = append(options, goose.WithSessionLocker(locker))
	}
	provider, err := goose.NewProvider(goose.Dialect(d.dialect.Name), d.write, dialectFS{scripts, d.dialect}, options...)
	if err != nil {
		return nil, fmt.Errorf("migrations: %w", err)
	}
	return provider, nil
}

// lockFile takes a lock that other processes wait for. On PostgreSQL goose uses a session lock.
func lockFile(path string) (unlock func() error, err error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX); err != nil {
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
