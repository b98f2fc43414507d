package tracker

import (
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

// labels are those of a finding's issue.
func (t Tracker) labels(f Finding) []string {
	labels := []string{"vedette"}
	if t.Label != "" {
		labels[0] = t.Label
	}
	if t.SeverityTag {
		labels = append(labels, "Severity: "+f.Severity)
	}
	return labels
}

// github speaks GitHub's REST API, version 2022-11-28.
func (f *Filer) github(t Tracker) service {
	call := func(ctx context.Context, method, path string, body, out any) error {
		return f.do(ctx, apiclient.Request{
			Service: "GitHub", Method: method, URL: t.BaseURL + path, Body: body, Secrets: []string{t.Token},
			Header: http.Header{"Authorization": {"Bearer " + t.Token}, "X-Github-Api-Version": {"2022-11-28"}},
		}, out)
	}
	repo := "/repos/" + url.PathEscape(t.Owner) + "/" + url.PathEscape(t.Project)
	type issue struct {
		Number int    `json:"number"`
		URL    string `json:"html_url"`
		Body   string `json:"body"`
	}
	of := func(i issue) Issue { return Issue{strconv.Itoa(i.Number), i.URL} }
	return service{
		find: func(ctx context.Context, mark string) (Issue, bool, error) {
			// The search knows all issues but lags behind; the newest are in the list.
			var found struct{ Items []issue }
			query := url.QueryEscape(fmt.Sprintf(`repo:%s/%s is:issue in:body "%s"`, t.Owner, t.Project, mark))
			if err := call(ctx, http.MethodGet, "/search/issues?q="+query, nil, &found); err != nil {
				return Issue{}, false, err
			}
			var newest []issue
			if err := call(ctx, http.MethodGet, repo+"/issues?state=all&per_page=100&labels="+url.QueryEscape(t.labels(Finding{})[0]), nil, &newest); err != nil {
				return Issue{}, false, err
			}
			for _, i := range append(found.Items, newest...) {
				if strings.Contains(i.Body, mark) {
					return of(i), true, nil
				}
			}
			return Issue{}, false, nil
		},
		open: func(ctx context.Context, finding Finding, text string) (Issue, error) {
			var made issue
			err := call(ctx, http.MethodPost, repo+"/issues", map[string]any{"title": title(finding), "body": text, "labels": t.labels(finding)}, &made)
			return of(made), err
		},
		comment: func(ctx context.Context, i Issue, text string) error {
			return call(ctx, http.MethodPost, repo+"/issues/"+url.PathEscape(i.ID)+"/comments", map[string]any{"body": text}, nil)
		},
		who: func(ctx context.Context) (string, error) {
			var user struct{ Login string }
			if err := call(ctx, http.MethodGet, "/user", nil, &user); err != nil {
				return "", err
			}
			return user.Login, call(ctx, http.MethodGet, repo, nil, nil)
		},
	}
}

// gitlab speaks GitLab's REST API, version 4.
func (f *Filer) gitlab(t Tracker) service {
	call := func(ctx context.Context, method, path string, body, out any) error {
		return f.do(ctx, apiclient.Request{
			Service: "GitLab", Method: method, URL: t.BaseURL + "/api/v4" + path, Body: body, Secrets: []string{t.Token},
			Header: http.Header{"Private-Token": {t.Token}},
		}, out)
	}
	project := "/projects/" + url.PathEscape(t.Project)
	type issue struct {
		IID int    `json:"iid"`
		URL string `json:"web_url"`
	}
	of := func(i issue) Issue { return Issue{strconv.Itoa(i.IID), i.URL} }
	return service{
		find: func(ctx context.Context, mark string) (Issue, bool, error) {
			var found []issue
			err := call(ctx, http.MethodGet, project+"/issues?in=description&search="+url.QueryEscape(mark), nil, &found)
			if err != nil || len(found) == 0 {
				return Issue{}, false, err
			}
			return of(found[0]), true, nil
		},
		open: func(ctx context.Context, finding Finding, text string) (Issue, error) {
			var made issue
			err := call(ctx, http.MethodPost, project+"/issues", map[string]any{"title": title(finding), "description": text, "labels": strings.Join(t.labels(finding), ",")}, &made)
			return of(made), err
		},
		comment: func(ctx context.Context, i Issue, text string) error {
			return call(ctx, http.MethodPost, project+"/issues/"+url.PathEscape(i.ID)+"/notes", map[string]any{"body": text}, nil)
		},
		who: func(ctx context.Context) (string, error) {
			var user struct{ Username string }
			if err := call(ctx, http.MethodGet, "/user", nil, &user); err != nil {
				return "", err
			}
			return user.Username, call(ctx, http.MethodGet, project, nil, nil)
		},
	}
}

// jira speaks Jira's REST API, version 2, whose texts are plain.
func (f *Filer) jira(t Tracker) service {
	login := t.Email
	if login == "" {
		login = t.AccountID
	}
	authorization := "Bearer " + t.Token // a personal access token of a server of one's own
	if login != "" {
		authorization = "Basic " + base64.StdEncoding.EncodeToString([]byte(login+":"+t.Token))
	}
	call := func(ctx context.Context, method, path string, body, out any) error {
		return f.do(ctx, apiclient.Request{
			Service: "Jira", Method: method, URL: t.BaseURL + "/rest/api/2" + path, Body: body, Secrets: []string{t.Token},
			Header: http.Header{"Authorization": {authorization}},
		}, out)
	}
	of := func(key string) Issue { return Issue{key, t.BaseURL + "/browse/" + key} }
	return service{
		find: func(ctx context.Context, mark string) (Issue, bool, error) {
			closed := t.Closed
			if closed == "" {
				closed = "Done"
			}
			var found struct {
				Issues []struct {
					Key string `json:"key"`
				} `json:"issues"`
			}
			jql := fmt.Sprintf(`project = %q AND text ~ %q AND status != %q`, t.Project, `"`+mark+`"`, closed)
			err := call(ctx, http.MethodPost, "/search", map[string]any{"jql": jql, "maxResults": 1, "fields": []string{"key"}}, &found)
			if err != nil || len(found.Issues) == 0 {
				return Issue{}, false, err
			}
			return of(found.Issues[0].Key), true, nil
		},
		open: func(ctx context.Context, finding Finding, text string) (Issue, error) {
			kind := t.IssueType
			if kind == "" {
				kind = "Task"
			}
			fields := map[string]any{
				"project": map[string]any{"key": t.Project}, "issuetype": map[string]any{"name": kind},
				"summary": title(finding), "description": "{noformat}\n" + strings.ReplaceAll(text, "{noformat}", "{ noformat}") + "{noformat}",
			}
			if t.SeverityTag {
				fields["labels"] = []string{"vedette", "severity-" + finding.Severity}
			}
			maps.Copy(fields, t.Fields)
			var made struct {
				Key string `json:"key"`
			}
			err := call(ctx, http.MethodPost, "/issue", map[string]any{"fields": fields}, &made)
			return of(made.Key), err
		},
		comment: func(ctx context.Context, i Issue, text string) error {
			return call(ctx, http.MethodPost, "/issue/"+url.PathEscape(i.ID)+"/comment", map[string]any{"body": text}, nil)
		},
		who: func(ctx context.Context) (string, error) {
			var user struct {
				Name string `json:"displayName"`
			}
			if err := call(ctx, http.MethodGet, "/myself", nil, &user); err != nil {
				return "", err
			}
			return user.Name, call(ctx, http.MethodGet, "/project/"+url.PathEscape(t.Project), nil, nil)
		},
	}
}

// linear speaks Linear's GraphQL API.
func (f *Filer) linear(t Tracker) service {
	call := func(ctx context.Context, query string, variables map[string]any, out any) error {
		var answer struct {
			Data   any
			Errors []struct{ Message string }
		}
		answer.Data = out
		err := f.do(ctx, apiclient.Request{
			Service: "Linear", URL: t.BaseURL + "/graphql", Secrets: []string{t.Token}, Header: http.Header{"Authorization": {t.Token}},
			Body: map[string]any{"query": query, "variables": variables},
		}, &answer)
		if err == nil && len(answer.Errors) > 0 {
			err = &apiclient.Error{Service: "Linear", Status: http.StatusBadRequest, Message: answer.Errors[0].Message}
		}
		return err
	}
	type issue struct{ ID, URL string }
	return service{
		find: func(ctx context.Context, mark string) (Issue, bool, error) {
			var found struct {
				Issues struct{ Nodes []issue }
			}
			err := call(ctx, `query($team: ID!, $mark: String!) { issues(first: 1, filter: {team: {id: {eq: $team}}, description: {contains: $mark}}) { nodes { id url } } }`,
				map[string]any{"team": t.TeamID, "mark": mark}, &found)
			if err != nil || len(found.Issues.Nodes) == 0 {
				return Issue{}, false, err
			}
			return Issue(found.Issues.Nodes[0]), true, nil
		},
		open: func(ctx context.Context, finding Finding, text string) (Issue, error) {
			input := map[string]any{"teamId": t.TeamID, "title": title(finding), "description": text}
			if t.OpenStateID != "" {
				input["stateId"] = t.OpenStateID
			}
			var made struct{ IssueCreate struct{ Issue issue } }
			err := call(ctx, `mutation($input: IssueCreateInput!) { issueCreate(input: $input) { success issue { id url } } }`, map[string]any{"input": input}, &made)
			return Issue(made.IssueCreate.Issue), err
		},
		comment: func(ctx context.Context, i Issue, text string) error {
			return call(ctx, `mutation($input: CommentCreateInput!) { commentCreate(input: $input) { success } }`,
				map[string]any{"input": map[string]any{"issueId": i.ID, "body": text}}, new(any))
		},
		who: func(ctx context.Context) (string, error) {
			var user struct{ Viewer struct{ Name string } }
			err := call(ctx, `query($team: String!) { viewer { name } team(id: $team) { id } }`, map[string]any{"team": t.TeamID}, &user)
			return user.Viewer.Name, err
		},
	}
}

// custom posts to a webhook of the user's own: {action, mark, issue, title, text,
// finding}; the answer may name the issue as {id, url}.
func (f *Filer) custom(t Tracker) service {
	call := func(ctx context.Context, body map[string]any, out any) error {
		header := http.Header{}
		for name, value := range t.Headers {
			header.Set(name, value)
		}
		if t.Token != "" {
			header.Set("Authorization", "Bearer "+t.Token)
		}
		return f.do(ctx, apiclient.Request{Service: "The webhook", URL: t.BaseURL, Body: body, Header: header, Secrets: []string{t.Token, t.BaseURL}}, out)
	}
	return service{
		find: func(ctx context.Context, mark string) (Issue, bool, error) {
			var found Issue
			err := call(ctx, map[string]any{"action": "find", "mark": mark}, &found)
			return found, found.ID != "", err
		},
		open: func(ctx context.Context, finding Finding, text string) (Issue, error) {
			var made Issue
			err := call(ctx, map[string]any{"action": "open", "mark": mark(finding.Hash), "title": title(finding), "text": text, "severity": finding.Severity}, &made)
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
