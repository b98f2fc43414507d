package jobs

import (
	"context"
	"fmt"

	"github.com/vedette-sec/vedette/internal/core/finding"
	"github.com/vedette-sec/vedette/internal/core/notification"
	"github.com/vedette-sec/vedette/internal/core/scan"
	"github.com/vedette-sec/vedette/internal/core/ticket"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/queue"
	"github.com/vedette-sec/vedette/internal/notify/alert"
)

const (
	notificationAttempts = 8 // with the waits between them they last some eight minutes
	ticketAttempts       = 10
)

// handleNotifications registers the jobs that send alerts and file findings.
func (w worker) handleNotifications(q *queue.Queue) {
	queue.Handle(q, queue.Handler[finding.FileArgs]{
		Quick: true, MaxAttempts: ticketAttempts, Backoff: w.Backoff,
		Work: func(ctx context.Context, job queue.Job[finding.FileArgs]) error {
			return w.Tickets.FileOne(ctx, job.Args)
		},
	})
	queue.Handle(q, queue.Handler[scan.AlertArgs]{Quick: true, Work: w.alertOfScan})
	queue.Handle(q, queue.Handler[notification.Args]{
		Quick: true, MaxAttempts: notificationAttempts, Backoff: w.Backoff,
		Work: func(ctx context.Context, job queue.Job[notification.Args]) error {
			return w.dispatcher.Send(ctx, job.Args.ID)
		},
		GiveUp: func(ctx context.Context, tx *db.Tx, job queue.Job[notification.Args], cause error) error {
			return w.Notifications.End(ctx, tx, job.Args.ID, notification.Failed, cause.Error())
		},
	})
}

// alertOfScan files the findings of a finished run, and posts the alerts of a run's new state.
func (w worker) alertOfScan(ctx context.Context, job queue.Job[scan.AlertArgs]) error {
	state, ok, err := w.Scans.FindRunState(ctx, job.Args)
	if err != nil || !ok {
		return err
	}
	c := state.Config
	if state.Status == scan.Finished {
		run := ticket.Run{TeamID: state.TeamID, ScanID: state.ID, Run: state.Run, ConfigIDs: c.ReportConfigIDs, NoGlobal: c.NoGlobalReports}
		if err := w.Tickets.QueueRun(ctx, run); err != nil {
			return err
		}
	}
	channels, err := w.dispatcher.Channels(ctx, state.TeamID, c.AlertConfigIDs, !c.NoGlobalAlerts)
	if err != nil || len(channels) == 0 {
		return err
	}
	alerts, err := w.scanAlerts(ctx, state)
	if err != nil {
		return err
	}
	about := notification.Notification{TeamID: state.TeamID, Kind: notification.OfScan, Subject: state.ID, Run: state.Run}
	return w.dispatcher.Post(ctx, about, channels, alerts)
}

// scanAlerts are the alerts of a run's new state.
func (w worker) scanAlerts(ctx context.Context, state scan.RunState) ([]alert.Alert, error) {
	about := notification.Subject{Kind: notification.OfScan, ID: state.ID, Name: state.Name}
	n := state.Numbers
	switch state.Status {
	case scan.Running:
		return about.Running(alert.Start{
			StartedAt: n.StartedAt, TotalTargets: n.Targets, TotalTemplates: n.Templates, TotalRequests: n.Requests,
		}), nil
	case scan.Failed, scan.Stopped:
		return about.Failed(n.EndedAt, n.DoneCells, n.Cells, state.FailureReason, state.Status == scan.Stopped), nil
	}
	var fresh []alert.Vuln
	if state.Run > 1 {
		groups, err := w.Findings.GroupsSince(ctx, state.TeamID, finding.Filter{ScanIDs: []string{state.ID}, Since: state.Since})
		if err != nil {
			return nil, err
		}
		for _, g := range groups {
			fresh = append(fresh, alert.Vuln{Name: g.Name, Severity: g.Severity, Count: g.Count})
		}
	}
	took := fmt.Sprintf("%ds", int(n.EndedAt.Sub(n.StartedAt).Seconds()))
	return about.ScanFinished(alert.End{FinishedAt: n.EndedAt, ScanTime: took, Severities: state.Severities}, fresh), nil
}
