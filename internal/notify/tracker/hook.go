package tracker

import (
	"cmp"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/vedette-sec/vedette/internal/infra/errs"
)

// MaxHook bounds the body of a webhook, in bytes.
const MaxHook = 1 << 20

// Hook is a webhook of a tracker: it says which issue has changed. What it says of the issue is not believed: the issue
// is read again.
type Hook struct {
	Delivery string // the same when it is sent again
	Issue    string // the id, as Issue has it; empty: it is about nothing that is filed, such as a ping
	Actor    string // who has caused it, as Account has it
}

// hookRequest is what a webhook brings.
type hookRequest struct {
	header http.Header
	query  url.Values
	body   []byte
	secret string
	now    time.Time
}

// ReadHook checks that a webhook was sent by who knows the secret of t, and reads it. ok is false when it was not; the
// time that this takes does not depend on how much of a signature is right. A body that cannot be read is about
// nothing.
func (t Tracker) ReadHook(header http.Header, query url.Values, body []byte, now time.Time) (h Hook, ok bool) {
	// Without a secret something is compared all the same, so that the time says nothing.
	in := hookRequest{header, query, body, cmp.Or(t.WebhookSecret, "0000000000000000"), now}
	var read func(hookRequest) Hook
	switch t.Provider {
	case "github":
		ok, read = in.signed("X-Hub-Signature-256", "sha256="), t.readGitHub
	case "gitlab":
		ok, read = equal(header.Get("X-Gitlab-Token"), in.secret), t.readGitLab
	case "linear":
		ok, read = in.signed("Linear-Signature", ""), t.readLinear
	case "jira":
		ok, read = in.signed("X-Hub-Signature", "sha256=") || in.token(), t.readJira
	case "azure":
		_, password, _ := (&http.Request{Header: header}).BasicAuth()
		ok, read = equal(password, in.secret), t.readAzure
	default: // ServiceNow's business rules, and webhooks of one's own
		ok, read = in.token(), t.readPlain
	}
	if !ok || t.WebhookSecret == "" {
		return Hook{}, false
	}
	h = read(in)
	if h.Delivery == "" { // then a body that is sent again is the same webhook
		sum := sha256.Sum256(body)
		h.Delivery = hex.EncodeToString(sum[:])
	}
	h.Delivery, h.Issue = errs.Clip(h.Delivery, maxDelivery), errs.Clip(h.Issue, maxDelivery)
	return h, true
}

const maxDelivery = 200 // bytes of an id

// equal compares in constant time.
func equal(sent, want string) bool {
	a, b := sha256.Sum256([]byte(sent)), sha256.Sum256([]byte(want)) // of one length
	return subtle.ConstantTimeCompare(a[:], b[:]) == 1
}

// signed reports whether a header has the HMAC-SHA256 of the body in hexadecimal digits.
func (in hookRequest) signed(name, prefix string) bool {
	mac := hmac.New(sha256.New, []byte(in.secret))
	mac.Write(in.body)
	sent, hasPrefix := strings.CutPrefix(in.header.Get(name), prefix)
	return equal(strings.ToLower(sent), hex.EncodeToString(mac.Sum(nil))) && hasPrefix
}

// token reports whether the secret itself was sent: in a header, or in the query for those that cannot set one.
func (in hookRequest) token() bool {
	return equal(cmp.Or(in.header.Get("X-Vedette-Token"), in.query.Get("secret")), in.secret)
}

func (in hookRequest) decode(doc any) bool { return json.Unmarshal(in.body, doc) == nil }

func (t Tracker) readGitHub(in hookRequest) Hook {
	h := Hook{Delivery: in.header.Get("X-Github-Delivery")}
	var doc struct {
		Issue      struct{ Number int }
		Sender     struct{ Login string }
		Repository struct {
			FullName string `json:"full_name"`
		}
	}
	// A webhook of an organization tells of all its repositories, whose issues have the same numbers.
	if in.decode(&doc) && doc.Issue.Number > 0 && strings.EqualFold(doc.Repository.FullName, t.Owner+"/"+t.Project) {
		h.Issue, h.Actor = strconv.Itoa(doc.Issue.Number), doc.Sender.Login
	}
	return h
}

func (t Tracker) readGitLab(in hookRequest) Hook {
	h := Hook{Delivery: cmp.Or(in.header.Get("Idempotency-Key"), in.header.Get("X-Gitlab-Event-Uuid"))}
	var doc struct {
		Kind    string `json:"object_kind"`
		User    struct{ Username string }
		Project struct {
			ID   int
			Path string `json:"path_with_namespace"`
		}
		Object struct{ IID int } `json:"object_attributes"`
		Issue  struct{ IID int }
	}
	if !in.decode(&doc) || t.Project != strconv.Itoa(doc.Project.ID) && !strings.EqualFold(t.Project, doc.Project.Path) {
		return h
	}
	number := doc.Issue.IID // of a note
	if doc.Kind == "issue" {
		number = doc.Object.IID
	}
	if number > 0 {
		h.Issue, h.Actor = strconv.Itoa(number), doc.User.Username
	}
	return h
}

// maxHookAge is how old a webhook may be that has a signed time.
const maxHookAge = 5 * time.Minute

func (t Tracker) readLinear(in hookRequest) Hook {
	h := Hook{Delivery: in.header.Get("Linear-Delivery")}
	var doc struct {
		Type  string
		Actor struct{ ID string }
		Data  struct{ ID, IssueID, TeamID string }
		Sent  int64 `json:"webhookTimestamp"` // milliseconds
	}
	if !in.decode(&doc) || doc.Sent > 0 && in.now.Sub(time.UnixMilli(doc.Sent)).Abs() > maxHookAge {
		return h
	}
	switch doc.Type {
	case "Issue":
		if doc.Data.TeamID == "" || doc.Data.TeamID == t.TeamID {
			h.Issue = doc.Data.ID
		}
	case "Comment":
		h.Issue = doc.Data.IssueID
	}
	h.Actor = doc.Actor.ID
	return h
}

func (t Tracker) readJira(in hookRequest) Hook {
	h := Hook{Delivery: in.header.Get("X-Atlassian-Webhook-Identifier")}
	var doc struct {
		Issue   struct{ Key string }
		User    struct{ AccountID, Name string }
		Comment struct {
			Author struct{ AccountID, Name string }
		}
	}
	if in.decode(&doc) && strings.HasPrefix(strings.ToUpper(doc.Issue.Key), strings.ToUpper(t.Project)+"-") {
		h.Issue = doc.Issue.Key
		h.Actor = cmp.Or(doc.User.AccountID, doc.User.Name, doc.Comment.Author.AccountID, doc.Comment.Author.Name)
	}
	return h
}

func (t Tracker) readAzure(in hookRequest) Hook {
	var doc struct {
		ID       string
		Event    string `json:"eventType"`
		Resource struct {
			ID         int
			WorkItemID int `json:"workItemId"` // of an update, whose ID is that of the revision
			RevisedBy  struct{ UniqueName string }
		}
	}
	if !in.decode(&doc) || !strings.HasPrefix(doc.Event, "workitem.") {
		return Hook{Delivery: doc.ID}
	}
	h := Hook{Delivery: doc.ID, Actor: doc.Resource.RevisedBy.UniqueName}
	if number := cmp.Or(doc.Resource.WorkItemID, doc.Resource.ID); number > 0 {
		h.Issue = strconv.Itoa(number)
	}
	return h
}

func (t Tracker) readPlain(in hookRequest) Hook {
	h := Hook{Delivery: in.header.Get("X-Vedette-Delivery")}
	var doc struct {
		SysID     string `json:"sys_id"`
		Issue     string
		UpdatedBy string `json:"updated_by"`
	}
	if in.decode(&doc) {
		h.Issue, h.Actor = cmp.Or(doc.SysID, doc.Issue), doc.UpdatedBy
	}
	return h
}
