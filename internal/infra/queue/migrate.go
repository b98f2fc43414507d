package queue

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river/riverdriver"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/riverdriver/riversqlite"
	"github.com/riverqueue/river/rivermigrate"
	"github.com/vedette-sec/vedette/internal/infra/db"
)

// Applied is the number of the newest migration of River's tables that the database has; 0: it has none.
func Applied(ctx context.Context, d *db.DB) (newest int, err error) {
	if d.URL == "" {
		return applied(ctx, riverdriver.Driver[*sql.Tx](riversqlite.New(d.Writer())))
	}
	pool, err := pgxpool.New(ctx, d.URL)
	if err != nil {
		return 0, err
	}
	defer pool.Close()
	return applied(ctx, riverdriver.Driver[pgx.Tx](riverpgxv5.New(pool)))
}

func applied[TTx any](ctx context.Context, driver riverdriver.Driver[TTx]) (newest int, err error) {
	migrator, err := rivermigrate.New(driver, &rivermigrate.Config{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return 0, err
	}
	found, err := migrator.ExistingVersions(ctx)
	for _, m := range found {
		newest = max(newest, m.Version)
	}
	return newest, err
}

// Newest is the number of the newest migration of River's tables that this program knows.
func Newest() (newest int, err error) {
	migrator, err := rivermigrate.New(riverdriver.Driver[*sql.Tx](riversqlite.New(nil)), nil)
	if err != nil {
		return 0, err
	}
	for _, m := range migrator.AllVersions() {
		newest = max(newest, m.Version)
	}
	return newest, nil
}

// Migrate makes River's tables as they were after a migration; 0 makes none. The database must be PostgreSQL: a copy of
// a SQLite database has its tables.
func Migrate(ctx context.Context, d *db.DB, version int) error {
	if version == 0 {
		return nil
	}
	pool, err := pgxpool.New(ctx, d.URL)
	if err != nil {
		return err
	}
	defer pool.Close()
	return migratePostgres(ctx, slog.New(slog.DiscardHandler), pool, riverpgxv5.New(pool),
		&rivermigrate.MigrateOpts{TargetVersion: version})
}

func migrateSQLite(
	ctx context.Context, log *slog.Logger, d *db.DB, driver riverdriver.Driver[*sql.Tx],
) error {
	migrator, err := rivermigrate.New(driver, &rivermigrate.Config{Logger: warningsOnly(log)})
	if err != nil {
		return err
	}
	return d.Tx(ctx, func(tx *db.Tx) error {
		// In one transaction, so that a second process waits. MigrateTx is deprecated because of enum values
		// that are used where they are added; SQLite has none.
		_, err := migrator.MigrateTx(ctx, tx.SQL, rivermigrate.DirectionUp, nil) //nolint:staticcheck // see above
		return err
	})
}

// migrationLock is the key of the advisory lock under which River's tables are migrated.
const migrationLock = 0x7665646574746551

func migratePostgres(
	ctx context.Context, log *slog.Logger, pool *pgxpool.Pool, driver riverdriver.Driver[pgx.Tx],
	options *rivermigrate.MigrateOpts,
) error {
	migrator, err := rivermigrate.New(driver, &rivermigrate.Config{Logger: warningsOnly(log)})
	if err != nil {
		return err
	}
	return pool.AcquireFunc(ctx, func(conn *pgxpool.Conn) error {
		if _, err := conn.Exec(ctx, `SELECT pg_advisory_lock($1)`, int64(migrationLock)); err != nil {
			return err
		}
		_, err := migrator.Migrate(ctx, rivermigrate.DirectionUp, options)
		_, unlockErr := conn.Exec(context.WithoutCancel(ctx), `SELECT pg_advisory_unlock($1)`, int64(migrationLock))
		if err != nil {
			err = fmt.Errorf("migrating River's tables: %w", err)
		}
		return errors.Join(err, unlockErr)
	})
}
