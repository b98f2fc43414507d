// Package ticket files findings as issues in the trackers of a team's reporting configurations, and keeps both in step.
//
// A ticket belongs to a hash, a configuration and one of its trackers. It knows the state of each side when they were
// in step last (ours, theirs). A job for each ticket (Sync) reads the issue, compares both sides with that, and then
// (see merge) writes our state, takes theirs in, or notes a conflict, which a person resolves. Nothing is written that
// is there already, and what is about to be written is noted before (intent), so that a write whose answer was lost, or
// the process with it, is not taken for somebody else's. One process at a time works on a ticket (claim).
//
// The job is queued by what happens here, with a row in the outbox in the same transaction (finding.TellTickets), by a
// webhook of the tracker (Receive), and by asking the tracker what has changed (Poll). None of these is believed about
// states: the issue is read. So webhooks may come twice, late, in any order, or never.
package ticket

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/core/finding"
	"github.com/vedette-sec/vedette/internal/core/finding/comment"
	"github.com/vedette-sec/vedette/internal/core/setting"
	"github.com/vedette-sec/vedette/internal/engine"
	"github.com/vedette-sec/vedette/internal/infra/apiclient"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/netguard"
	"github.com/vedette-sec/vedette/internal/infra/queue"
	"github.com/vedette-sec/vedette/internal/notify/tracker"
)

// Tickets is the service of tickets.
type Tickets struct {
	db       *db.DB
	queue    *queue.Queue
	findings *finding.Findings
	comments *comment.Comments
	settings *setting.Settings
	filer    *tracker.Filer
	logger   *slog.Logger
	now      func() time.Time
}

// New makes the service. Every dial goes through the guard.
func New(
	d *db.DB, q *queue.Queue, findings *finding.Findings, comments *comment.Comments, settings *setting.Settings,
	guard *netguard.Guard, logger *slog.Logger,
) *Tickets {
	return &Tickets{d, q, findings, comments, settings, tracker.New(guard), logger, time.Now}
}

// key names a ticket.
type key = finding.TicketArgs

// File files a finding of the caller's team in the first tracker of a configuration and returns the issue, new or
// known; in a known one it comments. An unknown configuration is Invalid; a refusal of the tracker is FailedDependency,
// and then nothing is tried later; Conflict while another process works on the ticket.
func (ts *Tickets) File(ctx context.Context, findingID, configID string) (finding.Ticket, error) {
	c, err := account.Writer(ctx)
	if err != nil {
		return finding.Ticket{}, err
	}
	f, err := ts.findings.Find(ctx, findingID)
	if err != nil {
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
	out := finding.Ticket{ConfigID: configID, ConfigName: applied[0].Name, Provider: t.Provider}
	weakness, err := ts.findings.WeaknessOf(ctx, ts.db, c.TeamID, f.ID)
	if err != nil {
		return finding.Ticket{}, err
	}
	k := key{TeamID: c.TeamID, Hash: weakness, ConfigID: configID, Provider: t.Provider}
	no, err := ts.want(ctx, k, "", c.Email, false)
	if err != nil {
		return out, err
	}
	row, err := ts.work(ctx, k, t, true)
	out.Issue = engine.IssueTracker{ID: row.IssueID, URL: row.URL}
	switch failed, ok := errors.AsType[*apiclient.Error](err); {
	case err == nil && row.IssueID == "":
		err = errs.New(errs.Conflict, "ticket_busy", "The finding is set aside: open it before it is filed.")
	case err == nil:
		return out, nil
	case ok:
		err = errs.New(errs.FailedDependency, "tracker_failed", "%s.", failed.Error())
	case errors.Is(err, errBusy):
		err = errs.New(errs.Conflict, "ticket_busy", "The finding is being filed. Try again in a moment.")
	}
	return out, errors.Join(err, ts.forget(context.WithoutCancel(ctx), k, no))
}

// want notes that a ticket is to have an issue, which mentions seenIn (once, unless it is empty), and gives the number
// of that in the outbox; 0: there is nothing to say. With queue set, a job does it.
func (ts *Tickets) want(ctx context.Context, k key, seenIn, author string, queue bool) (no int64, err error) {
	now := db.At(ts.now())
	return no, ts.db.Tx(ctx, func(tx *db.Tx) error {
		if _, err := tx.Exec(ctx, `INSERT INTO ticket (team_id, hash, config_id, provider, created_at, updated_at) VALUES (?, ?, ?, ?, ?, ?)
			ON CONFLICT DO NOTHING`, k.TeamID, k.Hash, k.ConfigID, k.Provider, now, now); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, `INSERT INTO ticket_tracker (team_id, config_id, provider, since) VALUES (?, ?, ?, ?)
			ON CONFLICT DO NOTHING`, k.TeamID, k.ConfigID, k.Provider, now); err != nil {
			return err
		}
		// By hand, an issue that was deleted is opened once more; by a scan it is not.
		err := tx.QueryRow(ctx, `UPDATE ticket SET last_no = last_no + 1, seen_in = ?, is_gone = ?`+keyed+`
			AND (seen_in <> ? OR ? = '') AND (NOT is_gone OR ? = '') RETURNING last_no`,
			append(append([]any{seenIn, false}, argsOf(k)...), seenIn, seenIn, seenIn)...).Scan(&no)
		if db.IsNoRows(err) {
			return nil
		}
		if err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, `INSERT INTO ticket_outbox (team_id, hash, config_id, provider, no, kind, text, author, created_at)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`, k.TeamID, k.Hash, k.ConfigID, k.Provider, no, finding.NewsSeen, seenIn, author,
			now); err != nil || !queue {
			return err
		}
		return ts.findings.QueueTicket(ctx, tx, k)
	})
}

// forget takes back what File wanted and the tracker refused.
func (ts *Tickets) forget(ctx context.Context, k key, no int64) error {
	return ts.db.Tx(ctx, func(tx *db.Tx) error {
		if _, err := tx.Exec(ctx, `DELETE FROM ticket_outbox`+keyed+` AND no = ?`, append(argsOf(k), no)...); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, `UPDATE ticket SET retry_at = NULL`+keyed+` AND issue_id = '' AND claim = '' AND NOT is_queued
			AND NOT EXISTS (SELECT 1 FROM ticket_outbox o WHERE o.team_id = ticket.team_id AND o.hash = ticket.hash
			AND o.config_id = ticket.config_id AND o.provider = ticket.provider)`, argsOf(k)...)
		return err
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

// FileOne does one job of QueueRun: it notes what is wanted, and the ticket's own job does it.
func (ts *Tickets) FileOne(ctx context.Context, a finding.FileArgs) error {
	weakness, err := ts.findings.WeaknessOf(ctx, ts.db, a.TeamID, a.FindingID)
	if errs.Is(err, errs.NotFound) { // it was deleted meanwhile
		return nil
	}
	if err != nil {
		return err
	}
	k := key{TeamID: a.TeamID, Hash: weakness, ConfigID: a.ConfigID, Provider: a.Provider}
	_, err = ts.want(ctx, k, a.SeenIn, "", true)
	return err
}

// trackerOf is the tracker of a ticket's configuration; ok is false when the configuration does not have it any more.
func (ts *Tickets) trackerOf(
	ctx context.Context, teamID, configID, provider string,
) (t tracker.Tracker, ok bool, err error) {
	applied, err := ts.settings.Apply(ctx, nil, teamID, setting.Reporting, []string{configID}, false, "")
	if err != nil || len(applied) == 0 {
		return t, false, err
	}
	config, err := tracker.Parse(applied[0].Text)
	if err != nil {
		return t, false, nil //nolint:nilerr // a configuration that cannot be read any more has no tracker
	}
	for _, t := range config.Trackers {
		if t.Provider == provider {
			return t, true, nil
		}
	}
	return t, false, nil
}

// stateOf is what a status is for trackers.
func stateOf(s finding.Status) tracker.State {
	switch s {
	case finding.FixInProgress:
		return tracker.Progress
	case finding.Fixed:
		return tracker.Done
	case finding.AcceptedRisk, finding.FalsePositive, finding.Duplicate:
		return tracker.Declined
	case finding.Open, finding.Triaged:
	}
	return tracker.Open
}
