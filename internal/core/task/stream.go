package task

import (
	"cmp"
	"context"
	"encoding/json"
	"iter"
	"sync"
	"time"

	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/errs"
)

// The types of event in a task's stream. docs/reference/task-stream.md describes them for clients.
const (
	EventStatus       = "status"
	EventPlan         = "plan"
	EventStepStarted  = "step-started"
	EventProgress     = "progress"
	EventIssue        = "issue"
	EventStepFinished = "step-finished"
	EventSuspended    = "suspended" // waits for a person's answer
	EventDenied       = "denied"    // by the scope
	EventTools        = "tools"     // the extra tools, and the missing ones
	EventFinish       = "finish"    // the last one
)

// StatusData is the data of EventStatus. A Run above 1 says that an earlier run died.
type StatusData struct {
	Status Status `json:"status"`
	Run    int64  `json:"run,omitempty"`
}

// StepData is the data of EventStepStarted and EventStepFinished.
type StepData struct {
	Seq     int    `json:"seq"`
	Tool    string `json:"tool"`
	Status  string `json:"status,omitempty"`
	Summary string `json:"words,omitempty"`
	Error   string `json:"error,omitempty"`
}

// SuspendedData is the data of EventSuspended.
type SuspendedData struct {
	Status  Status          `json:"status"`
	Pending json.RawMessage `json:"pending"` // a list of the questions
}

// FinishData is the data of EventFinish.
type FinishData struct {
	Status     Status `json:"status"`
	Summary    string `json:"summary"`
	IssueCount int    `json:"issue_count"`
}

// Event is one event of a task's stream.
type Event struct {
	Seq  int64           `json:"seq"` // from 1, without gaps
	Type string          `json:"type"`
	At   time.Time       `json:"at"`
	Data json.RawMessage `json:"data"`
}

// emit writes an event into a stream, in the transaction of the change that it reports.
func (ts *Tasks) emit(ctx context.Context, tx *db.Tx, streamID, kind string, data any) error {
	seq, err := db.Value[int64](ctx, tx,
		`UPDATE task_stream SET last_seq = last_seq + 1 WHERE id = ? RETURNING last_seq`, streamID)
	if err != nil {
		return err
	}
	tx.AfterCommit(func() { ts.hub.wake(streamID) })
	_, err = tx.Exec(ctx, `INSERT INTO stream_event (stream_id, seq, type, data, at) VALUES (?, ?, ?, ?, ?)`,
		streamID, seq, kind, db.Doc(data), db.At(ts.now()))
	return err
}

const (
	pollEvery  = time.Second // how late events of other processes are seen; those of this process are seen at once
	eventBatch = 500
)

// Follow yields the events of a stream (empty: the task's newest) after a sequence number, then live ones until the
// last, or until ctx ends. A nil event only keeps the connection alive.
func (ts *Tasks) Follow(ctx context.Context, id, streamID string, after int64) (iter.Seq2[*Event, error], error) {
	t, err := ts.Find(ctx, id)
	if err != nil {
		return nil, err
	}
	streamID = cmp.Or(streamID, t.StreamID)
	_, err = db.Value[string](ctx, ts.db, `SELECT task_id FROM task_stream WHERE id = ? AND task_id = ?`, streamID, t.ID)
	if db.IsNoRows(err) {
		err = errs.Missing("stream").At("stream_id")
	}
	if err != nil {
		return nil, err
	}
	return func(yield func(*Event, error) bool) { ts.follow(ctx, streamID, after, yield) }, nil
}

func (ts *Tasks) follow(ctx context.Context, streamID string, after int64, yield func(*Event, error) bool) {
	poll := time.NewTicker(pollEvery)
	defer poll.Stop()
	for {
		woken := ts.hub.wait(streamID) // before reading, so that no event is missed
		events, err := ts.events(ctx, streamID, after)
		if err != nil {
			yield(nil, err)
			return
		}
		for i := range events {
			after = events[i].Seq
			if !yield(&events[i], nil) || events[i].Type == EventFinish {
				return
			}
		}
		if len(events) == eventBatch {
			continue
		}
		if len(events) == 0 && ts.ended(ctx, streamID, after) {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-woken:
		case <-poll.C:
			if len(events) == 0 && !yield(nil, nil) {
				return
			}
		}
	}
}

// ended reports whether no further event will come: the stream has ended, or its task was deleted.
func (ts *Tasks) ended(ctx context.Context, streamID string, after int64) bool {
	var status Status
	var last int64
	err := ts.db.QueryRow(ctx, `SELECT status, last_seq FROM task_stream WHERE id = ?`, streamID).Scan(&status, &last)
	return db.IsNoRows(err) || err == nil && status.Final() && after >= last
}

func (ts *Tasks) events(ctx context.Context, streamID string, after int64) ([]Event, error) {
	scan := func(r db.Row) (e Event, err error) {
		return e, r.Scan(&e.Seq, &e.Type, db.Into(&e.At), db.Into(&e.Data))
	}
	return db.Select(ctx, ts.db, scan, `SELECT seq, type, at, data FROM stream_event
		WHERE stream_id = ? AND seq > ? ORDER BY seq LIMIT ?`, streamID, after, eventBatch)
}

// hub wakes the readers of streams in this process.
type hub struct {
	mu      sync.Mutex
	waiting map[string]chan struct{}
}

// wait is closed at the next event of the stream.
func (h *hub) wait(streamID string) <-chan struct{} {
	h.mu.Lock()
	defer h.mu.Unlock()
	c := h.waiting[streamID]
	if c == nil {
		if h.waiting == nil {
			h.waiting = map[string]chan struct{}{}
		}
		c = make(chan struct{})
		h.waiting[streamID] = c
	}
	return c
}

func (h *hub) wake(streamID string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if c := h.waiting[streamID]; c != nil {
		close(c)
		delete(h.waiting, streamID)
	}
}
