package finding

import (
	"context"
	"time"

	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/core/finding/chain"
	"github.com/vedette-sec/vedette/internal/core/finding/move"
	"github.com/vedette-sec/vedette/internal/core/setting"
	"github.com/vedette-sec/vedette/internal/engine"
	"github.com/vedette-sec/vedette/internal/evidence"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/ids"
)

// RetestState is the state of a retest: queued, then matched, not matched, or failed for good.
type RetestState string

// The states.
const (
	NoRetest     RetestState = "none"
	RetestQueued RetestState = "queued"
	Matched      RetestState = "matched"
	NotMatched   RetestState = "not_matched"
	RetestFailed RetestState = "failed"
)

// Retest is one more test for a finding.
type Retest struct {
	State       RetestState
	Note        string // why it failed
	RequestedAt time.Time
	EndedAt     time.Time // zero: not yet
}

// QueueRetest queues a retest of a finding of the caller's team through a proxy; nil: as its scan does. One that is
// queued already stays as it is, which is a Conflict for a retest through a proxy.
func (fs *Findings) QueueRetest(ctx context.Context, id string, proxy *setting.Proxy) (Finding, error) {
	c, err := account.Writer(ctx)
	if err != nil {
		return Finding{}, err
	}
	f, err := fs.InTeam(ctx, fs.db, c.TeamID, id)
	if err != nil {
		return f, err
	}
	return f, fs.db.Tx(ctx, func(tx *db.Tx) error { return fs.queueRetest(ctx, tx, c.TeamID, f, proxy) })
}

// queueRetest is QueueRetest in a transaction.
func (fs *Findings) queueRetest(
	ctx context.Context, tx *db.Tx, teamID string, f Finding, proxy *setting.Proxy,
) error {
	if err := fs.Lock(ctx, tx, teamID); err != nil {
		return err
	}
	var n, waiting int64
	if err := tx.QueryRow(ctx, `SELECT coalesce(max(n), 0) + 1, count(CASE WHEN state = 'queued' THEN 1 END) FROM finding_retest
		WHERE team_id = ? AND no = ?`, teamID, f.no).Scan(&n, &waiting); err != nil {
		return err
	}
	if waiting > 0 {
		if proxy != nil {
			return errs.New(errs.Conflict, "retest_queued", "A retest of the finding is queued already.")
		}
		return nil
	}
	if _, err := tx.Exec(ctx, `INSERT INTO finding_retest (team_id, no, n, state, asked_at, proxy) VALUES (?, ?, ?, ?, ?, ?)`,
		teamID, f.no, n, RetestQueued, db.At(fs.now()), db.Doc(proxy)); err != nil {
		return err
	}
	_, err := fs.queue.Insert(ctx, tx, teamID, RetestArgs{TeamID: teamID, FindingID: f.ID, N: n})
	return err
}

// FindRetest is the last retest of a finding of the caller's team; State is NoRetest when there was none. The retest is
// read first, so that one that has ended is never shown with a finding from before its end.
func (fs *Findings) FindRetest(ctx context.Context, id string) (Finding, Retest, error) {
	c, err := account.From(ctx)
	if err != nil {
		return Finding{}, Retest{}, err
	}
	var r Retest
	err = fs.db.QueryRow(ctx, `SELECT state, note, asked_at, ended_at FROM finding_retest
		WHERE team_id = ? AND no = (SELECT no FROM finding WHERE id = ? AND team_id = ?) ORDER BY n DESC LIMIT 1`, c.TeamID,
		db.Clean(id), c.TeamID).
		Scan(&r.State, &r.Note, db.Into(&r.RequestedAt), db.Into(&r.EndedAt))
	if db.IsNoRows(err) {
		r, err = Retest{State: NoRetest}, nil
	}
	if err != nil {
		return Finding{}, Retest{}, err
	}
	f, err := fs.Find(ctx, id)
	return f, r, err
}

// ForRetest is the finding of a job, for a worker, and the proxy of the retest (nil: none of its own).
func (fs *Findings) ForRetest(ctx context.Context, a RetestArgs) (Finding, *setting.Proxy, error) {
	f, err := fs.InTeam(ctx, fs.db, a.TeamID, a.FindingID)
	if err != nil {
		return f, nil, err
	}
	var proxy db.JSON[*setting.Proxy]
	err = fs.db.QueryRow(ctx, `SELECT proxy FROM finding_retest WHERE team_id = ? AND no = ? AND n = ?`,
		a.TeamID, f.no, a.N).Scan(&proxy)
	return f, proxy.V, db.OrMissing(err, "retest")
}

// RetestResult is the result of a retest.
type RetestResult struct {
	State  RetestState
	Note   string        // why it failed
	Event  *engine.Event // what was seen; nil: nothing
	Digest string        // of the template that ran
}

// results are what retests show, as runs of evidence do.
var results = map[RetestState]evidence.Result{
	Matched: evidence.Same, NotMatched: evidence.Gone, RetestFailed: evidence.Failed,
}

// EndRetest writes the result of a retest, in the caller's transaction or (tx nil) in one of its own: a finding that
// did not match is fixed, a fixed one that matched is a regression, and so are those with its hash in other scans. A
// retest that has ended stays as it is.
func (fs *Findings) EndRetest(ctx context.Context, tx *db.Tx, a RetestArgs, result RetestResult) error {
	if tx == nil {
		return fs.db.Tx(ctx, func(tx *db.Tx) error { return fs.EndRetest(ctx, tx, a, result) })
	}
	_, rev, err := fs.reserve(ctx, tx, a.TeamID, 0, 1)
	if err != nil {
		return err
	}
	f, err := fs.InTeam(ctx, tx, a.TeamID, a.FindingID)
	if errs.Is(err, errs.NotFound) {
		return nil // it was deleted meanwhile
	}
	if err != nil {
		return err
	}
	now := db.At(fs.now())
	n, err := tx.Exec(ctx, `UPDATE finding_retest SET state = ?, note = ?, ended_at = ? WHERE team_id = ? AND no = ? AND n = ? AND state = ?`,
		result.State, db.Clean(result.Note), now, a.TeamID, f.no, a.N, RetestQueued)
	if err != nil || n == 0 {
		return err
	}
	seen := db.At(f.SeenAt)
	if result.State == Matched {
		seen = now
	}
	if _, err := tx.Exec(ctx, `UPDATE finding SET rev = ?, seen_at = ?, updated_at = ? WHERE team_id = ? AND no = ?`,
		rev, seen, now, a.TeamID, f.no); err != nil {
		return err
	}
	if err := (chain.Again{
		ID: ids.New(), TeamID: a.TeamID, No: f.no, Seen: f.Seen(), Source: chain.Retest, AskedAt: now, Version: fs.Version,
		Result: results[result.State], Note: result.Note, Event: result.Event, Digest: result.Digest,
	}).Store(ctx, tx, now.Time); err != nil {
		return err
	}
	if err := fs.endClaim(ctx, tx, a.TeamID, f, result.State); err != nil {
		return err
	}
	switch {
	case result.State == Matched && f.Status == Fixed:
		_, err = fs.decide(ctx, tx, a.TeamID, []string{f.Hash}, Decision{Status: Open, IsRegression: true, By: move.Seen})
	case result.State == NotMatched && f.Status != Fixed:
		_, err = fs.decide(ctx, tx, a.TeamID, []string{f.Hash}, Decision{Status: Fixed, By: move.Test})
	}
	return err
}
