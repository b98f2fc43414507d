package ticket

import (
	"context"
	"errors"
	"slices"

	"github.com/vedette-sec/vedette/internal/core/finding"
	"github.com/vedette-sec/vedette/internal/core/finding/identity"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/notify/tracker"
)

// retire closes the issue of a finding that became part of another, which has an issue of its own in the same tracker,
// with a comment that names that one. What is split again is found open by the next look, and its issue with it.
func (ts *Tickets) retire(ctx context.Context, t tracker.Tracker, r *row, list []news) error {
	i := slices.IndexFunc(list, func(n news) bool { return n.kind == finding.NewsRegrouped })
	if i < 0 || r.IssueID == "" || r.isGone {
		return nil
	}
	first, err := ts.inPlaceOf(ctx, r.key)
	if err != nil || first.ID == "" || first.ID == r.IssueID { // it was deleted
		return err
	}
	if err := ts.close(ctx, t, r); err != nil || r.isGone {
		return err
	}
	text := "The finding of this issue became part of another one in Vedette, which has the issue " + first.ID
	if first.URL != "" {
		text += " (" + first.URL + ")"
	}
	if text += ". That one is kept in step from now on."; list[i].author != "" {
		text += "\n\n" + list[i].author
	}
	return ts.comment(ctx, t, r, list[i], text)
}

// inPlaceOf is the issue, in the same tracker, of the finding that the one of a ticket is part of now.
func (ts *Tickets) inPlaceOf(ctx context.Context, k key) (issue tracker.Issue, err error) {
	of, err := identity.Weaknesses(ctx, ts.db, k.TeamID, []string{k.Hash})
	if err != nil {
		return issue, err
	}
	k.Hash = of[k.Hash]
	err = ts.db.QueryRow(ctx, `SELECT issue_id, issue_url FROM ticket`+keyed, argsOf(k)...).Scan(&issue.ID, &issue.URL)
	if db.IsNoRows(err) {
		return issue, nil
	}
	return issue, err
}

// close closes the issue of a ticket as one that is not to be solved, unless it is closed.
func (ts *Tickets) close(ctx context.Context, t tracker.Tracker, r *row) error {
	if !t.Syncs() {
		return nil
	}
	remote, err := ts.filer.Get(ctx, t, r.issue())
	if err == nil && !remote.State.Closed() && !remote.Final {
		if err = ts.spend(ctx, r.key, t.Limits()); err == nil {
			remote, err = ts.filer.Set(ctx, t, remote, tracker.Declined)
		}
	}
	if errors.Is(err, tracker.ErrGone) {
		return ts.gone(ctx, t, r)
	}
	if err != nil {
		return err
	}
	return ts.settle(ctx, nil, r, tracker.Declined, remote)
}
