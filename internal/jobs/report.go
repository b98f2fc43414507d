package jobs

import (
	"context"
	"fmt"
	"time"

	"github.com/vedette-sec/vedette/internal/core/export"
	"github.com/vedette-sec/vedette/internal/core/notification"
	"github.com/vedette-sec/vedette/internal/core/reportschedule"
	"github.com/vedette-sec/vedette/internal/infra/queue"
	"github.com/vedette-sec/vedette/internal/notify/alert"
)

// makeExport makes the file of an export, and tells of it where a schedule asked for it. When telling fails, the job is
// tried again: the file is there by then, and what was told is not told twice.
func (w worker) makeExport(ctx context.Context, job queue.Job[export.RunArgs]) error {
	if err := w.Exports.Run(ctx, job); err != nil {
		return err
	}
	return w.tellOfReport(ctx, job.Args.ExportID)
}

func (w worker) tellOfReport(ctx context.Context, exportID string) error {
	s, e, ok, err := w.Reports.Told(ctx, exportID)
	if err != nil || !ok {
		return err
	}
	about := notification.Notification{TeamID: s.TeamID, Kind: notification.OfReport, Subject: s.ID, Run: e.ScheduleRun}
	return w.post(ctx, about, s.ConfigIDs, true, func() ([]alert.Alert, error) {
		return []alert.Alert{{
			Kind: alert.Report, ReportName: s.Name, ExportID: e.ID,
			Message: fmt.Sprintf("The report %q is ready: %d findings, until %s. %s", s.Name, e.Total,
				e.ExpiresAt.Format("2 January 2006"), w.whereReportsAre("It is")),
		}}, nil
	})
}

// tellOfFailedReport tells the channels of a schedule, and the team's global ones, that it made no report.
func (w worker) tellOfFailedReport(ctx context.Context, a reportschedule.FailedArgs) error {
	s, run, ok, err := w.Reports.Failed(ctx, a)
	if err != nil || !ok {
		return err
	}
	about := notification.Notification{TeamID: s.TeamID, Kind: notification.OfReport, Subject: s.ID, Run: run}
	return w.post(ctx, about, s.ConfigIDs, false, func() ([]alert.Alert, error) {
		return []alert.Alert{{
			Kind: alert.Failed, ReportName: s.Name, ExportID: a.ExportID, Failed: &alert.Breakdown{Timestamp: time.Now()},
			Message: fmt.Sprintf("The report %q was not made. %s %s", s.Name, a.Reason, w.whereReportsAre("Its schedule is")),
		}}, nil
	})
}

// whereReportsAre says where to look.
func (w worker) whereReportsAre(what string) string {
	if w.PublicURL != "" {
		return w.PublicURL + "/reports"
	}
	return what + " under Reports in the console."
}
