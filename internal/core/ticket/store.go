package ticket

import (
	"context"
	"errors"
	"time"

	"github.com/vedette-sec/vedette/internal/engine"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/ids"
	"github.com/vedette-sec/vedette/internal/notify/tracker"
)

// claimTime is how long one process may work on a ticket before another takes over; workTime is less, so that it never
// does while the first one works.
const (
	claimTime = 2 * time.Minute
	workTime  = 90 * time.Second
)

// errBusy is the error about a ticket that another process works on.
var errBusy = errors.New("another process works on the ticket")

// row is a ticket.
type row struct {
	key

	IssueID, URL string
	base         base
	seen         tracker.State // theirs, as read last
	native       string
	version      string
	hint         string
	isGone       bool
	conflictAt   db.Time
	fails        int
	notesUntil   db.Time
	claim        string
	createdAt    db.Time
}

func (r row) issue() tracker.Issue { return tracker.Issue{ID: r.IssueID, URL: r.URL} }

const (
	// keyed is the condition for one ticket.
	keyed = ` WHERE team_id = ? AND hash = ? AND config_id = ? AND provider = ?`
	// claimed is keyed, and the condition that this process still works on it.
	claimed = keyed + ` AND claim = ?`

	columns = `issue_id, issue_url, ours, theirs, intent, seen, native, version, hint, is_gone, conflict_at, fails, notes_until,
		claim, created_at`
)

func argsOf(k key) []any { return []any{k.TeamID, k.Hash, k.ConfigID, k.Provider} }

func scanRow(k key) func(db.Row) (row, error) {
	return func(r db.Row) (row, error) {
		t := row{key: k}
		err := r.Scan(&t.IssueID, &t.URL, &t.base.ours, &t.base.theirs, &t.base.intent, &t.seen, &t.native, &t.version,
			&t.hint, &t.isGone, &t.conflictAt, &t.fails, &t.notesUntil, &t.claim, &t.createdAt)
		return t, err
	}
}

// take reserves a ticket for this process. errBusy: another has it, and looks again when it has done its work. ok is
// false when there is no such ticket.
func (ts *Tickets) take(ctx context.Context, k key) (t row, ok bool, err error) {
	now := ts.now()
	until := db.At(now.Add(claimTime))
	busy := false
	err = ts.db.Tx(ctx, func(tx *db.Tx) error {
		busy = false
		// retry_at: if this process dies, another looks.
		t, err = scanRow(k)(tx.QueryRow(ctx, `UPDATE ticket SET claim = ?, claimed_until = ?, retry_at = ?, is_queued = ?, is_stale = ?`+
			keyed+` AND (claimed_until IS NULL OR claimed_until < ?) RETURNING `+columns,
			append(append([]any{ids.New(), until, until, false, false}, argsOf(k)...), db.At(now))...))
		if err == nil {
			ok = true
			return nil
		}
		if !db.IsNoRows(err) {
			return err
		}
		n, err := tx.Exec(ctx, `UPDATE ticket SET is_stale = ?, is_queued = ?`+keyed, append([]any{true, false}, argsOf(k)...)...)
		busy = n > 0
		return err
	})
	if err == nil && busy {
		err = errBusy
	}
	return t, ok, err
}

// release ends the work on a ticket. There is another job when something came meanwhile; after a failure, at retryAt.
func (ts *Tickets) release(ctx context.Context, t row, failure error, retryAt time.Time) error {
	ctx = context.WithoutCancel(ctx)
	message, fails := "", 0
	if failure != nil {
		message, fails = failure.Error(), t.fails+1
	}
	return ts.db.Tx(ctx, func(tx *db.Tx) error {
		var stale, queued bool
		var pending int
		err := tx.QueryRow(ctx, `UPDATE ticket SET claim = '', claimed_until = NULL, fails = ?, error = ?, retry_at = ?`+claimed+`
			RETURNING is_stale, is_queued, (SELECT COUNT(*) FROM ticket_outbox o WHERE o.team_id = ticket.team_id
			AND o.hash = ticket.hash AND o.config_id = ticket.config_id AND o.provider = ticket.provider)`,
			append(append([]any{fails, db.Clean(message), db.At(retryAt)}, argsOf(t.key)...), t.claim)...).
			Scan(&stale, &queued, &pending)
		if db.IsNoRows(err) { // another process has taken over, or the ticket was deleted
			return nil
		}
		if err == nil && queued { // the job that waits looks; and so does Sweep, should it be lost
			_, err = tx.Exec(ctx, `UPDATE ticket SET retry_at = ?`+keyed,
				append([]any{db.At(ts.now().Add(time.Minute))}, argsOf(t.key)...)...)
			return err
		}
		if err != nil || failure != nil || !stale && pending == 0 {
			return err
		}
		return ts.findings.QueueTicket(ctx, tx, t.key)
	})
}

// change updates columns of a ticket that this process works on, in tx or (nil) a transaction of its own. errBusy when
// another process has taken over.
func (ts *Tickets) change(ctx context.Context, tx *db.Tx, t row, set string, args ...any) error {
	if tx == nil {
		return ts.db.Tx(ctx, func(tx *db.Tx) error { return ts.change(ctx, tx, t, set, args...) })
	}
	n, err := tx.Exec(ctx, `UPDATE ticket SET `+set+claimed, append(append(args, argsOf(t.key)...), t.claim)...)
	if err == nil && n == 0 {
		err = errBusy
	}
	return err
}

// settle stores what both sides are, and forgets the news about statuses up to one.
func (ts *Tickets) settle(ctx context.Context, tx *db.Tx, t *row, ours tracker.State, remote tracker.Remote) error {
	t.base = base{ours: ours, theirs: remote.State}
	t.seen, t.native, t.version = remote.State, remote.Native, remote.Version
	return ts.change(ctx, tx, *t, `ours = ?, theirs = ?, seen = ?, intent = '', native = ?, version = ?, conflict_at = NULL`,
		ours, remote.State, remote.State, db.Clean(remote.Native), remote.Version)
}

// record stores the issue of a ticket.
func (ts *Tickets) record(ctx context.Context, t *row, issue tracker.Issue) error {
	t.IssueID, t.URL = db.Clean(issue.ID), db.Clean(issue.URL)
	t.base = base{}
	return ts.db.Tx(ctx, func(tx *db.Tx) error {
		found := &engine.IssueTracker{ID: t.IssueID, URL: t.URL}
		if t.IssueID == "" {
			found = nil
		}
		if err := ts.findings.SetTracker(ctx, tx, t.TeamID, t.Hash, t.Provider, found); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, `UPDATE ticket_tracker SET poll_at = coalesce(poll_at, ?)
			WHERE team_id = ? AND config_id = ? AND provider = ?`, db.At(ts.now().Add(time.Minute)), t.TeamID, t.ConfigID,
			t.Provider); err != nil {
			return err
		}
		return ts.change(ctx, tx, *t, `issue_id = ?, issue_url = ?, ours = '', theirs = '', seen = '', intent = '', native = '',
			version = '', hint = '', is_claimed = ?, conflict_at = NULL, notes_until = ?, updated_at = ?`,
			t.IssueID, t.URL, false, db.At(ts.now()), db.At(ts.now()))
	})
}

// news is a row of the outbox.
type news struct {
	no                 int64
	kind, text, author string
	tries              int
	createdAt          db.Time
}

// maxNews is how much is told in one go.
const maxNews = 20

// pending are the first news of a ticket.
func (ts *Tickets) pending(ctx context.Context, k key) ([]news, error) {
	return db.Select(ctx, ts.db, func(r db.Row) (n news, err error) {
		return n, r.Scan(&n.no, &n.kind, &n.text, &n.author, &n.tries, &n.createdAt)
	}, `SELECT no, kind, text, author, tries, created_at FROM ticket_outbox`+keyed+` ORDER BY no LIMIT ?`,
		append(argsOf(k), maxNews)...)
}

// told deletes news that were told.
func (ts *Tickets) told(ctx context.Context, k key, no int64) error {
	_, err := ts.db.Exec(ctx, `DELETE FROM ticket_outbox`+keyed+` AND no = ?`, append(argsOf(k), no)...)
	return err
}
