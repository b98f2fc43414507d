// Package backup writes a whole installation into one encrypted file while it runs, and puts it back: the database,
// the files beside it and the key that seals secrets.
//
// The file is a tar, compressed with gzip and encrypted with age for a passphrase, so that age and tar can open it
// without this program. Everything is streamed; memory does not grow with the data.
package backup

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"syscall"
	"time"

	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/queue"
)

// Place is where an installation is.
type Place struct {
	Database db.Config
	Dir      string // the data folder
	KeyFile  string // the key that seals secrets
}

// Options are how a backup is made or restored.
type Options struct {
	Passphrase string
	Work       int    // of trying a passphrase, as the binary logarithm of scrypt's N; 0: 17
	Replace    bool   // what is in the way
	Version    string // of this program, for people
	// Progress is called at the beginning of each stage and after each file; done and total are bytes, total is a guess.
	Progress func(stage string, done, total int64)
}

// Report says what was written or restored.
type Report struct {
	File     string    `json:"file"`
	Bytes    int64     `json:"bytes"` // of the file
	Database string    `json:"database"`
	Version  string    `json:"version"`    // of the program that made the backup
	Time     time.Time `json:"created_at"` // when it was made
	Blobs    int64     `json:"blobs"`      // files beside the database
	Key      bool      `json:"key"`        // whether it holds the key that seals secrets
}

// blobFolders are the folders of blobs in the data folder.
var blobFolders = []string{"blobs", "files"}

// blobName is a blob's name in an archive and in the data folder: folder, first two characters, digest.
var blobName = regexp.MustCompile(`^(blobs|files)/([0-9a-f]{2})/[0-9a-f]{64}$`)

// Write makes a backup of the installation at p. It is written beside file, read back, and then renamed to file, which
// therefore is always whole. A file of this name is replaced only with Options.Replace.
func Write(ctx context.Context, p Place, file string, o Options) (report Report, err error) {
	if _, err := os.Stat(file); err == nil && !o.Replace {
		return report, fmt.Errorf("%s exists already", file)
	} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return report, err
	}
	if _, err := os.Stat(p.Dir); err != nil {
		return report, fmt.Errorf("the data folder: %w", err)
	}
	if err := Unfinished(p.Dir); err != nil {
		return report, err
	}
	unlock, err := lock(p.Dir)
	if err != nil {
		return report, err
	}
	defer unlock()
	d, err := db.OpenExisting(ctx, p.Database)
	if err != nil {
		return report, err
	}
	defer d.Close()
	partial := file + ".partial"
	f, err := os.OpenFile(partial, os.O_CREATE|os.O_TRUNC|os.O_RDWR, 0o600)
	if err != nil {
		return report, err
	}
	defer func() {
		f.Close()
		if err != nil {
			os.Remove(partial)
		}
	}()
	w := &run{Place: p, Options: o, report: Report{File: file}}
	if err := w.write(ctx, d, f); err != nil {
		return report, err
	}
	if err := w.check(ctx, f); err != nil {
		return report, fmt.Errorf("reading the backup back: %w", err)
	}
	if err := os.Rename(partial, file); err != nil {
		return report, err
	}
	return w.report, syncFolder(filepath.Dir(file))
}

// run is one backup being written.
type run struct {
	Place
	Options
	report  Report
	staging string
	done    int64
	total   int64
}

func (w *run) stage(name string) {
	w.done = 0
	w.progress(name)(0)
}

// progress is the function that counts the bytes of a stage.
func (w *run) progress(stage string) func(n int64) {
	return func(n int64) {
		w.done += n
		if w.Progress != nil {
			w.Progress(stage, w.done, w.total)
		}
	}
}

func (w *run) write(ctx context.Context, d *db.DB, f *os.File) (err error) {
	if w.staging, err = os.MkdirTemp(w.Dir, stagingPrefix); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(w.staging)) }()
	a, err := newWriter(f, w.Passphrase, w.Work)
	if err != nil {
		return err
	}
	m := manifest{Format: format, Version: w.Version, Time: time.Now().UTC().Truncate(time.Second)}
	if m.Schema, err = d.Schema(ctx); err != nil {
		return err
	}
	if len(m.Schema.Versions) == 0 {
		return errors.New("the database is empty: there is nothing to back up")
	}
	if m.Queue, err = queue.Applied(ctx, d); err != nil {
		return err
	}
	w.report.Database, w.report.Version, w.report.Time = m.Schema.Kind, m.Version, m.Time
	if err := a.addJSON(manifestName, m); err != nil {
		return err
	}
	if w.total, err = d.Size(ctx); err != nil {
		return err
	}
	// Blobs that are there before the moment of the database are linked, so that none of them is deleted before it is
	// read; then those that were stored until that moment.
	if err := w.link(ctx); err != nil {
		return err
	}
	w.stage("database")
	a.done = w.progress("database")
	err = d.Dump(ctx, w.staging, func() error { return w.link(ctx) }, func(name string, size int64) (io.Writer, error) {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		return a.add(databaseFolder+name, size)
	})
	if err != nil {
		return fmt.Errorf("the database: %w", err)
	}
	if err := w.addFiles(ctx, a); err != nil {
		return err
	}
	if err := errors.Join(a.close(), f.Sync()); err != nil {
		return err
	}
	w.report.Bytes, err = f.Seek(0, io.SeekCurrent)
	return err
}

// link makes hard links to all blobs in the staging folder. Deleting a blob leaves the link.
func (w *run) link(ctx context.Context) error {
	for _, folder := range blobFolders {
		err := eachBlob(ctx, w.Dir, folder, func(name string) error {
			to := filepath.Join(w.staging, name)
			if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
				return err
			}
			err := os.Link(filepath.Join(w.Dir, name), to)
			if errors.Is(err, fs.ErrExist) || errors.Is(err, fs.ErrNotExist) {
				return nil // linked before, or deleted since
			}
			return err
		})
		if err != nil {
			return fmt.Errorf("linking %s: %w", folder, err)
		}
	}
	return nil
}

// eachBlob calls fn with the name of each blob of a folder, such as blobs/ab/abcd….
func eachBlob(ctx context.Context, dir, folder string, fn func(name string) error) error {
	shards, err := os.ReadDir(filepath.Join(dir, folder))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, shard := range shards {
		if len(shard.Name()) != 2 {
			continue
		}
		blobs, err := os.ReadDir(filepath.Join(dir, folder, shard.Name()))
		if err != nil {
			return err
		}
		for _, b := range blobs {
			if err := ctx.Err(); err != nil {
				return err
			}
			if name := folder + "/" + shard.Name() + "/" + b.Name(); blobName.MatchString(name) {
				if err := fn(name); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// addFiles adds the linked blobs and the key.
func (w *run) addFiles(ctx context.Context, a *writer) error {
	w.total = 0
	w.stage("files")
	a.done = w.progress("files")
	for _, folder := range blobFolders {
		err := eachBlob(ctx, w.staging, folder, func(name string) error {
			w.report.Blobs++
			return addFile(a, name, filepath.Join(w.staging, name))
		})
		if err != nil {
			return err
		}
	}
	err := addFile(a, keyName, w.KeyFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // no server has run, so nothing is sealed
	}
	w.report.Key = true
	return err
}

func addFile(a *writer, name, path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	to, err := a.add(name, info.Size())
	if err == nil {
		_, err = io.CopyN(to, f, info.Size())
	}
	return err
}

// check reads the whole backup.
func (w *run) check(ctx context.Context, f *os.File) error {
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return err
	}
	w.total = 0
	w.stage("checking")
	a, err := newReader(f, w.Passphrase)
	if err != nil {
		return err
	}
	a.done = w.progress("checking")
	for {
		_, content, err := a.next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			_, err = io.Copy(io.Discard, content)
		}
		if err = errors.Join(err, ctx.Err()); err != nil {
			return err
		}
	}
}

// stagingPrefix begins the names of folders that a backup or restoration makes in the data folder and removes.
const stagingPrefix = ".backup-"

// lock lets one backup or restoration work on a data folder at a time, and removes what a killed one has left.
func lock(dir string) (unlock func(), err error) {
	f, err := os.OpenFile(filepath.Join(dir, ".backup.lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		f.Close()
		return nil, fmt.Errorf("another backup or restoration works on %s", dir)
	}
	left, err := filepath.Glob(filepath.Join(dir, stagingPrefix+"*"))
	for _, folder := range left {
		err = errors.Join(err, os.RemoveAll(folder))
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return func() { f.Close() }, nil
}

func syncFolder(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}
