package task

import (
	"context"
	"errors"
	"time"

	"github.com/vedette-sec/vedette/internal/core/run"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/queue"
)

// disabledEvery is how long a task of a disabled user may go on.
const disabledEvery = 2 * time.Second

// StopOfDisabledRegularly calls StopOfDisabled every two seconds until ctx ends. Several nodes may do it at once.
func (ts *Tasks) StopOfDisabledRegularly(ctx context.Context) {
	queue.Every(ctx, disabledEvery, ts.logger, "stopping the tasks of disabled users", ts.StopOfDisabled)
}

// StopOfDisabled stops the tasks of users who were disabled or deleted. What they found stays in the team.
func (ts *Tasks) StopOfDisabled(ctx context.Context) error {
	var w db.Where
	w.And("u.disabled_at IS NOT NULL")
	db.In(&w, "s.status", []Status{Queued, Running, Suspended, Resuming})
	streams, err := db.Values[string](ctx, ts.db, `SELECT s.id FROM user_account u JOIN task t ON t.user_id = u.id
		JOIN task_stream s ON s.id = t.stream_id`+w.String(), w.Args...)
	for _, stream := range streams {
		err = errors.Join(err, run.IgnoreLate(ts.abort(ctx, stream)))
	}
	return err
}
