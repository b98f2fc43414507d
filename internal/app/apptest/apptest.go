// Package apptest prepares databases for tests of whole servers.
package apptest

import (
	"context"
	"errors"
	"log/slog"

	"github.com/vedette-sec/vedette/internal/core/catalog"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/queue"
)

// Prepare makes in a migrated database what the first start of a server makes there for all teams: the tables of the
// queue and the starter templates. It is for dbtest.Prepare: tests copy the database, because that start takes longer
// than most of them.
func Prepare(ctx context.Context, d *db.DB) error {
	q, err := queue.Open(ctx, d, queue.Config{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return err
	}
	_, err = catalog.New(d, catalog.Config{}).ImportStarter(ctx)
	return errors.Join(err, q.Stop(ctx))
}
