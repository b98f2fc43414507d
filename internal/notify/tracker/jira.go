package tracker

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

// jira uses Jira's REST API: version 2, whose texts are plain, on servers; version 3, whose texts are documents, in the
// cloud.
func (f *Filer) jira(t Tracker) service {
	authorization := "Bearer " + t.Token // a personal access token of a self-hosted server
	if login := cmp.Or(t.Email, t.AccountID); login != "" {
		authorization = "Basic " + base64.StdEncoding.EncodeToString([]byte(login+":"+t.Token))
	}
	j := jira{rest{
		f, "Jira", t.BaseURL + "/rest/api/" + cmp.Or(t.APIVersion, "2"), []string{t.Token},
		http.Header{"Authorization": {authorization}}, "/issue",
	}, t}
	return service{j.find, j.open, j.comment, j.who, j.get, j.set, j.notes, j.changed}
}

type jira struct {
	rest

	t Tracker
}

func (j jira) isCloud() bool { return j.t.APIVersion == "3" }

func (j jira) issue(key string) Issue { return Issue{key, j.t.BaseURL + "/browse/" + key} }

type jiraIssue struct {
	Key    string `json:"key"`
	Fields struct {
		Status struct {
			Name     string `json:"name"`
			Category struct {
				Key string `json:"key"` // new, indeterminate or done
			} `json:"statusCategory"`
		} `json:"status"`
		Resolution struct {
			Name string `json:"name"`
		} `json:"resolution"`
		Labels  []string `json:"labels"`
		Updated jiraTime `json:"updated"`
	} `json:"fields"`
}

// jiraTime is a time as Jira writes it, with a zone without colon.
type jiraTime struct{ time.Time }

// UnmarshalJSON implements json.Unmarshaler.
func (t *jiraTime) UnmarshalJSON(text []byte) (err error) {
	var s string
	if err = json.Unmarshal(text, &s); err != nil || s == "" {
		return err
	}
	t.Time, err = time.Parse("2006-01-02T15:04:05.999-0700", s)
	return err
}

// search asks for a page of issues; next is what the page before has said of this one.
func (j jira) search(ctx context.Context, jql string, limit int, next string, start int) (
	found []jiraIssue, following string, isLast bool, err error,
) {
	body := map[string]any{"jql": jql, "maxResults": limit, "fields": []string{"status", "updated"}}
	path := "/search"
	if j.isCloud() {
		if path = "/search/jql"; next != "" {
			body["nextPageToken"] = next
		}
	} else {
		body["startAt"] = start
	}
	var answer struct {
		Issues []jiraIssue
		Next   string `json:"nextPageToken"`
		IsLast *bool  `json:"isLast"`
		Total  int
	}
	err = j.call(ctx, http.MethodPost, path, body, &answer)
	isLast = answer.Next == ""
	if !j.isCloud() {
		isLast = start+len(answer.Issues) >= answer.Total || len(answer.Issues) == 0
	}
	return answer.Issues, answer.Next, isLast, err
}

func (j jira) find(ctx context.Context, mark string) (Issue, error) {
	jql := fmt.Sprintf(`project = %q AND text ~ %q ORDER BY created ASC`, j.t.Project, `"`+mark+`"`)
	found, _, _, err := j.search(ctx, jql, 1, "", 0)
	if err != nil || len(found) == 0 {
		return Issue{}, err
	}
	return j.issue(found[0].Key), nil
}

func (j jira) open(ctx context.Context, finding Finding, text string) (Issue, error) {
	fields := map[string]any{
		"project": map[string]any{"key": j.t.Project}, "issuetype": map[string]any{"name": cmp.Or(j.t.IssueType, "Task")},
		"summary": title(finding),
	}
	if j.isCloud() {
		fields["description"] = document(map[string]any{"type": "codeBlock",
			"content": []any{map[string]any{"type": "text", "text": text}}})
	} else {
		fields["description"] = "{noformat}\n" + strings.ReplaceAll(text, "{noformat}", "{ noformat}") + "{noformat}"
	}
	if j.t.SeverityTag {
		fields["labels"] = []string{"vedette", "severity-" + finding.Severity}
	}
	maps.Copy(fields, j.t.Fields)
	var made jiraIssue
	err := j.call(ctx, http.MethodPost, j.issues, map[string]any{"fields": fields}, &made)
	if err != nil || made.Key == "" {
		return Issue{}, err
	}
	return j.issue(made.Key), nil
}

func (j jira) comment(ctx context.Context, i Issue, text string) error {
	var body any = text
	if j.isCloud() {
		var blocks []any
		for line := range strings.SplitSeq(text, "\n") {
			block := map[string]any{"type": "paragraph", "content": []any{}}
			if line != "" {
				block["content"] = []any{map[string]any{"type": "text", "text": line}}
			}
			blocks = append(blocks, block)
		}
		body = document(blocks...)
	}
	return gone(j.call(ctx, http.MethodPost, j.one(i)+"/comment", map[string]any{"body": body}, nil))
}

// document is a text of version 3.
func document(blocks ...any) map[string]any {
	return map[string]any{"type": "doc", "version": 1, "content": blocks}
}

// plainText is the text of a document of version 3, or a text of version 2.
func plainText(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	var b strings.Builder
	var walk func(raw json.RawMessage, depth int)
	walk = func(raw json.RawMessage, depth int) {
		var node struct {
			Type    string            `json:"type"`
			Text    string            `json:"text"`
			Content []json.RawMessage `json:"content"`
		}
		if depth > maxNesting || json.Unmarshal(raw, &node) != nil {
			return
		}
		b.WriteString(node.Text)
		for _, child := range node.Content {
			walk(child, depth+1)
		}
		if slices.Contains([]string{"paragraph", "heading", "codeBlock", "hardBreak", "listItem"}, node.Type) {
			b.WriteByte('\n')
		}
	}
	walk(raw, 0)
	return strings.TrimSpace(b.String())
}

const maxNesting = 32 // of a document

func (j jira) who(ctx context.Context) (Account, error) {
	var user struct{ AccountID, Name, DisplayName string }
	if err := j.call(ctx, http.MethodGet, "/myself", nil, &user); err != nil {
		return Account{}, err
	}
	who, err := named(j.service, cmp.Or(user.AccountID, user.Name), user.DisplayName)
	if err != nil {
		return who, err
	}
	return who, j.call(ctx, http.MethodGet, "/project/"+url.PathEscape(j.t.Project), nil, nil)
}

func (j jira) get(ctx context.Context, i Issue) (Remote, error) {
	var is jiraIssue
	if err := j.call(ctx, http.MethodGet, j.one(i)+"?fields=status,resolution,labels,updated", nil, &is); err != nil {
		return Remote{Issue: i}, gone(err)
	}
	if is.Key == "" {
		return Remote{Issue: i}, ErrGone
	}
	r := Remote{Issue: j.issue(is.Key), State: Open, Native: is.Fields.Status.Name,
		Version: version(is.Fields.Updated.Time)}
	declined := firstDeclining(append(is.Fields.Labels, is.Fields.Resolution.Name))
	switch is.Fields.Status.Category.Key {
	case "indeterminate":
		r.State, r.Hint = Progress, firstDeclining(is.Fields.Labels)
	case "done":
		if r.State = Done; declined != "" || declines(r.Native) {
			r.State, r.Native = Declined, r.Native+" "+declined
		}
	default:
		r.Hint = firstDeclining(is.Fields.Labels)
	}
	return r, nil
}

type jiraTransition struct {
	ID string `json:"id"`
	To struct {
		Name     string `json:"name"`
		Category struct {
			Key string `json:"key"`
		} `json:"statusCategory"`
	} `json:"to"`
	Fields struct {
		Resolution *struct {
			AllowedValues []struct {
				Name string `json:"name"`
			} `json:"allowedValues"`
		} `json:"resolution"`
	} `json:"fields"`
}

// set takes a transition of the workflow that leads to a status of the right category: one with the configured name, if
// there is one. A resolution is given where the transition asks for one.
func (j jira) set(ctx context.Context, now Remote, to State) error {
	var answer struct{ Transitions []jiraTransition }
	path := j.one(now.Issue) + "/transitions"
	if err := j.call(ctx, http.MethodGet, path+"?expand=transitions.fields", nil, &answer); err != nil {
		return gone(err)
	}
	category, name := "new", j.t.ToDo
	switch to {
	case Progress:
		category, name = "indeterminate", j.t.Doing
	case Done, Declined:
		category, name = "done", cmp.Or(j.t.Closing, j.t.Closed)
	case Open:
	}
	fits := slices.DeleteFunc(answer.Transitions, func(t jiraTransition) bool { return t.To.Category.Key != category })
	if to == Open && len(fits) == 0 { // many workflows open again into a status of work
		fits = slices.DeleteFunc(answer.Transitions, func(t jiraTransition) bool { return t.To.Category.Key == "done" })
	}
	if len(fits) == 0 {
		return ErrNoWay
	}
	chosen := fits[0]
	better := func(good func(string) bool) {
		if i := slices.IndexFunc(fits, func(t jiraTransition) bool { return good(t.To.Name) }); i >= 0 {
			chosen = fits[i]
		}
	}
	better(func(n string) bool { return to.Closed() && declines(n) == (to == Declined) })
	better(func(n string) bool { return name != "" && strings.EqualFold(n, name) && to != Declined })
	body := map[string]any{"transition": map[string]any{"id": chosen.ID}}
	if r := chosen.Fields.Resolution; r != nil && to.Closed() && len(r.AllowedValues) > 0 {
		resolution := r.AllowedValues[0].Name
		for _, v := range slices.Backward(r.AllowedValues) {
			if declines(v.Name) == (to == Declined) {
				resolution = v.Name
			}
		}
		body["fields"] = map[string]any{"resolution": map[string]any{"name": resolution}}
	}
	return gone(j.call(ctx, http.MethodPost, path, body, nil))
}

func (j jira) notes(ctx context.Context, i Issue, since time.Time) (out []Note, err error) {
	var found struct {
		Comments []struct {
			ID      string
			Body    json.RawMessage
			Created jiraTime
			Author  struct{ DisplayName string }
		}
	}
	err = j.call(ctx, http.MethodGet, j.one(i)+"/comment?orderBy=-created&maxResults=100", nil, &found)
	for _, n := range slices.Backward(found.Comments) {
		if !n.Created.Before(since) {
			out = append(out, Note{ID: n.ID, Author: n.Author.DisplayName, Text: plainText(n.Body), At: n.Created.Time})
		}
	}
	slices.SortStableFunc(out, func(a, b Note) int { return a.At.Compare(b.At) })
	return out, gone(err)
}

// changed asks with a relative time, as absolute ones are in the zone of the user's profile.
func (j jira) changed(ctx context.Context, since time.Time) (Changes, error) {
	var rows rowsOf
	minutes := max(int(time.Since(since)/time.Minute), 0) + 1 // a clock may have been ahead
	jql := fmt.Sprintf(`project = %q AND updated >= "-%dm" ORDER BY updated ASC`, j.t.Project, minutes)
	next, start := "", 0
	more, err := pages(func(int) (bool, error) {
		found, following, isLast, err := j.search(ctx, jql, perPage, next, start)
		for _, i := range found {
			rows.add(i.Key, i.Fields.Updated.Time)
		}
		next, start = following, start+len(found)
		return isLast, err
	})
	return changesOf(since, rows.issues, rows.times, more), err
}
