package gitlab

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// MaxHook bounds the body of a webhook, in bytes.
const MaxHook = 1 << 20

// Event is what a webhook says. Of the texts in it, outsiders write titles, bodies and names.
type Event struct {
	Kind    string `json:"object_kind"` // merge_request, note …
	User    User   `json:"user"`        // who did it
	Project struct {
		ID int64 `json:"id"`
	} `json:"project"`
	Object struct {
		ID       int64  `json:"id"`
		IID      int    `json:"iid"`
		Action   string `json:"action"` // of a merge request: open, update, reopen, close, merge …
		OldHead  string `json:"oldrev"` // of an update that pushed
		Note     string `json:"note"`
		NoteType string `json:"noteable_type"` //nolint:misspell // GitLab calls it so; MergeRequest …
		System   bool   `json:"system"`
	} `json:"object_attributes"`
	Changes struct {
		Draft *struct {
			Previous bool `json:"previous"`
			Current  bool `json:"current"`
		} `json:"draft"`
	} `json:"changes"`
	Merge struct {
		IID int `json:"iid"`
	} `json:"merge_request"` // of a note
}

// What GitLab signs a webhook with, as its documentation says: a signing token is whsec_ and the base64 of a key of 32
// bytes, and a signature is the HMAC-SHA256 of the webhook's id, its time and its body (standardwebhooks.com).
const (
	secretPrefix    = "whsec_"
	secretSize      = 32 // bytes
	signatureHeader = "Webhook-Signature"
	// signedFor is how far the time of a signature may be from ours.
	signedFor = 5 * time.Minute
)

// NewSecret makes a secret that GitLab takes as a signing token, and as a secret token.
func NewSecret() string {
	key := make([]byte, secretSize)
	_, _ = rand.Read(key) // it ends the process rather than fail
	return secretPrefix + base64.StdEncoding.EncodeToString(key)
}

// IsSigningToken reports whether GitLab signs webhooks with a secret.
func IsSigningToken(secret string) bool { return keyOf(secret) != nil }

// keyOf is the key in a signing token; nil: it is none.
func keyOf(secret string) []byte {
	encoded, is := strings.CutPrefix(secret, secretPrefix)
	key, err := base64.StdEncoding.DecodeString(encoded)
	if !is || err != nil || len(key) != secretSize {
		return nil
	}
	return key
}

// Proven reports whether a webhook is from who knows the secret: it is signed with it, or, if it is not signed, carries
// it. A signature that is wrong or old is not made good by a token. It takes the same time whatever is wrong.
func Proven(header http.Header, body []byte, secret string, now time.Time) bool {
	if header.Get(signatureHeader) != "" {
		return signed(header, body, secret, now)
	}
	sent, want := sha256.Sum256([]byte(header.Get("X-Gitlab-Token"))), sha256.Sum256([]byte(secret))
	return subtle.ConstantTimeCompare(sent[:], want[:]) == 1 && secret != ""
}

func signed(header http.Header, body []byte, secret string, now time.Time) bool {
	seconds, err := strconv.ParseInt(header.Get("Webhook-Timestamp"), 10, 64)
	if at := time.Unix(seconds, 0); err != nil || at.Before(now.Add(-signedFor)) || at.After(now.Add(signedFor)) {
		return false
	}
	key := keyOf(secret)
	if key == nil || header.Get("Webhook-Id") == "" {
		return false
	}
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(header.Get("Webhook-Id") + "." + header.Get("Webhook-Timestamp") + "."))
	mac.Write(body)
	want := "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
	ok := false
	for one := range strings.FieldsSeq(header.Get(signatureHeader)) { // several while a key is replaced
		ok = hmac.Equal([]byte(one), []byte(want)) || ok
	}
	return ok
}

// ReadEvent reads a webhook whose secret was checked. ok is false for one that GitLab would not send.
func ReadEvent(header http.Header, body []byte) (e Event, ok bool) {
	if header.Get("X-Gitlab-Event") == "" || json.Unmarshal(body, &e) != nil || e.Kind == "" {
		return Event{}, false
	}
	return e, true
}

// Cause is why a merge request is to be reviewed now: opened, synchronize, reopened or ready_for_review, as GitHub
// calls it; "" for another event.
func (e Event) Cause() string {
	switch {
	case e.Kind != "merge_request":
		return ""
	case e.Object.Action == "update" && e.Object.OldHead != "":
		return "synchronize"
	case e.Object.Action == "update" && e.Changes.Draft != nil && e.Changes.Draft.Previous && !e.Changes.Draft.Current:
		return "ready_for_review"
	}
	return map[string]string{"open": "opened", "reopen": "reopened"}[e.Object.Action]
}

// IsNote reports whether somebody commented on a merge request.
func (e Event) IsNote() bool {
	return e.Kind == "note" && e.Object.NoteType == "MergeRequest" && !e.Object.System &&
		slices.Contains([]string{"", "create"}, e.Object.Action)
}
