package github

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"strings"
)

// MaxHook bounds the body of a webhook, in bytes.
const MaxHook = 1 << 20

// Event is what a webhook says. Of the texts in it, outsiders write titles, bodies and names.
type Event struct {
	Name         string `json:"-"` // such as pull_request
	Delivery     string `json:"-"`
	Action       string `json:"action"`
	Installation struct {
		ID int64 `json:"id"`
	} `json:"installation"`
	Repository  Repository `json:"repository"`
	PullRequest Pull       `json:"pull_request"`
	Issue       struct {
		Number      int              `json:"number"`
		PullRequest *json.RawMessage `json:"pull_request"`
	} `json:"issue"`
	Comment struct {
		ID   int64  `json:"id"`
		Body string `json:"body"`
	} `json:"comment"`
	Sender struct {
		Login string `json:"login"`
		Type  string `json:"type"`
	} `json:"sender"`
	Added   []Repository `json:"repositories_added"`
	Removed []Repository `json:"repositories_removed"`
}

// Signed reports whether GitHub signed the body, in the same time whatever is wrong.
func (a *App) Signed(header http.Header, body []byte) bool {
	sent, ok := strings.CutPrefix(header.Get("X-Hub-Signature-256"), "sha256=")
	sum, err := hex.DecodeString(sent)
	mac := hmac.New(sha256.New, []byte(a.config.WebhookSecret))
	mac.Write(body)
	return hmac.Equal(sum, mac.Sum(nil)) && ok && err == nil
}

// ReadEvent reads a webhook whose signature was checked. ok is false for one that GitHub would not send.
func ReadEvent(header http.Header, body []byte) (e Event, ok bool) {
	name, delivery := header.Get("X-Github-Event"), header.Get("X-Github-Delivery")
	if name == "" || delivery == "" || len(name) > 100 || len(delivery) > 100 || json.Unmarshal(body, &e) != nil {
		return Event{}, false
	}
	e.Name, e.Delivery = name, delivery
	return e, true
}
