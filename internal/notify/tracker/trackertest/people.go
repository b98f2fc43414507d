package trackertest

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"time"
)

// Issues are copies of all issues, in the order of their creation.
func (d *Desk) Issues() []Issue {
	d.mu.Lock()
	defer d.mu.Unlock()
	out := make([]Issue, len(d.issues))
	for i, one := range d.issues {
		out[i] = *one
		out[i].Comments, out[i].Labels = slices.Clone(one.Comments), slices.Clone(one.Labels)
	}
	return out
}

// Move is a person who gives an issue a state. Like ServiceNow's API, people cannot open a closed record again.
func (d *Desk) Move(id, state string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	i := d.find(id)
	if i != nil && i.State != state && !i.Final && (d.Provider != "servicenow" || i.State != Declined) {
		i.State, i.Labels = state, without(i.Labels, doing)
		d.touch(i)
	}
}

// Seal is a record that is closed for good, by a rule of the tracker.
func (d *Desk) Seal(id string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if i := d.find(id); i != nil {
		i.Final = true
		d.touch(i)
	}
}

// Label is a person who gives an issue a label.
func (d *Desk) Label(id, label string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if i := d.find(id); i != nil {
		i.Labels = append(i.Labels, label)
		d.touch(i)
	}
}

// Say is a person who comments.
func (d *Desk) Say(id, author, text string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if i := d.find(id); i != nil {
		d.comment(i, author, text)
	}
}

// Remove deletes an issue.
func (d *Desk) Remove(id string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.issues = slices.DeleteFunc(d.issues, func(i *Issue) bool { return i.ID == id })
	d.gone[id] = true
}

// Down makes the desk break every connection, or not any more.
func (d *Desk) Down(is bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.isDown = is
}

// Refuse answers the next requests so. Without any, no further one is refused.
func (d *Desk) Refuse(answers ...Refusal) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(answers) == 0 {
		d.refuse = nil
	}
	d.refuse = append(d.refuse, answers...)
}

// Lose does the next n writes, and breaks the connection before the answer.
func (d *Desk) Lose(n int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.lose = n
}

// Page makes lists have pages of n at most.
func (d *Desk) Page(n int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.page = n
}

// Clock gives the desk another clock.
func (d *Desk) Clock(now func() time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.now = now
}

// Wrong are the requests that the provider would not understand.
func (d *Desk) Wrong() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.wrong)
}

// Counts are the writes through the API: issues, changes of states, and comments; and the other requests.
func (d *Desk) Counts() (created, changes, said, reads int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.Created, d.Changes, d.Said, d.Reads
}

// Hook is a webhook about an issue, caused by a person, as the provider sends it: header, query and body.
func (d *Desk) Hook(id, actor, secret string) (header http.Header, query map[string][]string, body []byte) {
	d.mu.Lock()
	d.hookNo++
	no := fmt.Sprintf("%08d-0000-4000-8000-000000000000", d.hookNo)
	d.mu.Unlock()
	header = http.Header{"Content-Type": {"application/json"}}
	number, _ := strconv.Atoi(id)
	var doc any
	sign, prefix := "", ""
	switch d.Provider {
	case "github":
		header.Set("X-Github-Event", "issues")
		header.Set("X-Github-Delivery", no)
		sign, prefix = "X-Hub-Signature-256", "sha256="
		doc = map[string]any{"action": "closed", "issue": map[string]any{"number": number},
			"repository": map[string]any{"full_name": "o/p"}, "sender": map[string]any{"login": actor}}
	case "gitlab":
		header.Set("X-Gitlab-Event", "Issue Hook")
		header.Set("X-Gitlab-Event-Uuid", no)
		header.Set("Idempotency-Key", no)
		header.Set("X-Gitlab-Token", secret)
		doc = map[string]any{"object_kind": "issue", "user": map[string]any{"username": actor},
			"project":           map[string]any{"id": 7, "path_with_namespace": "g/p"},
			"object_attributes": map[string]any{"iid": number, "action": "close"}}
	case "linear":
		header.Set("Linear-Event", "Issue")
		header.Set("Linear-Delivery", no)
		sign = "Linear-Signature"
		doc = map[string]any{"action": "update", "type": "Issue", "actor": map[string]any{"id": actor},
			"data": map[string]any{"id": id, "teamId": "team-1"}, "webhookTimestamp": time.Now().UnixMilli()}
	case "jira", "jira3":
		header.Set("X-Atlassian-Webhook-Identifier", no)
		sign, prefix = "X-Hub-Signature", "sha256="
		doc = map[string]any{"webhookEvent": "jira:issue_updated", "issue": map[string]any{"key": id},
			"user": map[string]any{"accountId": actor}}
	case "azure":
		header.Set("Authorization", basic("any", secret))
		doc = map[string]any{"id": no, "eventType": "workitem.updated", "resource": map[string]any{
			"id": 3, "workItemId": number, "revisedBy": map[string]any{"uniqueName": actor}}}
	case "servicenow":
		header.Set("X-Vedette-Token", secret)
		header.Set("X-Vedette-Delivery", no)
		doc = map[string]any{"sys_id": id, "updated_by": actor}
	default:
		header.Set("X-Vedette-Token", secret)
		header.Set("X-Vedette-Delivery", no)
		doc = map[string]any{"issue": id, "updated_by": actor}
	}
	body = encoded(doc)
	if sign != "" {
		mac := hmac.New(sha256.New, []byte(secret))
		mac.Write(body)
		header.Set(sign, prefix+hex.EncodeToString(mac.Sum(nil)))
	}
	return header, nil, body
}

func basic(user, password string) string {
	r := http.Request{Header: http.Header{}}
	r.SetBasicAuth(user, password)
	return r.Header.Get("Authorization")
}
