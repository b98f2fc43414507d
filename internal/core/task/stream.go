package task

import (
	"context"
	"encoding/json"
	"iter"
	"sync"
	"time"

	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/errs"
)

// The types of event in a task's stream. docs/task-stream.md describes them for clients.
const (
	EventStatus       = "status"
	EventPlan         = "plan"
	EventStepStarted  = "step-started"
	EventProgress     = "progress"
	EventIssue        = "issue"
	EventStepFinished = "step-finished"
	EventSuspended    = "suspended" // waits for a person's answer
	EventDenied       = "denied"    // by the scope
	EventTools        = "tools"     // which tools were brought to it, and which are missing

	EventFinish = "finish" // the last one
)

// StatusData is the data of EventStatus. A Run above 1 says that an earlier run died.
type StatusData struct {
	Status Status `json:"status"`
	Run    int64  `json:"run,omitempty"`
}

// StepData is the data of EventStepStarted and EventStepFinished.
type StepData struct {
	Seq    int    `json:"seq"`
	Tool   string `json:"tool"`
	Status string `json:"status,omitempty"`
	Words  string `json:"words,omitempty"`
	Error  string `json:"error,omitempty"`
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

// emit writes an event into a stream, in the transaction of what it reports.
func (ts *Tasks) emit(ctx context.Context, tx *db.Tx, streamID, kind string, data any) error {
	var seq int64
	if err := tx.QueryRow(ctx, `UPDATE task_stream SET last_seq = last_seq + 1 WHERE id = ? RETURNING last_seq`, streamID).Scan(&seq); err != nil {
		return err
	}
	tx.AfterCommit(func() { ts.hub.tell(streamID) })
	_, err := tx.Exec(ctx, `INSERT INTO stream_event (stream_id, seq, type, data, at) VALUES (?, ?, ?, ?, ?)`, streamID, seq, kind, db.Doc(data), db.At(ts.now()))
	return err
}

const (
	// pollEvery is how late an event of another process can be seen; this process's own
	// wake the reader at once.
	pollEvery  = time.Second
	eventBatch = 500
)

// Follow yields the events of a stream after a sequence number, then live ones until the
// last, or until ctx ends. The stream is one of a task that the caller may see; an empty
// streamID is the task's newest. A nil event is a sign of life: nothing has happened for
// a while.
func (ts *Tasks) Follow(ctx context.Context, id, streamID string, after int64) (iter.Seq2[*Event, error], error) {
	t, err := ts.Find(ctx, id)
	if err != nil {
		return nil, err
	}
	if streamID == "" {
		streamID = t.StreamID
	}
	if err := ts.has(ctx, t.ID, streamID); err != nil {
		return nil, err
	}
	return func(yield func(*Event, error) bool) { ts.follow(ctx, streamID, after, yield) }, nil
}

// has fails with NotFound when a task has no such stream.
func (ts *Tasks) has(ctx context.Context, id, streamID string) error {
	var task string
	err := ts.db.QueryRow(ctx, `SELECT task_id FROM task_stream WHERE id = ? AND task_id = ?`, streamID, id).Scan(&task)
	if db.IsNoRows(err) {
		err = errs.Missing("stream").At("stream_id")
	}
	return err
}

func (ts *Tasks) follow(ctx context.Context, streamID string, after int64, yield func(*Event, error) bool) {
	poll := time.NewTicker(pollEvery)
	defer poll.Stop()
	for {
		news := ts.hub.wait(streamID) // before reading, so that nothing falls between the two
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
		case <-news:
		case <-poll.C:
			if len(events) == 0 && !yield(nil, nil) {
				return
			}
		}
	}
}

// ended reports whether there is nothing behind the sequence number and never will be:
// the stream has ended, or its task was deleted.
func (ts *Tasks) ended(ctx context.Context, streamID string, after int64) bool {
	var status Status
	var last int64
	err := ts.db.QueryRow(ctx, `SELECT status, last_seq FROM task_stream WHERE id = ?`, streamID).Scan(&status, &last)
	return db.IsNoRows(err) || err == nil && status.Final() && after >= last
}

func (ts *Tasks) events(ctx context.Context, streamID string, after int64) ([]Event, error) {
	rows, err := ts.db.Query(ctx, `SELECT seq, type, at, data FROM stream_event WHERE stream_id = ? AND seq > ? ORDER BY seq LIMIT ?`, streamID, after, eventBatch)
	return db.Collect(rows, err, func(r db.Row) (e Event, err error) {
		var at db.Time
		var data db.JSON[json.RawMessage]
		err = r.Scan(&e.Seq, &e.Type, &at, &data)
		e.At, e.Data = at.Time, data.V
		return e, err
	})
}

// hub wakes the readers of streams in this process.
type hub struct {
	mu      sync.Mutex
	waiting map[string]chan struct{}
}

func newHub() *hub { return &hub{waiting: map[string]chan struct{}{}} }

// wait is closed at the next event of the stream.
func (h *hub) wait(streamID string) <-chan struct{} {
	h.mu.Lock()
	defer h.mu.Unlock()
	c := h.waiting[streamID]
	if c == nil {
		c = make(chan struct{})
		h.waiting[streamID] = c
	}
	return c
}

func (h *hub) tell(streamID string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if c := h.waiting[streamID]; c != nil {
		close(c)
		delete(h.waiting, streamID)
	}
}
