package chat

import (
	"context"
	"net/http"
	"strings"
	"time"

	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/notify/slack"
)

// MaxHook bounds the body of what Slack sends, in bytes.
const MaxHook = slack.MaxHook

// eventFor is how long the ids of events are kept. A signature is good for five minutes, and Slack sends an event
// again within an hour or two.
const eventFor = 24 * time.Hour

// Taken is what became of what Slack sent.
type Taken int

// What may become of it.
const (
	Unknown   Taken = iota // this server takes none
	Unsigned               // the signature is missing, wrong or old
	Malformed              // Slack would not send it
	Accepted               // a job does what it asks for, or nothing is to be done
)

// EventArgs is the job that does what Slack sent.
type EventArgs struct {
	EventID   string         `json:"event_id"`
	Workspace string         `json:"workspace"`
	In        slack.Incoming `json:"in"`
}

// Kind implements queue.Args.
func (EventArgs) Kind() string { return "slack.event" }

// Receive takes what Slack sends: to the operator's app, or (id is a workspace's) to one of a team's. challenge is the
// answer that Slack asks for; empty: none. What came before changes nothing.
func (cs *Chats) Receive(ctx context.Context, id string, header http.Header, body []byte) (
	challenge string, taken Taken, err error,
) {
	signing := cs.App.SigningSecret
	if id != "" {
		if signing, err = cs.signingOf(ctx, id); err != nil {
			return "", Unknown, err
		}
	} else if signing == "" {
		return "", Unknown, nil
	}
	if !slack.Signed(signing, header, body, cs.now()) {
		return "", Unsigned, nil
	}
	in, ok := slack.Read(header, body)
	switch {
	case !ok:
		return "", Malformed, nil
	case in.Kind == slack.Challenge:
		return in.Challenge, Accepted, nil
	case in.Kind == slack.Other:
		return "", Accepted, nil
	}
	return "", Accepted, cs.db.Tx(ctx, func(tx *db.Tx) error { return cs.take(ctx, tx, id, in) })
}

// signingOf is the secret of a team's own app; empty, with which nothing is signed, when there is none.
func (cs *Chats) signingOf(ctx context.Context, id string) (string, error) {
	w, err := find(ctx, cs.db, "id = ? AND own_app = ? AND status = ?", db.Clean(id), true, Active)
	if err != nil || w.ID == "" {
		return "", err
	}
	plain, err := cs.Box.Open(w.signing, signingContext(w.ID))
	return string(plain), err
}

// take stores an event with its job, if it is for a workspace that is connected.
func (cs *Chats) take(ctx context.Context, tx *db.Tx, id string, in slack.Incoming) error {
	w, err := find(ctx, tx, "slack_team = ? AND status = ? AND own_app = ? AND (? = '' OR id = ?)", in.Team, Active, id != "", id, id)
	if err != nil || w.ID == "" {
		return err
	}
	if in.Kind == slack.Revoked {
		_, err := tx.Exec(ctx, `UPDATE slack_workspace SET status = ?, token = NULL WHERE id = ?`, Revoked, w.ID)
		return err
	}
	if ours, err := cs.isForUs(ctx, tx, w, in); err != nil || !ours {
		return err
	}
	now := cs.now()
	if _, err := tx.Exec(ctx, `DELETE FROM slack_event WHERE at < ?`, db.At(now.Add(-eventFor))); err != nil {
		return err
	}
	event := w.ID + "/" + db.Clean(in.ID)
	n, err := tx.Exec(ctx, `INSERT INTO slack_event (id, team_id, done, at) VALUES (?, ?, ?, ?) ON CONFLICT (id) DO NOTHING`, event,
		w.TeamID, false, db.At(now))
	if err != nil || n == 0 {
		return err
	}
	in.Text = db.Clean(in.Text)
	_, err = cs.Queue.Insert(ctx, tx, w.TeamID, EventArgs{event, w.ID, in})
	return err
}

// isForUs reports whether an event asks for something: a button, a direct message, the app's name, or a reply in a
// thread in which a task is talked about. A message that names the app comes twice; it is taken as what names the app.
func (cs *Chats) isForUs(ctx context.Context, tx *db.Tx, w Workspace, in slack.Incoming) (bool, error) {
	switch {
	case in.Kind == slack.Pressed:
		return true, nil
	case in.User == w.bot:
		return false, nil
	case strings.HasPrefix(in.Channel, "D"):
		return in.Direct, nil
	case in.Mention:
		return true, nil
	case in.Thread == "" || strings.Contains(in.Text, slack.Mention(w.bot)):
		return false, nil
	}
	return db.Value[bool](ctx, tx, `SELECT EXISTS (SELECT 1 FROM slack_thread WHERE team_id = ? AND slack_team = ? AND channel = ?
		AND thread_ts = ? AND slack_user = ?)`, w.TeamID, w.SlackTeam, in.Channel, in.Thread, in.User)
}
