package scan

import (
	"context"

	"github.com/vedette-sec/vedette/internal/core/schedule"
	"github.com/vedette-sec/vedette/internal/infra/errs"
)

// Schedules are the schedules of scans.
func (ss *Scans) Schedules() schedule.Schedules {
	return schedule.Schedules{
		DB: ss.db, Noun: "scan", Check: ss.schedulable, Launch: ss.launch, Logger: ss.logger, Now: ss.now,
	}
}

// schedulable refuses a schedule for a scan that the caller may not launch.
func (ss *Scans) schedulable(ctx context.Context, id string) error {
	scan, err := ss.own(ctx, id)
	if err == nil && scan.IsOSS {
		err = errs.New(errs.Conflict, "scan_not_launchable", "Uploaded results cannot be scheduled.")
	}
	return err
}
