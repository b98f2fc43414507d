// Package comment keeps what people say about findings. A comment belongs to a weakness, so it is shown with each
// sighting of it, and stays when they are deleted. It is in the timelines too; when its author deletes it, its text is
// taken out of them. A comment that names members as @their-address tells them (package inbox).
package comment

import (
	"context"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/core/account/roster"
	"github.com/vedette-sec/vedette/internal/core/finding"
	"github.com/vedette-sec/vedette/internal/core/finding/timeline"
	"github.com/vedette-sec/vedette/internal/core/inbox"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/ids"
	"github.com/vedette-sec/vedette/internal/infra/page"
)

// Comment is what somebody said about a weakness.
type Comment struct {
	ID       string
	Author   string // an email; or a name and, in brackets, the tracker that it was written in
	Text     string
	At       time.Time
	EditedAt time.Time // zero: it was not edited
	// Mentioned are the members that Add and Edit have told; Strangers are no members of the team, whom nobody told.
	Mentioned, Strangers []string
}

const (
	maxText     = 4000 // bytes
	maxMentions = 20
	maxComments = 10_000 // of a weakness
)

// Comments is the service.
type Comments struct {
	db       *db.DB
	findings *finding.Findings
	inbox    *inbox.Inbox
	now      func() time.Time
}

// New makes the service.
func New(d *db.DB, findings *finding.Findings, in *inbox.Inbox) *Comments {
	return &Comments{d, findings, in, time.Now}
}

// Add comments on a finding of the caller's team: in its timeline, and in its issues in trackers whose configuration
// wants comments.
func (cs *Comments) Add(ctx context.Context, findingID, text string) (out Comment, err error) {
	c, err := account.Writer(ctx)
	if err != nil {
		return out, err
	}
	return out, cs.db.Tx(ctx, func(tx *db.Tx) error {
		// What is joined or split at this moment takes the comment along.
		if err := cs.findings.Lock(ctx, tx, c.TeamID); err != nil {
			return err
		}
		weakness, err := cs.findings.WeaknessOf(ctx, tx, c.TeamID, db.Clean(findingID))
		if err == nil {
			out, err = cs.add(ctx, tx, c, weakness, findingID, text)
		}
		return err
	})
}

// AddTo comments on the weaknesses of findings of a team, on each once, in the caller's transaction, and returns their
// number. by needs TeamID and Email; without the latter it was the service. An id that the team does not have is
// NotFound.
func (cs *Comments) AddTo(
	ctx context.Context, tx *db.Tx, by account.Caller, findingIDs []string, text string,
) (added int, err error) {
	_, weaknesses, err := cs.findings.Named(ctx, tx, by.TeamID, findingIDs)
	if err != nil {
		return 0, err
	}
	for weakness, id := range weaknesses {
		if _, err := cs.add(ctx, tx, by, weakness, id, text); err != nil {
			return added, err
		}
		added++
	}
	return added, nil
}

func (cs *Comments) add(
	ctx context.Context, tx *db.Tx, by account.Caller, weakness, findingID, text string,
) (out Comment, err error) {
	if err := check(text); err != nil {
		return out, err
	}
	n, err := db.Value[int](ctx, tx, `SELECT count(*) FROM finding_comment WHERE team_id = ? AND hash = ?`, by.TeamID,
		weakness)
	if err != nil {
		return out, err
	}
	if n >= maxComments {
		return out, errs.New(errs.Invalid, "too_many_comments", "A finding has at most %d comments.", maxComments)
	}
	out = Comment{ID: ids.New(), Author: by.Email, Text: db.Clean(text), At: db.At(cs.now()).Time}
	if err := cs.store(ctx, tx, by.TeamID, weakness, out); err != nil {
		return out, err
	}
	if err := cs.tell(ctx, tx, by, findingID, "", &out); err != nil {
		return out, err
	}
	return out, cs.findings.TellTickets(ctx, tx, by.TeamID, []string{weakness},
		finding.TicketNews{Kind: finding.NewsComment, Text: text, Author: by.Email})
}

// Take stores a comment that was written in a tracker, in the caller's transaction. Nobody is told: who wrote it is no
// member that we know.
func (cs *Comments) Take(ctx context.Context, tx *db.Tx, teamID, weakness, author, text string) error {
	return cs.store(ctx, tx, teamID, weakness, Comment{
		ID: ids.New(), Author: db.Clean(author), Text: db.Clean(text), At: db.At(cs.now()).Time,
	})
}

func (cs *Comments) store(ctx context.Context, tx *db.Tx, teamID, weakness string, c Comment) error {
	if _, err := tx.Exec(ctx, `INSERT INTO finding_comment (team_id, id, hash, author, text, at) VALUES (?, ?, ?, ?, ?, ?)`,
		teamID, c.ID, weakness, c.Author, c.Text, db.At(c.At)); err != nil {
		return err
	}
	return cs.note(ctx, tx, teamID, weakness, timeline.Entry{
		Kind: timeline.Commented, To: c.Text, Actor: c.Author, Operation: c.ID,
	})
}

// note writes an entry about a comment into the timelines of a weakness, of which there may be none left.
func (cs *Comments) note(ctx context.Context, tx *db.Tx, teamID, weakness string, e timeline.Entry) error {
	e.Field = "ticket" // as clients know comments from the first release that had them
	err := cs.findings.Note(ctx, tx, teamID, weakness, e)
	if errs.Is(err, errs.NotFound) {
		return nil
	}
	return err
}

func check(text string) error {
	if strings.TrimSpace(text) == "" || len(text) > maxText {
		return errs.Field("text", "text must have 1 to %d bytes, and not only spaces.", maxText)
	}
	return nil
}

// mention is an address after an @ that begins a word.
var mention = regexp.MustCompile(`(?:^|[\s(\[{,;:"'>])@([\w.!#$%&'*+/=?^{|}~-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){0,8})`)

// mentioned are the addresses that a text names as @address, each once.
func mentioned(text string) (out []string) {
	for _, m := range mention.FindAllStringSubmatch(text, -1) {
		email := strings.ToLower(strings.TrimRight(m[1], "."))
		if !slices.Contains(out, email) {
			out = append(out, email)
		}
	}
	return out
}

// tell tells the members that a comment names and an earlier text of it did not.
func (cs *Comments) tell(
	ctx context.Context, tx *db.Tx, by account.Caller, findingID, before string, c *Comment,
) error {
	named := mentioned(c.Text)
	if len(named) > maxMentions {
		return errs.Field("text", "text mentions more than %d people.", maxMentions)
	}
	members, err := roster.Find(ctx, tx, by.TeamID, named)
	if err != nil {
		return err
	}
	var to []roster.Member
	had := mentioned(before)
	for _, email := range named {
		m, is := members[email]
		switch {
		case !is:
			c.Strangers = append(c.Strangers, email)
		case !slices.Contains(had, email):
			c.Mentioned = append(c.Mentioned, email)
			to = append(to, m)
		}
	}
	who := by.Email
	if who == "" {
		who = "A rule"
	}
	return cs.inbox.Post(ctx, tx, by.TeamID, to, inbox.Message{
		Kind: inbox.Mentioned, FindingID: findingID, Actor: by.Email,
		Text: who + " mentions you in a comment on a finding:\n\n" + c.Text,
	})
}

// Find lists the comments on a finding of the caller's team, the oldest first, and their number. A guest of the team
// may not see who says what.
func (cs *Comments) Find(
	ctx context.Context, findingID string, w page.Window,
) (found []Comment, total int, err error) {
	c, err := account.Insider(ctx)
	if err != nil {
		return nil, 0, err
	}
	weakness, err := cs.findings.WeaknessOf(ctx, cs.db, c.TeamID, db.Clean(findingID))
	if err != nil {
		return nil, 0, err
	}
	var where db.Where
	where.And("team_id = ? AND hash = ?", c.TeamID, weakness)
	return db.Page(ctx, cs.db, row, columns, `finding_comment`, where, ` ORDER BY at, id`, w)
}

const columns = `SELECT id, author, text, at, edited_at FROM finding_comment`

func row(r db.Row) (c Comment, err error) {
	return c, r.Scan(&c.ID, &c.Author, &c.Text, db.Into(&c.At), db.Into(&c.EditedAt))
}

// Edit changes the text of a comment of the caller. Members that it names now are told. NotFound when the finding has
// no such comment, Forbidden when somebody else wrote it.
func (cs *Comments) Edit(ctx context.Context, findingID, id, text string) (out Comment, err error) {
	if err := check(text); err != nil {
		return out, err
	}
	return out, cs.own(ctx, findingID, id, func(tx *db.Tx, by account.Caller, weakness string, was Comment) error {
		out = was
		out.Text = db.Clean(text)
		if out.Text == was.Text {
			return nil
		}
		out.EditedAt = db.At(cs.now()).Time
		if _, err := tx.Exec(ctx, `UPDATE finding_comment SET text = ?, edited_at = ? WHERE team_id = ? AND id = ?`, out.Text,
			db.At(out.EditedAt), by.TeamID, id); err != nil {
			return err
		}
		if err := cs.note(ctx, tx, by.TeamID, weakness, timeline.Entry{
			Kind: timeline.CommentEdited, From: was.Text, To: out.Text, Actor: by.Email, Operation: id,
		}); err != nil {
			return err
		}
		return cs.tell(ctx, tx, by, findingID, was.Text, &out)
	})
}

// Delete deletes a comment of the caller, also from the timelines. What was written into an issue of a tracker stays
// there. It fails as Edit does.
func (cs *Comments) Delete(ctx context.Context, findingID, id string) error {
	return cs.own(ctx, findingID, id, func(tx *db.Tx, by account.Caller, weakness string, was Comment) error {
		if _, err := tx.Exec(ctx, `DELETE FROM finding_comment WHERE team_id = ? AND id = ?`, by.TeamID, id); err != nil {
			return err
		}
		numbers, err := cs.findings.NumbersOf(ctx, tx, by.TeamID, weakness)
		if err != nil {
			return err
		}
		if err := timeline.Forget(ctx, tx, by.TeamID, numbers, timeline.Commented, by.Email, db.At(was.At)); err != nil {
			return err
		}
		if err := timeline.ForgetOperation(ctx, tx, by.TeamID, id); err != nil {
			return err
		}
		return cs.note(ctx, tx, by.TeamID, weakness, timeline.Entry{
			Kind: timeline.CommentDeleted, Actor: by.Email, Operation: id,
		})
	})
}

// own does something with a comment of the caller.
func (cs *Comments) own(
	ctx context.Context, findingID, id string,
	do func(tx *db.Tx, by account.Caller, weakness string, was Comment) error,
) error {
	c, err := account.Writer(ctx)
	if err != nil {
		return err
	}
	weakness, err := cs.findings.WeaknessOf(ctx, cs.db, c.TeamID, db.Clean(findingID))
	if err != nil {
		return err
	}
	return cs.db.Tx(ctx, func(tx *db.Tx) error {
		was, err := row(tx.QueryRow(ctx, columns+` WHERE team_id = ? AND hash = ? AND id = ?`+tx.Dialect().ForUpdate(),
			c.TeamID, weakness, db.Clean(id)))
		if err != nil {
			return db.OrMissing(err, "comment")
		}
		if was.Author != c.Email {
			return errs.New(errs.Forbidden, "comment_of_another", "Only who wrote a comment can change or delete it.")
		}
		return do(tx, c, weakness, was)
	})
}
