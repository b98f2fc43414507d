// Package slacktest is a server that speaks as Slack's Web API documents, for tests: two workspaces with a person each
// for the addresses of tests, whose bots have tokens. It keeps what is posted.
package slacktest

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// What the server knows.
const (
	ClientID      = "111.222"
	ClientSecret  = "client-secret-0123"
	SigningSecret = "signing-secret-0123"
	Code          = "the-code" // of a person who installed the app in Team
	Team          = "T0BLUE"
	OtherTeam     = "T0RED"
	Token         = "xoxb-blue-0123456789"
	OtherToken    = "xoxb-red-0123456789"
	Bot           = "U0BOT"
)

// people are the addresses of users by their ids, in both workspaces.
var people = map[string]string{"U0ADA": "ada@example.com", "U0BOB": "bob@example.com", "U0VERA": "vera@example.com",
	"U0EVE": "eve@example.com"}

// Message is a posted message.
type Message struct {
	Team    string          `json:"team"`
	Channel string          `json:"channel"`
	Thread  string          `json:"thread_ts"`
	TS      string          `json:"ts"`
	Text    string          `json:"text"`
	Key     string          `json:"key"`
	Value   string          `json:"value"` // of its buttons; empty: it has none
	Edits   int             `json:"edits"`
	Blocks  json.RawMessage `json:"blocks"`
}

// Slack is the server.
type Slack struct {
	mu       sync.Mutex
	messages []Message
	revoked  []string
	failures map[string][]func(w http.ResponseWriter) bool
	calls    map[string]int
	next     int
}

// New makes a server.
func New() *Slack {
	return &Slack{failures: map[string][]func(http.ResponseWriter) bool{}, calls: map[string]int{}, next: 1}
}

// Messages are those that were posted, in order.
func (s *Slack) Messages() []Message {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.messages)
}

// Calls is how often a method was called.
func (s *Slack) Calls(method string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.calls[method]
}

// Fail has the next call of a method refused with an error in the answer.
func (s *Slack) Fail(method, code string) {
	s.once(method, func(w http.ResponseWriter) bool {
		answer(w, refuse(code))
		return true
	})
}

// Limit has the next call of a method answered with 429.
func (s *Slack) Limit(method string, after int) {
	s.once(method, func(w http.ResponseWriter) bool {
		w.Header().Set("Retry-After", strconv.Itoa(after))
		w.WriteHeader(http.StatusTooManyRequests)
		return true
	})
}

// Lose has the next call of a method done and not answered.
func (s *Slack) Lose(method string) { s.once(method, func(http.ResponseWriter) bool { return false }) }

func (s *Slack) once(method string, do func(http.ResponseWriter) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failures[method] = append(s.failures[method], do)
}

// Sign is the header of a body that the app's signing secret signs.
func Sign(body []byte, at time.Time) http.Header { return SignWith(SigningSecret, body, at) }

// SignWith signs with another secret.
func SignWith(secret string, body []byte, at time.Time) http.Header {
	stamp := strconv.FormatInt(at.Unix(), 10)
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte("v0:" + stamp + ":"))
	mac.Write(body)
	signature := "v0=" + hex.EncodeToString(mac.Sum(nil))
	return http.Header{"X-Slack-Request-Timestamp": {stamp}, "X-Slack-Signature": {signature}}
}

// ServeHTTP implements http.Handler.
func (s *Slack) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/state" { // for tests that have only the address
		s.mu.Lock()
		defer s.mu.Unlock()
		answer(w, map[string]any{"messages": append([]Message{}, s.messages...), "revoked": append([]string{}, s.revoked...)})
		return
	}
	method := strings.TrimPrefix(r.URL.Path, "/api/")
	if r.Method != http.MethodPost || r.ParseForm() != nil {
		answer(w, refuse("invalid_post_type"))
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls[method]++
	lost := false
	if due := s.failures[method]; len(due) > 0 {
		s.failures[method] = due[1:]
		if due[0](w) {
			return
		}
		lost = true
	}
	out := s.call(method, strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "), r.PostForm)
	if lost {
		panic(http.ErrAbortHandler)
	}
	answer(w, out)
}

func answer(w http.ResponseWriter, doc map[string]any) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	if _, ok := doc["ok"]; !ok {
		doc["ok"] = true
	}
	_ = json.NewEncoder(w).Encode(doc) //nolint:errchkjson // documents of this file
}

func refuse(code string) map[string]any { return map[string]any{"ok": false, "error": code} }

func (s *Slack) call(method, token string, form url.Values) map[string]any {
	if method == "oauth.v2.access" {
		switch {
		case form.Get("client_id") != ClientID || form.Get("client_secret") != ClientSecret:
			return refuse("bad_client_secret")
		case form.Get("code") != Code:
			return refuse("invalid_code")
		}
		return map[string]any{"access_token": Token, "token_type": "bot", "app_id": "A0APP", "bot_user_id": Bot,
			"team": map[string]any{"id": Team, "name": "Blue"}, "enterprise": nil, "is_enterprise_install": false}
	}
	team := map[string]string{Token: Team, OtherToken: OtherTeam}[token]
	if team == "" || slices.Contains(s.revoked, token) {
		return refuse("invalid_auth")
	}
	switch method {
	case "auth.test":
		return map[string]any{"team_id": team, "team": team, "user_id": Bot, "bot_id": "B0BOT",
			"is_enterprise_install": false}
	case "auth.revoke":
		s.revoked = append(s.revoked, token)
		return map[string]any{"revoked": true}
	case "users.info":
		return user(team, form.Get("user"))
	case "chat.postMessage", "chat.update":
		return s.write(method == "chat.update", team, form)
	case "conversations.replies":
		return s.replies(team, form)
	}
	return refuse("unknown_method")
}

func user(team, id string) map[string]any {
	switch {
	case id == "U0AWAY": // of another workspace, in a shared channel
		return map[string]any{"user": map[string]any{"id": id, "team_id": "T0AWAY", "is_stranger": true,
			"profile": map[string]any{"email": "ada@example.com"}}}
	case id == "U0NEW": // whose address nobody has confirmed
		return map[string]any{"user": map[string]any{"id": id, "team_id": team, "is_email_confirmed": false,
			"profile": map[string]any{"email": "ada@example.com"}}}
	case people[id] == "":
		return refuse("user_not_found")
	}
	return map[string]any{"user": map[string]any{"id": id, "team_id": team, "deleted": false, "is_bot": false,
		"is_email_confirmed": true, "profile": map[string]any{"email": people[id]}}}
}

func (s *Slack) write(update bool, team string, form url.Values) map[string]any {
	var meta struct {
		Type    string            `json:"event_type"`
		Payload map[string]string `json:"event_payload"`
	}
	m := Message{Team: team, Channel: form.Get("channel"), Thread: form.Get("thread_ts"), Text: form.Get("text")}
	var problem string
	m.Blocks, m.Value, problem = blocks(form.Get("blocks"))
	switch {
	case json.Unmarshal([]byte(form.Get("metadata")), &meta) != nil || meta.Type == "":
		return refuse("invalid_metadata_format")
	case problem != "":
		return refuse(problem)
	case m.Channel == "" || m.Channel == "C0GONE":
		return refuse("channel_not_found")
	case m.Text == "":
		return refuse("no_text")
	case len([]rune(m.Text)) > 4000:
		return refuse("msg_too_long")
	}
	m.Key = meta.Payload["key"]
	if !update {
		m.TS = fmt.Sprintf("1800000000.%06d", s.next)
		s.next++
		s.messages = append(s.messages, m)
		return map[string]any{"channel": m.Channel, "ts": m.TS}
	}
	i := slices.IndexFunc(s.messages, func(old Message) bool {
		return old.TS == form.Get("ts") && old.Channel == m.Channel && old.Team == team
	})
	if i < 0 {
		return refuse("message_not_found")
	}
	old := s.messages[i]
	m.TS, m.Thread, m.Edits = old.TS, old.Thread, old.Edits+1
	s.messages[i] = m
	return map[string]any{"channel": m.Channel, "ts": m.TS}
}

// blocks are those of a message, with the value of its buttons.
func blocks(text string) (doc json.RawMessage, value, problem string) {
	if text == "" {
		text = "[]"
	}
	var all []struct {
		Type     string
		Text     struct{ Type, Text string }
		Elements []struct {
			Type   string
			Action string `json:"action_id"`
			Value  string
			Text   struct{ Type, Text string }
		}
	}
	if json.Unmarshal([]byte(text), &all) != nil || len(all) > 50 {
		return nil, "", "invalid_blocks_format"
	}
	for _, b := range all {
		if b.Type == "section" && (b.Text.Text == "" || len([]rune(b.Text.Text)) > 3000) {
			return nil, "", "invalid_blocks"
		}
		for _, e := range b.Elements {
			if e.Type != "button" || e.Action == "" || e.Text.Type != "plain_text" || len(e.Text.Text) > 75 || len(e.Value) > 2000 {
				return nil, "", "invalid_blocks"
			}
			value = e.Value
		}
	}
	return json.RawMessage(text), value, ""
}

func (s *Slack) replies(team string, form url.Values) map[string]any {
	found := []any{}
	for _, m := range s.messages {
		if m.Team == team && m.Channel == form.Get("channel") && (m.Thread == form.Get("ts") || m.TS == form.Get("ts")) {
			one := map[string]any{"ts": m.TS, "user": Bot, "text": m.Text}
			if form.Get("include_all_metadata") == "true" {
				one["metadata"] = map[string]any{"event_type": "vedette_message", "event_payload": map[string]string{"key": m.Key}}
			}
			found = append(found, one)
		}
	}
	from, _ := strconv.Atoi(form.Get("cursor"))
	limit, _ := strconv.Atoi(form.Get("limit"))
	from = min(from, len(found))
	to := min(from+limit, len(found))
	out := map[string]any{"messages": found[from:to], "has_more": to < len(found)}
	if to < len(found) {
		out["response_metadata"] = map[string]any{"next_cursor": strconv.Itoa(to)}
	}
	return out
}
