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

// Sweep deletes the blobs that were last stored before a time and are not in use, and returns their number. It
// may run concurrently with Put and other sweeps: a blob that is stored again meanwhile is kept. named says
// whether a row names a blob: from its Put on, or at the latest when the blob becomes older than before, until
// the row is deleted for good.
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

// sweep deletes a blob that is not in use. It moves the file aside and then asks named again, so that it
// certainly deletes the checked file and not one that was stored meanwhile.
func (s *Store) sweep(
	ctx context.Context, d Digest, before time.Time, named func(ctx context.Context, d Digest) (bool, error),
) (bool, error) {
	if is, err := named(ctx, d); err != nil || is {
		return false, err
	}
	aside := filepath.Join(s.incoming(), d.String())
	switch err := os.Rename(s.path(d), aside); {
	case errors.Is(err, fs.ErrNotExist): // another sweep took it
		return false, nil
	case err != nil:
		return false, fmt.Errorf("sweeping blob %s: %w", d, err)
	}
	is, err := named(ctx, d)
	info, gone := os.Stat(aside)
	if errors.Is(gone, fs.ErrNotExist) { // another sweep took it
		return false, err
	}
	if err != nil || is || gone != nil || !info.ModTime().Before(before) {
		return false, errors.Join(err, s.publish(aside, d))
	}
	if err := remove(aside); err != nil {
		return false, fmt.Errorf("sweeping blob %s: %w", d, err)
	}
	return true, nil
}
