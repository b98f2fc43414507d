// Package notification stores the messages for a team's alert channels: a row for each channel and message, sent by its
// own job. Each is sent once; only if the process died while sending, it is sent again, and marked.
package notification

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/ids"
	"github.com/vedette-sec/vedette/internal/infra/queue"
)

// Args is the job that sends one notification.
type Args struct {
	ID string `json:"notice_id"`
}

// Kind implements queue.Args. The name is older than this package.
func (Args) Kind() string { return "scan.notice" }

// Notification is a message for one channel.
type Notification struct {
	ID         string
	TeamID     string
	Kind       Kind
	Subject    string // the id of a scan, an enumeration, or an event of a policy
	PolicyID   string
	Run        int64
	Event      string // such as finished
	ConfigID   string
	Channel    int // its index in the configuration
	Provider   string
	Body       json.RawMessage
	State      State
	Attempts   int
	Note       string // why it was not sent
	MaybeTwice bool   // it was sent again after a process died while sending it
	CreatedAt  time.Time
	UpdatedAt  time.Time
}

// Kind is the kind of the subject.
type Kind string

// The kinds.
const (
	OfScan        Kind = "scan"
	OfEnumeration Kind = "enumeration"
	OfPolicy      Kind = "policy"
	OfFinding     Kind = "finding" // the subject is the id of a finding, a slash and the operation
	OfReport      Kind = "report"  // made on a schedule; the subject is the schedule
	OfRule        Kind = "rule"    // of triage; the subject is the id of the rule, a slash and what was done at once
)

// State is the state of a notification.
type State string

// The states.
const (
	Waiting State = "waiting"
	Sending State = "sending"
	Sent    State = "sent"
	Failed  State = "failed"
	Dropped State = "dropped" // its channel was deleted
)

// States are all states.
var States = []State{Waiting, Sending, Sent, Failed, Dropped}

const maxNote = 500

// Notifications keeps the messages for the channels of teams, and sends them.
type Notifications struct {
	db    *db.DB
	queue *queue.Queue
	now   func() time.Time
}

// New makes the service.
func New(d *db.DB, q *queue.Queue) *Notifications { return &Notifications{d, q, time.Now} }

const columns = `id, team_id, kind, subject_id, policy_id, run, event, config_id, channel, provider, state, attempts, note, maybe_twice,
	body, created_at, updated_at`

func row(r db.Row) (n Notification, err error) {
	err = r.Scan(&n.ID, &n.TeamID, &n.Kind, &n.Subject, &n.PolicyID, &n.Run, &n.Event, &n.ConfigID, &n.Channel,
		&n.Provider, &n.State,
		&n.Attempts, &n.Note, &n.MaybeTwice, db.Into(&n.Body), db.Into(&n.CreatedAt), db.Into(&n.UpdatedAt))
	return n, err
}

// Add writes notifications with a job for each, in one transaction. Those that exist already stay as they are.
func (ns *Notifications) Add(ctx context.Context, list []Notification) error {
	return ns.db.Tx(ctx, func(tx *db.Tx) error {
		for _, n := range list {
			id, now := ids.New(), db.At(ns.now())
			added, err := tx.Exec(ctx, `INSERT INTO notice (id, team_id, kind, subject_id, policy_id, run, event, config_id, channel, provider,
				state, body, created_at, updated_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`, id,
				n.TeamID,
				n.Kind, n.Subject, n.PolicyID, n.Run, n.Event, n.ConfigID, n.Channel, n.Provider, Waiting, db.Doc(n.Body), now, now)
			if err != nil {
				return err
			}
			if added == 0 {
				continue
			}
			if _, err := ns.queue.Insert(ctx, tx, n.TeamID, Args{id}); err != nil {
				return err
			}
		}
		return nil
	})
}

// Start marks a notification as being sent. If it is marked already, its process died while sending: it is sent again
// and marked, because twice is better than never. ok is false when there is nothing to send.
func (ns *Notifications) Start(ctx context.Context, id string) (n Notification, ok bool, err error) {
	err = ns.db.Tx(ctx, func(tx *db.Tx) error {
		n, err = row(tx.QueryRow(ctx, `UPDATE notice SET maybe_twice = maybe_twice OR state = ?, state = ?, attempts = attempts + 1, updated_at = ?
			WHERE id = ? AND state IN (?, ?) RETURNING `+columns, Sending, Sending, db.At(ns.now()), id, Waiting, Sending))
		if db.IsNoRows(err) {
			return nil
		}
		ok = err == nil
		return err
	})
	return n, ok, err
}

// End stores the result of sending a notification; Waiting: it will be tried again. tx is the caller's transaction;
// nil: one of its own.
func (ns *Notifications) End(ctx context.Context, tx *db.Tx, id string, state State, note string) error {
	if tx == nil {
		return ns.db.Tx(ctx, func(tx *db.Tx) error { return ns.End(ctx, tx, id, state, note) })
	}
	note = db.Clean(strings.ToValidUTF8(note[:min(len(note), maxNote)], ""))
	_, err := tx.Exec(ctx, `UPDATE notice SET state = ?, note = ?, updated_at = ? WHERE id = ? AND state IN ('waiting', 'sending')`,
		state, note, db.At(ns.now()), id)
	return err
}

// Delete deletes the notifications about a subject, in the transaction that deletes that.
func (ns *Notifications) Delete(ctx context.Context, tx *db.Tx, kind Kind, subject string) error {
	_, err := tx.Exec(ctx, `DELETE FROM notice WHERE kind = ? AND subject_id = ?`, kind, subject)
	return err
}
