package tracker

import (
	"cmp"
	"context"
	"encoding/base64"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"strconv"
	"strings"

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
	service, base, token string
	header               http.Header
	user, name, project  string // paths of our user and of the project; the member with the user's name
	issues, comments     string // paths: of all issues, and after an issue's id
}

func (r rest) call(ctx context.Context, method, path string, body, out any) error {
	return r.do(ctx, apiclient.Request{
		Service: r.service, Method: method, URL: r.base + path, Body: body, Header: r.header, Secrets: []string{r.token},
	}, out)
}

// who asks for our name, and for the project, which must be there.
func (r rest) who(ctx context.Context) (string, error) {
	var user map[string]any
	if err := r.call(ctx, http.MethodGet, r.user, nil, &user); err != nil {
		return "", err
	}
	name, _ := user[r.name].(string)
	if name == "" {
		return "", noName(r.service)
	}
	return name, r.call(ctx, http.MethodGet, r.project, nil, nil)
}

// noName is the error about an answer that is well formed and does not say who we are: another service answered.
func noName(service string) error {
	return &apiclient.Error{Service: service, Status: http.StatusOK, Message: "the answer does not say who we are"}
}

func (r rest) comment(ctx context.Context, i Issue, text string) error {
	path := r.issues + "/" + url.PathEscape(i.ID) + r.comments
	return r.call(ctx, http.MethodPost, path, map[string]any{"body": text}, nil)
}

func (r rest) open(ctx context.Context, body map[string]any) (Issue, error) {
	var made restIssue
	err := r.call(ctx, http.MethodPost, r.issues, body, &made)
	return made.of(r), err
}

// restIssue is an issue as GitHub, GitLab and Jira have it.
type restIssue struct {
	Number int    `json:"number"` // of GitHub
	URL    string `json:"html_url"`
	Body   string `json:"body"`
	IID    int    `json:"iid"` // of GitLab
	WebURL string `json:"web_url"`
	Key    string `json:"key"` // of Jira
}

func (i restIssue) of(r rest) Issue {
	if i.Key != "" {
		return Issue{i.Key, strings.TrimSuffix(r.base, jiraAPI) + "/browse/" + i.Key}
	}
	return Issue{strconv.Itoa(cmp.Or(i.Number, i.IID)), cmp.Or(i.URL, i.WebURL)}
}

// github uses GitHub's REST API, version 2022-11-28.
func (f *Filer) github(t Tracker) service {
	repo := "/repos/" + url.PathEscape(t.Owner) + "/" + url.PathEscape(t.Project)
	api := rest{
		f, "GitHub", t.BaseURL, t.Token,
		http.Header{"Authorization": {"Bearer " + t.Token}, "X-Github-Api-Version": {"2022-11-28"}},
		"/user", "login", repo, repo + "/issues", "/comments",
	}
	return service{
		find: func(ctx context.Context, mark string) (Issue, error) {
			// The search knows all issues but lags behind; the newest are in the list.
			var found struct{ Items []restIssue }
			query := url.QueryEscape(fmt.Sprintf(`repo:%s/%s is:issue in:body "%s"`, t.Owner, t.Project, mark))
			if err := api.call(ctx, http.MethodGet, "/search/issues?q="+query, nil, &found); err != nil {
				return Issue{}, err
			}
			var newest []restIssue
			label := url.QueryEscape(t.labels(Finding{})[0])
			err := api.call(ctx, http.MethodGet, api.issues+"?state=all&per_page=100&labels="+label, nil, &newest)
			for _, i := range append(found.Items, newest...) {
				if err == nil && strings.Contains(i.Body, mark) {
					return i.of(api), nil
				}
			}
			return Issue{}, err
		},
		open: func(ctx context.Context, finding Finding, text string) (Issue, error) {
			return api.open(ctx, map[string]any{"title": title(finding), "body": text, "labels": t.labels(finding)})
		},
		comment: api.comment,
		who:     api.who,
	}
}

// gitlab uses GitLab's REST API, version 4.
func (f *Filer) gitlab(t Tracker) service {
	project := "/projects/" + url.PathEscape(t.Project)
	api := rest{
		f, "GitLab", t.BaseURL + "/api/v4", t.Token, http.Header{"Private-Token": {t.Token}},
		"/user", "username", project, project + "/issues", "/notes",
	}
	return service{
		find: func(ctx context.Context, mark string) (Issue, error) {
			var found []restIssue
			err := api.call(ctx, http.MethodGet, api.issues+"?in=description&search="+url.QueryEscape(mark), nil, &found)
			if err != nil || len(found) == 0 {
				return Issue{}, err
			}
			return found[0].of(api), nil
		},
		open: func(ctx context.Context, finding Finding, text string) (Issue, error) {
			labels := strings.Join(t.labels(finding), ",")
			return api.open(ctx, map[string]any{"title": title(finding), "description": text, "labels": labels})
		},
		comment: api.comment,
		who:     api.who,
	}
}

const jiraAPI = "/rest/api/2"

// jira uses Jira's REST API, version 2, whose texts are plain.
func (f *Filer) jira(t Tracker) service {
	authorization := "Bearer " + t.Token // a personal access token of a self-hosted server
	if login := cmp.Or(t.Email, t.AccountID); login != "" {
		authorization = "Basic " + base64.StdEncoding.EncodeToString([]byte(login+":"+t.Token))
	}
	api := rest{
		f, "Jira", t.BaseURL + jiraAPI, t.Token, http.Header{"Authorization": {authorization}},
		"/myself", "displayName", "/project/" + url.PathEscape(t.Project), "/issue", "/comment",
	}
	return service{
		find: func(ctx context.Context, mark string) (Issue, error) {
			var found struct{ Issues []restIssue }
			closed := cmp.Or(t.Closed, "Done")
			jql := fmt.Sprintf(`project = %q AND text ~ %q AND status != %q`, t.Project, `"`+mark+`"`, closed)
			body := map[string]any{"jql": jql, "maxResults": 1, "fields": []string{"key"}}
			err := api.call(ctx, http.MethodPost, "/search", body, &found)
			if err != nil || len(found.Issues) == 0 {
				return Issue{}, err
			}
			return found.Issues[0].of(api), nil
		},
		open: func(ctx context.Context, finding Finding, text string) (Issue, error) {
			text = strings.ReplaceAll(text, "{noformat}", "{ noformat}")
			fields := map[string]any{
				"project": map[string]any{"key": t.Project}, "issuetype": map[string]any{"name": cmp.Or(t.IssueType, "Task")},
				"summary": title(finding), "description": "{noformat}\n" + text + "{noformat}",
			}
			if t.SeverityTag {
				fields["labels"] = []string{"vedette", "severity-" + finding.Severity}
			}
			maps.Copy(fields, t.Fields)
			return api.open(ctx, map[string]any{"fields": fields})
		},
		comment: api.comment,
		who:     api.who,
	}
}

// The queries to Linear's GraphQL API.
const (
	linearFind = `query($team: ID!, $mark: String!) { issues(first: 1, filter: ` +
		`{team: {id: {eq: $team}}, description: {contains: $mark}}) { nodes { id url } } }`
	linearOpen    = `mutation($input: IssueCreateInput!) { issueCreate(input: $input) { success issue { id url } } }`
	linearComment = `mutation($input: CommentCreateInput!) { commentCreate(input: $input) { success } }`
	linearWho     = `query($team: String!) { viewer { name } team(id: $team) { id } }`
)

// linear uses Linear's GraphQL API.
func (f *Filer) linear(t Tracker) service {
	call := func(ctx context.Context, query string, variables map[string]any, out any) error {
		answer := struct {
			Data   any
			Errors []struct{ Message string }
		}{Data: out}
		err := f.do(ctx, apiclient.Request{
			Service: "Linear", URL: t.BaseURL + "/graphql", Secrets: []string{t.Token},
			Header: http.Header{"Authorization": {t.Token}}, Body: map[string]any{"query": query, "variables": variables},
		}, &answer)
		if err == nil && len(answer.Errors) > 0 {
			err = &apiclient.Error{Service: "Linear", Status: http.StatusBadRequest, Message: answer.Errors[0].Message}
		}
		return err
	}
	return service{
		find: func(ctx context.Context, mark string) (Issue, error) {
			var found struct{ Issues struct{ Nodes []Issue } }
			err := call(ctx, linearFind, map[string]any{"team": t.TeamID, "mark": mark}, &found)
			if err != nil || len(found.Issues.Nodes) == 0 {
				return Issue{}, err
			}
			return found.Issues.Nodes[0], nil
		},
		open: func(ctx context.Context, finding Finding, text string) (Issue, error) {
			input := map[string]any{"teamId": t.TeamID, "title": title(finding), "description": text}
			if t.OpenStateID != "" {
				input["stateId"] = t.OpenStateID
			}
			var made struct{ IssueCreate struct{ Issue Issue } }
			err := call(ctx, linearOpen, map[string]any{"input": input}, &made)
			return made.IssueCreate.Issue, err
		},
		comment: func(ctx context.Context, i Issue, text string) error {
			input := map[string]any{"issueId": i.ID, "body": text}
			return call(ctx, linearComment, map[string]any{"input": input}, new(any))
		},
		who: func(ctx context.Context) (string, error) {
			var user struct{ Viewer struct{ Name string } }
			err := call(ctx, linearWho, map[string]any{"team": t.TeamID}, &user)
			if err == nil && user.Viewer.Name == "" {
				err = noName("Linear")
			}
			return user.Viewer.Name, err
		},
	}
}

// custom posts to a user's webhook: {action, mark, issue, title, text, severity}; the answer may name the issue as
// {id, url}.
func (f *Filer) custom(t Tracker) service {
	call := func(ctx context.Context, body map[string]any, out any) error {
		header := http.Header{}
		for name, value := range t.Headers {
			header.Set(name, value)
		}
		if t.Token != "" {
			header.Set("Authorization", "Bearer "+t.Token)
		}
		secrets := []string{t.Token, t.BaseURL}
		return f.do(ctx, apiclient.Request{Service: "The webhook", URL: t.BaseURL, Body: body, Header: header,
			Secrets: secrets}, out)
	}
	return service{
		find: func(ctx context.Context, mark string) (found Issue, err error) {
			err = call(ctx, map[string]any{"action": "find", "mark": mark}, &found)
			return found, err
		},
		open: func(ctx context.Context, f Finding, text string) (made Issue, err error) {
			body := map[string]any{
				"action": "open", "mark": mark(f.Hash), "title": title(f), "text": text, "severity": f.Severity,
			}
			err = call(ctx, body, &made)
			return made, err
		},
		comment: func(ctx context.Context, i Issue, text string) error {
			return call(ctx, map[string]any{"action": "comment", "issue": i.ID, "text": text}, nil)
		},
		who: func(ctx context.Context) (string, error) {
			return "a webhook", call(ctx, map[string]any{"action": "verify"}, nil)
		},
	}
}
