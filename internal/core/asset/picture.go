package asset

import (
	"context"
	"log/slog"
	"time"

	"github.com/vedette-sec/vedette/internal/infra/blob"
)

// Pictures that no row names are deleted twice a day; those of the last day stay, whose
// rows may not be committed yet.
const (
	sweepEvery   = 12 * time.Hour
	pictureGrace = 24 * time.Hour
)

// KeepPicturesSwept deletes pictures that no asset has any more until ctx ends. It runs on
// every node that works.
func (as *Assets) KeepPicturesSwept(ctx context.Context, logger *slog.Logger) {
	tick := time.NewTicker(sweepEvery)
	defer tick.Stop()
	for {
		if _, err := as.SweepPictures(ctx); err != nil && ctx.Err() == nil {
			logger.ErrorContext(ctx, "deleting pictures that no asset has any more", "error", err)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// SweepPictures deletes the pictures that no asset has, or had at a time that lists can
// still be had of, and returns how many there were.
func (as *Assets) SweepPictures(ctx context.Context) (deleted int, err error) {
	if as.blobs == nil {
		return 0, nil
	}
	return as.blobs.Sweep(ctx, as.now().Add(-pictureGrace), func(ctx context.Context, d blob.Digest) (named bool, err error) {
		// The second condition is what the indexes are over: few assets have pictures.
		err = as.db.QueryRow(ctx, `SELECT EXISTS (SELECT 1 FROM asset WHERE screenshot = ? AND screenshot <> '') OR EXISTS (SELECT 1 FROM asset_past WHERE screenshot = ? AND screenshot <> '')`,
			d.String(), d.String()).Scan(&named)
		return named, err
	})
}
