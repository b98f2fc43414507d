// Package chat lets a team work with its agents at Slack. A team connects a workspace, with the operator's app or one
// of its own; Slack says what people write there, and a task begins, is answered or goes on.
//
// What Slack sends is checked and stored with a job, and answered at once (receive.go). The job asks Slack who wrote,
// acts as the member of the team with that address, and stores what it did with the mark that the event is done, in
// one transaction (act.go). What becomes of a task reaches the chat by jobs that the task queues (tell.go).
//
// What is to be written at Slack is a row with a key, so that it is written once (post.go). Of the rows of a thread
// one has a job at a time: the oldest that is not written. Before its call the row is marked. A run that finds the
// mark looks for the message by its key, and writes it if it is not there.
package chat

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"time"

	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/core/audit"
	"github.com/vedette-sec/vedette/internal/core/secret"
	"github.com/vedette-sec/vedette/internal/core/task"
	"github.com/vedette-sec/vedette/internal/infra/apiclient"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/queue"
	"github.com/vedette-sec/vedette/internal/infra/ratelimit"
	"github.com/vedette-sec/vedette/internal/infra/seal"
	"github.com/vedette-sec/vedette/internal/notify/slack"
)

// Slack is the chat that the options of a task name.
const Slack = "slack"

// The states of a connection (agent API, GET /slack/oauth/status).
const (
	NotConnected = "not_connected"
	Active       = "active"
	Pending      = "pending_unclaimed"    // the app is installed, and no team has claimed the workspace
	Revoked      = "revoked_external"     // the app was uninstalled at Slack, or its token ended
	Disconnected = "disconnected_by_user" // here
)

// Workspace is a workspace of Slack. The zero value is none.
type Workspace struct {
	ID             string
	TeamID         string // empty: nobody has claimed it
	SlackTeam      string
	SlackName      string
	EnterpriseID   string
	EnterpriseName string
	OwnApp         bool
	Status         string
	Error          string // of the last call that failed
	SetupToken     string // of one that was not claimed; known when it is made, and never again

	bot            string
	token, signing []byte // sealed
	setupUntil     time.Time
}

// Config is what the service works with.
type Config struct {
	Queue     *queue.Queue
	Box       *seal.Box
	Accounts  *account.Accounts
	Tasks     *task.Tasks
	Secrets   *secret.Secrets
	Audit     *audit.Log
	Client    *slack.Client
	App       slack.App          // the operator's; the zero value: there is none
	Rate      *ratelimit.Limiter // what each member may ask for; nil: any number
	PublicURL string             // for links; empty: there are none
	Logger    *slog.Logger
}

// Chats is the service.
type Chats struct {
	Config
	db  *db.DB
	now func() time.Time
}

// New makes the service.
func New(d *db.DB, c Config) *Chats {
	c.PublicURL = strings.TrimRight(c.PublicURL, "/")
	return &Chats{Config: c, db: d, now: time.Now}
}

// ErrNotConfigured is the refusal of a server without an app.
var ErrNotConfigured = errs.New(errs.Conflict, "slack_not_configured",
	"This server has no Slack app. Its operator can configure one (slack_client_id), or you connect one of your team's with PUT /api/v1/slack/connection.")

func (cs *Chats) admin(ctx context.Context) (account.Caller, error) {
	if _, err := account.Writer(ctx); err != nil {
		return account.Caller{}, err
	}
	return account.TeamAdmin(ctx)
}

const workspaceColumns = `id, coalesce(team_id, ''), slack_team, slack_name, enterprise_id, enterprise_name, bot_user, own_app, status,
	token, signing_secret, setup_until, error FROM slack_workspace`

func scanWorkspace(r db.Row) (w Workspace, err error) {
	return w, r.Scan(&w.ID, &w.TeamID, &w.SlackTeam, &w.SlackName, &w.EnterpriseID, &w.EnterpriseName, &w.bot,
		&w.OwnApp, &w.Status, &w.token, &w.signing, db.Into(&w.setupUntil), &w.Error)
}

// find is the one workspace for which cond holds; the zero value when there is none.
func find(ctx context.Context, q db.Querier, cond string, args ...any) (Workspace, error) {
	w, err := scanWorkspace(q.QueryRow(ctx, `SELECT `+workspaceColumns+` WHERE `+cond, args...))
	if db.IsNoRows(err) {
		return Workspace{}, nil
	}
	return w, err
}

// Status is the workspace of the caller's team.
func (cs *Chats) Status(ctx context.Context) (Workspace, error) {
	c, err := account.From(ctx)
	if err != nil {
		return Workspace{}, err
	}
	w, err := find(ctx, cs.db, "team_id = ?", c.TeamID)
	if err == nil && w.ID == "" {
		w.Status = NotConnected
	}
	return w, err
}

func tokenContext(id string) string   { return "slack/" + id + "/token" }
func signingContext(id string) string { return "slack/" + id + "/signing" }

// secretOf is a workspace's token.
func (cs *Chats) secretOf(w Workspace) (string, error) {
	plain, err := cs.Box.Open(w.token, tokenContext(w.ID))
	return string(plain), err
}

// failed makes an error for people of a failure at Slack.
func failed(err error) error {
	if f, ok := errors.AsType[*apiclient.Error](err); ok {
		return errs.New(errs.FailedDependency, "slack_failed", "%s.", f.Error())
	}
	return err
}

// note keeps how the last call for a workspace went. One whose token Slack does not take any more has ended.
func (cs *Chats) note(ctx context.Context, w Workspace, cause error) error {
	text := ""
	if cause != nil {
		text = errs.Clip(db.Clean(errs.From(failed(cause)).Message), 500)
	}
	ctx = context.WithoutCancel(ctx)
	if slack.IsRevoked(cause) {
		_, err := cs.db.Exec(ctx, `UPDATE slack_workspace SET status = ?, token = NULL, error = ? WHERE id = ? AND status = ?`, Revoked,
			text, w.ID, Active)
		return err
	}
	_, err := cs.db.Exec(ctx, `UPDATE slack_workspace SET error = ? WHERE id = ? AND error <> ?`, text, w.ID, text)
	return err
}

// isCallers reports whether a refusal is about what a person asked for, and not about the server.
func isCallers(err error) bool {
	switch errs.From(err).Kind {
	case errs.Invalid, errs.Forbidden, errs.NotFound, errs.Conflict, errs.Unauthenticated:
		return true
	}
	return false
}
