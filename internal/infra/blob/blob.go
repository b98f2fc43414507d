// Package blob stores bytes in a directory under their SHA-256 digest: exports, screenshots, files. Identical
// bytes are stored once. A blob is written to a temporary file, synced and then renamed, so that a visible
// blob is complete and on disk.
package blob

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/outage"
)

// Store is a directory of blobs. It is safe for use by many goroutines and by several
// processes on the same directory.
type Store struct{ dir string }

// abandoned is the age at which a temporary file no longer has a writer.
const abandoned = 24 * time.Hour

// Open creates the directory if it is missing, readable by its owner only, and removes abandoned temporary
// files.
func Open(dir string) (*Store, error) {
	s := &Store{dir: dir}
	err := os.MkdirAll(s.incoming(), 0o700)
	if err == nil {
		err = s.removeAbandoned()
	}
	if err != nil {
		return nil, fmt.Errorf("opening the blob store: %w", err)
	}
	return s, nil
}

func (s *Store) removeAbandoned() error {
	left, err := os.ReadDir(s.incoming())
	for _, entry := range left {
		info, err := entry.Info()
		if err != nil || time.Since(info.ModTime()) < abandoned {
			continue // deleted since, or perhaps still being written
		}
		if err := remove(filepath.Join(s.incoming(), entry.Name())); err != nil {
			return err
		}
	}
	return err
}

func remove(path string) error {
	if err := os.Remove(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// Put stores the content of r and returns its digest and its size in bytes. When it returns without an error
// the bytes are on disk; otherwise nothing is visible. A full or read-only disk is one of the
// errors of infra/outage. The caller limits the size of r.
func (s *Store) Put(ctx context.Context, r io.Reader) (Digest, int64, error) {
	d, size, err := s.put(ctx, r)
	if err == nil {
		return d, size, nil
	}
	if found := outage.Of(err); found != nil {
		return Digest{}, 0, found
	}
	return Digest{}, 0, fmt.Errorf("storing a blob: %w", err)
}

func (s *Store) put(ctx context.Context, r io.Reader) (d Digest, size int64, err error) {
	tmp, err := os.CreateTemp(s.incoming(), "*")
	if err != nil {
		return d, 0, err
	}
	defer func() {
		tmp.Close()
		if err != nil {
			os.Remove(tmp.Name())
		}
	}()
	hash := sha256.New()
	if size, err = io.Copy(io.MultiWriter(tmp, hash), &reader{ctx, r}); err != nil {
		return d, 0, err
	}
	if err = tmp.Sync(); err != nil {
		return d, 0, err
	}
	d = Digest(hash.Sum(nil))
	err = s.publish(tmp.Name(), d)
	return d, size, err
}

// publish renames a complete file to its digest. It may replace a file of that name, which has the same bytes
// or is corrupt.
func (s *Store) publish(tmp string, d Digest) error {
	path := s.path(d)
	shard := filepath.Dir(path)
	if err := os.Mkdir(shard, 0o700); err == nil {
		if err := syncDir(s.dir); err != nil {
			return err
		}
	} else if !errors.Is(err, fs.ErrExist) {
		return err
	}
	locked, err := lockDir(shard)
	if err != nil {
		return err
	}
	defer locked.Close()
	if err := os.Rename(tmp, path); err != nil {
		return err
	}
	return locked.Sync()
}

// lockDir opens a folder and waits until no other goroutine or process has it locked. Closing it unlocks it. Puts
// into a folder and sweeps of it take turns, so that no sweep deletes what was stored since it looked.
func lockDir(dir string) (*os.File, error) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// Get opens a blob and returns its size in bytes; the caller closes it. An unknown digest is errs.NotFound.
func (s *Store) Get(d Digest) (io.ReadSeekCloser, int64, error) {
	f, err := os.Open(s.path(d))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, 0, errs.Missing("blob").Because(err)
	} else if err != nil {
		return nil, 0, fmt.Errorf("reading blob %s: %w", d, err)
	}
	info, err := f.Stat()
	if err != nil {
		f.Close()
		return nil, 0, fmt.Errorf("reading blob %s: %w", d, err)
	}
	return f, info.Size(), nil
}

// Has reports whether a blob exists.
func (s *Store) Has(d Digest) (bool, error) {
	_, err := os.Stat(s.path(d))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

// Delete removes a blob, if it exists. Readers that have it open can read it to its end.
func (s *Store) Delete(d Digest) error {
	if err := remove(s.path(d)); err != nil {
		return fmt.Errorf("deleting blob %s: %w", d, err)
	}
	return nil
}

func (s *Store) incoming() string { return filepath.Join(s.dir, "incoming") }

// path spreads the blobs over 256 folders, so that no folder becomes very large.
func (s *Store) path(d Digest) string {
	name := d.String()
	return filepath.Join(s.dir, name[:2], name)
}

func syncDir(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer f.Close()
	return f.Sync()
}

// reader stops when its context ends.
type reader struct {
	ctx context.Context //nolint:containedctx // io.Reader has no other way to get it
	r   io.Reader
}

func (r *reader) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.r.Read(p)
}

// Digest is the SHA-256 of a blob. As bytes, it cannot name any other file.
type Digest [sha256.Size]byte

// String is the digest in 64 lower-case hexadecimal characters.
func (d Digest) String() string { return hex.EncodeToString(d[:]) }

// ParseDigest parses the result of String; anything else is errs.Invalid for the parameter digest.
func ParseDigest(text string) (Digest, error) {
	var d Digest
	if len(text) == hex.EncodedLen(len(d)) {
		if _, err := hex.Decode(d[:], []byte(text)); err == nil && d.String() == text {
			return d, nil
		}
	}
	return Digest{}, errs.Field("digest", "A digest is 64 lower-case hexadecimal characters.")
}

// Sweep deletes the blobs that were last stored before a time and are not named, and returns their number.
// Concurrently, blobs may be stored again, and other sweeps may run. named reports whether a row names a blob,
// from its Put, or the time before, until the row is deleted.
func (s *Store) Sweep(
	ctx context.Context, before time.Time, named func(ctx context.Context, d Digest) (bool, error),
) (deleted int, err error) {
	shards, err := os.ReadDir(s.dir)
	if err != nil {
		return 0, fmt.Errorf("sweeping the blob store: %w", err)
	}
	for _, shard := range shards {
		if !shard.IsDir() || len(shard.Name()) != 2 {
			continue
		}
		blobs, err := os.ReadDir(filepath.Join(s.dir, shard.Name()))
		if err != nil {
			return deleted, fmt.Errorf("sweeping the blob store: %w", err)
		}
		for _, entry := range blobs {
			if err := ctx.Err(); err != nil {
				return deleted, err
			}
			d, err := ParseDigest(entry.Name())
			info, gone := entry.Info()
			if err != nil || gone != nil || !info.ModTime().Before(before) {
				continue // not a blob, deleted since, or too new
			}
			swept, err := s.sweep(ctx, d, before, named)
			if err != nil {
				return deleted, err
			}
			if swept {
				deleted++
			}
		}
	}
	return deleted, nil
}

// sweep deletes a blob that is not named and was not stored again meanwhile.
func (s *Store) sweep(
	ctx context.Context, d Digest, before time.Time, named func(ctx context.Context, d Digest) (bool, error),
) (bool, error) {
	if is, err := named(ctx, d); err != nil || is {
		return false, err
	}
	swept, err := s.deleteOlder(d, before)
	if err != nil {
		return false, fmt.Errorf("sweeping blob %s: %w", d, err)
	}
	return swept, nil
}

// deleteOlder deletes a blob if it still exists and was last stored before a time.
func (s *Store) deleteOlder(d Digest, before time.Time) (bool, error) {
	path := s.path(d)
	locked, err := lockDir(filepath.Dir(path))
	if err != nil {
		return false, err
	}
	defer locked.Close()
	switch info, err := os.Stat(path); {
	case errors.Is(err, fs.ErrNotExist): // another sweep deleted it
		return false, nil
	case err != nil:
		return false, err
	case !info.ModTime().Before(before):
		return false, nil
	}
	return true, os.Remove(path)
}
