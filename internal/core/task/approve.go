package task

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/vedette-sec/vedette/internal/agent/loop"
	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/core/run"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/errs"
)

// Decision is a person's answer to a question of a suspended stream. Branch and CallID tell which of several
// questions is meant; empty: the first.
type Decision struct {
	Approve  bool
	Text     string          // the answer to a question, or the reason
	Metadata json.RawMessage // answers for the tool that needs it
	Branch   string          // agent_id or run_id
	CallID   string          // the key of the question
	StreamID string          // that asks; empty: the newest
}

// Approve stores a decision and queues the suspended stream again. Of several calls at once one succeeds. It
// fails with Conflict when nothing waits, and with NotFound when no question is meant.
func (ts *Tasks) Approve(ctx context.Context, id string, d Decision) (Task, error) {
	err := ts.db.Tx(ctx, func(tx *db.Tx) error { return ts.ApproveIn(ctx, tx, id, d) })
	if err != nil {
		return Task{}, err
	}
	return ts.Find(ctx, id)
}

// ApproveIn is Approve in the caller's transaction.
func (ts *Tasks) ApproveIn(ctx context.Context, tx *db.Tx, id string, d Decision) error {
	c, err := account.Writer(ctx)
	if err != nil {
		return err
	}
	t, err := find(ctx, tx, seen, db.Clean(id), c.TeamID, c.UserID, Private, c.UserID)
	if err != nil {
		return err
	}
	missing := errs.New(errs.NotFound, "question_not_found",
		"The task does not wait for a decision about that.").At("tool_call_id")
	if d.StreamID != "" && d.StreamID != t.StreamID {
		return missing
	}
	_, err = ts.life().Move(ctx, tx, t.StreamID, run.AnyRun, Resuming, "")
	if errors.Is(err, ErrLate) {
		return errs.New(errs.Conflict, "not_suspended",
			"The task waits for no decision: it is %s.", ts.statusOf(ctx, tx, t.StreamID))
	}
	if err != nil {
		return err
	}
	var pending []loop.Waiting
	err = tx.QueryRow(ctx, `SELECT pending FROM task_stream WHERE id = ?`, t.StreamID).Scan(db.Into(&pending))
	if err != nil {
		return err
	}
	waiting, ok := d.choose(pending)
	if !ok {
		return missing
	}
	entry, err := waiting.Answer(loop.Reply{Approve: d.Approve, Text: d.Text, Metadata: d.Metadata}, ts.now())
	if err != nil {
		return fmt.Errorf("the answer to %s: %w", waiting.Key, err)
	}
	if _, err := ts.append(ctx, tx, t, entry); err != nil {
		return err
	}
	job, err := ts.queue.Insert(ctx, tx, t.TeamID, RunArgs{t.ID, t.StreamID})
	if err != nil {
		return err
	}
	if _, err := tx.Exec(ctx, `UPDATE task_stream SET job_id = ?, pending = NULL WHERE id = ?`, job,
		t.StreamID); err != nil {
		return err
	}
	return ts.emit(ctx, tx, t.StreamID, EventStatus, StatusData{Status: Resuming})
}

func (ts *Tasks) statusOf(ctx context.Context, q db.Querier, streamID string) Status {
	status, err := db.Value[Status](ctx, q, `SELECT status FROM task_stream WHERE id = ?`, streamID)
	if err != nil {
		return "deleted"
	}
	return status
}

func (d Decision) choose(pending []loop.Waiting) (loop.Waiting, bool) {
	for _, w := range pending {
		if (d.Branch == "" || d.Branch == w.Branch) && (d.CallID == "" || d.CallID == w.Key) {
			return w, true
		}
	}
	return loop.Waiting{}, false
}

// Ask returns a person's reply to a question of the built-in planner, or suspends the stream until Approve.
func (r *Run) Ask(ctx context.Context, key string, ask loop.Ask) (reply loop.Reply, answered bool, err error) {
	entries, err := r.plannerEntries(ctx, "key = ?", key)
	if err != nil {
		return reply, false, err
	}
	asked := false
	for _, e := range entries {
		switch e.Kind {
		case loop.Answer:
			err := json.Unmarshal(e.Body, &reply)
			return reply, err == nil, err
		case loop.Question:
			asked = true
		}
	}
	if !asked { // a run that was killed after it asked does not ask twice
		body, err := json.Marshal(ask)
		if err != nil {
			return reply, false, err
		}
		entry := loop.Entry{Stream: r.Task.Index, Branch: planner, Kind: loop.Question, Key: key, Body: body}
		if _, err := r.Append(ctx, entry); err != nil {
			return reply, false, err
		}
	}
	pending, err := json.Marshal([]loop.Waiting{{Stream: r.Task.Index, Branch: planner, Key: key, Ask: ask}})
	if err != nil {
		return reply, false, err
	}
	return reply, false, r.Suspend(ctx, pending)
}
