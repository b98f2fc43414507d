// Package inbox tells members of teams what is about them: that a finding was assigned to them, that a comment mentions
// them, that what they look after came back. Each message is kept for 90 days for them alone, and sent as a mail where
// the server has a mail server. Alerts to the channels of a team are of package notification.
package inbox

import (
	"context"
	"strings"
	"time"

	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/core/account/roster"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/ids"
	"github.com/vedette-sec/vedette/internal/infra/page"
	"github.com/vedette-sec/vedette/internal/notify/mailer"
)

// Kind is what a message is about.
type Kind string

// The kinds.
const (
	Assigned   Kind = "assigned"   // a finding was assigned to them
	Mentioned  Kind = "mentioned"  // a comment names them
	Regression Kind = "regression" // what was assigned to them and fixed is there again
	RiskEnded  Kind = "risk_ended" // the time is over for which a risk was accepted
	DueSoon    Kind = "due_soon"   // what is assigned to them is to be fixed soon
	Overdue    Kind = "overdue"    // what is assigned to them was to be fixed by now
)

// Kinds are all kinds.
var Kinds = []Kind{Assigned, Mentioned, Regression, RiskEnded, DueSoon, Overdue}

// Message is something that a person is told.
type Message struct {
	ID        string // for Post empty: a new one
	Kind      Kind
	FindingID string // empty: it is about several
	Text      string
	Actor     string // an email; empty: the service
	At        time.Time
	ReadAt    time.Time // zero: unread
}

const (
	keep     = 90 * 24 * time.Hour
	maxText  = 4000 // bytes of a message
	mailSpan = time.Hour
	maxMails = 30 // that a person gets from one team in a span; later messages are in the inbox only
	maxRead  = 1000
)

// Inbox is the service.
type Inbox struct {
	db        *db.DB
	mail      *mailer.Outbox // nil: no mails
	publicURL string         // for links in mails; empty: none
	now       func() time.Time
}

// New makes the service. mail may be nil.
func New(d *db.DB, mail *mailer.Outbox, publicURL string) *Inbox {
	return &Inbox{db: d, mail: mail, publicURL: strings.TrimRight(publicURL, "/"), now: time.Now}
}

// Post tells members of a team something, in the caller's transaction; mails go out after it. Who did it is not told. A
// message with an ID is told once.
func (in *Inbox) Post(ctx context.Context, tx *db.Tx, teamID string, to []roster.Member, m Message) error {
	now := in.now()
	m.Text = db.Clean(errs.Clip(m.Text, maxText))
	for _, member := range to {
		if member.Email == m.Actor {
			continue
		}
		id := m.ID
		if id == "" {
			id = ids.New()
		}
		if _, err := tx.Exec(ctx, `DELETE FROM inbox_message WHERE team_id = ? AND user_id = ? AND at < ?`, teamID,
			member.UserID, db.At(now.Add(-keep))); err != nil {
			return err
		}
		recent, err := db.Value[int](ctx, tx, `SELECT count(*) FROM inbox_message WHERE team_id = ? AND user_id = ? AND at > ?`,
			teamID, member.UserID, db.At(now.Add(-mailSpan)))
		if err != nil {
			return err
		}
		added, err := tx.Exec(ctx, `INSERT INTO inbox_message (team_id, user_id, id, kind, finding_id, text, actor, at)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`, teamID, member.UserID, id, m.Kind, m.FindingID, m.Text, m.Actor,
			db.At(now))
		if err != nil {
			return err
		}
		if added > 0 && in.mail != nil && recent < maxMails {
			tx.AfterCommit(func() { in.mail.Put(member.Email, subjects[m.Kind], in.letter(m)) })
		}
	}
	return nil
}

// subjects of mails have no text of people or targets.
var subjects = map[Kind]string{
	Assigned: "A finding was assigned to you", Mentioned: "A comment mentions you", Regression: "A finding is back",
	RiskEnded: "An accepted risk has ended", DueSoon: "A finding is due soon", Overdue: "A finding is overdue",
}

func (in *Inbox) letter(m Message) string {
	text := m.Text + "\n"
	if in.publicURL != "" && m.FindingID != "" {
		text += "\n" + in.publicURL + "/findings/" + m.FindingID + "\n"
	}
	return text
}

// Find lists the messages of the caller in their team, the newest first, and counts those and the unread ones.
func (in *Inbox) Find(
	ctx context.Context, unreadOnly bool, w page.Window,
) (found []Message, total, unread int, err error) {
	c, err := account.From(ctx)
	if err != nil {
		return nil, 0, 0, err
	}
	var where db.Where
	where.And("team_id = ? AND user_id = ?", c.TeamID, c.UserID)
	all := where
	if unreadOnly {
		where.And("read_at IS NULL")
	}
	found, total, err = db.Page(ctx, in.db, func(r db.Row) (m Message, err error) {
		return m, r.Scan(&m.ID, &m.Kind, &m.FindingID, &m.Text, &m.Actor, db.Into(&m.At), db.Into(&m.ReadAt))
	}, `SELECT id, kind, finding_id, text, actor, at, read_at FROM inbox_message`, `inbox_message`, where,
		` ORDER BY at DESC, id DESC`, w)
	if err != nil {
		return nil, 0, 0, err
	}
	unread, err = db.Value[int](ctx, in.db, `SELECT count(*) FROM inbox_message`+all.String()+` AND read_at IS NULL`,
		all.Args...)
	return found, total, unread, err
}

// Read marks messages of the caller as read; without ids all. It returns how many were unread. An id that is not one of
// theirs is NotFound, and nothing changes.
func (in *Inbox) Read(ctx context.Context, messages []string) (changed int64, err error) {
	c, err := account.From(ctx)
	if err != nil {
		return 0, err
	}
	if c.ReadOnly {
		return 0, account.ErrReadOnlyKey
	}
	if len(messages) > maxRead {
		return 0, errs.Field("ids", "ids must name at most %d messages.", maxRead)
	}
	var w db.Where
	w.And("team_id = ? AND user_id = ?", c.TeamID, c.UserID)
	return changed, in.db.Tx(ctx, func(tx *db.Tx) error {
		if len(messages) > 0 {
			clean := map[string]bool{}
			for i := range messages {
				messages[i] = db.Clean(messages[i])
				clean[messages[i]] = true
			}
			db.In(&w, "id", messages)
			n, err := db.Value[int](ctx, tx, `SELECT count(*) FROM inbox_message`+w.String(), w.Args...)
			if err != nil {
				return err
			}
			if n < len(clean) {
				return errs.Missing("notification")
			}
		}
		changed, err = tx.Exec(ctx, `UPDATE inbox_message SET read_at = ?`+w.String()+` AND read_at IS NULL`,
			append([]any{db.At(in.now())}, w.Args...)...)
		return err
	})
}
