package chat

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"strings"
	"time"

	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/infra/apiclient"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/ids"
	"github.com/vedette-sec/vedette/internal/notify/slack"
)

// How long a person may take.
const (
	AttemptFor = 30 * time.Minute // to install the app
	setupFor   = time.Hour        // to claim a workspace
)

// CallbackPath is where Slack sends browsers.
const CallbackPath = "/api/v1/slack/oauth/callback"

var (
	errStateUnknown = errs.New(errs.Forbidden, "slack_state_unknown",
		"This connection was not begun here in this browser, or too long ago. Begin again.")
	errSetupUnknown = errs.New(errs.Forbidden, "slack_setup_unknown",
		"No workspace waits to be claimed with this token. Install the app again.").At("setup_token")
	errTaken = errs.New(errs.Conflict, "slack_workspace_taken",
		"A team has connected this workspace. It is disconnected there first.")
	errConnected = errs.New(errs.Conflict, "slack_connected",
		"Your team has connected another workspace. Disconnect it first.")
)

func hashed(token string) string {
	sum := sha256.Sum256([]byte(token))
	return hex.EncodeToString(sum[:])
}

func (cs *Chats) redirect() string {
	if cs.PublicURL == "" {
		return "" // Slack takes the app's
	}
	return cs.PublicURL + CallbackPath
}

// Connect begins a connection: where to send the browser, and the state that it must come back with, which the browser
// keeps too: whoever sends somebody a link of theirs would get that person's workspace otherwise.
func (cs *Chats) Connect(ctx context.Context) (link, state string, err error) {
	c, err := cs.admin(ctx)
	if err != nil {
		return "", "", err
	}
	if cs.App.ClientID == "" {
		return "", "", ErrNotConfigured
	}
	state = ids.Random(43)
	return cs.Client.AuthorizeURL(cs.App, cs.redirect(), state), state, cs.db.Tx(ctx, func(tx *db.Tx) error {
		if _, err := tx.Exec(ctx, `DELETE FROM slack_attempt WHERE team_id = ? AND (user_id = ? OR expires_at < ?)`, c.TeamID, c.UserID,
			db.At(cs.now())); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, `INSERT INTO slack_attempt (state_hash, team_id, user_id, expires_at) VALUES (?, ?, ?, ?)`, hashed(state),
			c.TeamID, c.UserID, db.At(cs.now().Add(AttemptFor)))
		return err
	})
}

// Back is what a browser comes back with.
type Back struct {
	Code   string
	State  string // empty: it was begun at Slack, and not here
	Kept   string // the state that the browser has kept
	Denied string // Slack's word, where the person did not allow it
}

// Finish ends a connection that a browser comes back from. With a state, it must be the one that the browser has kept,
// unless the person who began calls: the workspace is the team's. Without one the workspace waits for a team to claim
// it with the answer's SetupToken.
func (cs *Chats) Finish(ctx context.Context, b Back) (w Workspace, err error) {
	switch {
	case cs.App.ClientID == "":
		return w, ErrNotConfigured
	case b.Denied != "":
		return w, errs.New(errs.Forbidden, "slack_denied", "The app was not allowed at Slack.").At("error")
	case b.Code == "":
		return w, errs.Field("code", "code is required: it is what Slack sends the browser back with.")
	}
	teamID := ""
	if b.State != "" {
		caller, err := account.From(ctx)
		if err != nil && subtle.ConstantTimeCompare([]byte(b.State), []byte(b.Kept)) != 1 {
			return w, errStateUnknown
		}
		if teamID, err = cs.takeAttempt(ctx, b.State, caller.UserID); err != nil {
			return w, err
		}
	}
	g, err := cs.Client.Exchange(ctx, cs.App, cs.redirect(), b.Code)
	if e, ok := errors.AsType[*apiclient.Error](err); ok && (e.Code == "invalid_code" || e.Code == "code_already_used") {
		return w, errs.Field("code", "code is none that Slack knows: install the app again.")
	}
	if err != nil {
		return w, failed(err)
	}
	if g.Unfit != "" {
		return w, errs.New(errs.Conflict, "slack_install_unfit", "%s", g.Unfit)
	}
	return cs.keep(ctx, teamID, g, "")
}

// takeAttempt removes an attempt, and gives its team; userID is empty for a browser that has kept the state.
func (cs *Chats) takeAttempt(ctx context.Context, state, userID string) (teamID string, err error) {
	return teamID, cs.db.Tx(ctx, func(tx *db.Tx) error {
		var expires time.Time
		err := tx.QueryRow(ctx, `DELETE FROM slack_attempt WHERE state_hash = ? AND (? = '' OR user_id = ?)
			RETURNING team_id, expires_at`, hashed(state), userID, userID).Scan(&teamID, db.Into(&expires))
		if db.IsNoRows(err) || err == nil && expires.Before(cs.now()) {
			return errStateUnknown
		}
		return err
	})
}

// UseToken connects the workspace of an app of the team's, by its bot's token and the secret with which Slack signs
// what it sends.
func (cs *Chats) UseToken(ctx context.Context, token, signing string) (w Workspace, err error) {
	c, err := cs.admin(ctx)
	if err != nil {
		return w, err
	}
	token, signing = strings.TrimSpace(token), strings.TrimSpace(signing)
	if !strings.HasPrefix(token, "xoxb-") || strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return w, errs.Field("bot_token", "bot_token must be the token of an app's bot, which begins with xoxb-.")
	}
	if len(signing) < 16 {
		return w, errs.Field("signing_secret", "signing_secret must be the Signing Secret of the app, of at least 16 characters.")
	}
	g, err := cs.Client.Whose(ctx, token)
	if slack.IsRevoked(err) {
		return w, errs.Field("bot_token", "bot_token: Slack does not take this token.")
	}
	if err != nil {
		return w, failed(err)
	}
	if g.Unfit != "" {
		return w, errs.Field("bot_token", "bot_token: %s", g.Unfit)
	}
	return cs.keep(ctx, c.TeamID, g, signing)
}

// keep stores a workspace for a team, or for none yet. signing is that of an app of the team's.
func (cs *Chats) keep(ctx context.Context, teamID string, g slack.Grant, signing string) (w Workspace, err error) {
	id, setup := ids.New(), ""
	if teamID == "" {
		setup = ids.Random(43)
	}
	err = cs.db.Tx(ctx, func(tx *db.Tx) error {
		if _, err := tx.Exec(ctx, `DELETE FROM slack_workspace WHERE status = ? AND setup_until < ?`, Pending, db.At(cs.now())); err != nil {
			return err
		}
		if err := makeRoom(ctx, tx, teamID, g.Team.ID); err != nil {
			return err
		}
		if old, err := find(ctx, tx, "slack_team = ?", g.Team.ID); err != nil {
			return err
		} else if old.ID != "" {
			id = old.ID
		}
		token, err := cs.Box.Seal([]byte(g.Token), tokenContext(id))
		if err != nil {
			return err
		}
		var own []byte
		if signing != "" {
			if own, err = cs.Box.Seal([]byte(signing), signingContext(id)); err != nil {
				return err
			}
		}
		status, hash, until, team := Active, "", any(nil), any(teamID)
		if setup != "" {
			status, hash, until, team = Pending, hashed(setup), any(db.At(cs.now().Add(setupFor))), nil
		}
		_, err = tx.Exec(ctx, `INSERT INTO slack_workspace (id, team_id, slack_team, slack_name, enterprise_id, enterprise_name, bot_user,
			own_app, status, token, signing_secret, setup_hash, setup_until, error, created_at)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, '', ?) ON CONFLICT (id) DO UPDATE SET
			slack_name = excluded.slack_name, enterprise_id = excluded.enterprise_id, enterprise_name = excluded.enterprise_name,
			bot_user = excluded.bot_user,
			own_app = excluded.own_app, status = excluded.status, token = excluded.token,
			signing_secret = excluded.signing_secret, setup_hash = excluded.setup_hash, setup_until = excluded.setup_until, error = ''`, id, team, g.Team.ID, name(g.Team.Name),
			name(g.Enterprise.ID), name(g.Enterprise.Name), g.BotUser, signing != "", status, token, own, hash, until, db.At(cs.now()))
		if err != nil {
			return err
		}
		w, err = find(ctx, tx, "id = ?", id)
		return err
	})
	w.SetupToken = setup
	if db.IsDuplicate(err) { // two at once
		err = errTaken
	}
	return w, err
}

func name(s string) string { return db.Clean(errs.ClipChars(s, 200)) }

// makeRoom removes what is in the way of a workspace of a team that is not connected any more, and refuses what is
// connected. A team's own workspace stays, and is connected again.
func makeRoom(ctx context.Context, tx *db.Tx, teamID, slackTeam string) error {
	there, err := find(ctx, tx, "slack_team = ?"+tx.Dialect().ForUpdate(), slackTeam)
	if err != nil {
		return err
	}
	if there.Status == Active && (there.TeamID != teamID || teamID == "") {
		return errTaken
	}
	if there.ID != "" && (there.TeamID != teamID || teamID == "") {
		if _, err := tx.Exec(ctx, `DELETE FROM slack_workspace WHERE id = ?`, there.ID); err != nil {
			return err
		}
	}
	if teamID == "" {
		return nil
	}
	own, err := find(ctx, tx, "team_id = ? AND slack_team <> ?", teamID, slackTeam)
	switch {
	case err != nil || own.ID == "":
		return err
	case own.Status == Active:
		return errConnected
	}
	_, err = tx.Exec(ctx, `DELETE FROM slack_workspace WHERE id = ?`, own.ID)
	return err
}

// Claim connects a workspace that waits for it to the caller's team.
func (cs *Chats) Claim(ctx context.Context, setup string) (w Workspace, err error) {
	c, err := cs.admin(ctx)
	if err == nil && cs.App.ClientID == "" {
		err = ErrNotConfigured
	}
	if err != nil {
		return w, err
	}
	err = cs.db.Tx(ctx, func(tx *db.Tx) error {
		w, err = find(ctx, tx, "setup_hash = ? AND status = ?"+tx.Dialect().ForUpdate(), hashed(setup), Pending)
		if err != nil {
			return err
		}
		if w.ID == "" || w.setupUntil.Before(cs.now()) {
			return errSetupUnknown
		}
		own, err := find(ctx, tx, "team_id = ?", c.TeamID)
		if err != nil {
			return err
		}
		if own.Status == Active {
			return errConnected
		}
		if _, err := tx.Exec(ctx, `DELETE FROM slack_workspace WHERE team_id = ?`, c.TeamID); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, `UPDATE slack_workspace SET team_id = ?, status = ?, setup_hash = '', setup_until = NULL WHERE id = ?`,
			c.TeamID, Active, w.ID); err != nil {
			return err
		}
		w, err = find(ctx, tx, "id = ?", w.ID)
		return err
	})
	return w, err
}

// Disconnect ends the connection of the caller's team, and forgets its token. The token of the operator's app is ended
// at Slack too; kept says that Slack did not do that.
func (cs *Chats) Disconnect(ctx context.Context) (kept bool, err error) {
	c, err := cs.admin(ctx)
	if err != nil {
		return false, err
	}
	var w Workspace
	err = cs.db.Tx(ctx, func(tx *db.Tx) error {
		w, err = find(ctx, tx, "team_id = ?"+tx.Dialect().ForUpdate(), c.TeamID)
		if err != nil {
			return err
		}
		if w.ID == "" || w.Status == Disconnected {
			return errs.New(errs.NotFound, "slack_not_connected", "Your team has no workspace of Slack.")
		}
		_, err = tx.Exec(ctx, `UPDATE slack_workspace SET status = ?, token = NULL, signing_secret = NULL, error = '' WHERE id = ?`,
			Disconnected, w.ID)
		return err
	})
	if err != nil || w.OwnApp || len(w.token) == 0 {
		return false, err
	}
	token, err := cs.secretOf(w)
	if err == nil {
		err = cs.Client.Revoke(ctx, token)
	}
	if err != nil && !slack.IsRevoked(err) {
		cs.Logger.WarnContext(ctx, "ending a token at Slack", "team", c.TeamID, "error", err)
		return true, nil
	}
	return false, nil
}
