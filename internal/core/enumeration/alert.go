package enumeration

import (
	"context"

	"github.com/vedette-sec/vedette/internal/core/run"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/page"
)

// AlertArgs is the job that sends alerts about the new state of a run.
type AlertArgs struct {
	EnumerationID string `json:"enumeration_id"`
	Run           int64  `json:"run"`
	Status        Status `json:"status"` // Running, Finished, Failed or Stopped
}

// Kind implements queue.Args. Jobs are stored under this name.
func (AlertArgs) Kind() string { return "enumeration.told" }

// RunState is a run as its alerts show it.
type RunState struct {
	Enumeration         // with its configuration, and the numbers of the run
	Drops       []Event // sources that found far less than they used to
}

// maxDrops is how many sources one alert names.
const maxDrops = 20

// FindRunState is an enumeration with the numbers and the new state of a run. ok is false when the enumeration was
// deleted.
func (es *Enumerations) FindRunState(ctx context.Context, a AlertArgs) (n RunState, ok bool, err error) {
	n.Enumeration, err = enumerationRow(es.db.QueryRow(ctx, `SELECT `+columns+` WHERE e.id = ? AND e.status <> ?`,
		a.EnumerationID, run.Deleted))
	if db.IsNoRows(err) {
		return n, false, nil
	}
	if err != nil {
		return n, false, err
	}
	if err := n.Numbers.scan(es.db.QueryRow(ctx, `SELECT failure_reason, `+numberColumns+` FROM enumeration_run r
		WHERE enumeration_id = ? AND run = ?`, a.EnumerationID, a.Run), &n.FailureReason); err != nil {
		return n, false, err
	}
	n.Run, n.Status = a.Run, a.Status
	if n.Totals, err = es.assets.Totals(ctx, n.TeamID, n.ID); err != nil {
		return n, false, err
	}
	n.Drops, _, err = es.events(ctx, a.EnumerationID, a.Run, EventSource, page.Window{Limit: maxDrops})
	return n, true, err
}
