// Package slack speaks with Slack's Web API and reads what Slack sends. It has no state: core/chat decides what is
// done and said.
//
// A call is a POST with a workspace's bot token. Slack answers 200 to failures too, with a word in "error", and 429
// with Retry-After when there were too many calls; both become an apiclient.Error. A message that is posted carries
// its key as metadata, by which Find tells whether it is there.
//
// What Slack sends is signed (hook.go); the texts of people in it are of Slack's markup (text.go).
package slack

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/vedette-sec/vedette/internal/infra/apiclient"
	"github.com/vedette-sec/vedette/internal/infra/netguard"
)

// DefaultAPI is where Slack's Web API answers.
const DefaultAPI = "https://slack.com/api"

const timeout = 15 * time.Second // of one call

// Scopes are what the bot of an app is asked to be allowed.
var Scopes = []string{
	"app_mentions:read", "channels:history", "chat:write", "groups:history", "im:history",
	"users:read", "users:read.email",
}

// App is an app that an operator has registered at Slack. The zero value is none.
type App struct {
	ClientID      string
	ClientSecret  string
	SigningSecret string
}

// Client calls the Web API.
type Client struct {
	api    string
	client *http.Client
}

// New makes a client of the API at a URL. guard makes the dials.
func New(api string, guard *netguard.Guard) *Client {
	return &Client{api: strings.TrimRight(api, "/"), client: guard.Client(timeout)}
}

// status is the part of every answer that says how a call went.
type status struct {
	OK    bool   `json:"ok"`
	Error string `json:"error"`
	Needs string `json:"needed"` // a scope
}

// call sends form to a method, and decodes the answer into out (a pointer; nil: not decoded). token is empty where the
// form proves who calls.
func (c *Client) call(ctx context.Context, method, token string, form url.Values, out any) error {
	header := http.Header{}
	if token != "" {
		header.Set("Authorization", "Bearer "+token)
	}
	var text json.RawMessage
	err := apiclient.Do(ctx, c.client, apiclient.Request{
		Service: "Slack", URL: c.api + "/" + method, Header: header, Body: form,
		Secrets: []string{token, form.Get("client_secret"), form.Get("code")},
	}, &text)
	if err != nil {
		return err
	}
	var s status
	if json.Unmarshal(text, &s) != nil || !s.OK && s.Error == "" || s.OK && out != nil && json.Unmarshal(text, out) != nil {
		return &apiclient.Error{Service: "Slack", Status: http.StatusOK, Message: "its answer is not what was asked for"}
	}
	if !s.OK {
		message := strings.TrimSpace(method + ": " + word(s.Error) + " " + word(s.Needs))
		return &apiclient.Error{Service: "Slack", Status: http.StatusOK, Code: word(s.Error), Message: message,
			Limited: slices.Contains(passing, s.Error)}
	}
	return nil
}

// passing are the errors with which the same call may succeed later.
var passing = []string{"ratelimited", "internal_error", "fatal_error", "service_unavailable", "request_timeout"}

// word is a word of an answer that can be shown; empty: it is none.
func word(s string) string {
	if len(s) > 60 || strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return ""
	}
	return s
}

// IsRevoked reports whether Slack does not take a token any more.
func IsRevoked(err error) bool {
	return is(err, "invalid_auth", "account_inactive", "token_revoked", "token_expired", "not_authed",
		"team_access_not_granted")
}

// is reports whether Slack refused a call with one of these words.
func is(err error, codes ...string) bool {
	e, ok := errors.AsType[*apiclient.Error](err)
	return ok && slices.Contains(codes, e.Code)
}

// Named is a thing with an id and a name.
type Named struct {
	ID   string `json:"id"`
	Name string `json:"name"`
}

// Grant is a workspace that an app may work in, as Slack says it.
type Grant struct {
	Token      string
	AppID      string
	BotUser    string
	Team       Named
	Enterprise Named
	// Unfit says why it cannot be used; empty: it can.
	Unfit string
}

// AuthorizeURL is where a person installs the app; Slack sends them back to redirect with the state.
func (c *Client) AuthorizeURL(app App, redirect, state string) string {
	query := url.Values{"client_id": {app.ClientID}, "scope": {strings.Join(Scopes, ",")}, "state": {state}}
	if redirect != "" {
		query.Set("redirect_uri", redirect)
	}
	return strings.TrimSuffix(c.api, "/api") + "/oauth/v2/authorize?" + query.Encode()
}

// Exchange exchanges the code that a person came back with.
func (c *Client) Exchange(ctx context.Context, app App, redirect, code string) (Grant, error) {
	form := url.Values{"client_id": {app.ClientID}, "client_secret": {app.ClientSecret}, "code": {code}}
	if redirect != "" {
		form.Set("redirect_uri", redirect)
	}
	var got struct {
		Token      string `json:"access_token"`
		Type       string `json:"token_type"`
		Refresh    string `json:"refresh_token"`
		AppID      string `json:"app_id"`
		BotUser    string `json:"bot_user_id"`
		Team       *Named `json:"team"`
		Enterprise *Named `json:"enterprise"`
		Whole      bool   `json:"is_enterprise_install"`
	}
	if err := c.call(ctx, "oauth.v2.access", "", form, &got); err != nil {
		return Grant{}, err
	}
	g := Grant{Token: got.Token, AppID: got.AppID, BotUser: got.BotUser}
	if got.Team != nil {
		g.Team = *got.Team
	}
	if got.Enterprise != nil {
		g.Enterprise = *got.Enterprise
	}
	switch {
	case got.Whole:
		g.Unfit = "The app was installed for a whole organisation. Install it in one workspace."
	case got.Refresh != "":
		g.Unfit = "The app rotates its tokens, which this server does not do. Turn token rotation off at Slack."
	case got.Type != "bot":
		g.Unfit = "Slack gave no token of a bot."
	}
	return g, g.check()
}

// check refuses a grant that is not whole.
func (g Grant) check() error {
	if g.Unfit == "" && (g.Token == "" || !isID(g.Team.ID, "T") || !isID(g.BotUser, "UW")) {
		return &apiclient.Error{Service: "Slack", Status: http.StatusOK, Message: "it does not say whose token it is"}
	}
	return nil
}

// Whose says what a bot token is good for.
func (c *Client) Whose(ctx context.Context, token string) (Grant, error) {
	var got struct {
		TeamID     string `json:"team_id"`
		Team       string `json:"team"`
		BotUser    string `json:"user_id"`
		BotID      string `json:"bot_id"`
		Enterprise string `json:"enterprise_id"`
		Whole      bool   `json:"is_enterprise_install"`
	}
	if err := c.call(ctx, "auth.test", token, url.Values{}, &got); err != nil {
		return Grant{}, err
	}
	g := Grant{
		Token: token, BotUser: got.BotUser, Team: Named{got.TeamID, got.Team}, Enterprise: Named{ID: got.Enterprise},
	}
	switch {
	case got.Whole:
		g.Unfit = "The token is of an app that was installed for a whole organisation. Install it in one workspace."
	case got.BotID == "":
		g.Unfit = "The token is of a person. Use the token of the app's bot, which begins with xoxb-."
	}
	return g, g.check()
}

// Revoke ends a token.
func (c *Client) Revoke(ctx context.Context, token string) error {
	return c.call(ctx, "auth.revoke", token, url.Values{}, nil)
}

// Email is the address of a person of a workspace. It is empty for who is no person of it: a bot, a guest from another
// one, who has left, and who has not confirmed the address.
func (c *Client) Email(ctx context.Context, token, team, user string) (string, error) {
	var got struct {
		User struct {
			ID        string `json:"id"`
			Team      string `json:"team_id"`
			Deleted   bool   `json:"deleted"`
			Bot       bool   `json:"is_bot"`
			Stranger  bool   `json:"is_stranger"`
			Confirmed *bool  `json:"is_email_confirmed"`
			Profile   struct {
				Email string `json:"email"`
			} `json:"profile"`
		} `json:"user"`
	}
	err := c.call(ctx, "users.info", token, url.Values{"user": {user}}, &got)
	if is(err, "user_not_found", "user_not_visible") {
		return "", nil
	}
	u := got.User
	of := u.ID == user && u.Team == team && !u.Deleted && !u.Bot && !u.Stranger
	if err != nil || !of || u.Confirmed != nil && !*u.Confirmed {
		return "", err
	}
	return u.Profile.Email, nil
}

// Message is what is posted. Text is of Slack's markup: Escape what is not ours.
type Message struct {
	Channel string
	Thread  string // the ts of its first message; empty: it begins one
	Text    string
	Buttons []Button
	Value   string // of the buttons
	Key     string // by which Find knows it
}

// Button is a button below a message.
type Button struct {
	Action string `json:"action"`
	Text   string `json:"text"`
	Style  string `json:"style,omitempty"` // primary, danger; empty: neither
}

// MaxText bounds the text of a message, in characters: Slack cuts longer ones, and refuses longer sections.
const MaxText = 2900

const eventType = "vedette_message" // of metadata

func (m Message) form() (url.Values, error) {
	text := Clip(m.Text, MaxText)
	form := url.Values{"channel": {m.Channel}, "text": {text}, "parse": {"none"}, "link_names": {"false"},
		"unfurl_links": {"false"}, "unfurl_media": {"false"}}
	var blocks []any
	if len(m.Buttons) > 0 {
		elements := []any{}
		for _, b := range m.Buttons {
			e := map[string]any{"type": "button", "action_id": b.Action, "value": m.Value,
				"text": map[string]any{"type": "plain_text", "text": b.Text}}
			if b.Style != "" {
				e["style"] = b.Style
			}
			elements = append(elements, e)
		}
		shown := map[string]any{"type": "mrkdwn", "text": text, "verbatim": true}
		blocks = []any{
			map[string]any{"type": "section", "text": shown}, map[string]any{"type": "actions", "elements": elements},
		}
	}
	for name, value := range map[string]any{"blocks": blocks,
		"metadata": map[string]any{"event_type": eventType, "event_payload": map[string]string{"key": m.Key}}} {
		doc, err := json.Marshal(value)
		if err != nil {
			return nil, err
		}
		if string(doc) == "null" {
			doc = []byte("[]")
		}
		form.Set(name, string(doc))
	}
	return form, nil
}

// Post posts a message, and gives its ts, its id in the channel.
func (c *Client) Post(ctx context.Context, token string, m Message) (ts string, err error) {
	form, err := m.form()
	if err != nil {
		return "", err
	}
	if m.Thread != "" {
		form.Set("thread_ts", m.Thread)
	}
	var got struct {
		TS string `json:"ts"`
	}
	err = c.call(ctx, "chat.postMessage", token, form, &got)
	return got.TS, err
}

// Edit replaces the message with this ts. gone: there is none any more.
func (c *Client) Edit(ctx context.Context, token, ts string, m Message) (gone bool, err error) {
	form, err := m.form()
	if err != nil {
		return false, err
	}
	form.Set("ts", ts)
	err = c.call(ctx, "chat.update", token, form, nil)
	if is(err, "message_not_found", "cant_update_message") {
		return true, nil
	}
	return false, err
}

const (
	pageSize = 100
	maxPages = 10
)

// Find is the ts of a message of the bot in a thread, by its key; empty: it is not there.
func (c *Client) Find(ctx context.Context, token, bot string, m Message) (ts string, err error) {
	form := url.Values{"channel": {m.Channel}, "ts": {m.Thread}, "limit": {strconv.Itoa(pageSize)},
		"include_all_metadata": {"true"}}
	for range maxPages {
		var got struct {
			Messages []struct {
				TS       string `json:"ts"`
				User     string `json:"user"`
				Metadata struct {
					Type    string `json:"event_type"`
					Payload struct {
						Key string `json:"key"`
					} `json:"event_payload"`
				} `json:"metadata"`
			} `json:"messages"`
			More struct {
				Cursor string `json:"next_cursor"`
			} `json:"response_metadata"`
		}
		if err := c.call(ctx, "conversations.replies", token, form, &got); err != nil {
			return "", err
		}
		for _, found := range got.Messages {
			if found.User == bot && found.Metadata.Type == eventType && found.Metadata.Payload.Key == m.Key {
				return found.TS, nil
			}
		}
		if got.More.Cursor == "" {
			break
		}
		form.Set("cursor", got.More.Cursor)
	}
	return "", nil
}

// Link is a link in a message.
func Link(address, text string) string {
	return fmt.Sprintf("<%s|%s>", Escape(strings.ReplaceAll(address, "|", "%7C")), Escape(text))
}

// Mention names a person in a message of ours.
func Mention(user string) string { return "<@" + user + ">" }
