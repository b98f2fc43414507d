package tracker

import (
	"context"
	"net/http"
	"time"

	"github.com/vedette-sec/vedette/internal/infra/apiclient"
)

// custom posts to a user's webhook: {action, …}; the answer may name the issue as {id, url}, with {state, version}.
func (f *Filer) custom(t Tracker) service {
	c := custom{f, t}
	return service{c.find, c.open, c.comment, c.who, c.get, c.set, c.notes, c.changed}
}

type custom struct {
	*Filer

	t Tracker
}

type customIssue struct {
	Issue

	State   State
	Native  string
	Version string
}

func (c custom) call(ctx context.Context, body map[string]any, out any) error {
	header := http.Header{}
	for name, value := range c.t.Headers {
		header.Set(name, value)
	}
	if c.t.Token != "" {
		header.Set("Authorization", "Bearer "+c.t.Token)
	}
	secrets := []string{c.t.Token, c.t.BaseURL}
	return c.do(ctx, apiclient.Request{Service: "The webhook", URL: c.t.BaseURL, Body: body, Header: header,
		Secrets: secrets}, out)
}

func (c custom) find(ctx context.Context, mark string) (found Issue, err error) {
	err = c.call(ctx, map[string]any{"action": "find", "mark": mark}, &found)
	return found, err
}

// open may not learn of an id: a webhook that only takes reports is known by its mark.
func (c custom) open(ctx context.Context, f Finding, text string) (made Issue, err error) {
	body := map[string]any{
		"action": "open", "mark": mark(f.Hash), "title": title(f), "text": text, "severity": f.Severity,
	}
	if err = c.call(ctx, body, &made); err == nil && made.ID == "" {
		made.ID = mark(f.Hash)
	}
	return made, err
}

func (c custom) comment(ctx context.Context, i Issue, text string) error {
	return c.call(ctx, map[string]any{"action": "comment", "issue": i.ID, "text": text}, nil)
}

func (c custom) who(ctx context.Context) (Account, error) {
	return Account{Name: "a webhook"}, c.call(ctx, map[string]any{"action": "verify"}, nil)
}

func (c custom) get(ctx context.Context, i Issue) (Remote, error) {
	var is customIssue
	if err := c.call(ctx, map[string]any{"action": "get", "issue": i.ID}, &is); err != nil {
		return Remote{Issue: i}, gone(err)
	}
	switch is.State {
	case Open, Progress, Done, Declined:
	default:
		return Remote{Issue: i}, &apiclient.Error{Service: "The webhook", Status: http.StatusOK,
			Message: "its answer has no state that is open, in_progress, done or declined"}
	}
	if is.ID == "" {
		is.Issue = i
	}
	return Remote{Issue: is.Issue, State: is.State, Native: is.Native, Version: is.Version}, nil
}

func (c custom) set(ctx context.Context, now Remote, to State) error {
	return gone(c.call(ctx, map[string]any{"action": "set", "issue": now.ID, "state": to, "version": now.Version}, nil))
}

func (c custom) notes(ctx context.Context, i Issue, since time.Time) (out []Note, err error) {
	var answer struct {
		Comments []struct {
			ID, Author, Text string
			At               time.Time
		}
	}
	err = c.call(ctx, map[string]any{"action": "comments", "issue": i.ID, "since": since.UTC()}, &answer)
	for _, n := range answer.Comments[:min(len(answer.Comments), maxNotes)] {
		out = append(out, Note{ID: n.ID, Author: n.Author, Text: n.Text, At: n.At})
	}
	return out, err
}

func (c custom) changed(ctx context.Context, since time.Time) (Changes, error) {
	var answer struct {
		Issues []struct {
			ID, Version string
			At          time.Time
		}
		More bool
	}
	err := c.call(ctx, map[string]any{"action": "changed", "since": since.UTC()}, &answer)
	out := Changes{Until: since, More: answer.More}
	for _, i := range answer.Issues[:min(len(answer.Issues), perPage*maxPages)] {
		out.Issues = append(out.Issues, Changed{ID: i.ID, Version: i.Version})
		if i.At.After(out.Until) {
			out.Until = i.At
		}
	}
	out.Lost = out.More && !out.Until.After(since)
	return out, err
}
