package ticket

import (
	"context"
	"errors"

	"github.com/vedette-sec/vedette/internal/core/finding"
	"github.com/vedette-sec/vedette/internal/core/finding/timeline"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/notify/tracker"
)

// moveOf is what a state of the issue does to a finding with a status, when only the issue has changed:
//
//	done      a claim, which a retest is to show: what is open gets into work; a decision stays
//	open      the finding is open again
//	progress  somebody works on it
//	declined  a suggestion: people decide what is accepted
func moveOf(status finding.Status, to tracker.State) finding.TicketMove {
	switch to {
	case tracker.Done:
		m := finding.TicketMove{Change: timeline.TicketClosed, Retest: true}
		if stateOf(status) == tracker.Open {
			m.Status = finding.FixInProgress
		}
		return m
	case tracker.Open:
		return finding.TicketMove{Change: timeline.TicketReopened, Status: finding.Open}
	case tracker.Progress:
		return finding.TicketMove{Change: timeline.TicketReopened, Status: finding.FixInProgress}
	case tracker.Declined:
	}
	return finding.TicketMove{Change: timeline.TicketSuggested}
}

// takeIn takes the state of the issue in.
func (ts *Tickets) takeIn(ctx context.Context, r *row, status finding.Status, remote tracker.Remote) error {
	m := moveOf(status, remote.State)
	m.Weakness, m.From, m.To, m.Actor, m.Had = r.Hash, string(r.base.theirs), remote.Native, r.actor(), status
	err := ts.db.Tx(ctx, func(tx *db.Tx) error {
		if err := ts.findings.MoveTicket(ctx, tx, r.TeamID, m); err != nil {
			return err
		}
		becomes := status
		if m.Status != "" {
			becomes = m.Status
		}
		isClaimed := remote.State == tracker.Done && becomes == finding.FixInProgress
		if err := ts.change(ctx, tx, *r, `is_claimed = ?`, isClaimed); err != nil {
			return err
		}
		return ts.settle(ctx, tx, r, stateOf(becomes), remote)
	})
	if errors.Is(err, finding.ErrOtherStatus) { // it was changed just now, and its news make another job
		return nil
	}
	return err
}

// suggest notes a label of an open issue that says it will not be solved, once.
func (ts *Tickets) suggest(ctx context.Context, r *row, remote tracker.Remote) error {
	if remote.Hint == r.hint {
		return nil
	}
	return ts.db.Tx(ctx, func(tx *db.Tx) error {
		if remote.Hint != "" {
			if err := ts.findings.MoveTicket(ctx, tx, r.TeamID, finding.TicketMove{
				Weakness: r.Hash, Change: timeline.TicketSuggested, From: string(remote.State), To: remote.Hint, Actor: r.actor(),
			}); err != nil {
				return err
			}
		}
		r.hint = remote.Hint
		return ts.change(ctx, tx, *r, `hint = ?`, db.Clean(remote.Hint))
	})
}

// noteConflict notes that both sides have changed; nothing is changed on either.
func (ts *Tickets) noteConflict(ctx context.Context, r *row, status finding.Status, remote tracker.Remote) error {
	return ts.db.Tx(ctx, func(tx *db.Tx) error {
		if r.conflictAt.IsZero() {
			if err := ts.findings.MoveTicket(ctx, tx, r.TeamID, finding.TicketMove{
				Weakness: r.Hash, Change: timeline.TicketConflict, From: string(status), To: remote.Native, Actor: r.actor(),
			}); err != nil {
				return err
			}
			r.conflictAt = db.At(ts.now())
		}
		r.seen, r.native, r.version = remote.State, remote.Native, remote.Version
		return ts.change(ctx, tx, *r, `ours = ?, theirs = ?, intent = '', conflict_at = ?, seen = ?, native = ?, version = ?`,
			r.base.ours, r.base.theirs, r.conflictAt, remote.State, db.Clean(remote.Native), remote.Version)
	})
}
