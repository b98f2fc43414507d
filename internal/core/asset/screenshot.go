package asset

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"time"

	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/infra/blob"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/queue"
)

const (
	maxScreenshot   = 8 << 20 // bytes
	sweepEvery      = 12 * time.Hour
	screenshotGrace = 24 * time.Hour // younger files stay: their rows may not be committed yet
)

// SweepScreenshotsRegularly calls SweepScreenshots twice a day until ctx ends. It runs on every worker.
func (as *Assets) SweepScreenshotsRegularly(ctx context.Context, logger *slog.Logger) {
	queue.Every(ctx, sweepEvery, logger, "deleting unused screenshots", func(ctx context.Context) error {
		_, err := as.SweepScreenshots(ctx)
		return err
	})
}

// SweepScreenshots deletes the screenshots that no version of an asset has, and returns their count.
func (as *Assets) SweepScreenshots(ctx context.Context) (deleted int, err error) {
	if as.blobs == nil {
		return 0, nil
	}
	return as.blobs.Sweep(ctx, as.now().Add(-screenshotGrace),
		func(ctx context.Context, d blob.Digest) (used bool, err error) {
			// screenshot <> '' is the condition of the partial indexes.
			err = as.db.QueryRow(ctx, `SELECT EXISTS (SELECT 1 FROM asset WHERE screenshot = ? AND screenshot <> '')
			OR EXISTS (SELECT 1 FROM asset_past WHERE screenshot = ? AND screenshot <> '')`, d.String(), d.String()).Scan(&used)
			return used, err
		})
}

// Screenshot opens the screenshot of an asset of the caller's team, a PNG of size bytes. The caller
// closes it.
func (as *Assets) Screenshot(ctx context.Context, id int64) (png io.ReadSeekCloser, size int64, err error) {
	c, err := account.From(ctx)
	if err != nil {
		return nil, 0, err
	}
	if _, err := as.Get(ctx, c.TeamID, id); err != nil {
		return nil, 0, err
	}
	var text string
	err = as.db.QueryRow(ctx, `SELECT screenshot FROM asset WHERE team_id = ? AND no = ?`, c.TeamID,
		NumberOf(id)).Scan(&text)
	if db.IsNoRows(err) || err == nil && text == "" || as.blobs == nil {
		return nil, 0, errs.Missing("screenshot")
	}
	d := blob.Digest{}
	if err == nil {
		d, err = blob.ParseDigest(text)
	}
	if err != nil {
		return nil, 0, err
	}
	return as.blobs.Get(d)
}

// storeScreenshot stores a PNG and returns its digest; anything else, or a larger one, is not kept.
func (as *Assets) storeScreenshot(ctx context.Context, png []byte) (string, error) {
	if as.blobs == nil || len(png) > maxScreenshot || !bytes.HasPrefix(png, []byte("\x89PNG\r\n\x1a\n")) {
		return "", nil
	}
	d, _, err := as.blobs.Put(ctx, bytes.NewReader(png))
	return d.String(), err
}
