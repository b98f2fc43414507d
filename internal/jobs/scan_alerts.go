package jobs

import (
	"context"
	"fmt"

	"github.com/vedette-sec/vedette/internal/core/finding"
	"github.com/vedette-sec/vedette/internal/core/finding/group"
	"github.com/vedette-sec/vedette/internal/core/notification"
	"github.com/vedette-sec/vedette/internal/core/scan"
	"github.com/vedette-sec/vedette/internal/core/ticket"
	"github.com/vedette-sec/vedette/internal/notify/alert"
)

// alertOfScan files the findings of a finished run, and posts the alerts of a run's new state.
func (w worker) alertOfScan(ctx context.Context, a scan.AlertArgs) error {
	state, ok, err := w.Scans.FindRunState(ctx, a)
	if err != nil || !ok {
		return err
	}
	c := state.Config
	if state.Status == scan.Finished {
		if err := w.Tickets.QueueRun(ctx, ticket.Run{
			TeamID: state.TeamID, ScanID: state.ID, Run: state.Run, ConfigIDs: c.ReportConfigIDs, NoGlobal: c.NoGlobalReports,
		}); err != nil {
			return err
		}
	}
	about := notification.Notification{TeamID: state.TeamID, Kind: notification.OfScan, Subject: state.ID, Run: state.Run}
	return w.post(ctx, about, c.AlertConfigIDs, c.NoGlobalAlerts, func() ([]alert.Alert, error) {
		return w.scanAlerts(ctx, state)
	})
}

// post posts alerts to the channels of alerting configurations, and of the global ones unless noGlobal is set.
func (w worker) post(
	ctx context.Context, about notification.Notification, configIDs []string, noGlobal bool,
	alerts func() ([]alert.Alert, error),
) error {
	channels, err := w.dispatcher.Channels(ctx, about.TeamID, configIDs, !noGlobal)
	if err != nil || len(channels) == 0 {
		return err
	}
	list, err := alerts()
	if err != nil {
		return err
	}
	return w.dispatcher.Post(ctx, about, channels, list)
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
		groups, err := group.Of(ctx, w.Findings, state.TeamID,
			finding.Filter{ScanIDs: []string{state.ID}, Since: state.Since})
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
