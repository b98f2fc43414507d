package blob

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// Sweep deletes the blobs that were last put before a moment and that nobody names, and
// says how many. It may run beside Put, and beside itself: a blob that is put again while
// it is judged stays. Who names a blob must do so from the time of its Put on, or within
// the time that before lies back; named must say so until the name is gone for good.
func (s *Store) Sweep(ctx context.Context, before time.Time, named func(ctx context.Context, d Digest) (bool, error)) (deleted int, err error) {
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
				continue // not ours, deleted since, or young
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

// sweep deletes a blob that nobody names. It is first put aside: only then is it certain
// that what is judged is what is deleted, and not bytes that were put meanwhile.
func (s *Store) sweep(ctx context.Context, d Digest, before time.Time, named func(ctx context.Context, d Digest) (bool, error)) (bool, error) {
	if is, err := named(ctx, d); err != nil || is {
		return false, err
	}
	aside := filepath.Join(s.incoming(), d.String())
	switch err := os.Rename(s.path(d), aside); {
	case errors.Is(err, fs.ErrNotExist): // another sweep has it
		return false, nil
	case err != nil:
		return false, fmt.Errorf("sweeping blob %s: %w", d, err)
	}
	is, err := named(ctx, d)
	info, gone := os.Stat(aside)
	if errors.Is(gone, fs.ErrNotExist) { // another sweep has it
		return false, err
	}
	if err != nil || is || gone != nil || !info.ModTime().Before(before) {
		return false, errors.Join(err, s.publish(aside, d))
	}
	if err := os.Remove(aside); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return false, fmt.Errorf("sweeping blob %s: %w", d, err)
	}
	return true, nil
}
