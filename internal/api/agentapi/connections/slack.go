package connections

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humachi"
	"github.com/vedette-sec/vedette/internal/api/rest"
	"github.com/vedette-sec/vedette/internal/core/chat"
)

// Setup is the body of POST /api/v1/slack/oauth/claim.
type Setup struct {
	Token string `json:"setup_token" minLength:"1" maxLength:"2000" doc:"As the answer of GET /api/v1/slack/oauth/callback has it."`
}

// Bot is the body of PUT /api/v1/slack/connection.
type Bot struct {
	Token         string `json:"bot_token" minLength:"1" maxLength:"500" doc:"The Bot User OAuth Token of the app; it begins with xoxb-."`
	SigningSecret string `json:"signing_secret" minLength:"1" maxLength:"500" doc:"The Signing Secret of the app."`
}

// Workspace is the connection of a team to Slack.
type Workspace struct {
	Status         string `json:"status" enum:"not_connected,active,pending_unclaimed,revoked_external,disconnected_by_user" doc:"pending_unclaimed: no team has claimed it; revoked_external: the app was uninstalled at Slack, or its token ended."`
	InstallationID string `json:"installation_id,omitempty" doc:"The id of the connection here."`
	TeamID         string `json:"team_id,omitempty" doc:"Slack's id of the workspace."`
	TeamName       string `json:"team_name,omitempty" doc:"What the workspace is called at Slack."`
	EnterpriseID   string `json:"enterprise_id,omitempty" doc:"Slack's id of the organisation that it is in."`
	EnterpriseName string `json:"enterprise_name,omitempty" doc:"What the organisation is called at Slack."`
	Enterprise     bool   `json:"is_enterprise_install" doc:"Always false: an app for a whole organisation is refused."`
	EventsPath     string `json:"events_path,omitempty" doc:"Where Slack sends events and interactions: the path of the Request URLs of the app."`
	SetupToken     string `json:"setup_token,omitempty" doc:"What claims the workspace for a team within an hour; shown once."`
	Error          string `json:"error,omitempty" doc:"Of the last call to Slack, if it failed."`
}

// Authorization is a connection to Slack that has begun.
type Authorization struct {
	URL       string    `json:"authorize_url" doc:"Open it in a browser, and allow the app."`
	State     string    `json:"state" doc:"What Slack sends the browser back with."`
	ExpiresAt time.Time `json:"expires_at" doc:"Finish it before."`
}

func workspace(w chat.Workspace) Workspace {
	out := Workspace{Status: w.Status, InstallationID: w.ID, TeamID: w.SlackTeam, TeamName: w.SlackName,
		EnterpriseID: w.EnterpriseID, EnterpriseName: w.EnterpriseName, SetupToken: w.SetupToken, Error: w.Error}
	switch {
	case w.Status != chat.Active:
	case w.OwnApp:
		out.EventsPath = "/hooks/slack/" + w.ID
	default:
		out.EventsPath = "/hooks/slack"
	}
	return out
}

func (a Area) slack() {
	const tag = "Slack"
	rest.Handle(a.API, rest.NewOp("get-slack-status", "GET "+slack+"/oauth/status", tag,
		"Get the connection of your team to Slack"),
		func(ctx context.Context, _ *struct{}) (*Workspace, error) {
			w, err := a.Chats.Status(ctx)
			return new(workspace(w)), err
		})

	begin := rest.NewOp("connect-slack", "POST "+slack+"/oauth/connect", tag, "Begin to connect a workspace with the operator's app (team admins only)", 409)
	begin.Description = "Open authorize_url in the browser that has the cookie of this answer, within 30 minutes. Without a browser, send what Slack " +
		"sends back to GET /api/v1/slack/oauth/callback with your API key."
	type begun struct {
		SetCookie string `header:"Set-Cookie" doc:"The state, which GET /api/v1/slack/oauth/callback asks for."`
		Body      Authorization
	}
	rest.Register(a.API, begin, func(ctx context.Context, _ *struct{}) (*begun, error) {
		link, state, err := a.Chats.Connect(ctx)
		if err != nil {
			return nil, err
		}
		return &begun{a.Cookie(rest.SlackCookie, state, chat.AttemptFor), Authorization{link, state,
			time.Now().UTC().Add(chat.AttemptFor)}}, nil
	})

	a.finishSlack(tag)

	rest.Handle(a.API, rest.NewOp("claim-slack", "POST "+slack+"/oauth/claim", tag,
		"Connect a workspace that waits for it to your team (team admins only)", 403, 409),
		func(ctx context.Context, in *struct{ Body Setup }) (*Workspace, error) {
			w, err := a.Chats.Claim(ctx, in.Body.Token)
			return new(workspace(w)), err
		})

	rest.Handle(a.API, rest.NewOp("set-slack-app", "PUT "+slack+"/connection", tag,
		"Connect a workspace with an app of your team's (team admins only)", 409, 424),
		func(ctx context.Context, in *struct{ Body Bot }) (*Workspace, error) {
			w, err := a.Chats.UseToken(ctx, in.Body.Token, in.Body.SigningSecret)
			return new(workspace(w)), err
		})

	disconnect := rest.NewOp("disconnect-slack", "DELETE "+slack+"/connection", tag, "Disconnect the workspace of your team (team admins only)", 404)
	disconnect.Description = "Its token is forgotten, and that of the operator's app is ended at Slack. Tasks go on; nothing more is written at Slack."
	rest.Handle(a.API, disconnect, func(ctx context.Context, _ *struct{}) (*Workspace, error) {
		kept, err := a.Chats.Disconnect(ctx)
		if err != nil {
			return nil, err
		}
		if kept {
			rest.Warnf(ctx, "Slack did not end the token: uninstall the app there.")
		}
		w, err := a.Chats.Status(ctx)
		return new(workspace(w)), err
	})
}

// finishSlack is where Slack sends browsers back to.
func (a Area) finishSlack(tag string) {
	finish := rest.NewOp("finish-slack", "GET "+slack+"/oauth/callback", tag, "Finish connecting a workspace",
		403, 409, 424)
	finish.Auth = rest.Optional
	finish.Description = "Slack sends browsers here. A state must be the one in the browser's cookie, unless the person who began calls with an API " +
		"key: the workspace is their team's. Without a state, as Slack's own pages send it, the workspace waits to be claimed with " +
		"setup_token. A browser, which accepts text/html, is sent on to the console with 303, also after a failure; setup_token is then in the " +
		"fragment of the address."
	finish.Responses = sentOn("Slack")
	type finished struct {
		Status   int
		Location string `header:"Location" doc:"Where a browser is sent on to."`
		Body     Workspace
	}
	rest.Register(a.API, finish, func(ctx context.Context, in *slackCallback) (*finished, error) {
		kept := ""
		if in.r != nil {
			kept = a.Kept(in.r, rest.SlackCookie)
		}
		w, err := a.Chats.Finish(ctx, chat.Back{Code: in.Code, State: in.State, Kept: kept, Denied: in.Error})
		if to := sendOn(in.r, slackPage, w.ID, err); to != "" {
			if w.SetupToken != "" { // in the fragment, which a browser sends to no server, whose log would have it
				to = slackPage + "#setup_token=" + w.SetupToken
			}
			return &finished{http.StatusSeeOther, to, workspace(w)}, nil
		}
		if err != nil {
			return nil, err
		}
		return &finished{Status: http.StatusOK, Body: workspace(w)}, nil
	})
}

// slackPage is where people see what is connected.
const slackPage = "/settings/slack"

// slackCallback is what a browser comes back with.
type slackCallback struct {
	Code  string `query:"code" maxLength:"1000" doc:"Slack's proof that they may install the app."`
	State string `query:"state" maxLength:"200" doc:"As POST /api/v1/slack/oauth/connect gave it; absent: it was begun at Slack."`
	Error string `query:"error" maxLength:"200" doc:"Slack's word when they did not allow it."`
	r     *http.Request
}

// Resolve implements huma.Resolver.
func (c *slackCallback) Resolve(ctx huma.Context) []error {
	c.r, _ = humachi.Unwrap(ctx)
	return nil
}
