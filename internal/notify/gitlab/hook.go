package gitlab

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/json"
	"net/http"
	"slices"
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

// Proven reports whether a webhook carries the secret, in the same time whatever is wrong.
func Proven(header http.Header, secret string) bool {
	sent, want := sha256.Sum256([]byte(header.Get("X-Gitlab-Token"))), sha256.Sum256([]byte(secret))
	return subtle.ConstantTimeCompare(sent[:], want[:]) == 1 && secret != ""
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
