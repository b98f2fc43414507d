// Package hook delivers events to the webhooks of teams: one POST of a frozen body, best effort, with a log.
// It does not know what the events are about.
//
// A delivery is marked as started, on disk, before the first packet is sent, so that neither a crash nor a
// second worker sends it twice. Its result is in the delivery log and never an error of the event's subject.
package hook

import (
	"context"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/ids"
	"github.com/vedette-sec/vedette/internal/infra/netguard"
	"github.com/vedette-sec/vedette/internal/infra/page"
)

// TaskCompleted is the event of a task that ended (specification, Events).
const TaskCompleted = "task.completed"

const (
	timeout = 15 * time.Second // of a delivery, from the lookup of the host to the last byte read
	grace   = 5 * time.Second  // more, for a worker to store the result
)

// State is the state of a delivery.
type State string

// The states of a delivery.
const (
	Pending   State = "pending"   // stored, not yet sent
	Sending   State = "sending"   // being sent, or was when the process died
	Delivered State = "delivered" // answered with 2xx
	Failed    State = "failed"    // answered otherwise, not at all, or interrupted
	Blocked   State = "blocked"   // refused before a packet was sent
)

// moves are the allowed changes of state. A delivery is sent only once.
var moves = map[State][]State{
	Pending: {Sending},
	Sending: {Delivered, Failed, Blocked},
}

// Final reports whether nothing more happens to a delivery in this state.
func (s State) Final() bool { return len(moves[s]) == 0 }

// To reports whether a delivery may go from s to next.
func (s State) To(next State) bool { return slices.Contains(moves[s], next) }

// Delivery is a request to be sent.
type Delivery struct {
	TeamID  string
	Subject string // such as a task's id
	Event   string // such as TaskCompleted
	URL     string // may contain the receiver's secret
	Body    []byte // JSON, sent as it is
}

// Entry is an entry of the delivery log.
type Entry struct {
	ID         string
	Subject    string
	Event      string
	Receiver   string // scheme and host of the URL; the rest may be secret
	State      State
	Attempts   int    // 0 or 1
	StatusCode int    // of the answer; 0 without one
	Error      string // for people; empty unless failed or blocked
	CreatedAt  time.Time
	StartedAt  *time.Time    // nil until it starts
	FinishedAt *time.Time    // nil until it ends
	Duration   time.Duration // of the exchange, in whole milliseconds
}

// DeliverArgs is the queue's job that delivers.
type DeliverArgs struct {
	DeliveryID string `json:"delivery_id"`
}

// Kind names the job in the queue.
func (DeliverArgs) Kind() string { return "hook.deliver" }

// Hooks stores deliveries and sends them.
type Hooks struct {
	db      *db.DB
	client  *http.Client
	logger  *slog.Logger
	now     func() time.Time
	timeout time.Duration
	lease   time.Duration // after its start, while a live worker may still send it
}

// New makes the service. Every dial goes through guard.
func New(d *db.DB, guard *netguard.Guard, logger *slog.Logger) *Hooks {
	return &Hooks{db: d, client: guard.Client(timeout), logger: logger, now: time.Now, timeout: timeout, lease: timeout + grace}
}

// New stores a delivery in the caller's transaction and returns its id, for Deliver.
func (h *Hooks) New(ctx context.Context, tx *db.Tx, d Delivery) (id string, err error) {
	id = ids.New()
	_, err = tx.Exec(ctx, `INSERT INTO hook_delivery (id, team_id, subject, event, url, body, state, created_at)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
		id, d.TeamID, d.Subject, d.Event, db.Clean(d.URL), d.Body, Pending, db.At(h.now()))
	return id, err
}

// Find is a page of a team's delivery log, newest first, and the log's length.
func (h *Hooks) Find(ctx context.Context, teamID string, w page.Window) (entries []Entry, total int, err error) {
	total, err = db.Value[int](ctx, h.db, `SELECT COUNT(*) FROM hook_delivery WHERE team_id = ?`, teamID)
	if err != nil {
		return nil, 0, err
	}
	entries, err = db.Select(ctx, h.db, scanEntry, `SELECT id, subject, event, url, state, attempts, status_code, error,
		created_at, started_at, finished_at, duration_ms FROM hook_delivery WHERE team_id = ? ORDER BY id DESC
		LIMIT ? OFFSET ?`, teamID, w.Limit, w.Offset)
	return entries, total, err
}

func scanEntry(row db.Row) (Entry, error) {
	var e Entry
	var target string
	var ms int64
	err := row.Scan(&e.ID, &e.Subject, &e.Event, &target, &e.State, &e.Attempts, &e.StatusCode, &e.Error,
		db.Into(&e.CreatedAt), db.Into(&e.StartedAt), db.Into(&e.FinishedAt), &ms)
	e.Receiver, e.Duration = receiver(target), time.Duration(ms)*time.Millisecond
	return e, err
}

// receiver is the part of a URL that is not secret.
func receiver(target string) string {
	u, err := url.Parse(target)
	if err != nil || u.Host == "" {
		return ""
	}
	return u.Scheme + "://" + u.Host
}
