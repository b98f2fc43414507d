package task

import (
	"context"

	"github.com/vedette-sec/vedette/internal/core/task/change"
	"github.com/vedette-sec/vedette/internal/infra/db"
)

// ChangesOnly is the reporting of a schedule whose tasks report what differs from the runs before.
const ChangesOnly = "changes_only"

// settle compares the findings of a schedule's task with those of the runs before.
func (r *Run) settle(ctx context.Context) error {
	if r.Task.ScheduleID == "" || r.Task.Index > 0 {
		return nil
	}
	found, err := r.tasks.reported(ctx, r.tasks.db, r.Task.ID)
	if err != nil {
		return err
	}
	var known []change.Known
	for _, i := range found {
		known = append(known, change.Known{Key: hash(i.Event), IssueID: i.ID, Title: i.Title, Severity: i.Severity,
			Template: i.TemplateID, Target: i.Target, MatchedAt: i.MatchedAt, Values: i.Event.ExtractedResults})
	}
	return r.write(ctx, func(tx *db.Tx) error { return change.Settle(ctx, tx, r.Task.ID, known) })
}

// changes is the report of a task that reports changes only; nil of any other.
func (t Task) changes(ctx context.Context, q db.Querier) (*change.Report, error) {
	if t.ScheduleID == "" || t.Index > 0 || t.Options.Reporting != ChangesOnly {
		return nil, nil //nolint:nilnil // it has none
	}
	return change.Of(ctx, q, t.ID)
}

// StoreLedger stores which targets a schedule's task tested with which templates.
func (r *Run) StoreLedger(ctx context.Context, l change.Ledger) error {
	if r.Task.ScheduleID == "" {
		return nil
	}
	return r.write(ctx, func(tx *db.Tx) error { return l.Store(ctx, tx, r.Task.ID) })
}
