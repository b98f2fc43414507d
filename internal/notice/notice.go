// Package notice keeps what is to be told in a team's channels: one row for each channel
// and each thing to tell, sent once, by a job of its own.
package notice

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	"github.com/vedette-sec/vedette/internal/account"
	"github.com/vedette-sec/vedette/internal/db"
	"github.com/vedette-sec/vedette/internal/ids"
	"github.com/vedette-sec/vedette/internal/queue"
)

// Args is the job that sends one notice.
type Args struct {
	ID string `json:"notice_id"`
}

// Kind implements queue.Args. The name is older than this room.
func (Args) Kind() string { return "scan.notice" }

// Notice is one thing to tell in one channel.
type Notice struct {
	ID       string
	TeamID   string
	Kind     string // of what it is about: scan or enumeration
	Subject  string // its id
	Run      int64
	Event    string // such as finished
	ConfigID string
	Channel  int // its place in the configuration
	Provider string
	Body     json.RawMessage
	State    State
	Attempts int
	Note     string // why it was not sent
}

// State is how far a notice is.
type State string

// The states of a notice. Sending is one whose sender has not come back yet.
const (
	Waiting State = "waiting"
	Sending State = "sending"
	Sent    State = "sent"
	Failed  State = "failed"
	Dropped State = "dropped" // there is nobody to send it to any more
)

// maxNote is how many bytes of the reason are kept.
const maxNote = 500

// Notices is the slice.
type Notices struct {
	db    *db.DB
	queue *queue.Queue
	now   func() time.Time
}

// New makes the slice.
func New(d *db.DB, q *queue.Queue) *Notices { return &Notices{d, q, time.Now} }

const columns = `id, team_id, kind, subject_id, run, event, config_id, channel, provider, state, attempts, note, body`

func row(r db.Row) (n Notice, err error) {
	var body db.JSON[json.RawMessage]
	err = r.Scan(&n.ID, &n.TeamID, &n.Kind, &n.Subject, &n.Run, &n.Event, &n.ConfigID, &n.Channel, &n.Provider, &n.State, &n.Attempts, &n.Note, &body)
	n.Body = body.V
	return n, err
}

// Add writes notices, and a job for each, in one transaction. One that is there already
// stays as it is.
func (ns *Notices) Add(ctx context.Context, notices []Notice) error {
	return ns.db.Tx(ctx, func(tx *db.Tx) error {
		for _, n := range notices {
			id, now := ids.New(), db.At(ns.now())
			added, err := tx.Exec(ctx, `INSERT INTO notice (id, team_id, kind, subject_id, run, event, config_id, channel, provider, state, body, created_at, updated_at)
				VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`,
				id, n.TeamID, n.Kind, n.Subject, n.Run, n.Event, n.ConfigID, n.Channel, n.Provider, Waiting, db.Doc(n.Body), now, now)
			if err != nil {
				return err
			}
			if added == 0 {
				continue
			}
			if _, err := ns.queue.Insert(ctx, tx, Args{id}); err != nil {
				return err
			}
		}
		return nil
	})
}

// Start marks a notice as being sent, on disk, before anything leaves: one that is found
// so was being sent when its process died, perhaps with success, and is given up rather
// than sent twice. ok is false when there is nothing to send.
func (ns *Notices) Start(ctx context.Context, id string) (n Notice, ok bool, err error) {
	err = ns.db.Tx(ctx, func(tx *db.Tx) error {
		if _, err := tx.Exec(ctx, `UPDATE notice SET state = ?, note = ?, updated_at = ? WHERE id = ? AND state = ?`,
			Failed, "The server stopped while it was being sent. It is not sent again, because it may have arrived.", db.At(ns.now()), id, Sending); err != nil {
			return err
		}
		n, err = row(tx.QueryRow(ctx, `UPDATE notice SET state = ?, attempts = attempts + 1, updated_at = ? WHERE id = ? AND state = ? RETURNING `+columns, Sending, db.At(ns.now()), id, Waiting))
		if db.IsNoRows(err) {
			return nil
		}
		ok = err == nil
		return err
	})
	return n, ok, err
}

// End writes what became of a notice that is being sent: Waiting, when it is to be tried
// again. tx is the caller's transaction; nil: one of its own.
func (ns *Notices) End(ctx context.Context, tx *db.Tx, id string, state State, note string) error {
	if tx == nil {
		return ns.db.Tx(ctx, func(tx *db.Tx) error { return ns.End(ctx, tx, id, state, note) })
	}
	note = db.Clean(strings.ToValidUTF8(note[:min(len(note), maxNote)], ""))
	_, err := tx.Exec(ctx, `UPDATE notice SET state = ?, note = ?, updated_at = ? WHERE id = ? AND state IN ('waiting', 'sending')`, state, note, db.At(ns.now()), id)
	return err
}

// Delete deletes what was told of something, in the transaction that deletes that.
func (ns *Notices) Delete(ctx context.Context, tx *db.Tx, kind, subject string) error {
	_, err := tx.Exec(ctx, `DELETE FROM notice WHERE kind = ? AND subject_id = ?`, kind, subject)
	return err
}

// FindAll lists what the caller's team was told of something, the oldest first.
func (ns *Notices) FindAll(ctx context.Context, kind, subject string) ([]Notice, error) {
	c, err := account.From(ctx)
	if err != nil {
		return nil, err
	}
	rows, err := ns.db.Query(ctx, `SELECT `+columns+` FROM notice WHERE team_id = ? AND kind = ? AND subject_id = ? ORDER BY id`, c.TeamID, kind, subject)
	return db.Collect(rows, err, row)
}
