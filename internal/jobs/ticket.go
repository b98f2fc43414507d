package jobs

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/core/finding"
	"github.com/vedette-sec/vedette/internal/core/scan"
	"github.com/vedette-sec/vedette/internal/core/setting"
	"github.com/vedette-sec/vedette/internal/engine"
	"github.com/vedette-sec/vedette/internal/infra/apiclient"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/queue"
	"github.com/vedette-sec/vedette/internal/notify/tracker"
)

// Tickets files findings in the trackers of configurations.
type Tickets struct {
	Findings *finding.Findings
	Settings *setting.Settings
	Filer    *tracker.Filer
}

// File files a finding of the caller's team in the first tracker of a configuration, and
// gives the issue, new or known. An unknown configuration is Invalid; what the tracker
// refuses is FailedDependency.
func (ts Tickets) File(ctx context.Context, findingID, configID string) (finding.Ticket, error) {
	c, err := account.Writer(ctx)
	if err != nil {
		return finding.Ticket{}, err
	}
	if _, err := ts.Findings.Find(ctx, findingID); err != nil {
		return finding.Ticket{}, err
	}
	applied, err := ts.Settings.Apply(ctx, nil, c.TeamID, setting.Reporting, []string{configID}, false, "reporting_config_id")
	if err != nil {
		return finding.Ticket{}, err
	}
	config, err := tracker.Parse(applied[0].Text)
	if err != nil {
		return finding.Ticket{}, errs.Field("reporting_config_id", "reporting_config_id: the configuration cannot be applied: %v.", err)
	}
	t := config.Trackers[0]
	_, issue, err := ts.Findings.File(ctx, c.TeamID, findingID, finding.Desk{ConfigID: configID, Provider: t.Provider}, ts.with(t))
	if failed, ok := errors.AsType[*apiclient.Error](err); ok {
		err = errs.New(errs.FailedDependency, "tracker_failed", "%s.", failed.Error())
	}
	return finding.Ticket{ConfigID: configID, ConfigName: applied[0].Name, Provider: t.Provider, Issue: issue}, err
}

// with files in a tracker.
func (ts Tickets) with(t tracker.Tracker) func(context.Context, finding.Finding, *engine.IssueTracker) (engine.IssueTracker, error) {
	return func(ctx context.Context, f finding.Finding, known *engine.IssueTracker) (engine.IssueTracker, error) {
		var on *tracker.Issue
		if known != nil {
			on = &tracker.Issue{ID: known.ID, URL: known.URL}
		}
		e := f.Event
		issue, err := ts.Filer.File(ctx, t, tracker.Finding{
			Hash: f.Hash, Title: f.Name, Severity: f.Severity, Description: e.Info.Description, Remediation: e.Info.Remediation, MatchedAt: e.MatchedAt,
			TemplateID: f.TemplateID, Extracted: e.ExtractedResults, References: e.Info.Reference, Request: e.Request, Response: e.Response,
		}, on, known != nil)
		return engine.IssueTracker{ID: issue.ID, URL: issue.URL}, err
	}
}

// The attempts to file a finding of a run.
const fileAttempts = 10

// handleTickets tells the queue who files findings.
func (w worker) handleTickets(q *queue.Queue) {
	queue.Handle(q, queue.Handler[finding.FileArgs]{Quick: true, MaxAttempts: fileAttempts, Backoff: w.Backoff, Work: w.file})
}

// askFiling has the findings of a run that finished filed, as configurations say.
func (w worker) askFiling(ctx context.Context, news scan.News) error {
	if news.Status != scan.Finished {
		return nil
	}
	applied, err := w.Settings.Apply(ctx, nil, news.TeamID, setting.Reporting, news.Config.ReportConfigIDs, !news.Config.NoGlobalReports, "")
	if err != nil || len(applied) == 0 {
		return err
	}
	seenIn := news.ID + "/" + strconv.FormatInt(news.Run, 10)
	type desk struct {
		tracker.Tracker
		finding.Desk
	}
	var desks []desk
	for _, a := range applied {
		config, err := tracker.Parse(a.Text)
		if err != nil {
			w.Logger.WarnContext(ctx, "a reporting configuration cannot be read", "config_id", a.ID, "error", err)
			continue
		}
		for _, t := range config.Trackers {
			desks = append(desks, desk{t, finding.Desk{ConfigID: a.ID, Provider: t.Provider, SeenIn: seenIn}})
		}
	}
	return w.Findings.AskFiling(ctx, news.TeamID, news.ID, news.Run, func(severity string) (out []finding.Desk) {
		for _, d := range desks {
			if d.Wants(severity) {
				out = append(out, d.Desk)
			}
		}
		return out
	})
}

// file files a finding of a run in one tracker.
func (w worker) file(ctx context.Context, job queue.Job[finding.FileArgs]) error {
	a := job.Args
	applied, err := w.Settings.Apply(ctx, nil, a.TeamID, setting.Reporting, []string{a.ConfigID}, false, "")
	if err != nil || len(applied) == 0 { // it was deleted meanwhile
		return err
	}
	config, err := tracker.Parse(applied[0].Text)
	if err != nil {
		return queue.Abandon(err)
	}
	for _, t := range config.Trackers {
		if t.Provider != a.Provider {
			continue
		}
		_, _, err := w.Tickets.Findings.File(ctx, a.TeamID, a.FindingID, finding.Desk{ConfigID: a.ConfigID, Provider: a.Provider, SeenIn: a.SeenIn}, w.Tickets.with(t))
		return filingFailed(err)
	}
	return nil
}

// filingFailed says what is to be done after an error: try again when the tracker asks for
// it or somebody else is there, else give up.
func filingFailed(err error) error {
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
