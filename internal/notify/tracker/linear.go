package tracker

import (
	"context"
	"net/http"
	"slices"
	"time"

	"github.com/vedette-sec/vedette/internal/infra/apiclient"
)

// The queries to Linear's GraphQL API.
const (
	linearFind = `query($team: ID!, $mark: String!) { issues(first: 1, filter: ` +
		`{team: {id: {eq: $team}}, description: {contains: $mark}}) { nodes { id url } } }`
	linearOpen    = `mutation($input: IssueCreateInput!) { issueCreate(input: $input) { success issue { id url } } }`
	linearComment = `mutation($input: CommentCreateInput!) { commentCreate(input: $input) { success } }`
	linearWho     = `query($team: String!) { viewer { id name } team(id: $team) { id } }`
	linearGet     = `query($id: String!) { issue(id: $id) { id url updatedAt archivedAt trashed state { name type } ` +
		`labels { nodes { name } } } }`
	linearStates = `query($team: String!) { team(id: $team) { states { nodes { id name type position } } } }`
	linearUpdate = `mutation($id: String!, $input: IssueUpdateInput!) { issueUpdate(id: $id, input: $input) { success } }`
	linearNotes  = `query($id: String!, $since: DateTimeOrDuration!) { issue(id: $id) { comments(first: 100, ` +
		`filter: {createdAt: {gte: $since}}) { nodes { id body createdAt user { displayName } } } } }`
	linearChanged = `query($team: ID!, $since: DateTimeOrDuration!, $after: String) { issues(first: 100, after: $after, ` +
		`orderBy: updatedAt, filter: {team: {id: {eq: $team}}, updatedAt: {gte: $since}}) ` +
		`{ nodes { id updatedAt } pageInfo { hasNextPage endCursor } } }`
)

// linear uses Linear's GraphQL API.
func (f *Filer) linear(t Tracker) service {
	l := linear{f, t}
	return service{l.find, l.open, l.comment, l.who, l.get, l.set, l.notes, l.changed}
}

type linear struct {
	*Filer

	t Tracker
}

func (l linear) call(ctx context.Context, query string, variables map[string]any, out any) error {
	answer := struct {
		Data   any
		Errors []struct {
			Message    string
			Extensions struct{ Code string }
		}
	}{Data: out}
	err := l.do(ctx, apiclient.Request{
		Service: "Linear", URL: l.t.BaseURL + "/graphql", Secrets: []string{l.t.Token},
		Header: http.Header{"Authorization": {l.t.Token}}, Body: map[string]any{"query": query, "variables": variables},
	}, &answer)
	if err == nil && len(answer.Errors) > 0 {
		first := answer.Errors[0]
		status := http.StatusBadRequest
		if first.Extensions.Code == "ENTITY_NOT_FOUND" || first.Message == "Entity not found" {
			status = http.StatusNotFound
		}
		err = &apiclient.Error{Service: "Linear", Status: status, Code: first.Extensions.Code, Message: first.Message}
	}
	return err
}

func (l linear) find(ctx context.Context, mark string) (Issue, error) {
	var found struct{ Issues struct{ Nodes []Issue } }
	err := l.call(ctx, linearFind, map[string]any{"team": l.t.TeamID, "mark": mark}, &found)
	if err != nil || len(found.Issues.Nodes) == 0 {
		return Issue{}, err
	}
	return found.Issues.Nodes[0], nil
}

func (l linear) open(ctx context.Context, finding Finding, text string) (Issue, error) {
	input := map[string]any{"teamId": l.t.TeamID, "title": title(finding), "description": text}
	if l.t.OpenStateID != "" {
		input["stateId"] = l.t.OpenStateID
	}
	var made struct{ IssueCreate struct{ Issue Issue } }
	err := l.call(ctx, linearOpen, map[string]any{"input": input}, &made)
	return made.IssueCreate.Issue, err
}

func (l linear) comment(ctx context.Context, i Issue, text string) error {
	input := map[string]any{"issueId": i.ID, "body": text}
	return gone(l.call(ctx, linearComment, map[string]any{"input": input}, new(any)))
}

func (l linear) who(ctx context.Context) (Account, error) {
	var user struct{ Viewer struct{ ID, Name string } }
	if err := l.call(ctx, linearWho, map[string]any{"team": l.t.TeamID}, &user); err != nil {
		return Account{}, err
	}
	return named("Linear", user.Viewer.ID, user.Viewer.Name)
}

func (l linear) get(ctx context.Context, i Issue) (Remote, error) {
	var answer struct {
		Issue *struct {
			Issue

			UpdatedAt time.Time
			Trashed   bool
			State     struct{ Name, Type string }
			Labels    struct{ Nodes []struct{ Name string } }
		}
	}
	if err := l.call(ctx, linearGet, map[string]any{"id": i.ID}, &answer); err != nil {
		return Remote{Issue: i}, gone(err)
	}
	is := answer.Issue
	if is == nil || is.ID == "" || is.Trashed {
		return Remote{Issue: i}, ErrGone
	}
	r := Remote{Issue: is.Issue, State: linearState(is.State.Type), Native: is.State.Name, Version: version(is.UpdatedAt)}
	for _, label := range is.Labels.Nodes {
		if declines(label.Name) && r.Hint == "" && !r.State.Closed() {
			r.Hint = label.Name
		}
	}
	return r, nil
}

// linearState is what a type of a workflow's state stands for.
func linearState(kind string) State {
	switch kind {
	case "started":
		return Progress
	case "completed":
		return Done
	case "canceled":
		return Declined
	}
	return Open // triage, backlog, unstarted
}

// set takes the first state of the team's workflow that is of the right type; the configured one for open issues.
func (l linear) set(ctx context.Context, now Remote, to State) error {
	type state struct {
		ID, Name, Type string
		Position       float64
	}
	var answer struct {
		Team struct{ States struct{ Nodes []state } }
	}
	if err := l.call(ctx, linearStates, map[string]any{"team": l.t.TeamID}, &answer); err != nil {
		return err
	}
	states := answer.Team.States.Nodes
	slices.SortStableFunc(states, func(a, b state) int {
		switch {
		case a.Position < b.Position:
			return -1
		case a.Position > b.Position:
			return 1
		}
		return 0
	})
	id := ""
	for _, kind := range map[State][]string{Open: {"unstarted", "backlog", "triage"}, Progress: {"started"},
		Done: {"completed"}, Declined: {"canceled", "completed"}}[to] {
		if i := slices.IndexFunc(states, func(s state) bool { return s.Type == kind }); i >= 0 && id == "" {
			id = states[i].ID
		}
	}
	if to == Open && l.t.OpenStateID != "" {
		id = l.t.OpenStateID
	}
	if id == "" {
		return ErrNoWay
	}
	return gone(l.call(ctx, linearUpdate, map[string]any{"id": now.ID, "input": map[string]any{"stateId": id}}, new(any)))
}

func (l linear) notes(ctx context.Context, i Issue, since time.Time) (out []Note, err error) {
	var answer struct {
		Issue *struct {
			Comments struct {
				Nodes []struct {
					ID, Body  string
					CreatedAt time.Time
					User      struct{ DisplayName string }
				}
			}
		}
	}
	err = l.call(ctx, linearNotes, map[string]any{"id": i.ID, "since": since.UTC().Format(time.RFC3339Nano)}, &answer)
	if err != nil || answer.Issue == nil {
		return nil, gone(err)
	}
	for _, n := range answer.Issue.Comments.Nodes {
		out = append(out, Note{ID: n.ID, Author: n.User.DisplayName, Text: n.Body, At: n.CreatedAt})
	}
	slices.SortStableFunc(out, func(a, b Note) int { return a.At.Compare(b.At) })
	return out, nil
}

// changed reads the newest first, as Linear sorts them: what does not fit is lost.
func (l linear) changed(ctx context.Context, since time.Time) (Changes, error) {
	var rows rowsOf
	variables := map[string]any{"team": l.t.TeamID, "since": since.UTC().Format(time.RFC3339Nano)}
	more, err := pages(func(int) (bool, error) {
		var answer struct {
			Issues struct {
				Nodes []struct {
					ID        string
					UpdatedAt time.Time
				}
				PageInfo struct {
					HasNextPage bool
					EndCursor   string
				}
			}
		}
		err := l.call(ctx, linearChanged, variables, &answer)
		for _, i := range answer.Issues.Nodes {
			rows.add(i.ID, i.UpdatedAt)
		}
		variables["after"] = answer.Issues.PageInfo.EndCursor
		return !answer.Issues.PageInfo.HasNextPage, err
	})
	c := changesOf(since, rows.issues, rows.times, false)
	c.Lost = more
	return c, err
}
