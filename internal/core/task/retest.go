package task

import (
	"context"
	"slices"
	"time"

	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/engine"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/errs"
)

// RetestState is the state of a retest.
type RetestState string

// The states: queued, and then one of the others.
const (
	RetestQueued RetestState = "queued"
	Matched      RetestState = "matched"
	NotMatched   RetestState = "not_matched"
	RetestFailed RetestState = "failed"
)

// Retest is the last test of an issue after its task, by its template or proof alone.
type Retest struct {
	State       RetestState `json:"state" enum:"queued,matched,not_matched,failed" doc:"queued, or the result; failed: it could not be run."`
	Note        string      `json:"note,omitempty" doc:"Why it failed."`
	RequestedAt time.Time   `json:"asked_at" doc:"When it was requested."`
	EndedAt     *time.Time  `json:"ended_at,omitempty" doc:"When it ended; absent: not yet."`
}

// RetestArgs is the job that tests an issue again.
type RetestArgs struct {
	TeamID  string `json:"team_id"`
	IssueID string `json:"issue_id"`
}

// Kind implements queue.Args.
func (RetestArgs) Kind() string { return "task.retest" }

// QueueRetest queues a retest of an issue, unless one is queued. An issue without a template or proof is a Conflict.
func (ts *Tasks) QueueRetest(ctx context.Context, id string) (Issue, error) {
	c, err := account.Writer(ctx)
	if err != nil {
		return Issue{}, err
	}
	i, err := ts.FindIssue(ctx, id)
	if err != nil {
		return Issue{}, err
	}
	if m := i.RetestTemplate(); m == nil || m.TemplateID == "" && !m.Program {
		return Issue{}, errs.New(errs.Conflict, "no_template", "There is no template and no proof that tests for this issue.")
	}
	err = ts.db.Tx(ctx, func(tx *db.Tx) error {
		if i, err = ts.lockIssue(ctx, tx, c.TeamID, i.ID); err != nil || i.Retest != nil && i.Retest.State == RetestQueued {
			return err
		}
		i.Retest = &Retest{State: RetestQueued, RequestedAt: db.At(ts.now()).Time}
		if _, err := tx.Exec(ctx, `UPDATE issue SET retest = ? WHERE id = ?`, db.Doc(i.Retest), i.ID); err != nil {
			return err
		}
		_, err := ts.queue.Insert(ctx, tx, c.TeamID, RetestArgs{c.TeamID, i.ID})
		return err
	})
	return i, err
}

// lockIssue reads an issue, locked until tx ends.
func (ts *Tasks) lockIssue(ctx context.Context, tx *db.Tx, teamID, id string) (Issue, error) {
	if _, err := tx.Exec(ctx, `UPDATE issue SET id = id WHERE id = ? AND team_id = ?`, id, teamID); err != nil {
		return Issue{}, err
	}
	return ts.issue(ctx, tx, "id = ? AND team_id = ?", id, teamID)
}

// ForRetest reads an issue to test again, its task and the task's streams. NotFound when it was deleted.
func (ts *Tasks) ForRetest(ctx context.Context, a RetestArgs) (i Issue, t Task, streams []Stream, err error) {
	if i, err = ts.issue(ctx, ts.db, "id = ? AND team_id = ?", a.IssueID, a.TeamID); err != nil {
		return i, t, nil, err
	}
	if t, err = ts.byID(ctx, ts.db, i.TaskID); err != nil {
		return i, t, nil, err
	}
	streams, err = ts.streams(ctx, t.ID)
	return i, t, streams, err
}

// IsSameFinding reports whether an event is the finding of the issue.
func (i Issue) IsSameFinding(e engine.Event) bool { return hash(e) == hash(i.Event) }

// EndRetest stores the result of a retest, in the caller's transaction or (tx nil) in one of its own. An issue
// that did not match is now fixed, and a fixed one that matched is open again.
func (ts *Tasks) EndRetest(ctx context.Context, tx *db.Tx, a RetestArgs, state RetestState, note string) error {
	if tx == nil {
		return ts.db.Tx(ctx, func(tx *db.Tx) error { return ts.EndRetest(ctx, tx, a, state, note) })
	}
	i, err := ts.lockIssue(ctx, tx, a.TeamID, a.IssueID)
	switch {
	case errs.Is(err, errs.NotFound):
		return nil // it was deleted meanwhile
	case err != nil, i.Retest == nil, i.Retest.State != RetestQueued:
		return err
	}
	now := db.At(ts.now())
	i.Retest.State, i.Retest.Note, i.Retest.EndedAt = state, db.Clean(note), &now.Time
	status, updated := i.Status, i.UpdatedAt
	switch {
	case state == Matched && status == Fixed:
		status = Open
	case state == NotMatched && slices.Contains([]IssueStatus{Open, Triaged, FixInProgress}, status):
		status = Fixed
	}
	if status != i.Status {
		updated = now.Time
	}
	_, err = tx.Exec(ctx, `UPDATE issue SET retest = ?, updated_at = ? WHERE id = ?`, db.Doc(i.Retest), db.At(updated), i.ID)
	if err != nil || status == i.Status {
		return err
	}
	return ts.decide(ctx, tx, a.TeamID, i.ID, status, "")
}
