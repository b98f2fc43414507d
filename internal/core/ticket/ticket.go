// Package ticket files findings as issues in the trackers of a team's reporting configurations: one finding when a
// person requests it, or those of a finished run, with a job for each finding and tracker. core/finding stores the
// issues and lets one process at a time file a finding; notify/tracker talks to trackers.
package ticket

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/core/finding"
	"github.com/vedette-sec/vedette/internal/core/setting"
	"github.com/vedette-sec/vedette/internal/engine"
	"github.com/vedette-sec/vedette/internal/infra/apiclient"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/netguard"
	"github.com/vedette-sec/vedette/internal/infra/queue"
	"github.com/vedette-sec/vedette/internal/notify/tracker"
)

// Tickets is the service of tickets.
type Tickets struct {
	findings *finding.Findings
	settings *setting.Settings
	filer    *tracker.Filer
	logger   *slog.Logger
}

// New makes the service. Every dial goes through the guard.
func New(findings *finding.Findings, settings *setting.Settings, guard *netguard.Guard, logger *slog.Logger) *Tickets {
	return &Tickets{findings, settings, tracker.New(guard), logger}
}

// File files a finding of the caller's team in the first tracker of a configuration and returns the issue, new or
// known. An unknown configuration is Invalid; a refusal of the tracker is FailedDependency.
func (ts *Tickets) File(ctx context.Context, findingID, configID string) (finding.Ticket, error) {
	c, err := account.Writer(ctx)
	if err != nil {
		return finding.Ticket{}, err
	}
	if _, err := ts.findings.Find(ctx, findingID); err != nil {
		return finding.Ticket{}, err
	}
	applied, err := ts.settings.Apply(ctx, nil, c.TeamID, setting.Reporting, []string{configID}, false,
		"reporting_config_id")
	if err != nil {
		return finding.Ticket{}, err
	}
	config, err := tracker.Parse(applied[0].Text)
	if err != nil {
		return finding.Ticket{}, errs.Field("reporting_config_id",
			"reporting_config_id: the configuration cannot be applied: %v.", err)
	}
	t := config.Trackers[0]
	issue, err := ts.file(ctx, c.TeamID, findingID, finding.Tracker{ConfigID: configID, Provider: t.Provider}, t)
	if failed, ok := errors.AsType[*apiclient.Error](err); ok {
		err = errs.New(errs.FailedDependency, "tracker_failed", "%s.", failed.Error())
	}
	return finding.Ticket{ConfigID: configID, ConfigName: applied[0].Name, Provider: t.Provider, Issue: issue}, err
}

func (ts *Tickets) file(
	ctx context.Context, teamID, findingID string, to finding.Tracker, t tracker.Tracker,
) (engine.IssueTracker, error) {
	return ts.findings.File(ctx, teamID, findingID, to,
		func(ctx context.Context, f finding.Finding, known *engine.IssueTracker) (engine.IssueTracker, error) {
			var on *tracker.Issue
			if known != nil {
				on = &tracker.Issue{ID: known.ID, URL: known.URL}
			}
			e := f.Event
			issue, err := ts.filer.File(ctx, t, tracker.Finding{
				Hash: f.Hash, Title: f.Name, Severity: f.Severity, Description: e.Info.Description, Remediation: e.Info.Remediation,
				MatchedAt: e.MatchedAt, TemplateID: f.TemplateID, Extracted: e.ExtractedResults, References: e.Info.Reference,
				Request: e.Request, Response: e.Response,
			}, on, known != nil)
			return engine.IssueTracker{ID: issue.ID, URL: issue.URL}, err
		})
}

// Run is a run of a scan whose findings are filed.
type Run struct {
	TeamID, ScanID string
	Run            int64
	ConfigIDs      []string // reporting configurations, besides the global ones
	NoGlobal       bool
}

// QueueRun inserts a job for each finding of a run and each tracker that wants its severity.
func (ts *Tickets) QueueRun(ctx context.Context, r Run) error {
	applied, err := ts.settings.Apply(ctx, nil, r.TeamID, setting.Reporting, r.ConfigIDs, !r.NoGlobal, "")
	if err != nil || len(applied) == 0 {
		return err
	}
	var trackers []tracker.Tracker
	var targets []finding.Tracker // of the same indices
	for _, a := range applied {
		config, err := tracker.Parse(a.Text)
		if err != nil {
			ts.logger.WarnContext(ctx, "a reporting configuration cannot be read", "config_id", a.ID, "error", err)
			continue
		}
		for _, t := range config.Trackers {
			trackers = append(trackers, t)
			targets = append(targets, finding.Tracker{ConfigID: a.ID, Provider: t.Provider,
				SeenIn: fmt.Sprintf("%s/%d", r.ScanID, r.Run)})
		}
	}
	return ts.findings.QueueFiling(ctx, r.TeamID, r.ScanID, r.Run, func(severity string) (out []finding.Tracker) {
		for i, t := range trackers {
			if t.Wants(severity) {
				out = append(out, targets[i])
			}
		}
		return out
	})
}

// FileOne does one job of QueueRun. The error says when to try again.
func (ts *Tickets) FileOne(ctx context.Context, a finding.FileArgs) error {
	applied, err := ts.settings.Apply(ctx, nil, a.TeamID, setting.Reporting, []string{a.ConfigID}, false, "")
	if err != nil || len(applied) == 0 { // the configuration was deleted meanwhile
		return err
	}
	config, err := tracker.Parse(applied[0].Text)
	if err != nil {
		return queue.Abandon(err)
	}
	for _, t := range config.Trackers {
		if t.Provider == a.Provider {
			to := finding.Tracker{ConfigID: a.ConfigID, Provider: a.Provider, SeenIn: a.SeenIn}
			_, err := ts.file(ctx, a.TeamID, a.FindingID, to, t)
			return retryLater(err)
		}
	}
	return nil
}

// retryLater tries again when the tracker asks for it or another process is filing the finding, and else gives up.
func retryLater(err error) error {
	_, refused := errors.AsType[*apiclient.Error](err)
	wait, retry := apiclient.RetryAfter(err)
	switch {
	case err == nil, errs.Is(err, errs.NotFound): // the finding was deleted meanwhile
		return nil
	case refused && !retry:
		return queue.Abandon(fmt.Errorf("filing a finding: %w", err))
	case errs.Is(err, errs.Conflict):
		return queue.After(err, time.Second)
	}
	return queue.After(err, wait)
}
