package queue

import (
	"context"
	"testing"

	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/db/dbtest"
)

type postcard struct{}

func (postcard) Kind() string { return "postcard" }

func TestQuickJobsDoNotWaitForLongOnes(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		q := patient(t, d, 1)
		busy, release, sent := make(chan struct{}, 1), make(chan struct{}), make(chan struct{}, 1)
		Handle(q, Handler[note]{Work: func(context.Context, Job[note]) error {
			busy <- struct{}{}
			<-release
			return nil
		}})
		Handle(q, Handler[postcard]{Quick: true, Work: func(context.Context, Job[postcard]) error {
			sent <- struct{}{}
			return nil
		}})
		start(t, q)
		insert(t, q, note{})
		next(t, busy) // the only long worker is taken
		insert(t, q, postcard{})
		next(t, sent)
		close(release)
	})
}
