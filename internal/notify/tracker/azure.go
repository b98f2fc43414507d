package tracker

import (
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"html"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/vedette-sec/vedette/internal/infra/apiclient"
)

// azure uses the REST API of Azure DevOps, version 7.1: work items of one type in one project.
func (f *Filer) azure(t Tracker) service {
	login := base64.StdEncoding.EncodeToString([]byte(":" + t.Token)) // a personal access token
	a := azure{rest{
		f, "Azure DevOps", t.BaseURL + "/" + url.PathEscape(t.Owner), []string{t.Token},
		http.Header{"Authorization": {"Basic " + login}}, "/" + url.PathEscape(t.Project) + "/_apis/wit/workitems",
	}, t}
	return service{a.find, a.open, a.comment, a.who, a.get, a.set, a.notes, a.changed}
}

type azure struct {
	rest

	t Tracker
}

const azureVersion = "?api-version=7.1"

type workItem struct {
	ID     int `json:"id"`
	Rev    int `json:"rev"`
	Fields struct {
		State string `json:"System.State"`
		Type  string `json:"System.WorkItemType"`
		Tags  string `json:"System.Tags"`
	} `json:"fields"`
	Links struct {
		HTML struct {
			Href string `json:"href"`
		} `json:"html"`
	} `json:"_links"`
}

func (a azure) project(path string) string {
	return "/" + url.PathEscape(a.t.Project) + "/_apis/" + path
}

func (a azure) issue(id int) Issue {
	number := strconv.Itoa(id)
	return Issue{number, a.base + "/" + url.PathEscape(a.t.Project) + "/_workitems/edit/" + number}
}

// query gives the numbers of work items; the service bounds them at 20,000.
func (a azure) query(ctx context.Context, where string, top int) (ids []int, err error) {
	var answer struct {
		WorkItems []struct{ ID int }
	}
	wiql := "SELECT [System.Id] FROM WorkItems WHERE [System.TeamProject] = @project AND " + where
	path := a.project("wit/wiql") + azureVersion + "&timePrecision=true&$top=" + strconv.Itoa(top)
	err = a.call(ctx, http.MethodPost, path, map[string]any{"query": wiql}, &answer)
	for _, item := range answer.WorkItems {
		ids = append(ids, item.ID)
	}
	return ids, err
}

func (a azure) find(ctx context.Context, mark string) (Issue, error) {
	ids, err := a.query(ctx, "[System.Tags] CONTAINS '"+mark+"' ORDER BY [System.Id] ASC", 1)
	if err != nil || len(ids) == 0 {
		return Issue{}, err
	}
	return a.issue(ids[0]), nil
}

type patchOp struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value any    `json:"value"`
}

func (a azure) patch(ctx context.Context, method, path string, ops []patchOp, out any) error {
	header := a.header.Clone()
	header.Set("Content-Type", "application/json-patch+json")
	return a.send(ctx, method, path+azureVersion, header, ops, out)
}

func (a azure) open(ctx context.Context, finding Finding, text string) (Issue, error) {
	ops := []patchOp{
		{"add", "/fields/System.Title", title(finding)},
		{"add", "/fields/System.Description", "<pre>" + html.EscapeString(text) + "</pre>"},
		{"add", "/fields/System.Tags", strings.Join(append(a.t.labels(finding), mark(finding.Hash)), "; ")},
	}
	for name, value := range a.t.Fields {
		ops = append(ops, patchOp{"add", "/fields/" + name, value})
	}
	var made workItem
	kind := url.PathEscape(cmp.Or(a.t.IssueType, "Issue"))
	if err := a.patch(ctx, http.MethodPost, a.issues+"/$"+kind, ops, &made); err != nil || made.ID == 0 {
		return Issue{}, err
	}
	return a.issue(made.ID), nil
}

func (a azure) comments(i Issue) string {
	return a.project("wit/workItems/") + url.PathEscape(i.ID) + "/comments?api-version=7.1-preview.4"
}

func (a azure) comment(ctx context.Context, i Issue, text string) error {
	body := map[string]any{"text": strings.ReplaceAll(html.EscapeString(text), "\n", "<br>")}
	return gone(a.call(ctx, http.MethodPost, a.comments(i), body, nil))
}

func (a azure) who(ctx context.Context) (Account, error) {
	var answer struct {
		User struct {
			ID         string `json:"id"`
			Name       string `json:"providerDisplayName"`
			Properties struct {
				Account struct {
					Value string `json:"$value"`
				}
			}
		} `json:"authenticatedUser"`
	}
	if err := a.call(ctx, http.MethodGet, "/_apis/connectionData", nil, &answer); err != nil {
		return Account{}, err
	}
	who, err := named(a.service, cmp.Or(answer.User.Properties.Account.Value, answer.User.ID), answer.User.Name)
	if err != nil {
		return who, err
	}
	return who, a.call(ctx, http.MethodGet, "/_apis/projects/"+url.PathEscape(a.t.Project)+azureVersion, nil, nil)
}

func (a azure) get(ctx context.Context, i Issue) (Remote, error) {
	var is workItem
	if err := a.call(ctx, http.MethodGet, a.one(i)+azureVersion, nil, &is); err != nil {
		return Remote{Issue: i}, gone(err)
	}
	if is.ID == 0 {
		return Remote{Issue: i}, ErrGone
	}
	states, err := a.states(ctx, is.Fields.Type)
	if err != nil {
		return Remote{Issue: i}, err
	}
	r := Remote{Issue: a.issue(is.ID), State: Open, Native: is.Fields.State, Version: fmt.Sprintf("%010d", is.Rev),
		kind: is.Fields.Type}
	declined := firstDeclining(strings.Split(is.Fields.Tags, ";"))
	for _, s := range states {
		if s.Name == is.Fields.State {
			r.State = azureState(s.Category)
		}
	}
	switch {
	case r.State == Done && declined != "":
		r.State = Declined
	case !r.State.Closed():
		r.Hint = strings.TrimSpace(declined)
	}
	return r, nil
}

func azureState(category string) State {
	switch category {
	case "InProgress":
		return Progress
	case "Resolved", "Completed":
		return Done
	case "Removed":
		return Declined
	}
	return Open // Proposed
}

type azureStateName struct{ Name, Category string }

// states are those of a type of work items, in the order of its workflow.
func (a azure) states(ctx context.Context, kind string) ([]azureStateName, error) {
	var answer struct{ Value []azureStateName }
	path := a.project("wit/workitemtypes/") + url.PathEscape(kind) + "/states" + azureVersion
	return answer.Value, a.call(ctx, http.MethodGet, path, nil, &answer)
}

// set changes the state only if the work item has the revision that was read.
func (a azure) set(ctx context.Context, now Remote, to State) error {
	states, err := a.states(ctx, now.kind)
	if err != nil {
		return err
	}
	name := ""
	for _, category := range map[State][]string{Open: {"Proposed"}, Progress: {"InProgress"},
		Done: {"Completed", "Resolved"}, Declined: {"Removed", "Completed"}}[to] {
		for _, s := range states {
			if s.Category == category && name == "" {
				name = s.Name
			}
		}
	}
	if name == "" {
		return ErrNoWay
	}
	rev, err := strconv.Atoi(now.Version)
	if err != nil {
		return ErrMoved
	}
	err = a.patch(ctx, http.MethodPatch, a.one(now.Issue),
		[]patchOp{{"test", "/rev", rev}, {"add", "/fields/System.State", name}}, nil)
	if failed, ok := errors.AsType[*apiclient.Error](err); ok &&
		(failed.Status == http.StatusPreconditionFailed || failed.Status == http.StatusConflict) {
		return ErrMoved
	}
	return gone(err)
}

func (a azure) notes(ctx context.Context, i Issue, since time.Time) (out []Note, err error) {
	var answer struct {
		Comments []struct {
			ID          int
			Text        string
			CreatedDate time.Time
			CreatedBy   struct{ DisplayName string }
		}
	}
	err = a.call(ctx, http.MethodGet, a.comments(i)+"&$top=100&order=desc", nil, &answer)
	for _, n := range slices.Backward(answer.Comments) {
		if !n.CreatedDate.Before(since) {
			out = append(out, Note{ID: strconv.Itoa(n.ID), Author: n.CreatedBy.DisplayName, Text: withoutTags(n.Text),
				At: n.CreatedDate})
		}
	}
	return out, gone(err)
}

// withoutTags is the text of an HTML fragment.
func withoutTags(text string) string {
	text = strings.NewReplacer("<br>", "\n", "<br/>", "\n", "<br />", "\n", "</div>", "\n", "</p>", "\n").Replace(text)
	var b strings.Builder
	for text != "" {
		before, rest, found := strings.Cut(text, "<")
		b.WriteString(before)
		if !found {
			break
		}
		_, text, _ = strings.Cut(rest, ">")
	}
	return strings.TrimSpace(html.UnescapeString(b.String()))
}

// changed asks for the numbers, and then for revisions, 100 at a time.
func (a azure) changed(ctx context.Context, since time.Time) (Changes, error) {
	ids, err := a.query(ctx, "[System.ChangedDate] >= '"+since.UTC().Format("2006-01-02T15:04:05.000Z")+
		"' ORDER BY [System.ChangedDate] ASC", perPage*maxPages)
	c := Changes{Until: since, More: len(ids) == perPage*maxPages}
	for start := 0; start < len(ids) && err == nil; start += perPage {
		var answer struct {
			Value []struct {
				ID, Rev int
				Fields  struct {
					Changed time.Time `json:"System.ChangedDate"`
				}
			}
		}
		part := ids[start:min(start+perPage, len(ids))]
		err = a.call(ctx, http.MethodPost, a.project("wit/workitemsbatch")+azureVersion,
			map[string]any{"ids": part, "fields": []string{"System.ChangedDate"}, "errorPolicy": "omit"}, &answer)
		for _, item := range answer.Value {
			c.Issues = append(c.Issues, Changed{ID: strconv.Itoa(item.ID), Version: fmt.Sprintf("%010d", item.Rev)})
			if item.Fields.Changed.After(c.Until) {
				c.Until = item.Fields.Changed
			}
		}
	}
	c.Lost = c.More && !c.Until.After(since)
	return c, err
}
