package ticket

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/vedette-sec/vedette/internal/core/finding"
	"github.com/vedette-sec/vedette/internal/engine"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/notify/tracker"
)

func isStatus(n news) bool { return n.kind == finding.NewsStatus }

// tell tells an issue one piece of news.
func (ts *Tickets) tell(ctx context.Context, t tracker.Tracker, r *row, f finding.Finding, n news) error {
	text := ""
	if n.kind == finding.NewsSeen && f.Event.IssueTrackers[r.Provider].ID != r.IssueID { // another scan has seen it
		err := ts.db.Tx(ctx, func(tx *db.Tx) error {
			return ts.findings.SetTracker(ctx, tx, r.TeamID, r.Hash, r.Provider,
				&engine.IssueTracker{ID: r.IssueID, URL: r.URL})
		})
		if err != nil {
			return err
		}
	}
	switch {
	case n.kind == finding.NewsSeen:
		text = tracker.SeenAgain(f.Event.MatchedAt)
	case n.kind == finding.NewsRegrouped: // it is one of its own again
	case !t.Comments:
	case n.kind == finding.NewsComment:
		text = n.author + ":\n\n" + n.text
	case n.author != r.actor() && t.Syncs():
		text = "Status in Vedette: " + n.text
		if n.author != "" {
			text += " (" + n.author + ")"
		}
	}
	if text != "" {
		if err := ts.comment(ctx, t, r, n, text); err != nil {
			return err
		}
	}
	return ts.told(ctx, r.key, n.no)
}

// comment writes a comment, unless an earlier try has.
func (ts *Tickets) comment(ctx context.Context, t tracker.Tracker, r *row, n news, text string) error {
	mark := fmt.Sprintf("%.12s-%d", r.Hash, n.no)
	if n.tries > 0 {
		_, has, err := ts.filer.Notes(ctx, t, r.issue(), n.createdAt.Add(-time.Minute), []string{mark})
		if err != nil || has[mark] {
			return err
		}
	}
	if err := ts.spend(ctx, r.key, t.Limits()); err != nil {
		return err
	}
	if _, err := ts.db.Exec(ctx, `UPDATE ticket_outbox SET tries = tries + 1`+keyed+` AND no = ?`,
		append(argsOf(r.key), n.no)...); err != nil {
		return err
	}
	err := ts.filer.Comment(ctx, t, r.issue(), mark, text)
	if errors.Is(err, tracker.ErrGone) {
		return ts.gone(ctx, t, r)
	}
	return err
}

// takeNotes takes new comments of the issue into the timeline.
func (ts *Tickets) takeNotes(ctx context.Context, t tracker.Tracker, r *row) error {
	list, _, err := ts.filer.Notes(ctx, t, r.issue(), r.notesUntil.Add(-time.Second), nil)
	if err != nil || len(list) == 0 {
		return err
	}
	until := r.notesUntil
	for _, n := range list {
		if at := db.At(n.At); at.After(until.Time) {
			until = at
		}
		if n.Own {
			continue
		}
		err := ts.db.Tx(ctx, func(tx *db.Tx) error {
			added, err := tx.Exec(ctx, `INSERT INTO ticket_note (team_id, hash, config_id, provider, note_id) VALUES (?, ?, ?, ?, ?)
				ON CONFLICT DO NOTHING`, append(argsOf(r.key), db.Clean(n.ID))...)
			if err != nil || added == 0 {
				return err
			}
			return ts.comments.Take(ctx, tx, r.TeamID, r.Hash, fmt.Sprintf("%s (%s)", n.Author, r.Provider), n.Text)
		})
		if err != nil {
			return err
		}
	}
	return ts.change(ctx, nil, *r, `notes_until = ?`, until)
}
