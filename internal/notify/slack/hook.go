package slack

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// MaxHook bounds the body of what Slack sends, in bytes.
const MaxHook = 1 << 20

// MaxAge is how old a signed request may be, either way.
const MaxAge = 5 * time.Minute

// Signed reports whether Slack signed a body with a secret within MaxAge of now.
func Signed(secret string, header http.Header, body []byte, now time.Time) bool {
	stamp := header.Get("X-Slack-Request-Timestamp")
	sent, version := strings.CutPrefix(header.Get("X-Slack-Signature"), "v0=")
	sum, err := hex.DecodeString(sent)
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte("v0:" + stamp + ":"))
	mac.Write(body)
	good := hmac.Equal(sum, mac.Sum(nil)) && version && err == nil && secret != ""
	seconds, err := strconv.ParseInt(stamp, 10, 64)
	age := now.Sub(time.Unix(seconds, 0))
	return good && err == nil && age <= MaxAge && age >= -MaxAge
}

// The kinds of Incoming.
const (
	Challenge = "url_verification" // Slack asks whether this is the address
	Said      = "said"             // somebody wrote a message that may be for us
	Pressed   = "pressed"          // somebody pressed a button of ours
	Revoked   = "revoked"          // the app was uninstalled, or its token ended
	Other     = "other"
)

// Incoming is what Slack sends, as far as it is used. The ids in it have the shape of Slack's.
type Incoming struct {
	Kind      string
	ID        string // the same when it comes again
	Challenge string
	Team      string // the workspace
	User      string
	Channel   string
	Direct    bool   // a conversation with the bot alone
	Mention   bool   // the app was named
	Shared    bool   // the channel is shared with another organisation
	TS        string // of the message; of Pressed: that with the button
	Thread    string // its thread; empty: it begins one
	Text      string // of Slack's markup
	Action    string // of Pressed: which button
	Value     string // of Pressed: that of the button
}

type envelope struct {
	Type      string `json:"type"`
	Challenge string `json:"challenge"`
	Team      string `json:"team_id"`
	EventID   string `json:"event_id"`
	Shared    bool   `json:"is_ext_shared_channel"`
	Event     struct {
		Type        string `json:"type"`
		Subtype     string `json:"subtype"`
		User        string `json:"user"`
		BotID       string `json:"bot_id"`
		Channel     string `json:"channel"`
		ChannelType string `json:"channel_type"`
		TS          string `json:"ts"`
		Thread      string `json:"thread_ts"`
		Text        string `json:"text"`
		Tokens      struct {
			Bot []string `json:"bot"`
		} `json:"tokens"`
	} `json:"event"`
}

type interaction struct {
	Type string `json:"type"`
	Team struct {
		ID string `json:"id"`
	} `json:"team"`
	User struct {
		ID   string `json:"id"`
		Team string `json:"team_id"`
	} `json:"user"`
	Container struct {
		TS      string `json:"message_ts"`
		Thread  string `json:"thread_ts"`
		Channel string `json:"channel_id"`
	} `json:"container"`
	Actions []struct {
		ID    string `json:"action_id"`
		Value string `json:"value"`
		TS    string `json:"action_ts"`
	} `json:"actions"`
}

// Read reads what Slack sent, after its signature was checked: an event in JSON, or an interaction in a form. ok is
// false for what Slack would not send.
func Read(header http.Header, body []byte) (in Incoming, ok bool) {
	if strings.HasPrefix(header.Get("Content-Type"), "application/x-www-form-urlencoded") {
		form, err := url.ParseQuery(string(body))
		if err != nil {
			return in, false
		}
		return readInteraction([]byte(form.Get("payload")))
	}
	var e envelope
	if json.Unmarshal(body, &e) != nil || len(e.Challenge) > 1000 {
		return in, false
	}
	if e.Type == Challenge {
		return Incoming{Kind: Challenge, Challenge: e.Challenge}, e.Challenge != ""
	}
	in = Incoming{Kind: Other, ID: e.EventID, Team: e.Team}
	if e.Type != "event_callback" || !isID(e.Team, "TE") || e.EventID == "" || len(e.EventID) > 100 {
		return in, e.Type != "" && e.Type != "event_callback"
	}
	switch ev := e.Event; ev.Type {
	case "app_uninstalled":
		in.Kind = Revoked
	case "tokens_revoked":
		if len(ev.Tokens.Bot) > 0 {
			in.Kind = Revoked
		}
	case "app_mention", "message":
		human := ev.BotID == "" && (ev.Subtype == "" || ev.Subtype == "file_share" || ev.Subtype == "thread_broadcast")
		if !human || !isID(ev.User, "UW") || !isID(ev.Channel, "CDG") || !isTS(ev.TS) || ev.Thread != "" && !isTS(ev.Thread) {
			return in, true // by a program, or about a message that was changed
		}
		in.Kind, in.User, in.Channel, in.TS, in.Thread, in.Text = Said, ev.User, ev.Channel, ev.TS, ev.Thread, ev.Text
		in.Mention, in.Direct, in.Shared = ev.Type == "app_mention", ev.ChannelType == "im", e.Shared
	}
	return in, true
}

func readInteraction(text []byte) (in Incoming, ok bool) {
	var i interaction
	if json.Unmarshal(text, &i) != nil || i.Type == "" || !isID(i.Team.ID, "TE") {
		return in, false
	}
	in = Incoming{Kind: Other, Team: i.Team.ID}
	if i.Type != "block_actions" || len(i.Actions) != 1 {
		return in, true
	}
	a := i.Actions[0]
	if !isID(i.User.ID, "UW") || !isID(i.Container.Channel, "CDG") || !isTS(i.Container.TS) || !isTS(a.TS) ||
		i.Container.Thread != "" && !isTS(i.Container.Thread) || len(a.ID) > 100 || len(a.Value) > 100 {
		return in, false
	}
	return Incoming{
		Kind: Pressed, ID: "press/" + i.Container.TS + "/" + a.TS + "/" + i.User.ID, Team: i.Team.ID, User: i.User.ID,
		Channel: i.Container.Channel, TS: i.Container.TS, Thread: i.Container.Thread, Action: a.ID, Value: a.Value,
	}, true
}

var (
	idShape = regexp.MustCompile(`^[A-Z][A-Z0-9]{1,30}$`)
	tsShape = regexp.MustCompile(`^\d{1,12}\.\d{1,9}$`)
)

// isID reports whether a text has the shape of an id whose kind is one of first.
func isID(s, first string) bool {
	return idShape.MatchString(s) && strings.ContainsRune(first, rune(s[0]))
}

func isTS(s string) bool { return tsShape.MatchString(s) }
