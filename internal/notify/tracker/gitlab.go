package tracker

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// gitlab uses GitLab's REST API, version 4.
func (f *Filer) gitlab(t Tracker) service {
	g := gitlab{rest{
		f, "GitLab", t.BaseURL + "/api/v4", []string{t.Token}, http.Header{"Private-Token": {t.Token}},
		"/projects/" + url.PathEscape(t.Project) + "/issues",
	}, t}
	return service{g.find, g.open, g.comment, g.who, g.get, g.set, g.notes, g.changed}
}

type gitlab struct {
	rest

	t Tracker
}

type gitlabIssue struct {
	IID       int       `json:"iid"`
	URL       string    `json:"web_url"`
	State     string    `json:"state"` // opened or closed
	Labels    []string  `json:"labels"`
	UpdatedAt time.Time `json:"updated_at"`
}

func (i gitlabIssue) issue() Issue { return Issue{strconv.Itoa(i.IID), i.URL} }

func (g gitlab) find(ctx context.Context, mark string) (Issue, error) {
	var found []gitlabIssue
	err := g.call(ctx, http.MethodGet, g.issues+"?in=description&search="+url.QueryEscape(mark), nil, &found)
	if err != nil || len(found) == 0 {
		return Issue{}, err
	}
	return found[0].issue(), nil
}

func (g gitlab) open(ctx context.Context, finding Finding, text string) (Issue, error) {
	var made gitlabIssue
	labels := strings.Join(g.t.labels(finding), ",")
	body := map[string]any{"title": title(finding), "description": text, "labels": labels}
	err := g.call(ctx, http.MethodPost, g.issues, body, &made)
	if err != nil || made.IID == 0 {
		return Issue{}, err
	}
	return made.issue(), nil
}

func (g gitlab) comment(ctx context.Context, i Issue, text string) error {
	return gone(g.call(ctx, http.MethodPost, g.one(i)+"/notes", map[string]any{"body": text}, nil))
}

func (g gitlab) who(ctx context.Context) (Account, error) { return g.whose(ctx, "username") }

func (g gitlab) get(ctx context.Context, i Issue) (Remote, error) {
	var is gitlabIssue
	if err := g.call(ctx, http.MethodGet, g.one(i), nil, &is); err != nil {
		return Remote{Issue: i}, gone(err)
	}
	if is.IID == 0 {
		return Remote{Issue: i}, ErrGone
	}
	r := Remote{Issue: is.issue(), State: Open, Native: is.State, Version: version(is.UpdatedAt), labels: is.Labels}
	declined := g.declined(is.Labels)
	switch {
	case is.State != "closed":
		if r.Hint = declined; slices.Contains(is.Labels, g.t.ProgressLabel) {
			r.State = Progress
		}
	case declined != "":
		r.State, r.Native = Declined, is.State+" "+declined
	default:
		r.State = Done
	}
	return r, nil
}

func (g gitlab) declined(labels []string) string {
	if slices.Contains(labels, g.t.DeclinedLabel) {
		return g.t.DeclinedLabel
	}
	return firstDeclining(labels)
}

// set changes state and labels in one request. An issue that is not declined any more loses the labels that say so.
func (g gitlab) set(ctx context.Context, now Remote, to State) error {
	body := map[string]string{}
	if to.Closed() != now.State.Closed() {
		body["state_event"] = map[bool]string{true: "close", false: "reopen"}[to.Closed()]
	}
	var remove []string
	for _, name := range now.labels {
		unwanted := name == g.t.ProgressLabel && to != Progress ||
			now.State == Declined && to != Declined && g.declined([]string{name}) != ""
		if unwanted {
			remove = append(remove, name)
		}
	}
	body["remove_labels"] = strings.Join(remove, ",")
	switch to {
	case Progress:
		body["add_labels"] = g.t.ProgressLabel
	case Declined:
		body["add_labels"] = g.t.DeclinedLabel
	case Open, Done:
	}
	return gone(g.call(ctx, http.MethodPut, g.one(now.Issue), body, nil))
}

func (g gitlab) notes(ctx context.Context, i Issue, since time.Time) (out []Note, err error) {
	var found []struct {
		ID        int64     `json:"id"`
		Body      string    `json:"body"`
		System    bool      `json:"system"`
		CreatedAt time.Time `json:"created_at"`
		Author    struct{ Username string }
	}
	// The newest come first, so that a long history hides none.
	err = g.call(ctx, http.MethodGet, g.one(i)+"/notes?sort=desc&order_by=created_at&per_page=100", nil, &found)
	for _, n := range slices.Backward(found) {
		if !n.System && !n.CreatedAt.Before(since) {
			out = append(out, Note{ID: strconv.FormatInt(n.ID, 10), Author: n.Author.Username, Text: n.Body, At: n.CreatedAt})
		}
	}
	return out, gone(err)
}

func (g gitlab) changed(ctx context.Context, since time.Time) (Changes, error) {
	var rows rowsOf
	more, err := pages(func(page int) (bool, error) {
		var found []gitlabIssue
		err := g.call(ctx, http.MethodGet, g.issues+"?scope=all&order_by=updated_at&sort=asc&per_page="+strconv.Itoa(perPage)+
			"&updated_after="+url.QueryEscape(since.UTC().Format(time.RFC3339Nano))+"&page="+strconv.Itoa(page), nil, &found)
		for _, i := range found {
			rows.add(strconv.Itoa(i.IID), i.UpdatedAt)
		}
		return len(found) < perPage, err
	})
	return changesOf(since, rows.issues, rows.times, more), err
}
