// Package news opens findings whose accepted risk has ended, and tells people that findings are open again: who works
// on them, who had decided, and the channels of the team.
package news

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/vedette-sec/vedette/internal/core/account/roster"
	"github.com/vedette-sec/vedette/internal/core/finding"
	"github.com/vedette-sec/vedette/internal/core/finding/decision"
	"github.com/vedette-sec/vedette/internal/core/finding/job"
	"github.com/vedette-sec/vedette/internal/core/finding/move"
	"github.com/vedette-sec/vedette/internal/core/inbox"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/queue"
	"github.com/vedette-sec/vedette/internal/notify/alert"
)

const (
	lookEvery = 5 * time.Second
	atOnce    = 500 // risks that one transaction ends
	maxListed = 15  // findings that a message names
)

// News is the service.
type News struct {
	db       *db.DB
	findings *finding.Findings
	inbox    *inbox.Inbox
	logger   *slog.Logger
	now      func() time.Time
}

// New makes the service.
func New(d *db.DB, findings *finding.Findings, in *inbox.Inbox, logger *slog.Logger) *News {
	return &News{d, findings, in, logger, time.Now}
}

// Keep ends accepted risks when their time is over, until ctx ends. Several nodes may do it at once.
func (n *News) Keep(ctx context.Context) {
	queue.Every(ctx, lookEvery, n.logger, "ending accepted risks", n.EndRisks)
}

// EndRisks opens the findings whose accepted risk has ended.
func (n *News) EndRisks(ctx context.Context) error {
	for {
		ended, err := n.endSome(ctx)
		if err != nil || ended == 0 {
			return err
		}
	}
}

// endSome ends risks of one team, and returns how many there were.
func (n *News) endSome(ctx context.Context) (ended int, err error) {
	now := db.At(n.now())
	teamID, err := db.Value[string](ctx, n.db, `SELECT team_id FROM finding_decision
		WHERE until IS NOT NULL AND until <= ? ORDER BY until LIMIT 1`, now)
	if db.IsNoRows(err) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	return ended, n.db.Tx(ctx, func(tx *db.Tx) error {
		if err := n.findings.Lock(ctx, tx, teamID); err != nil { // then no person decides meanwhile
			return err
		}
		weaknesses, err := db.Values[string](ctx, tx, `SELECT hash FROM finding_decision
			WHERE until IS NOT NULL AND until <= ? AND team_id = ? ORDER BY until, hash LIMIT ?`, now, teamID, atOnce)
		if ended = len(weaknesses); err != nil || ended == 0 {
			return err
		}
		if _, err = n.findings.DecideAll(ctx, tx, teamID, weaknesses, decision.Decision{
			Status: move.Open, By: move.RiskEnd, Reason: "The time is over for which the risk was accepted.",
		}); err != nil {
			return err
		}
		// What is left has another status, or findings of an earlier release that differ: it does not end again.
		w := db.InTeam(teamID, "hash", weaknesses)
		_, err = tx.Exec(ctx, `UPDATE finding_decision SET until = NULL`+w.String(), w.Args...)
		return err
	})
}

// Told is what there is to tell the channels of a team.
type Told struct {
	FindingID string // the first one's
	Alert     alert.Alert
}

// Tell tells the people whom a job is about, and returns what the channels of the team are to be told; ok is false when
// the findings were deleted meanwhile. Done again, it tells nobody twice.
func (n *News) Tell(ctx context.Context, a finding.NewsArgs) (told Told, ok bool, err error) {
	kind, event, what := inbox.Regression, alert.Regression, "was fixed and is there again"
	switch a.About {
	case job.DueSoon:
		kind, event, what = inbox.DueSoon, alert.DueSoon, "is to be fixed soon"
	case job.Overdue:
		kind, event, what = inbox.Overdue, alert.Overdue, "is overdue: it was to be fixed by now"
	}
	if a.RiskEnded {
		kind, event, what = inbox.RiskEnded, alert.RiskEnded, "is open again: the time is over for which its risk was accepted"
	}
	var lines []string
	for _, weakness := range a.Weaknesses {
		f, err := n.findings.OfWeakness(ctx, nil, a.TeamID, weakness)
		if errs.Is(err, errs.NotFound) {
			continue
		}
		if err != nil {
			return told, false, err
		}
		if told.FindingID == "" {
			told.FindingID = f.ID
		}
		line := fmt.Sprintf("%s (%s) at %s", f.Name, f.Severity, f.Target)
		if lines = append(lines, line); f.Assignee == "" {
			continue
		}
		err = n.db.Tx(ctx, func(tx *db.Tx) error {
			to, err := roster.Find(ctx, tx, a.TeamID, []string{f.Assignee})
			if err != nil {
				return err
			}
			for _, m := range to {
				if err := n.inbox.Post(ctx, tx, a.TeamID, []roster.Member{m}, inbox.Message{
					ID: a.Operation + "-" + weakness[:min(len(weakness), 16)], Kind: kind, FindingID: f.ID,
					Text: fmt.Sprintf("What is assigned to you %s: %s.", what, line),
				}); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return told, false, err
		}
	}
	if len(lines) == 0 {
		return told, false, nil
	}
	words := "A finding " + what
	if len(lines) > 1 {
		words = fmt.Sprintf("Of %d findings, each %s", len(lines), what)
	}
	told.Alert = alert.Alert{Kind: event, Message: words + ": " + strings.Join(lines[:min(len(lines), maxListed)], "; ") + "."}
	return told, true, nil
}
