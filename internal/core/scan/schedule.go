package scan

import (
	"context"

	"github.com/vedette-sec/vedette/internal/core/schedule"
	"github.com/vedette-sec/vedette/internal/infra/errs"
)

// book keeps the schedules of scans.
func (ss *Scans) book() schedule.Book {
	return schedule.Book{DB: ss.db, Table: "scan_schedule", Column: "scan_id", Launch: ss.launch, Change: reschedules, Logger: ss.logger, Now: ss.now}
}

// SetSchedule gives a scan of the caller's team a schedule, in place of any it has.
func (ss *Scans) SetSchedule(ctx context.Context, s schedule.Schedule) (schedule.Schedule, error) {
	scan, err := ss.own(ctx, s.Subject)
	if err != nil {
		return s, err
	}
	if scan.IsOSS {
		return s, errs.New(errs.Conflict, "scan_not_launchable", "Uploaded results cannot be scheduled.")
	}
	return ss.book().Set(ctx, s)
}

// DropSchedule takes its schedule from a scan of the caller's team; 404 when it has none.
func (ss *Scans) DropSchedule(ctx context.Context, scanID string) error {
	if _, err := ss.own(ctx, scanID); err != nil {
		return err
	}
	return ss.book().Drop(ctx, scanID)
}

// FindSchedules lists the schedules of the caller's team, the next to come first.
func (ss *Scans) FindSchedules(ctx context.Context) ([]schedule.Schedule, error) {
	return ss.book().FindAll(ctx)
}

// KeepSchedules launches what comes due until ctx ends. It runs on every node that works.
func (ss *Scans) KeepSchedules(ctx context.Context) { ss.book().Keep(ctx) }

// Sweep launches every scan whose schedule is due.
func (ss *Scans) Sweep(ctx context.Context) error { return ss.book().Sweep(ctx) }
