package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/vedette-sec/vedette/internal/infra/backup"
	"github.com/vedette-sec/vedette/internal/infra/db"
)

// place is where the data of this configuration are.
func (c Config) place() backup.Place {
	return backup.Place{Database: db.Config{URL: c.Database, Dir: c.DataDir}, Dir: c.DataDir, KeyFile: c.keyFile()}
}

// keyFile is the path of the key that encrypts secrets.
func (c Config) keyFile() string {
	return cmp.Or(c.SecretKeyFile, filepath.Join(c.DataDir, "secret.key"))
}

// ErrOlderSchema is what commands get for a database that the server of this version has not upgraded yet.
var ErrOlderSchema = db.ErrOlderSchema

// openDB opens the database, unless a restoration into the data folder was interrupted. Only servers and workers
// upgrade the schema: a command of a new version must not do it under the servers of the old one.
func (c Config) openDB(ctx context.Context, upgrade bool) (*db.DB, error) {
	if err := backup.Unfinished(c.DataDir); err != nil {
		return nil, err
	}
	place := c.place().Database
	place.KeepSchema = !upgrade
	return db.Open(ctx, place)
}

// lockFolder keeps restorations off the data folder, and a second process off an embedded database: one serves the
// data folder, and one works for it, which may be the same.
func (c Config) lockFolder() (unlock func() error, err error) {
	locks := []func() error{}
	unlock = func() (err error) {
		for _, release := range locks {
			err = errors.Join(err, release())
		}
		locks = nil
		return err
	}
	used, err := backup.Use(c.DataDir)
	if err != nil {
		return nil, err
	}
	locks = append(locks, used)
	if c.Database != "" {
		return unlock, nil
	}
	for _, part := range []struct{ role, other, verb string }{
		{RoleServer, RoleWorker, "serves"}, {RoleWorker, RoleServer, "works on the jobs of"},
	} {
		if c.Role == part.other {
			continue
		}
		release, err := db.LockFolder(c.DataDir, part.role, false)
		if errors.Is(err, db.ErrLocked) {
			err = fmt.Errorf("another vedette %s the data folder %s: stop it first, or give this one a folder of its own"+
				" (--data-dir); several processes share a PostgreSQL database (--database)", part.verb, c.DataDir)
		}
		if err != nil {
			return nil, errors.Join(err, unlock())
		}
		locks = append(locks, release)
	}
	return unlock, nil
}

// Backup writes all data of this configuration into a file, while servers run.
func Backup(ctx context.Context, c Config, file string, o backup.Options) (backup.Report, error) {
	return backup.Write(ctx, c.place(), file, o)
}

// Restore puts a backup in the place of this configuration's data.
func Restore(ctx context.Context, c Config, file string, o backup.Options) (backup.Report, error) {
	return backup.Restore(ctx, c.place(), file, o)
}
