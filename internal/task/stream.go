package task

import (
	"context"
	"encoding/json"
	"iter"
	"sync"
	"time"

	"github.com/vedette-sec/vedette/internal/db"
)

// The types of event in a task's stream. docs/task-stream.md describes them for clients.
const (
	EventStatus       = "status"
	EventPlan         = "plan"
	EventStepStarted  = "step-started"
	EventProgress     = "progress"
	EventIssue        = "issue"
	EventStepFinished = "step-finished"
	EventFinish       = "finish" // the last one
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

// emit writes an event into the task's stream, in the transaction of what it tells.
func (ts *Tasks) emit(ctx context.Context, tx *db.Tx, taskID, kind string, data any) error {
	var seq int64
	if err := tx.QueryRow(ctx, `UPDATE task SET last_seq = last_seq + 1 WHERE id = ? RETURNING last_seq`, taskID).Scan(&seq); err != nil {
		return err
	}
	tx.AfterCommit(func() { ts.hub.tell(taskID) })
	_, err := tx.Exec(ctx, `INSERT INTO task_event (task_id, seq, type, data, at) VALUES (?, ?, ?, ?, ?)`, taskID, seq, kind, db.Doc(data), db.At(ts.now()))
	return err
}

const (
	// pollEvery is how late an event of another process can be seen; this process's own
	// wake the reader at once.
	pollEvery  = time.Second
	eventBatch = 500
)

// Stream yields the events of a task of the caller's team after a sequence number, then
// live ones until the last, or until ctx ends. A nil event is a sign of life: nothing
// has happened for a while.
func (ts *Tasks) Stream(ctx context.Context, id string, after int64) (iter.Seq2[*Event, error], error) {
	if _, err := ts.Find(ctx, id); err != nil {
		return nil, err
	}
	return func(yield func(*Event, error) bool) {
		poll := time.NewTicker(pollEvery)
		defer poll.Stop()
		for {
			news := ts.hub.wait(id) // before reading, so that nothing falls between the two
			events, err := ts.events(ctx, id, after)
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
			if len(events) == 0 && ts.ended(ctx, id, after) {
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
	}, nil
}

// ended reports whether there is nothing behind the sequence number and never will be.
func (ts *Tasks) ended(ctx context.Context, id string, after int64) bool {
	var status Status
	var last int64
	err := ts.db.QueryRow(ctx, `SELECT status, last_seq FROM task WHERE id = ?`, id).Scan(&status, &last)
	return err == nil && status.Final() && after >= last
}

func (ts *Tasks) events(ctx context.Context, id string, after int64) ([]Event, error) {
	rows, err := ts.db.Query(ctx, `SELECT seq, type, at, data FROM task_event WHERE task_id = ? AND seq > ? ORDER BY seq LIMIT ?`, id, after, eventBatch)
	return db.Collect(rows, err, func(r db.Row) (e Event, err error) {
		var at db.Time
		var data db.JSON[json.RawMessage]
		err = r.Scan(&e.Seq, &e.Type, &at, &data)
		e.At, e.Data = at.Time, data.V
		return e, err
	})
}

// hub wakes the readers of a task's stream in this process.
type hub struct {
	mu      sync.Mutex
	waiting map[string]chan struct{}
}

func newHub() *hub { return &hub{waiting: map[string]chan struct{}{}} }

// wait is closed at the next event of the task.
func (h *hub) wait(taskID string) <-chan struct{} {
	h.mu.Lock()
	defer h.mu.Unlock()
	c := h.waiting[taskID]
	if c == nil {
		c = make(chan struct{})
		h.waiting[taskID] = c
	}
	return c
}

func (h *hub) tell(taskID string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if c := h.waiting[taskID]; c != nil {
		close(c)
		delete(h.waiting, taskID)
	}
}
