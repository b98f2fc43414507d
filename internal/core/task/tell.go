package task

import (
	"context"

	"github.com/vedette-sec/vedette/internal/infra/db"
)

// The moments of a stream of which a chat is told.
const (
	MomentAsks  = "asks"  // it waits for a person
	MomentIssue = "issue" // an issue was verified
	MomentEnded = "ended"
)

// TellArgs is the job that tells a chat what has become of a stream whose options name one.
type TellArgs struct {
	TaskID   string `json:"task_id"`
	StreamID string `json:"stream_id"`
	Moment   string `json:"moment"`
	Seq      int64  `json:"seq"` // of the stream's last event at that moment
}

// Kind implements queue.Args.
func (TellArgs) Kind() string { return "task.tell" }

// tell queues the job for a moment, in the transaction that brings it about.
func (ts *Tasks) tell(ctx context.Context, tx *db.Tx, t Task, moment string) error {
	if t.Options.Chat == "" {
		return nil
	}
	seq, err := db.Value[int64](ctx, tx, `SELECT last_seq FROM task_stream WHERE id = ?`, t.StreamID)
	if err == nil {
		_, err = ts.queue.Insert(ctx, tx, t.TeamID, TellArgs{t.ID, t.StreamID, moment, seq})
	}
	return err
}

// tellOfIssue tells of the first issue, and then of each tenfold number.
func (ts *Tasks) tellOfIssue(ctx context.Context, tx *db.Tx, t Task) error {
	if t.Options.Chat == "" {
		return nil
	}
	n, err := db.Value[int](ctx, tx, `SELECT count(*) FROM issue WHERE task_id = ? AND verification = ?`, t.ID, Verified)
	for n > 1 && n%10 == 0 {
		n /= 10
	}
	if err != nil || n != 1 {
		return err
	}
	return ts.tell(ctx, tx, t, MomentIssue)
}
