package scan

import (
	"context"
	"encoding/json"
	"time"

	"github.com/vedette-sec/vedette/internal/db"
	"github.com/vedette-sec/vedette/internal/ids"
)

// ToldArgs is the job that tells the world that a run is in a new state. It is inserted
// in the transaction of the change, so that neither is without the other.
type ToldArgs struct {
	ScanID string `json:"scan_id"`
	Run    int64  `json:"run"`
	Status Status `json:"status"` // Running, Finished, Failed or Stopped
}

// Kind implements queue.Args.
func (ToldArgs) Kind() string { return "scan.told" }

// NoticeArgs is the job that sends one notice.
type NoticeArgs struct {
	NoticeID string `json:"notice_id"`
}

// Kind implements queue.Args.
func (NoticeArgs) Kind() string { return "scan.notice" }

// News is a run as those are told who want to know.
type News struct {
	Scan            // with its configuration
	Since time.Time // when the run was launched
}

// FindNews is a scan with the numbers of a run and its state then, for a worker. ok is
// false when the scan is gone.
func (ss *Scans) FindNews(ctx context.Context, a ToldArgs) (n News, ok bool, err error) {
	var reason string
	var started, ended, created db.Time
	var severity db.JSON[map[string]int]
	err = ss.db.QueryRow(ctx, `SELECT s.id, s.team_id, s.user_id, s.name, r.failure_reason, r.total_target, r.total_template, r.total_cell, r.done_cell, r.total_request, r.done_request,
		r.started_at, r.ended_at, r.created_at, coalesce(r.severity, '{}') FROM scan s JOIN scan_run r ON r.scan_id = s.id WHERE s.id = ? AND r.run = ?`, a.ScanID, a.Run).
		Scan(&n.ID, &n.TeamID, &n.UserID, &n.Name, &reason, &n.Numbers.Targets, &n.Numbers.Templates, &n.Numbers.Cells, &n.Numbers.DoneCells, &n.Numbers.Requests, &n.Numbers.DoneRequests,
			&started, &ended, &created, &severity)
	if db.IsNoRows(err) {
		return n, false, nil
	}
	if err != nil {
		return n, false, err
	}
	n.Run, n.Status, n.FailureReason, n.Severities, n.Since = a.Run, a.Status, reason, severity.V, created.Time
	n.Numbers.StartedAt, n.Numbers.EndedAt = started.Time, ended.Time
	n.Config, err = ss.ConfigOf(ctx, a.ScanID)
	return n, true, err
}

// Notice is one thing to tell in one channel.
type Notice struct {
	ID       string
	TeamID   string
	ScanID   string
	Run      int64
	Event    string // such as finished
	ConfigID string
	Channel  int // its place in the configuration
	Provider string
	Body     json.RawMessage
	State    NoticeState
	Attempts int
	Note     string // why it was not sent
}

// NoticeState is how far a notice is.
type NoticeState string

// The states of a notice. Sending is one whose sender has not come back yet.
const (
	NoticeWaiting NoticeState = "waiting"
	NoticeSending NoticeState = "sending"
	NoticeSent    NoticeState = "sent"
	NoticeFailed  NoticeState = "failed"
	NoticeDropped NoticeState = "dropped" // there is nobody to send it to any more
)

// AddNotices writes notices, and a job for each, in one transaction. One that is there
// already stays as it is.
func (ss *Scans) AddNotices(ctx context.Context, notices []Notice) error {
	return ss.db.Tx(ctx, func(tx *db.Tx) error {
		for _, n := range notices {
			id, now := ids.New(), db.At(ss.now())
			added, err := tx.Exec(ctx, `INSERT INTO scan_notice (id, scan_id, run, event, config_id, channel, provider, state, body, created_at, updated_at)
				VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`,
				id, n.ScanID, n.Run, n.Event, n.ConfigID, n.Channel, n.Provider, NoticeWaiting, db.Doc(n.Body), now, now)
			if err != nil {
				return err
			}
			if added == 0 {
				continue
			}
			if _, err := ss.queue.Insert(ctx, tx, NoticeArgs{id}); err != nil {
				return err
			}
		}
		return nil
	})
}

// StartNotice marks a notice as being sent, on disk, before anything leaves: one that is
// found so was being sent when its process died, perhaps with success, and is given up
// rather than sent twice. ok is false when there is nothing to send.
func (ss *Scans) StartNotice(ctx context.Context, id string) (n Notice, ok bool, err error) {
	err = ss.db.Tx(ctx, func(tx *db.Tx) error {
		if _, err := tx.Exec(ctx, `UPDATE scan_notice SET state = ?, note = ?, updated_at = ? WHERE id = ? AND state = ?`,
			NoticeFailed, "The server stopped while it was being sent. It is not sent again, because it may have arrived.", db.At(ss.now()), id, NoticeSending); err != nil {
			return err
		}
		var body db.JSON[json.RawMessage]
		err := tx.QueryRow(ctx, `UPDATE scan_notice SET state = ?, attempts = attempts + 1, updated_at = ? WHERE id = ? AND state = ?
			RETURNING scan_id, run, event, config_id, channel, provider, attempts, body`, NoticeSending, db.At(ss.now()), id, NoticeWaiting).
			Scan(&n.ScanID, &n.Run, &n.Event, &n.ConfigID, &n.Channel, &n.Provider, &n.Attempts, &body)
		if db.IsNoRows(err) {
			return nil
		}
		if err != nil {
			return err
		}
		n.ID, n.State, n.Body, ok = id, NoticeSending, body.V, true
		return tx.QueryRow(ctx, `SELECT team_id FROM scan WHERE id = ?`, n.ScanID).Scan(&n.TeamID)
	})
	return n, ok, err
}

// EndNotice writes what became of a notice that is being sent: NoticeWaiting, when it is
// to be tried again. tx is the caller's transaction; nil: one of its own.
func (ss *Scans) EndNotice(ctx context.Context, tx *db.Tx, id string, state NoticeState, note string) error {
	if tx == nil {
		return ss.db.Tx(ctx, func(tx *db.Tx) error { return ss.EndNotice(ctx, tx, id, state, note) })
	}
	_, err := tx.Exec(ctx, `UPDATE scan_notice SET state = ?, note = ?, updated_at = ? WHERE id = ? AND state IN ('waiting', 'sending')`, state, db.Clean(clip(note, maxReason)), db.At(ss.now()), id)
	return err
}

// FindNotices lists what was told of a scan of the caller's team, the oldest first.
func (ss *Scans) FindNotices(ctx context.Context, scanID string) ([]Notice, error) {
	s, err := ss.Find(ctx, scanID)
	if err != nil {
		return nil, err
	}
	rows, err := ss.db.Query(ctx, `SELECT id, scan_id, run, event, config_id, channel, provider, state, attempts, note, body FROM scan_notice WHERE scan_id = ? ORDER BY id`, scanID)
	return db.Collect(rows, err, func(r db.Row) (n Notice, err error) {
		var body db.JSON[json.RawMessage]
		err = r.Scan(&n.ID, &n.ScanID, &n.Run, &n.Event, &n.ConfigID, &n.Channel, &n.Provider, &n.State, &n.Attempts, &n.Note, &body)
		n.TeamID, n.Body = s.TeamID, body.V
		return n, err
	})
}
