package chat

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/vedette-sec/vedette/internal/agent/loop"
	"github.com/vedette-sec/vedette/internal/agent/redact"
	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/core/task"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/notify/slack"
)

// What a message holds at most.
const (
	maxSummary = 1200 // characters
	maxIssues  = 10
	maxTitle   = 120
	maxAsk     = 2000
)

// Tell writes what has become of a task's stream in its thread.
func (cs *Chats) Tell(ctx context.Context, a task.TellArgs) error {
	var teamID, slackTeam, channel, thread, userID string
	err := cs.db.QueryRow(ctx, `SELECT team_id, slack_team, channel, thread_ts, user_id FROM slack_thread WHERE task_id = ? LIMIT 1`,
		a.TaskID).Scan(&teamID, &slackTeam, &channel, &thread, &userID)
	if db.IsNoRows(err) {
		return nil
	}
	if err != nil {
		return err
	}
	w, err := find(ctx, cs.db, "team_id = ? AND slack_team = ? AND status = ?", teamID, slackTeam, Active)
	if err != nil || w.ID == "" {
		return err
	}
	as := account.WithCaller(ctx, account.Caller{UserID: userID, TeamID: teamID, Role: account.Viewer})
	t, err := cs.Tasks.Find(as, a.TaskID)
	if errs.Is(err, errs.NotFound) || err == nil && t.StreamID != a.StreamID {
		return nil // it was deleted, or has gone on
	}
	if err != nil {
		return err
	}
	hide, err := cs.hider(ctx, w)
	if err != nil {
		return err
	}
	texts, err := cs.words(as, t, a, hide)
	if err != nil {
		return err
	}
	return cs.db.Tx(ctx, func(tx *db.Tx) error {
		for i, m := range texts {
			m.channel, m.thread = channel, thread
			m.key = fmt.Sprintf("%s/%s/%d/%d", a.StreamID, a.Moment, a.Seq, i)
			if err := cs.say(ctx, tx, w, m); err != nil {
				return err
			}
		}
		return nil
	})
}

// hider takes the team's secrets, and the token of the workspace, out of texts.
func (cs *Chats) hider(ctx context.Context, w Workspace) (*redact.Secrets, error) {
	values, err := cs.Secrets.OfTeam(ctx, w.TeamID)
	if err != nil {
		return nil, err
	}
	token, err := cs.secretOf(w)
	return redact.New(nil, append(values, token)...), err
}

// words are the messages about a moment.
func (cs *Chats) words(ctx context.Context, t task.Task, a task.TellArgs, hide *redact.Secrets) ([]message, error) {
	if a.Moment == task.MomentAsks {
		return cs.questions(t, hide), nil
	}
	issues, total, err := cs.Tasks.FindIssues(ctx, task.IssueFilter{TaskID: t.ID, Limit: 1000})
	if err != nil {
		return nil, err
	}
	slices.SortStableFunc(issues, func(a, b task.Issue) int {
		return slices.Index(task.Severities, a.Severity) - slices.Index(task.Severities, b.Severity)
	})
	if a.Moment == task.MomentIssue {
		if t.Status.Final() || len(issues) == 0 {
			return nil, nil // the end says it
		}
		return []message{{text: fmt.Sprintf("Verified so far: %d. The worst:\n%s", total, issueLine(issues[0], hide))}}, nil
	}
	var text strings.Builder
	fmt.Fprintf(&text, "*%s%s.* Verified issues: %d. %s\n", strings.ToUpper(string(t.Status[:1])), t.Status[1:], total, cs.link(t.ID))
	for _, i := range issues[:min(len(issues), maxIssues)] {
		text.WriteString(issueLine(i, hide) + "\n")
	}
	if total > maxIssues {
		fmt.Fprintf(&text, "and %d more.\n", total-maxIssues)
	}
	if summary := strings.TrimSpace(t.Summary); summary != "" {
		text.WriteString(slack.Clip(slack.Escape(hide.Redact(summary)), maxSummary))
	}
	return []message{{text: text.String()}}, nil
}

func issueLine(i task.Issue, hide *redact.Secrets) string {
	return fmt.Sprintf("• %s: %s – %s", slack.Line(i.Severity, 20), slack.Line(hide.Redact(i.Title), maxTitle),
		slack.Line(hide.Redact(i.Target), maxTitle))
}

// openQuestion is the first question of a suspended task that a text answers.
func openQuestion(t task.Task) (loop.Waiting, bool) {
	for _, w := range waitingOf(t) {
		if w.Ask.Kind == loop.AskUser {
			return w, true
		}
	}
	return loop.Waiting{}, false
}

func waitingOf(t task.Task) (all []loop.Waiting) {
	if t.Status != task.Suspended || json.Unmarshal(t.Pending, &all) != nil {
		return nil
	}
	return all
}

// questions are what a suspended task asks. It may have been answered since.
func (cs *Chats) questions(t task.Task, hide *redact.Secrets) (out []message) {
	for _, w := range waitingOf(t) {
		text := slack.Clip(slack.Escape(hide.Redact(w.Ask.Text)), maxAsk)
		m := message{text: "*The task asks:* " + text}
		switch w.Ask.Kind {
		case loop.AskUser:
			for _, option := range w.Ask.Options[:min(len(w.Ask.Options), 10)] {
				m.text += "\n• " + slack.Line(hide.Redact(option), maxTitle)
			}
			m.text += "\nAnswer in this thread."
		case loop.AskPlan:
			m.text = "*The plan.* Nothing was sent yet. " + cs.link(t.ID) + "\n" + text
		default:
			if w.Ask.Kind == loop.AskUnknown {
				m.text = "*A call was interrupted. Approve to repeat it.* " + text
			} else {
				m.text = "*The task asks for your approval.* " + cs.link(t.ID) + "\n" + text
			}
			if w.Ask.Tool != "" {
				m.text += "\nTool: " + slack.Line(w.Ask.Tool, maxTitle)
			}
			if a := w.Ask.Approval; a != nil {
				m.text += "\nWhy: " + slack.Line(hide.Redact(a.Reason), 300) + "\nRisk: " + slack.Line(hide.Redact(a.Risk), 300)
			}
		}
		if w.Ask.Kind != loop.AskUser {
			m.ask = &ask{t.ID, t.StreamID, w.Branch, w.Key}
		}
		out = append(out, m)
	}
	return out
}
