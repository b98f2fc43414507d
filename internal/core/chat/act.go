package chat

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"strings"
	"time"

	"github.com/vedette-sec/vedette/internal/agent/loop"
	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/core/audit"
	"github.com/vedette-sec/vedette/internal/core/task"
	"github.com/vedette-sec/vedette/internal/infra/apiclient"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/ids"
	"github.com/vedette-sec/vedette/internal/infra/queue"
	"github.com/vedette-sec/vedette/internal/notify/slack"
)

// The actions of buttons.
const (
	approve = "approve"
	decline = "decline"
)

// planPrefix begins a message whose plan its writer wants to decide on first.
const planPrefix = "plan:"

// Act does what Slack sent, once.
func (cs *Chats) Act(ctx context.Context, job queue.Job[EventArgs]) error {
	return cs.act(ctx, job.Args, job.CheckLease)
}

// GiveUpAct logs an event that is not tried again: without its text, which people wrote.
func (cs *Chats) GiveUpAct(ctx context.Context, tx *db.Tx, job queue.Job[EventArgs], cause error) error {
	cs.Logger.ErrorContext(ctx, "giving up an event of Slack", "event", job.Args.EventID, "error", cause)
	w, err := find(ctx, tx, "id = ? AND status = ?", job.Args.Workspace, Active)
	if err != nil || w.ID == "" {
		return err
	}
	e := event{cs, w, job.Args, nil}
	return e.answer(ctx, tx, "given-up", "That could not be done. The server's log says why.")
}

// event is one run of the job.
type event struct {
	*Chats
	w     Workspace
	args  EventArgs
	lease func(context.Context, *db.Tx) error
}

func (cs *Chats) act(ctx context.Context, a EventArgs, lease func(context.Context, *db.Tx) error) error {
	w, err := find(ctx, cs.db, "id = ? AND status = ?", a.Workspace, Active)
	if err != nil || w.ID == "" {
		return err // it was disconnected
	}
	done, err := db.Value[bool](ctx, cs.db, `SELECT done FROM slack_event WHERE id = ?`, a.EventID)
	if db.IsNoRows(err) || err == nil && done {
		return nil
	}
	if err != nil {
		return err
	}
	if err := cs.db.Tx(ctx, func(tx *db.Tx) error { return lease(ctx, tx) }); err != nil {
		return err
	}
	e := event{cs, w, a, lease}
	in := a.In
	if in.Shared {
		return e.refuse(ctx, "shared/"+in.Channel,
			"I do not work in channels that are shared with another organisation: what I find would be seen there.")
	}
	caller, why, err := cs.member(ctx, w, in.User)
	if noted := cs.note(ctx, w, err); noted != nil {
		return noted
	}
	if err != nil {
		if wait, retry := apiclient.RetryAfter(err); retry {
			return queue.After(err, wait)
		}
		return e.refuse(ctx, "broken", "I cannot ask Slack who you are: an admin of the team sees why in the status of the connection.")
	}
	if why != "" {
		return e.refuse(ctx, "nobody/"+in.User, why)
	}
	if wait := cs.Rate.Take(caller.UserID, cs.now()); wait > 0 {
		return e.refuse(ctx, "rate/"+in.User, fmt.Sprintf("That was too much at once, and I leave it. Try again in %d s.",
			int(math.Ceil(wait.Seconds()))))
	}
	as := account.WithCaller(ctx, caller)
	if in.Kind == slack.Pressed {
		err = e.press(as)
	} else {
		err = e.hear(as, caller)
	}
	if err != nil && isCallers(err) {
		return e.once(ctx, func(tx *db.Tx) error { return e.answer(ctx, tx, "refused", refusal(err)) })
	}
	return err
}

// member is the member of the workspace's team with the address of a person at Slack, as what they may do there; why
// says why there is none.
func (cs *Chats) member(ctx context.Context, w Workspace, user string) (c account.Caller, why string, err error) {
	const unknown = "I do not know you: no member of the team has the e-mail address of your Slack account."
	token, err := cs.secretOf(w)
	if err != nil {
		return c, "", err
	}
	email, err := cs.Client.Email(ctx, token, w.SlackTeam, user)
	if err != nil {
		return c, "", err
	}
	if email == "" {
		return c, unknown, nil
	}
	if c, err = cs.Accounts.Whose(ctx, email); err != nil || c.UserID == "" {
		return c, unknown, err
	}
	c, err = cs.Accounts.InTeam(ctx, c, w.TeamID)
	if errs.Is(err, errs.Forbidden) {
		return c, unknown, nil
	}
	if err != nil {
		return c, "", err
	}
	c.SystemAdmin = false // nobody is an operator by a chat
	if err := c.CheckFactor(); err != nil {
		return c, refusal(err), nil
	}
	return c, "", nil
}

// once runs fn with the mark that the event is done, unless it is.
func (e event) once(ctx context.Context, fn func(tx *db.Tx) error) error {
	return e.db.Tx(ctx, func(tx *db.Tx) error {
		if err := e.lease(ctx, tx); err != nil {
			return err
		}
		n, err := tx.Exec(ctx, `UPDATE slack_event SET done = ? WHERE id = ? AND done = ?`, true, e.args.EventID, false)
		if err != nil || n == 0 {
			return err
		}
		return fn(tx)
	})
}

func (e event) root() string {
	if e.args.In.Thread != "" {
		return e.args.In.Thread
	}
	return e.args.In.TS
}

// answer says something in the thread of the event.
func (e event) answer(ctx context.Context, tx *db.Tx, what, text string) error {
	in := e.args.In
	return e.say(ctx, tx, e.w, message{channel: in.Channel, thread: e.root(), key: e.args.EventID + "/" + what,
		text: slack.Mention(in.User) + " " + text})
}

// refuse answers what nobody may ask for, once an hour for each key.
func (e event) refuse(ctx context.Context, key, text string) error {
	return e.once(ctx, func(tx *db.Tx) error {
		in := e.args.In
		return e.say(ctx, tx, e.w, message{channel: in.Channel, thread: e.root(), text: slack.Mention(in.User) + " " + text,
			key: fmt.Sprintf("%s/%s/%d", e.w.ID, key, e.now().Unix()/int64(time.Hour/time.Second))})
	})
}

const help = "Tell me what to test, such as: check https://shop.example.com for exposed files. Begin with `plan:` to decide on the plan first."

// hear begins a task, or goes on with the one of the thread.
func (e event) hear(ctx context.Context, c account.Caller) error {
	in := e.args.In
	text := slack.Plain(in.Text, e.w.bot)
	taskID, err := db.Value[string](ctx, e.db, `SELECT task_id FROM slack_thread WHERE team_id = ? AND slack_team = ? AND channel = ?
		AND thread_ts = ?`, e.w.TeamID, e.w.SlackTeam, in.Channel, e.root())
	switch {
	case err != nil && !db.IsNoRows(err):
		return err
	case text == "":
		return e.once(ctx, func(tx *db.Tx) error { return e.answer(ctx, tx, "help", help) })
	case err == nil:
		return e.reply(ctx, c, taskID, text)
	}
	n := instruction(text)
	n.ID = ids.New()
	if err := e.log(ctx, "create-task", n.ID); err != nil {
		return err
	}
	return e.once(ctx, func(tx *db.Tx) error {
		made, err := e.Tasks.CreateIn(ctx, tx, n)
		if err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, `INSERT INTO slack_thread (id, team_id, slack_team, channel, thread_ts, task_id, user_id, slack_user)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?)`, made.ID, e.w.TeamID, e.w.SlackTeam, in.Channel, e.root(), made.ID, c.UserID,
			in.User); err != nil {
			return err
		}
		return e.answer(ctx, tx, "begun", "I am on it. "+e.link(made.ID))
	})
}

func instruction(text string) task.NewTask {
	n := task.NewTask{Instruction: text, Options: task.Options{Chat: Slack, AskQuestion: true}}
	if len(text) >= len(planPrefix) && strings.EqualFold(text[:len(planPrefix)], planPrefix) {
		n.Instruction, n.Options.Mode = strings.TrimSpace(text[len(planPrefix):]), string(loop.ModePlan)
	}
	return n
}

// link is where a task is in the console.
func (cs *Chats) link(id string) string {
	if cs.PublicURL == "" {
		return "Task " + slack.Escape(id)
	}
	return slack.Link(cs.PublicURL+"/tasks/"+id, "Open the task")
}

// reply answers the question of a task, or continues it.
func (e event) reply(ctx context.Context, c account.Caller, id, text string) error {
	t, err := e.Tasks.Find(ctx, id)
	if err != nil {
		return err
	}
	switch {
	case t.Status == task.Suspended:
		question, ok := openQuestion(t)
		if !ok {
			return e.once(ctx, func(tx *db.Tx) error {
				return e.answer(ctx, tx, "buttons", "The task waits for a decision: press a button above.")
			})
		}
		if err := e.log(ctx, "approve-task", id); err != nil {
			return err
		}
		return e.once(ctx, func(tx *db.Tx) error {
			return e.Tasks.ApproveIn(ctx, tx, id, task.Decision{Approve: true, Text: errs.Clip(text, maxReply),
				Branch: question.Branch, CallID: question.Key, StreamID: t.StreamID})
		})
	case t.UserID != c.UserID:
		return errs.New(errs.Forbidden, "owner_required", "Only who began a task continues it. Begin one of yours outside this thread.")
	case !t.Status.Final():
		return errs.New(errs.Conflict, "task_running", "The task is %s. Write again when it has ended.", t.Status)
	}
	if err := e.log(ctx, "create-task", id); err != nil {
		return err
	}
	return e.once(ctx, func(tx *db.Tx) error {
		n := instruction(text)
		n.ID = id
		if _, err := e.Tasks.CreateIn(ctx, tx, n); err != nil {
			return err
		}
		return e.answer(ctx, tx, "continued", "I go on. "+e.link(id))
	})
}

// log writes an entry of the audit log before what a person asks for is done, so that nothing is done without one.
func (e event) log(ctx context.Context, action, taskID string) error {
	c, err := account.From(ctx)
	if err != nil {
		return err
	}
	status := http.StatusAccepted
	if _, err := account.Writer(ctx); err != nil {
		status = http.StatusForbidden
	}
	return e.Audit.Add(ctx, audit.Entry{ID: ids.New(), TeamID: c.TeamID, UserID: c.UserID, Email: c.Email, Action: action,
		Object: taskID, Method: http.MethodPost, Path: "/hooks/slack", Status: status, Source: audit.Platform})
}

const maxReply = 20_000 // bytes, as in the API

// press does what a button says, if its message is ours.
func (e event) press(ctx context.Context) error {
	in := e.args.In
	m, err := scanMessage(e.db.QueryRow(ctx, `SELECT `+messageColumns+` WHERE id = ? AND team_id = ? AND slack_team = ? AND channel = ?`,
		in.Value, e.w.TeamID, e.w.SlackTeam, in.Channel))
	if db.IsNoRows(err) || err == nil && (m.ask == nil || in.Action != approve && in.Action != decline) {
		return nil
	}
	if err != nil {
		return err
	}
	if err := e.log(ctx, "approve-task", m.ask.TaskID); err != nil {
		return err
	}
	err = e.once(ctx, func(tx *db.Tx) error {
		err := e.Tasks.ApproveIn(ctx, tx, m.ask.TaskID, task.Decision{Approve: in.Action == approve, StreamID: m.ask.StreamID,
			Branch: m.ask.Branch, CallID: m.ask.CallID})
		if err != nil {
			return err
		}
		done := "\n_Approved by " + slack.Mention(in.User) + "_"
		if in.Action == decline {
			done = "\n_Declined by " + slack.Mention(in.User) + "_"
		}
		return e.say(ctx, tx, e.w, message{channel: in.Channel, thread: m.thread, edits: in.TS, key: m.key + "/decided",
			text: slack.Clip(m.text, slack.MaxText-100) + done})
	})
	if refused, ok := errors.AsType[*errs.Error](err); ok && refused.Code == "not_suspended" {
		return errs.New(errs.Conflict, refused.Code, "That was decided already, or is not asked any more.")
	}
	return err
}
