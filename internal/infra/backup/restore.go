package backup

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/queue"
)

// unfinishedName is the file in the data folder while a restoration replaces what is there.
const unfinishedName = "restore.unfinished"

// Unfinished returns an error if a restoration into the data folder was interrupted: what is there is not whole.
func Unfinished(dir string) error {
	yes, err := interrupted(dir)
	if yes {
		return fmt.Errorf("a restoration into %s was interrupted: run 'vedette restore' again", dir)
	}
	return err
}

func interrupted(dir string) (bool, error) {
	_, err := os.Stat(filepath.Join(dir, unfinishedName))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

// useName is the lock that servers and workers share while they use a data folder, on either database.
const useName = "use"

// Use marks the data folder as used until unlock is called or the process ends: no restoration replaces it. It fails
// while one does.
func Use(dir string) (unlock func() error, err error) {
	unlock, err = db.LockFolder(dir, useName, true)
	switch {
	case errors.Is(err, db.ErrLocked):
		err = fmt.Errorf("a restoration into %s is running: wait for its end", dir)
	case errors.Is(err, errors.ErrUnsupported), errors.Is(err, syscall.ENOLCK): // a shared folder may have no locks
		return func() error { return nil }, nil
	}
	return unlock, err
}

// lockUnused keeps servers and workers off the data folder; it fails if one uses it.
func lockUnused(dir string) (unlock func() error, err error) {
	unlock, err = db.LockFolder(dir, useName, false)
	if errors.Is(err, db.ErrLocked) {
		err = fmt.Errorf("a server or a worker uses the data folder %s: stop it first", dir)
	}
	return unlock, err
}

// Restore puts a backup in the place p. The whole file is read and checked before anything is replaced. What is at p
// already is replaced only with Options.Replace, unless an interrupted restoration left it there.
func Restore(ctx context.Context, p Place, file string, o Options) (report Report, err error) {
	f, err := os.Open(file)
	if err != nil {
		return report, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return report, err
	}
	r := &restoring{run: run{Place: p, Options: o, report: Report{File: file, Bytes: info.Size()}}}
	// Before the data folder is touched: it begins with the passphrase and the versions.
	a, err := newReader(f, o.Passphrase)
	if err != nil {
		return report, fmt.Errorf("%s: %w", file, err)
	}
	m := a.manifest
	newest, err := queue.Newest()
	if err == nil && m.Queue > newest {
		err = fmt.Errorf("it has migration %d of the queue, which this version does not know", m.Queue)
	}
	if err == nil {
		r.db, err = db.NewRestoration(p.Database, m.Schema)
	}
	if err != nil {
		return report, fmt.Errorf("%s: %w", file, err)
	}
	r.report.Database, r.report.Version, r.report.Time = m.Schema.Kind, m.Version, m.Time
	if err := os.MkdirAll(p.Dir, 0o700); err != nil {
		return report, err
	}
	unlock, err := lock(p.Dir)
	if err != nil {
		return report, err
	}
	defer unlock()
	unused, err := lockUnused(p.Dir)
	if err != nil {
		return report, err
	}
	defer func() { err = errors.Join(err, unused()) }()
	if err := r.free(ctx); err != nil {
		return report, err
	}
	if r.staging, err = os.MkdirTemp(p.Dir, stagingPrefix); err != nil {
		return report, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(r.staging), r.db.Abandon()) }()
	if err := r.take(ctx, a); err != nil {
		return report, fmt.Errorf("%s: %w", file, err)
	}
	if err := r.replace(ctx, f, m.Queue); err != nil {
		return report, err
	}
	return r.report, nil
}

// restoring is one restoration.
type restoring struct {
	run
	db *db.Restoration
}

// free returns an error if the place is in use, or has something that may not be replaced.
func (r *restoring) free(ctx context.Context) error {
	used, err := r.db.Used(ctx)
	if err != nil {
		return err
	}
	if again, err := interrupted(r.Dir); r.Replace || again || err != nil {
		return err
	}
	if used {
		return errors.New("there is a database already: --force replaces it and all files beside it")
	}
	if _, err := os.Stat(r.KeyFile); err == nil {
		return fmt.Errorf("there is a key already, %s: --force replaces it", r.KeyFile)
	}
	for _, folder := range blobFolders {
		err := eachBlob(ctx, r.Dir, folder, func(string) error { return fs.ErrExist })
		if errors.Is(err, fs.ErrExist) {
			return fmt.Errorf("there are files already in %s: --force replaces them", filepath.Join(r.Dir, folder))
		} else if err != nil {
			return err
		}
	}
	return nil
}

// take reads the whole backup, and stores what it can beside the place.
func (r *restoring) take(ctx context.Context, a *reader) error {
	r.total = 0
	r.stage("reading")
	a.done = r.progress("reading")
	for {
		name, content, err := a.next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err = errors.Join(err, ctx.Err()); err != nil {
			return err
		}
		part, inDatabase := strings.CutPrefix(name, databaseFolder)
		switch {
		case inDatabase:
			err = r.db.Take(part, content)
		case name == keyName:
			r.report.Key = true
			err = store(filepath.Join(r.staging, keyName), content)
		case blobName.MatchString(name):
			r.report.Blobs++
			err = store(filepath.Join(r.staging, name), content)
		default:
			err = fmt.Errorf("unknown file %.80q", name)
		}
		if err != nil {
			return err
		}
	}
}

func store(path string, content io.Reader) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, content)
	return errors.Join(err, f.Sync(), f.Close())
}

// replace puts what was taken in its place. From the first change to the last the place is marked as unfinished.
func (r *restoring) replace(ctx context.Context, f *os.File, queued int) error {
	r.stage("database")
	begun := false
	err := r.db.Finish(ctx, db.Steps{
		Again: r.again(ctx, f),
		Begin: func() error {
			begun = true
			err := store(r.mark(), strings.NewReader(""))
			if err != nil && !errors.Is(err, fs.ErrExist) {
				return err
			}
			return syncFolder(r.Dir)
		},
		Queued: func(ctx context.Context, d *db.DB) error { return queue.Migrate(ctx, d, queued) },
		Ready:  r.replaceFiles,
	})
	if err != nil && begun {
		return fmt.Errorf("%w; what is there now is not whole, restore again", err)
	} else if err != nil {
		return err
	}
	if err := os.Remove(r.mark()); err != nil {
		return err
	}
	return syncFolder(r.Dir)
}

func (r *restoring) mark() string { return filepath.Join(r.Dir, unfinishedName) }

// again reads the files of the database a second time, when the first file is asked for.
func (r *restoring) again(ctx context.Context, f *os.File) db.NextFile {
	var a *reader
	return func() (string, io.Reader, error) {
		if a == nil {
			if _, err := f.Seek(0, io.SeekStart); err != nil {
				return "", nil, err
			}
			var err error
			if a, err = newReader(f, r.Passphrase); err != nil {
				return "", nil, err
			}
			a.done = r.progress("database")
		}
		if err := ctx.Err(); err != nil {
			return "", nil, err
		}
		name, content, err := a.next()
		if err != nil {
			return "", nil, err
		}
		part, inDatabase := strings.CutPrefix(name, databaseFolder)
		if !inDatabase {
			return "", nil, io.EOF // the files of the database come first
		}
		return part, content, nil
	}
}

// replaceFiles renames the folders of blobs and the key into their places. The old ones go with the staging folder.
func (r *restoring) replaceFiles() error {
	old := filepath.Join(r.staging, "old")
	if err := os.Mkdir(old, 0o700); err != nil {
		return err
	}
	for _, folder := range blobFolders {
		at, taken := filepath.Join(r.Dir, folder), filepath.Join(r.staging, folder)
		if err := rename(at, filepath.Join(old, folder)); err != nil {
			return err
		}
		if err := rename(taken, at); err != nil {
			return err
		}
	}
	if err := r.replaceKey(); err != nil {
		return err
	}
	return syncFolder(r.Dir)
}

// replaceKey puts the key, if the backup has one, in its place, which may be on another file system.
func (r *restoring) replaceKey() error {
	if !r.report.Key {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(r.KeyFile), 0o700); err != nil {
		return err
	}
	key, err := os.Open(filepath.Join(r.staging, keyName))
	if err != nil {
		return err
	}
	defer key.Close()
	beside := r.KeyFile + ".restoring"
	if err := os.Remove(beside); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err // left by an interrupted restoration
	}
	if err := store(beside, key); err != nil {
		return err
	}
	if err := os.Rename(beside, r.KeyFile); err != nil {
		return err
	}
	return syncFolder(filepath.Dir(r.KeyFile))
}

// rename is os.Rename of what may not exist.
func rename(from, to string) error {
	if err := os.Rename(from, to); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
