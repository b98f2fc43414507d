package ticket

import (
	"context"
	"slices"
	"time"

	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/core/finding"
	"github.com/vedette-sec/vedette/internal/core/finding/timeline"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/page"
	"github.com/vedette-sec/vedette/internal/notify/tracker"
)

// Ticket is a ticket as people see it.
type Ticket struct {
	Hash       string
	FindingID  string // of the finding that was seen last; empty: it was deleted
	ConfigID   string
	Provider   string
	IssueID    string // empty: it has no issue yet, or none any more
	URL        string
	Status     finding.Status // of the finding
	Ours       tracker.State  // both states, as they were when they were compared last
	Theirs     tracker.State
	Native     string // the tracker's own word for Theirs
	Pending    int    // news that wait
	Error      string // of the last failure
	RetryAt    time.Time
	ConflictAt time.Time // zero: none
	IsClaimed  bool      // the tracker says done, and no retest has yet
	IsGone     bool      // the issue was deleted
	UpdatedAt  time.Time
}

// Which picks tickets.
type Which string

// The choices.
const (
	All      Which = ""
	Conflict Which = "conflict" // a person has to say which side counts
	Failing  Which = "failing"  // the tracker refuses, or does not answer
	Claimed  Which = "claimed"  // the tracker says done, and no retest has yet
	Gone     Which = "gone"     // the issue was deleted
)

// Whiches are all choices but All.
var Whiches = []Which{Conflict, Failing, Claimed, Gone}

// Find lists tickets of the caller's team, those that were changed last first, and how many there are. An empty hash
// means those of all findings.
func (ts *Tickets) Find(
	ctx context.Context, hash string, which Which, w page.Window,
) (list []Ticket, total int, err error) {
	c, err := account.From(ctx)
	if err != nil {
		return nil, 0, err
	}
	var where db.Where
	where.And("team_id = ?", c.TeamID)
	db.Equal(&where, "hash", hash)
	switch which {
	case Conflict:
		where.And("conflict_at IS NOT NULL")
	case Failing:
		where.And("error <> ''")
	case Claimed:
		where.And("is_claimed")
	case Gone:
		where.And("is_gone")
	case All:
	}
	list, total, err = db.Page(ctx, ts.db, func(r db.Row) (t Ticket, err error) {
		return t, r.Scan(&t.Hash, &t.ConfigID, &t.Provider, &t.IssueID, &t.URL, &t.Ours, &t.Theirs, &t.Native, &t.Error,
			db.Into(&t.RetryAt), db.Into(&t.ConflictAt), &t.IsClaimed, &t.IsGone, db.Into(&t.UpdatedAt), &t.Pending)
	}, `SELECT hash, config_id, provider, issue_id, issue_url, ours, seen, native, error, retry_at, conflict_at, is_claimed,
		is_gone, updated_at, (SELECT COUNT(*) FROM ticket_outbox o WHERE o.team_id = ticket.team_id AND o.hash = ticket.hash
		AND o.config_id = ticket.config_id AND o.provider = ticket.provider) FROM ticket`, `ticket`, where,
		` ORDER BY updated_at DESC, hash, config_id, provider`, w)
	for i, t := range list {
		if err != nil {
			return nil, 0, err
		}
		f, failed := ts.findings.OfWeakness(ctx, nil, c.TeamID, t.Hash)
		if failed != nil && !errs.Is(failed, errs.NotFound) {
			err = failed
		}
		list[i].FindingID, list[i].Status = f.ID, f.Status
		if t.Error == "" { // a time that is only there in case that a job is lost
			list[i].RetryAt = time.Time{}
		}
	}
	return list, total, err
}

// Resolution says which side of a conflict counts.
type Resolution struct {
	ConfigID string
	Provider string
	Ours     bool           // the finding; else the issue
	Status   finding.Status // that the finding gets, where the issue was declined
}

// Resolve resolves the conflict of a ticket of a finding of the caller's team: with ours, the issue gets the finding's
// state; with theirs, what the issue says is taken in as if the finding had not changed. NotFound when there is no
// conflict; Conflict while a job works on the ticket; Invalid names the field vuln_status.
func (ts *Tickets) Resolve(ctx context.Context, findingID string, by Resolution) error {
	c, err := account.Writer(ctx)
	if err != nil {
		return err
	}
	f, err := ts.findings.Find(ctx, findingID)
	if err != nil {
		return err
	}
	weakness, err := ts.findings.WeaknessOf(ctx, ts.db, c.TeamID, f.ID)
	if err != nil {
		return err
	}
	k := key{TeamID: c.TeamID, Hash: weakness, ConfigID: db.Clean(by.ConfigID), Provider: by.Provider}
	return ts.db.Tx(ctx, func(tx *db.Tx) error {
		r, err := scanRow(k)(tx.QueryRow(ctx, `SELECT `+columns+` FROM ticket`+keyed+` AND conflict_at IS NOT NULL`,
			argsOf(k)...))
		if db.IsNoRows(err) {
			return errs.New(errs.NotFound, "conflict_not_found", "The finding has no conflict there.")
		}
		if err != nil {
			return err
		}
		if err := by.check(r.seen); err != nil {
			return err
		}
		side := "theirs"
		if by.Ours {
			side = "ours"
		}
		if err := ts.findings.MoveTicket(ctx, tx, c.TeamID, finding.TicketMove{
			Weakness: weakness, Change: timeline.TicketResolved, From: r.native, To: side, Actor: c.Email, Status: by.Status,
		}); err != nil {
			return err
		}
		now, err := ts.findings.OfWeakness(ctx, tx, c.TeamID, weakness)
		if err != nil {
			return err
		}
		// As if both had been what the side is that does not count: then the other has changed, also where it is again what
		// it was when both were in step.
		b := base{ours: stateOf(now.Status), theirs: stateOf(now.Status)}
		if by.Ours {
			b = base{ours: r.seen, theirs: r.seen}
		}
		n, err := tx.Exec(ctx, `UPDATE ticket SET ours = ?, theirs = ?, conflict_at = NULL`+keyed+`
			AND (claimed_until IS NULL OR claimed_until < ?)`,
			append(append([]any{b.ours, b.theirs}, argsOf(k)...), db.At(ts.now()))...)
		if err == nil && n == 0 {
			err = errs.New(errs.Conflict, "ticket_busy", "The ticket is being compared with its issue. Try again in a moment.")
		}
		if err != nil {
			return err
		}
		return ts.findings.QueueTicket(ctx, tx, k)
	})
}

// declinedStatuses are the statuses that say that a finding will not be fixed.
var declinedStatuses = []finding.Status{finding.AcceptedRisk, finding.FalsePositive, finding.Duplicate}

func (by Resolution) check(theirs tracker.State) error {
	isDeclined := !by.Ours && theirs == tracker.Declined
	switch {
	case isDeclined && !slices.Contains(declinedStatuses, by.Status):
		return errs.Field("vuln_status",
			"vuln_status must be accepted_risk, false_positive or duplicate: the issue was declined, and only you know why.")
	case !isDeclined && by.Status != "":
		return errs.Field("vuln_status", "vuln_status is only for an issue that was declined and counts.")
	}
	return nil
}
