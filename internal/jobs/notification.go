package jobs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/vedette-sec/vedette/internal/core/finding"
	"github.com/vedette-sec/vedette/internal/core/notification"
	"github.com/vedette-sec/vedette/internal/core/scan"
	"github.com/vedette-sec/vedette/internal/core/setting"
	"github.com/vedette-sec/vedette/internal/core/ticket"
	"github.com/vedette-sec/vedette/internal/infra/apiclient"
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
	queue.Handle(q, queue.Handler[scan.ToldArgs]{Quick: true, Work: w.tell})
	queue.Handle(q, queue.Handler[notification.Args]{
		Quick: true, MaxAttempts: notificationAttempts, Backoff: w.Backoff, Work: w.send,
		GiveUp: func(ctx context.Context, tx *db.Tx, job queue.Job[notification.Args], cause error) error {
			return w.Notices.End(ctx, tx, job.Args.ID, notification.Failed, cause.Error())
		},
	})
}

// tell makes what follows from a run's new state: a notice for each channel that wants it.
func (w worker) tell(ctx context.Context, job queue.Job[scan.ToldArgs]) error {
	news, ok, err := w.Scans.FindNews(ctx, job.Args)
	if err != nil || !ok {
		return err
	}
	if news.Status == scan.Finished {
		c := news.Config
		run := ticket.Run{TeamID: news.TeamID, ScanID: news.ID, Run: news.Run, ConfigIDs: c.ReportConfigIDs, NoGlobal: c.NoGlobalReports}
		if err := w.Tickets.AskForRun(ctx, run); err != nil {
			return err
		}
	}
	channels, err := w.channels(ctx, news.TeamID, news.Config.AlertConfigIDs, !news.Config.NoGlobalAlerts)
	if err != nil || len(channels) == 0 {
		return err
	}
	alerts, err := w.alerts(ctx, news)
	if err != nil {
		return err
	}
	return w.post(ctx, notification.Notice{TeamID: news.TeamID, Kind: notification.OfScan, Subject: news.ID, Run: news.Run}, channels, alerts)
}

// post makes a notice of each alert for each channel that wants it. about is what they
// have in common.
func (w worker) post(ctx context.Context, about notification.Notice, channels []channel, alerts []alert.Alert) error {
	var notices []notification.Notice
	for _, a := range alerts {
		body, err := json.Marshal(a)
		if err != nil {
			return err
		}
		for _, c := range channels {
			if c.Wants(a.Kind) {
				n := about
				n.Event, n.ConfigID, n.Channel, n.Provider, n.Body = string(a.Kind), c.config, c.at, c.Provider, body
				notices = append(notices, n)
			}
		}
	}
	return w.Notices.Add(ctx, notices)
}

// channel is a place to tell, and where it stands.
type channel struct {
	alert.Channel
	config string
	at     int
}

// channels are those of the configurations that are named and, where it is asked for, of
// the team's global ones. One that was deleted since is passed over.
func (w worker) channels(ctx context.Context, teamID string, named []string, global bool) (out []channel, err error) {
	applied, err := w.Settings.Apply(ctx, nil, teamID, setting.Alerting, named, global, "")
	for _, a := range applied {
		config, err := alert.Parse(a.Text)
		if err != nil {
			w.Logger.WarnContext(ctx, "an alerting configuration cannot be read", "config_id", a.ID, "error", err)
			continue
		}
		for i, c := range config.Channels {
			out = append(out, channel{c, a.ID, i})
		}
	}
	return out, err
}

// alerts are what is to be told of a run in its new state.
func (w worker) alerts(ctx context.Context, news scan.News) ([]alert.Alert, error) {
	a := alert.Alert{ScanID: news.ID, ScanName: news.Name}
	n := news.Numbers
	switch news.Status {
	case scan.Running:
		a.Kind, a.Message = alert.Running, fmt.Sprintf("Scan %q has started.", news.Name)
		a.Running = &alert.Start{StartedAt: n.StartedAt, TotalTargets: n.Targets, TotalTemplates: n.Templates, TotalRequests: n.Requests}
		return []alert.Alert{a}, nil
	case scan.Failed, scan.Stopped:
		reason := news.FailureReason
		a.Kind, a.Message = alert.Failed, fmt.Sprintf("Scan %q has failed.", news.Name)
		if news.Status == scan.Stopped {
			a.Message = fmt.Sprintf("Scan %q was stopped.", news.Name)
			reason = "It was stopped."
		}
		progress := 0
		if n.Cells > 0 {
			progress = n.DoneCells * 100 / n.Cells
		}
		a.Failed = &alert.Breakdown{Timestamp: n.EndedAt, Progress: progress, Reason: reason}
		return []alert.Alert{a}, nil
	}
	a.Kind = alert.Finished
	a.Finished = &alert.End{FinishedAt: n.EndedAt, ScanTime: fmt.Sprintf("%ds", int(n.EndedAt.Sub(n.StartedAt).Seconds())), Severities: news.Severities}
	for _, count := range news.Severities {
		a.Finished.TotalMatches += count
	}
	a.Message = fmt.Sprintf("Scan %q has finished with %d findings.", news.Name, a.Finished.TotalMatches)
	if news.Run < 2 {
		return []alert.Alert{a}, nil
	}
	fresh, err := w.fresh(ctx, news)
	for _, v := range fresh {
		a.Finished.NewVulns += v.Count
	}
	if err != nil || a.Finished.NewVulns == 0 {
		return []alert.Alert{a}, err
	}
	a.Finished.NewVulnsList = fresh[:min(len(fresh), maxFresh)]
	found := a
	found.Kind, found.Message = alert.NewVuln, fmt.Sprintf("A rescan of %q has found %d new vulnerabilities.", news.Name, a.Finished.NewVulns)
	return []alert.Alert{a, found}, nil
}

// maxFresh is how many kinds of new findings an alert lists.
const maxFresh = 15

// fresh are the findings that a rescan saw for the first time, counted, the worst first.
func (w worker) fresh(ctx context.Context, news scan.News) ([]alert.Vuln, error) {
	groups, err := w.Findings.GroupsSince(ctx, news.TeamID, finding.Filter{ScanIDs: []string{news.ID}, Since: news.Since})
	out := make([]alert.Vuln, len(groups))
	for i, g := range groups {
		out[i] = alert.Vuln{Name: g.Name, Severity: g.Severity, Count: g.Count}
	}
	return out, err
}

// send sends one notice. It goes on when the node stops: it takes seconds, and one that is
// broken off may have arrived and is sent again.
func (w worker) send(ctx context.Context, job queue.Job[notification.Args]) error {
	ctx = context.WithoutCancel(ctx)
	n, ok, err := w.Notices.Start(ctx, job.Args.ID)
	if err != nil || !ok {
		return err
	}
	end := func(state notification.State, note string) error { return w.Notices.End(ctx, nil, n.ID, state, note) }
	c, ok, err := w.channelOf(ctx, n)
	if err != nil {
		return errors.Join(err, end(notification.Waiting, ""))
	}
	if !ok {
		return end(notification.Dropped, "The configuration does not have this channel any more.")
	}
	var a alert.Alert
	if err := json.Unmarshal(n.Body, &a); err != nil {
		return errors.Join(queue.Abandon(err), end(notification.Failed, err.Error()))
	}
	a.ID = n.ID
	err = w.Alerts.Send(ctx, c, a)
	if err == nil {
		return end(notification.Sent, "")
	}
	wait, retry := apiclient.RetryAfter(err)
	if !retry {
		return end(notification.Failed, err.Error())
	}
	if failed := end(notification.Waiting, err.Error()); failed != nil {
		return failed
	}
	return queue.After(err, min(wait, time.Hour))
}

// channelOf is where a notice goes. ok is false when its configuration has changed so that
// there is no such channel.
func (w worker) channelOf(ctx context.Context, n notification.Notice) (c alert.Channel, ok bool, err error) {
	applied, err := w.Settings.Apply(ctx, nil, n.TeamID, setting.Alerting, []string{n.ConfigID}, false, "")
	if err != nil || len(applied) == 0 {
		return c, false, err
	}
	config, err := alert.Parse(applied[0].Text)
	if err != nil || n.Channel >= len(config.Channels) || config.Channels[n.Channel].Provider != n.Provider {
		return c, false, nil //nolint:nilerr // what cannot be read any more has no channel
	}
	return config.Channels[n.Channel], true, nil
}
