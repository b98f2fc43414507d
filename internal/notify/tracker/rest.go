package tracker

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/vedette-sec/vedette/internal/infra/apiclient"
)

func (t Tracker) labels(f Finding) []string {
	labels := []string{cmp.Or(t.Label, "vedette")}
	if t.SeverityTag {
		labels = append(labels, "Severity: "+f.Severity)
	}
	return labels
}

// rest is a REST API.
type rest struct {
	*Filer

	service, base string
	secrets       []string
	header        http.Header
	issues        string // the path of all issues
}

func (r rest) call(ctx context.Context, method, path string, body, out any) error {
	return r.send(ctx, method, path, r.header, body, out)
}

// send is call with headers of its own.
func (r rest) send(ctx context.Context, method, path string, header http.Header, body, out any) error {
	return r.do(ctx, apiclient.Request{
		Service: r.service, Method: method, URL: r.base + path, Body: body, Header: header, Secrets: r.secrets,
	}, out)
}

// one is the path of an issue.
func (r rest) one(i Issue) string { return r.issues + "/" + url.PathEscape(i.ID) }

// gone makes ErrGone of the answer that there is no such issue.
func gone(err error) error {
	if failed, ok := errors.AsType[*apiclient.Error](err); ok &&
		(failed.Status == http.StatusNotFound || failed.Status == http.StatusGone) {
		return ErrGone
	}
	return err
}

// noName is the error about an answer that is well formed and does not say who we are: another service answered.
func noName(service string) error {
	return &apiclient.Error{Service: service, Status: http.StatusOK, Message: "the answer does not say who we are"}
}

// named is an account, or noName.
func named(service, id, name string) (Account, error) {
	if id == "" && name == "" {
		return Account{}, noName(service)
	}
	return Account{cmp.Or(id, name), cmp.Or(name, id)}, nil
}

func (f *Filer) do(ctx context.Context, r apiclient.Request, out any) error {
	return apiclient.Do(ctx, f.client, r, out)
}

// whose is who the token is of, whose name is in a field of /user, if they see the project.
func (r rest) whose(ctx context.Context, field string) (Account, error) {
	var user map[string]any
	if err := r.call(ctx, http.MethodGet, "/user", nil, &user); err != nil {
		return Account{}, err
	}
	name, _ := user[field].(string)
	who, err := named(r.service, name, name)
	if err != nil {
		return who, err
	}
	return who, r.call(ctx, http.MethodGet, strings.TrimSuffix(r.issues, "/issues"), nil, nil)
}

// rowsOf are the issues of a list with their times, for changesOf.
type rowsOf struct {
	issues []Changed
	times  []time.Time
}

func (r *rowsOf) add(id string, at time.Time) {
	r.issues, r.times = append(r.issues, Changed{id, version(at), at}), append(r.times, at)
}

// github uses GitHub's REST API, version 2022-11-28.
func (f *Filer) github(t Tracker) service {
	repo := "/repos/" + url.PathEscape(t.Owner) + "/" + url.PathEscape(t.Project)
	g := github{rest{
		f, "GitHub", t.BaseURL, []string{t.Token},
		http.Header{"Authorization": {"Bearer " + t.Token}, "X-Github-Api-Version": {"2022-11-28"}},
		repo + "/issues",
	}, t}
	return service{g.find, g.open, g.comment, g.who, g.get, g.set, g.notes, g.changed}
}

type github struct {
	rest

	t Tracker
}

type githubIssue struct {
	Number      int       `json:"number"`
	URL         string    `json:"html_url"`
	Body        string    `json:"body"`
	State       string    `json:"state"`
	Reason      string    `json:"state_reason"`
	UpdatedAt   time.Time `json:"updated_at"`
	PullRequest any       `json:"pull_request"`
	Labels      []struct {
		Name string `json:"name"`
	} `json:"labels"`
}

func (i githubIssue) issue() Issue { return Issue{strconv.Itoa(i.Number), i.URL} }

func (g github) find(ctx context.Context, mark string) (Issue, error) {
	// The search knows all issues but lags behind; the newest are in the list.
	var found struct{ Items []githubIssue }
	query := url.QueryEscape(`repo:` + g.t.Owner + "/" + g.t.Project + ` is:issue in:body "` + mark + `"`)
	if err := g.call(ctx, http.MethodGet, "/search/issues?q="+query, nil, &found); err != nil {
		return Issue{}, err
	}
	var newest []githubIssue
	label := url.QueryEscape(g.t.labels(Finding{})[0])
	err := g.call(ctx, http.MethodGet, g.issues+"?state=all&per_page=100&labels="+label, nil, &newest)
	for _, i := range append(found.Items, newest...) {
		if err == nil && strings.Contains(i.Body, mark) {
			return i.issue(), nil
		}
	}
	return Issue{}, err
}

func (g github) open(ctx context.Context, finding Finding, text string) (Issue, error) {
	var made githubIssue
	err := g.call(ctx, http.MethodPost, g.issues,
		map[string]any{"title": title(finding), "body": text, "labels": g.t.labels(finding)}, &made)
	if err != nil || made.Number == 0 {
		return Issue{}, err
	}
	return made.issue(), nil
}

func (g github) comment(ctx context.Context, i Issue, text string) error {
	return gone(g.call(ctx, http.MethodPost, g.one(i)+"/comments", map[string]any{"body": text}, nil))
}

func (g github) who(ctx context.Context) (Account, error) { return g.whose(ctx, "login") }

func (g github) get(ctx context.Context, i Issue) (Remote, error) {
	var is githubIssue
	if err := g.call(ctx, http.MethodGet, g.one(i), nil, &is); err != nil {
		return Remote{Issue: i}, gone(err)
	}
	if is.Number == 0 {
		return Remote{Issue: i}, ErrGone
	}
	r := Remote{Issue: is.issue(), State: Open, Native: is.State, Version: version(is.UpdatedAt)}
	for _, l := range is.Labels {
		r.labels = append(r.labels, l.Name)
	}
	declined := firstDeclining(r.labels)
	switch {
	case is.State != "closed":
		if r.Hint = declined; slices.Contains(r.labels, g.t.ProgressLabel) {
			r.State = Progress
		}
	case declined != "" || declines(is.Reason):
		r.State, r.Native = Declined, is.State+" "+cmp.Or(is.Reason, declined)
	default:
		r.State = Done
	}
	return r, nil
}

// set changes the state last where that opens the issue, and first where it closes it: what is between shows as the old
// state or the new one.
func (g github) set(ctx context.Context, now Remote, to State) error {
	state := map[string]string{"state": "open"}
	switch to {
	case Done:
		state = map[string]string{"state": "closed", "state_reason": "completed"}
	case Declined:
		state = map[string]string{"state": "closed", "state_reason": "not_planned"}
	case Open, Progress:
		if now.State.Closed() {
			state["state_reason"] = "reopened"
		}
	}
	patch := func() error { return gone(g.call(ctx, http.MethodPatch, g.one(now.Issue), state, nil)) }
	if to.Closed() {
		if err := patch(); err != nil {
			return err
		}
	}
	if err := g.label(ctx, now, to); err != nil || to.Closed() {
		return err
	}
	return patch()
}

// label adds or removes the label of work in progress, and takes away what would decline an issue that is opened again.
func (g github) label(ctx context.Context, now Remote, to State) error {
	has := slices.Contains(now.labels, g.t.ProgressLabel)
	if to == Progress && !has {
		body := map[string]any{"labels": []string{g.t.ProgressLabel}}
		if err := g.call(ctx, http.MethodPost, g.one(now.Issue)+"/labels", body, nil); err != nil {
			return gone(err)
		}
	}
	for _, name := range now.labels {
		if name == g.t.ProgressLabel && to != Progress || to != Declined && now.State == Declined && declines(name) {
			err := g.call(ctx, http.MethodDelete, g.one(now.Issue)+"/labels/"+url.PathEscape(name), nil, nil)
			if err = gone(err); err != nil && !errors.Is(err, ErrGone) { // somebody has taken it away
				return err
			}
		}
	}
	return nil
}

func (g github) notes(ctx context.Context, i Issue, since time.Time) (out []Note, err error) {
	var found []struct {
		ID        int64     `json:"id"`
		Body      string    `json:"body"`
		CreatedAt time.Time `json:"created_at"`
		User      struct{ Login string }
	}
	query := "?per_page=100"
	if !since.IsZero() {
		query += "&since=" + since.UTC().Format(time.RFC3339)
	}
	err = g.call(ctx, http.MethodGet, g.one(i)+"/comments"+query, nil, &found)
	for _, n := range found {
		out = append(out, Note{ID: strconv.FormatInt(n.ID, 10), Author: n.User.Login, Text: n.Body, At: n.CreatedAt})
	}
	return out, gone(err)
}

func (g github) changed(ctx context.Context, since time.Time) (Changes, error) {
	var rows rowsOf
	more, err := pages(func(page int) (bool, error) {
		var found []githubIssue
		err := g.call(ctx, http.MethodGet, g.issues+"?state=all&sort=updated&direction=asc&per_page="+strconv.Itoa(perPage)+
			"&since="+since.UTC().Format(time.RFC3339)+"&page="+strconv.Itoa(page), nil, &found)
		for _, i := range found {
			if i.PullRequest == nil {
				rows.add(strconv.Itoa(i.Number), i.UpdatedAt)
			}
		}
		return len(found) < perPage, err
	})
	return changesOf(since, rows.issues, rows.times, more), err
}
