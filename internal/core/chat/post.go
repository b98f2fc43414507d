package chat

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/vedette-sec/vedette/internal/infra/apiclient"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/ids"
	"github.com/vedette-sec/vedette/internal/infra/queue"
	"github.com/vedette-sec/vedette/internal/notify/slack"
)

// The states of a message.
const (
	waiting   = "waiting"
	sending   = "sending" // or it was when the process died
	posted    = "posted"
	unposted  = "failed"
	messageIn = 30 * 24 * time.Hour // is how long rows are kept
)

// PostArgs is the job that writes a message.
type PostArgs struct {
	MessageID string `json:"message_id"`
}

// Kind implements queue.Args.
func (PostArgs) Kind() string { return "slack.post" }

// ask is what the buttons of a message decide.
type ask struct {
	TaskID   string `json:"task_id"`
	StreamID string `json:"stream_id"`
	Branch   string `json:"branch"`
	CallID   string `json:"call_id"`
}

// message is a row.
type message struct {
	id, teamID, slackTeam   string
	channel, thread         string
	key, text, edits, state string
	ask                     *ask
}

const messageColumns = `id, team_id, slack_team, channel, thread_ts, key, text, edits, state, ask FROM slack_message`

func scanMessage(r db.Row) (m message, err error) {
	return m, r.Scan(&m.id, &m.teamID, &m.slackTeam, &m.channel, &m.thread, &m.key, &m.text, &m.edits, &m.state,
		db.Into(&m.ask))
}

// say stores a message of a workspace, once for its key, and a job for it unless an older one of its thread is to be
// written first.
func (cs *Chats) say(ctx context.Context, tx *db.Tx, w Workspace, m message) error {
	if err := lock(ctx, tx, w.ID); err != nil {
		return err
	}
	now := cs.now()
	if _, err := tx.Exec(ctx, `DELETE FROM slack_message WHERE created_at < ?`, db.At(now.Add(-messageIn))); err != nil {
		return err
	}
	before, err := oldest(ctx, tx, w.TeamID, w.SlackTeam, m.channel, m.thread)
	if err != nil {
		return err
	}
	m.id = ids.New()
	n, err := tx.Exec(ctx, `INSERT INTO slack_message (id, team_id, slack_team, channel, thread_ts, key, text, edits, ask, state, ts,
		created_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, '', ?) ON CONFLICT (team_id, key) DO NOTHING`, m.id, w.TeamID, w.SlackTeam,
		m.channel, m.thread, m.key, db.Clean(slack.Clip(m.text, slack.MaxText)), m.edits, db.Doc(m.ask), waiting, db.At(now))
	if err != nil || n == 0 || before != "" {
		return err
	}
	_, err = cs.Queue.Insert(ctx, tx, w.TeamID, PostArgs{m.id})
	return err
}

// lock keeps two transactions from both seeing the other's message as the older one of a thread.
func lock(ctx context.Context, tx *db.Tx, workspace string) error {
	_, err := db.Value[string](ctx, tx, `SELECT id FROM slack_workspace WHERE id = ?`+tx.Dialect().ForUpdate(), workspace)
	if db.IsNoRows(err) {
		return nil
	}
	return err
}

// oldest is the id of the oldest message of a thread that is not written; empty: all are.
func oldest(ctx context.Context, q db.Querier, team, slackTeam, channel, thread string) (string, error) {
	id, err := db.Value[string](ctx, q, `SELECT id FROM slack_message WHERE team_id = ? AND slack_team = ? AND channel = ? AND thread_ts = ?
		AND state IN (?, ?) ORDER BY created_at, id LIMIT 1`, team, slackTeam, channel, thread, waiting, sending)
	if db.IsNoRows(err) {
		return "", nil
	}
	return id, err
}

// end stores what became of a message, and queues the next one of its thread.
func (cs *Chats) end(ctx context.Context, tx *db.Tx, m message, state, ts string) error {
	w, err := find(ctx, tx, "team_id = ? AND slack_team = ?", m.teamID, m.slackTeam)
	if err == nil && w.ID != "" {
		err = lock(ctx, tx, w.ID)
	}
	if err != nil {
		return err
	}
	if m.ask == nil {
		m.text = ""
	}
	n, err := tx.Exec(ctx, `UPDATE slack_message SET state = ?, ts = ?, text = ? WHERE id = ? AND state IN (?, ?)`, state, ts, m.text, m.id,
		waiting, sending)
	if err != nil || n == 0 {
		return err
	}
	next, err := oldest(ctx, tx, m.teamID, m.slackTeam, m.channel, m.thread)
	if err == nil && next != "" {
		_, err = cs.Queue.Insert(ctx, tx, m.teamID, PostArgs{next})
	}
	return err
}

// Post writes a message.
func (cs *Chats) Post(ctx context.Context, job queue.Job[PostArgs]) error {
	return cs.post(ctx, job.Args, job.CheckLease)
}

// GiveUpPost ends a message whose job is not tried again.
func (cs *Chats) GiveUpPost(ctx context.Context, tx *db.Tx, job queue.Job[PostArgs], cause error) error {
	cs.Logger.ErrorContext(ctx, "giving up a message to Slack", "message", job.Args.MessageID, "error", cause)
	m, err := scanMessage(tx.QueryRow(ctx, `SELECT `+messageColumns+` WHERE id = ?`, job.Args.MessageID))
	if db.IsNoRows(err) {
		return nil
	}
	if err != nil {
		return err
	}
	return cs.end(ctx, tx, m, unposted, "")
}

func (cs *Chats) post(ctx context.Context, a PostArgs, lease func(context.Context, *db.Tx) error) error {
	m, err := scanMessage(cs.db.QueryRow(ctx, `SELECT `+messageColumns+` WHERE id = ?`, a.MessageID))
	if db.IsNoRows(err) || err == nil && m.state != waiting && m.state != sending {
		return nil
	}
	if err != nil {
		return err
	}
	ended := func(state, ts string) error {
		return cs.db.Tx(context.WithoutCancel(ctx), func(tx *db.Tx) error { return cs.end(ctx, tx, m, state, ts) })
	}
	w, err := find(ctx, cs.db, "team_id = ? AND slack_team = ? AND status = ?", m.teamID, m.slackTeam, Active)
	if err != nil {
		return err
	}
	if w.ID == "" {
		return ended(unposted, "") // it was disconnected
	}
	err = cs.db.Tx(ctx, func(tx *db.Tx) error {
		if err := lease(ctx, tx); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, `UPDATE slack_message SET state = ? WHERE id = ?`, sending, m.id)
		return err
	})
	if err != nil {
		return err
	}
	ts, err := cs.send(ctx, w, m)
	if noted := cs.note(ctx, w, err); noted != nil {
		return noted
	}
	if err == nil {
		return ended(posted, ts)
	}
	wait, retry := apiclient.RetryAfter(err)
	if !retry {
		return ended(unposted, "")
	}
	e, ok := errors.AsType[*apiclient.Error](err)
	if ok && (e.Status == http.StatusOK || e.Status == http.StatusTooManyRequests) {
		// Slack said that it was not written: the next run need not look for it.
		if _, err := cs.db.Exec(ctx, `UPDATE slack_message SET state = ? WHERE id = ? AND state = ?`, waiting, m.id, sending); err != nil {
			return err
		}
	}
	return queue.After(err, wait)
}

// send writes a message at Slack, unless a run before this one has.
func (cs *Chats) send(ctx context.Context, w Workspace, m message) (ts string, err error) {
	token, err := cs.secretOf(w)
	if err != nil {
		return "", err
	}
	out := slack.Message{Channel: m.channel, Thread: m.thread, Text: m.text, Key: m.key}
	if m.edits != "" {
		_, err := cs.Client.Edit(ctx, token, m.edits, out)
		return m.edits, err
	}
	if m.ask != nil {
		out.Value = m.id
		out.Buttons = []slack.Button{
			{Action: approve, Text: "Approve", Style: "primary"}, {Action: decline, Text: "Decline", Style: "danger"},
		}
	}
	if m.state == sending {
		ts, err = cs.Client.Find(ctx, token, w.bot, out)
		if err == nil && ts != "" {
			return ts, nil
		}
		if _, passes := apiclient.RetryAfter(err); err != nil && passes {
			return "", err
		} // an app that may not read cannot tell: better twice than never
	}
	return cs.Client.Post(ctx, token, out)
}

// refusal is a message of what is refused.
func refusal(err error) string { return slack.Line(errs.From(err).Message, 500) }
