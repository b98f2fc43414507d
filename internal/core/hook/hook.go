// Package hook delivers events to the webhooks of teams: one POST of a stored body, best effort, with a log.
//
// A delivery is stored as started before the first packet is sent, so that neither a crash nor a second worker sends it
// twice.
package hook

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/ids"
	"github.com/vedette-sec/vedette/internal/infra/netguard"
	"github.com/vedette-sec/vedette/internal/infra/page"
)

// TaskCompleted is the event of a task that ended (specification, Events).
const TaskCompleted = "task.completed"

// Test is the event of a delivery that an admin asked for, to see whether one arrives.
const Test = "webhook.test"

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
	// SecretName is the secret of the team's owner whose value goes with it as a bearer token; empty: none.
	SecretName string
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
	return &Hooks{db: d, client: guard.Client(timeout), logger: logger, now: time.Now, timeout: timeout,
		lease: timeout + grace}
}

// New stores a delivery in the caller's transaction and returns its id, for Deliver.
func (h *Hooks) New(ctx context.Context, tx *db.Tx, d Delivery) (id string, err error) {
	id = ids.New()
	_, err = tx.Exec(ctx, `INSERT INTO hook_delivery (id, team_id, subject, event, url, body, secret_name, state,
		created_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		id, d.TeamID, d.Subject, d.Event, db.Clean(d.URL), d.Body, d.SecretName, Pending, db.At(h.now()))
	return id, err
}

// Find is a page of a team's delivery log, newest first, and the log's length. Of the deliveries about tasks it has
// those about a task t for which seen holds (task.VisibleTo says what that is for a caller).
func (h *Hooks) Find(
	ctx context.Context, teamID string, w page.Window, seen string, args ...any,
) (entries []Entry, total int, err error) {
	where := ` FROM hook_delivery WHERE team_id = ? AND NOT EXISTS (
		SELECT 1 FROM task t WHERE t.id = hook_delivery.subject AND NOT (` + seen + `))`
	args = append([]any{teamID}, args...)
	total, err = db.Value[int](ctx, h.db, `SELECT COUNT(*)`+where, args...)
	if err != nil {
		return nil, 0, err
	}
	entries, err = db.Select(ctx, h.db, scanEntry, `SELECT id, subject, event, url, state, attempts, status_code, error,
		created_at, started_at, finished_at, duration_ms`+where+` ORDER BY id DESC LIMIT ? OFFSET ?`, append(args, w.Limit, w.Offset)...)
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

const maxAnswer = 64 << 10 // bytes that are read of the response's body

const interrupted = "the delivery was interrupted"

type stored struct {
	Delivery
	state   State
	started time.Time
}

type outcome struct {
	state   State
	status  int
	message string
	took    time.Duration
}

// SecretOf is the team of a delivery, and the name of the secret that goes with it; empty: none.
func (h *Hooks) SecretOf(ctx context.Context, id string) (teamID, name string, err error) {
	err = h.db.QueryRow(ctx, `SELECT team_id, secret_name FROM hook_delivery WHERE id = ?`, id).Scan(&teamID, &name)
	return teamID, name, db.OrMissing(err, "delivery")
}

// Fail stores that a delivery cannot be sent, and why, for people. One that is being sent ends as Deliver says.
func (h *Hooks) Fail(ctx context.Context, id, why string) error {
	d, err := h.load(ctx, id)
	if err != nil {
		return err
	}
	mine, err := h.move(ctx, id, Pending, Sending, `started_at = ?`, db.At(h.now()))
	if err != nil {
		return err
	}
	if !mine {
		return h.Deliver(ctx, id, "")
	}
	return h.record(ctx, id, d.Delivery, outcome{state: Failed, message: why})
}

// Deliver sends a delivery, with a bearer token unless it is empty, with at most one POST, however often it is called,
// waits at most 15 seconds for the receiver, and stores the result. A delivery whose worker died is stored as failed,
// 20 seconds after its start.
// NotFound when there is no such delivery.
func (h *Hooks) Deliver(ctx context.Context, id, bearer string) error {
	d, err := h.load(ctx, id)
	if err != nil {
		return err
	}
	if d.state == Pending {
		mine, err := h.move(ctx, id, Pending, Sending, `started_at = ?, attempts = attempts + 1`, db.At(h.now()))
		if err != nil {
			return err
		}
		if mine {
			return h.record(ctx, id, d.Delivery, h.post(ctx, d.Delivery, bearer))
		}
		if d, err = h.load(ctx, id); err != nil { // another worker was faster
			return err
		}
	}
	if d.state != Sending {
		return nil
	}
	select {
	case <-time.After(d.started.Add(h.lease).Sub(h.now())):
		return h.record(ctx, id, d.Delivery, outcome{state: Failed, message: interrupted})
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (h *Hooks) load(ctx context.Context, id string) (stored, error) {
	var d stored
	err := h.db.QueryRow(ctx, `SELECT team_id, subject, event, url, body, state, started_at FROM hook_delivery WHERE id = ?`,
		id).Scan(&d.TeamID, &d.Subject, &d.Event, &d.URL, &d.Body, &d.state, db.Into(&d.started))
	return d, db.OrMissing(err, "delivery")
}

// move changes a delivery's state and sets further columns, or returns false when the state was no longer from.
func (h *Hooks) move(ctx context.Context, id string, from, to State, set string, args ...any) (bool, error) {
	if !from.To(to) {
		return false, fmt.Errorf("hook: a delivery does not go from %s to %s", from, to)
	}
	n, err := h.db.Exec(ctx, `UPDATE hook_delivery SET state = ?, `+set+` WHERE id = ? AND state = ?`,
		append(append([]any{to}, args...), id, from)...)
	return n == 1, err
}

// record stores the result of a delivery, also while the process is shutting down.
func (h *Hooks) record(ctx context.Context, id string, d Delivery, o outcome) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
	defer cancel()
	done, err := h.move(ctx, id, Sending, o.state, `status_code = ?, error = ?, finished_at = ?, duration_ms = ?`,
		o.status, db.Clean(o.message), db.At(h.now()), o.took.Milliseconds())
	if done {
		h.logger.InfoContext(ctx, "webhook", "delivery", id, "team", d.TeamID, "event", d.Event, "receiver", receiver(d.URL),
			"state", o.state, "status", o.status, "error", o.message, "took", o.took.Round(time.Millisecond))
	}
	return err
}

func (h *Hooks) post(ctx context.Context, d Delivery, bearer string) outcome {
	start := time.Now()
	limited, cancel := context.WithTimeout(ctx, h.timeout)
	defer cancel()
	o := h.exchange(limited, d, bearer)
	o.took = time.Since(start)
	if ctx.Err() != nil && o.state == Failed && o.status == 0 {
		o.message = interrupted
	}
	return o
}

func (h *Hooks) exchange(ctx context.Context, d Delivery, bearer string) outcome {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, d.URL, bytes.NewReader(d.Body))
	if err != nil {
		return outcome{state: Blocked, message: "the URL is malformed"}
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", "vedette-webhook")
	req.Header.Set("X-Service-Event", d.Event)
	req.Header.Set("X-Service-Completion-Delivery", "webhook")
	if bearer != "" {
		if !IsToken(bearer) {
			return outcome{state: Failed, message: "the secret cannot be sent in a header: it has spaces or control characters"}
		}
		req.Header.Set("Authorization", "Bearer "+bearer)
	}
	req.Close = true // on a connection of its own nothing is sent twice
	res, err := h.client.Do(req)
	if err != nil {
		return failure(err)
	}
	defer res.Body.Close()
	// Some receivers fail when their response is not read.
	_, _ = io.CopyN(io.Discard, res.Body, maxAnswer)
	o := outcome{state: Failed, status: res.StatusCode}
	switch res.StatusCode / 100 {
	case 2:
		o.state = Delivered
	case 3:
		o.message = fmt.Sprintf("the receiver answered %d; redirects are not followed", res.StatusCode)
	default:
		o.message = fmt.Sprintf("the receiver answered %d", res.StatusCode)
	}
	return o
}

// IsToken reports whether a secret can be sent as a bearer token: visible ASCII characters only.
func IsToken(secret string) bool {
	return secret != "" && !strings.ContainsFunc(secret, func(c rune) bool { return c <= ' ' || c > '~' })
}

// failure describes an error of the exchange, without the URL and the addresses of a name.
func failure(err error) outcome {
	var denied *netguard.Denied
	var refused *errs.Error
	var lookup *net.DNSError
	var untrusted *tls.CertificateVerificationError
	var timeout net.Error
	o := outcome{state: Failed, message: "the exchange with the receiver failed"}
	switch {
	case errors.As(err, &denied):
		o = outcome{state: Blocked, message: "the address is not allowed: " + denied.Why}
	case errors.As(err, &refused):
		o = outcome{state: Blocked, message: refused.Message}
	case errors.As(err, &timeout) && timeout.Timeout():
		o.message = "the receiver did not answer in time"
	case errors.As(err, &lookup):
		o.message = "the host name could not be looked up"
	case errors.Is(err, syscall.ECONNREFUSED):
		o.message = "the connection was refused"
	case errors.As(err, &untrusted):
		o.message = "the certificate is not trusted"
	}
	return o
}
