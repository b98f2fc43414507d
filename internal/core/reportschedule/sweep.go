package reportschedule

import (
	"context"
	"errors"
	"time"

	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/core/export"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/page"
	"github.com/vedette-sec/vedette/internal/infra/queue"
)

const (
	sweepEvery = 5 * time.Second
	atOnce     = 1000 // schedules of one sweep
)

// Keep calls Sweep until ctx ends. It runs on every worker node.
func (ss *Schedules) Keep(ctx context.Context) {
	queue.Every(ctx, sweepEvery, ss.logger, "making the reports that are scheduled", ss.Sweep)
}

// Sweep queues the reports that are due. The failure of one schedule does not keep others from being carried out.
func (ss *Schedules) Sweep(ctx context.Context) error {
	now := ss.now()
	due, err := db.Select(ctx, ss.db, scan, query+` WHERE s.next_run <= ? ORDER BY s.next_run, s.id LIMIT ?`, db.At(now),
		atOnce)
	if err != nil {
		return err
	}
	var failed []error
	for _, s := range due {
		next, err := s.Rule.Next(now)
		if err != nil {
			failed = append(failed, err)
			continue
		}
		failed = append(failed, ss.db.Tx(ctx, func(tx *db.Tx) error {
			// Another node may have done it, or a person changed it.
			n, err := tx.Exec(ctx, `UPDATE report_schedule SET next_run = ? WHERE id = ? AND next_run = ?`, db.At(next),
				s.ID, db.At(s.NextRun))
			if err != nil || n == 0 {
				return err
			}
			if _, err = ss.make(ctx, tx, &s, now); err != nil || s.Note == "" {
				return err
			}
			_, err = ss.queue.Insert(ctx, tx, s.TeamID, FailedArgs{ScheduleID: s.ID, Run: s.Runs, Reason: s.Note})
			return err
		}))
	}
	return errors.Join(failed...)
}

// RunNow makes a report of a schedule of the caller's team at once; its next time stays as it is. Conflict says why
// none is made.
func (ss *Schedules) RunNow(ctx context.Context, id string) (e export.Export, err error) {
	if _, err := account.Writer(ctx); err != nil {
		return e, err
	}
	s, err := ss.Find(ctx, id)
	if err != nil {
		return e, err
	}
	return e, ss.db.Tx(ctx, func(tx *db.Tx) error {
		e, err = ss.make(ctx, tx, &s, ss.now())
		if err == nil && e.ID == "" {
			err = errs.New(errs.Conflict, "report_not_made", "%s", s.Note)
		}
		return err
	})
}

// make queues a report of a schedule, or notes why it may not: then the export is zero.
func (ss *Schedules) make(ctx context.Context, tx *db.Tx, s *Schedule, now time.Time) (e export.Export, err error) {
	// The row is locked, so that two that make a report at once have numbers of their own.
	s.Runs, err = db.Value[int64](ctx, tx, `UPDATE report_schedule SET runs = runs + 1 WHERE id = ? RETURNING runs`, s.ID)
	if err != nil {
		return e, db.OrMissing(err, "report_schedule")
	}
	s.Note = ""
	if e, err = ss.export(ctx, tx, *s, now); err != nil {
		refusal := errs.From(err)
		if !isCallers(refusal) {
			return export.Export{}, err
		}
		e, s.Note = export.Export{}, refusal.Message
	}
	_, err = tx.Exec(ctx, `UPDATE report_schedule SET last_run = ?, last_export_id = ?, note = ? WHERE id = ?`,
		db.At(now), e.ID, s.Note, s.ID)
	return e, err
}

// isCallers reports whether a refusal is about the schedule or who set it, and not about the server.
func isCallers(e *errs.Error) bool {
	switch e.Kind {
	case errs.Invalid, errs.Forbidden, errs.NotFound, errs.Conflict, errs.Unauthenticated:
		return true
	}
	return false
}

// export queues the file, with the rights of who set the schedule, who may have lost them.
func (ss *Schedules) export(ctx context.Context, tx *db.Tx, s Schedule, now time.Time) (e export.Export, err error) {
	c, err := ss.accounts.InTeam(ctx, account.Caller{UserID: s.UserID, Email: s.Owner}, s.TeamID)
	if errs.Is(err, errs.Forbidden) {
		err = errs.New(errs.Forbidden, "owner_left", "Who set the schedule is no longer in the team: set it anew.")
	}
	if err != nil {
		return e, err
	}
	filter := s.Filter
	filter.Since = page.Since(s.Found, now)
	return ss.exports.StartIn(account.WithCaller(ctx, c), tx, export.Request{
		Format: s.Format, Name: s.Name, Filter: filter, Style: s.Style,
		Schedule: export.Schedule{ID: s.ID, Run: s.Runs, Keep: time.Duration(s.KeepDays) * 24 * time.Hour},
	})
}

// Told is what to tell of an export of a schedule: whom, and by what name. ok is false when there is nothing to tell.
func (ss *Schedules) Told(ctx context.Context, exportID string) (s Schedule, e export.Export, ok bool, err error) {
	e, teamID, ok, err := ss.exports.Made(ctx, exportID)
	if err != nil || !ok || e.State != export.Finished {
		return s, e, false, err
	}
	s, err = scan(ss.db.QueryRow(ctx, query+` WHERE s.id = ? AND s.team_id = ?`, e.ScheduleID, teamID))
	if db.IsNoRows(err) {
		return s, e, false, nil // it was deleted
	}
	return s, e, err == nil && len(s.ConfigIDs) > 0, err
}

// FailedArgs is the job that tells that a schedule made no report.
type FailedArgs struct {
	ScheduleID string `json:"report_schedule_id"`
	ExportID   string `json:"export_id,omitempty"` // whose file could not be made; empty: there was none
	Run        int64  `json:"run,omitempty"`       // with ExportID it is that of the export
	Reason     string `json:"reason,omitempty"`
}

// Kind implements queue.Args.
func (FailedArgs) Kind() string { return "report.failed" }

// GiveUp fails the export of a job that the queue has given up, in the transaction that ends the job, and has it told
// when a schedule asked for it.
func (ss *Schedules) GiveUp(ctx context.Context, tx *db.Tx, exportID string) error {
	teamID, scheduleID, err := ss.exports.GiveUp(ctx, tx, exportID)
	if err != nil || scheduleID == "" {
		return err
	}
	_, err = ss.queue.Insert(ctx, tx, teamID, FailedArgs{ScheduleID: scheduleID, ExportID: exportID,
		Reason: "The file could not be written. The server's log says why."})
	return err
}

// Failed is the schedule of a job that tells of a failure, and which of its times it was. ok is false when the schedule
// or the export was deleted.
func (ss *Schedules) Failed(ctx context.Context, a FailedArgs) (s Schedule, run int64, ok bool, err error) {
	run = a.Run
	if a.ExportID != "" {
		e, _, ok, err := ss.exports.Made(ctx, a.ExportID)
		if err != nil || !ok {
			return s, 0, false, err
		}
		run = e.ScheduleRun
	}
	s, err = scan(ss.db.QueryRow(ctx, query+` WHERE s.id = ?`, a.ScheduleID))
	if db.IsNoRows(err) {
		return s, 0, false, nil
	}
	return s, run, err == nil, err
}
