package run

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/vedette-sec/vedette/internal/infra/db"
)

// ErrLate refuses a write of a worker whose run or lease is no longer the current one:
// another worker took over, or the run has ended. Nothing was written.
var ErrLate = errors.New("this run is no longer the current one")

// IgnoreLate is err, but nil for ErrLate: the job has nothing left to do.
func IgnoreLate(err error) error {
	if errors.Is(err, ErrLate) {
		return nil
	}
	return err
}

// AnyRun stands for the current run.
const AnyRun int64 = 0

// Life is a table whose rows have a state, in the columns id, status, run and updated_at.
// The number in run only grows; a write with an older one is refused.
type Life[S ~string] struct {
	Table string // a constant, never text of a caller
	Moves Moves[S]
	Now   func() time.Time
}

// Move changes the state of a row, or fails with ErrLate when the row is in another run or Moves forbids the change.
// set are more assignments, each after a comma. It returns the number of the run.
func (l Life[S]) Move(
	ctx context.Context, tx *db.Tx, id string, run int64, to S, set string, args ...any,
) (int64, error) {
	var w db.Where
	w.And("id = ?", id)
	if run != AnyRun {
		w.And("run = ?", run)
	}
	db.In(&w, "status", l.Moves.Before(to))
	err := tx.QueryRow(ctx, `UPDATE `+l.Table+` SET status = ?, updated_at = ?`+set+w.String()+` RETURNING run`,
		slices.Concat([]any{to, db.At(l.Now())}, args, w.Args)...).Scan(&run)
	if db.IsNoRows(err) {
		err = ErrLate
	}
	return run, err
}

// Hold locks a row until tx ends, or fails with ErrLate when it is in another state or run.
func (l Life[S]) Hold(ctx context.Context, tx *db.Tx, id string, run int64, state S) error {
	return db.ExecOr(ctx, tx, ErrLate, `UPDATE `+l.Table+` SET updated_at = ? WHERE id = ? AND run = ? AND status = ?`,
		db.At(l.Now()), id, run, state)
}
