package trackertest

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// number is a number of the query, or another one.
func number(r *request, name string, otherwise int) int {
	if n, err := strconv.Atoi(r.URL.Query().Get(name)); err == nil {
		return n
	}
	return otherwise
}

func text(doc map[string]any, name string) string {
	s, _ := doc[name].(string)
	return s
}

func (d *Desk) githubDoc(i *Issue) map[string]any {
	doc := map[string]any{"html_url": "https://gh/" + i.ID, "title": i.Title, "body": i.Text, "state": "open",
		"state_reason": nil, "updated_at": i.Updated.Format("2006-01-02T15:04:05Z"), "locked": false}
	doc["number"], _ = strconv.Atoi(i.ID)
	labels := slices.Clone(i.Labels)
	switch i.State {
	case Progress:
		labels = append(labels, doing)
	case Done:
		doc["state"], doc["state_reason"] = "closed", "completed"
	case Declined:
		doc["state"], doc["state_reason"] = "closed", "not_planned"
	}
	names := []map[string]any{}
	for _, l := range labels {
		names = append(names, map[string]any{"name": l})
	}
	doc["labels"] = names
	return doc
}

// github speaks GitHub's REST API. Its search knows nothing yet, as the real one's for some seconds.
func github(d *Desk, w http.ResponseWriter, r *request) bool {
	if r.Header.Get("Authorization") != "Bearer t0ken" || r.Header.Get("X-Github-Api-Version") != "2022-11-28" {
		return false
	}
	const issues = "/repos/o/p/issues"
	switch r.Method + " " + r.URL.Path {
	case "GET /user":
		return write(w, 200, map[string]any{"login": "bot"})
	case "GET /repos/o/p":
		return write(w, 200, map[string]any{"full_name": "o/p"})
	case "GET /search/issues":
		return write(w, 200, map[string]any{"items": []any{}})
	case "GET " + issues:
		return d.githubList(w, r)
	case "POST " + issues:
		made := Issue{Title: text(r.body, "title"), Text: text(r.body, "body")}
		labels, _ := r.body["labels"].([]any)
		for _, l := range labels {
			made.Labels = append(made.Labels, fmt.Sprint(l))
		}
		return write(w, 201, d.githubDoc(d.create(d.next(), made)))
	}
	id, what, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, issues+"/"), "/")
	if d.gone[id] {
		return write(w, http.StatusGone, map[string]any{"message": "This issue was deleted"})
	}
	i := d.find(id)
	if i == nil {
		return notFound(w)
	}
	switch r.Method + " " + what {
	case "GET ":
		tag := fmt.Sprintf(`W/"%d"`, i.Version)
		w.Header().Set("Etag", tag)
		if r.Header.Get("If-None-Match") == tag {
			w.WriteHeader(http.StatusNotModified)
			return true
		}
		return write(w, 200, d.githubDoc(i))
	case "PATCH ":
		return d.githubPatch(w, r, i)
	case "GET comments":
		return d.githubComments(w, r, i)
	case "POST comments":
		c := d.say(i, text(r.body, "body"))
		return write(w, 201, map[string]any{"id": 1, "body": c.Text})
	case "POST labels":
		if labels, _ := r.body["labels"].([]any); !slices.Equal(labels, []any{doing}) {
			return false
		}
		if i.State == Open {
			d.set(i, Progress)
		} else { // a closed issue keeps its state, and is in progress when it is opened
			i.Labels = append(i.Labels, doing)
			d.touch(i)
		}
		return write(w, 200, []any{})
	case "DELETE labels/" + doing:
		switch {
		case i.State == Progress:
			d.set(i, Open)
		case slices.Contains(i.Labels, doing):
			i.Labels = without(i.Labels, doing)
			d.touch(i)
		default:
			return notFound(w)
		}
		return write(w, 200, []any{})
	}
	if label, ok := strings.CutPrefix(what, "labels/"); ok && r.Method == http.MethodDelete {
		i.Labels = without(i.Labels, label)
		d.touch(i)
		return write(w, 200, []any{})
	}
	return false
}

// doing is the label of an issue in progress.
const doing = "in progress"

func without(labels []string, one string) []string {
	return slices.DeleteFunc(labels, func(l string) bool { return l == one })
}

func (d *Desk) githubPatch(w http.ResponseWriter, r *request, i *Issue) bool {
	if text(r.body, "state") == "closed" && i.State == Progress {
		i.Labels = append(i.Labels, doing) // it stays until it is taken away
	}
	switch text(r.body, "state") + " " + text(r.body, "state_reason") {
	case "closed completed":
		d.set(i, Done)
	case "closed not_planned":
		d.set(i, Declined)
	case "open reopened", "open ":
		switch {
		case i.State != Done && i.State != Declined:
		case slices.Contains(i.Labels, doing):
			i.Labels = without(i.Labels, doing)
			d.set(i, Progress)
		default:
			d.set(i, Open)
		}
	default:
		return write(w, 422, map[string]any{"message": "Validation Failed"})
	}
	return write(w, 200, d.githubDoc(i))
}

func (d *Desk) githubList(w http.ResponseWriter, r *request) bool {
	q := r.URL.Query()
	size := min(number(r, "per_page", 30), 100)
	var found []*Issue
	switch {
	case q.Get("state") != "all":
		return false
	case q.Get("sort") == "updated":
		since, err := time.Parse(time.RFC3339, q.Get("since"))
		if err != nil || q.Get("direction") != "asc" {
			return false
		}
		found = d.changedSince(since)
	default:
		for _, i := range slices.Backward(d.issues) {
			if slices.Contains(i.Labels, q.Get("labels")) {
				found = append(found, i)
			}
		}
	}
	docs := []map[string]any{}
	for _, i := range pageOf(found, number(r, "page", 1), size) {
		docs = append(docs, d.githubDoc(i))
	}
	return write(w, 200, docs)
}

func (d *Desk) githubComments(w http.ResponseWriter, r *request, i *Issue) bool {
	since := time.Time{}
	if s := r.URL.Query().Get("since"); s != "" {
		since, _ = time.Parse(time.RFC3339, s)
	}
	docs := []map[string]any{}
	for _, c := range i.Comments {
		if !c.At.Before(since) {
			id, _ := strconv.Atoi(c.ID)
			docs = append(docs, map[string]any{"id": id, "body": c.Text, "user": map[string]any{"login": c.Author},
				"created_at": c.At.Format("2006-01-02T15:04:05Z")})
		}
	}
	return write(w, 200, docs)
}

func gitlabDoc(i *Issue) map[string]any {
	doc := map[string]any{"web_url": "https://gl/" + i.ID, "title": i.Title, "description": i.Text, "state": "opened",
		"updated_at": i.Updated.Format("2006-01-02T15:04:05.000Z")}
	doc["iid"], _ = strconv.Atoi(i.ID)
	labels := append([]string{}, i.Labels...)
	switch i.State {
	case Progress:
		labels = append(labels, "in progress")
	case Done:
		doc["state"] = "closed"
	case Declined:
		doc["state"] = "closed"
		labels = append(labels, "wontfix")
	}
	doc["labels"] = labels
	return doc
}

// gitlab speaks GitLab's REST API, version 4.
func gitlab(d *Desk, w http.ResponseWriter, r *request) bool {
	if r.Header.Get("Private-Token") != "t0ken" {
		return false
	}
	const project = "/api/v4/projects/g%2Fp"
	path := r.URL.EscapedPath()
	switch r.Method + " " + path {
	case "GET /api/v4/user":
		return write(w, 200, map[string]any{"username": "bot"})
	case "GET " + project:
		return write(w, 200, map[string]any{"id": 7})
	case "GET " + project + "/issues":
		return d.gitlabList(w, r)
	case "POST " + project + "/issues":
		made := Issue{Title: text(r.body, "title"), Text: text(r.body, "description"),
			Labels: strings.Split(text(r.body, "labels"), ",")}
		return write(w, 201, gitlabDoc(d.create(d.next(), made)))
	}
	id, what, _ := strings.Cut(strings.TrimPrefix(path, project+"/issues/"), "/")
	i := d.find(id)
	if i == nil {
		return write(w, 404, map[string]any{"message": "404 Issue Not Found"})
	}
	switch r.Method + " " + what {
	case "GET ":
		return write(w, 200, gitlabDoc(i))
	case "PUT ":
		d.gitlabPut(r, i)
		return write(w, 200, gitlabDoc(i))
	case "GET notes":
		docs := []map[string]any{}
		for _, c := range slices.Backward(i.Comments) {
			id, _ := strconv.Atoi(c.ID)
			docs = append(docs, map[string]any{"id": id, "body": c.Text, "author": map[string]any{"username": c.Author},
				"created_at": c.At.Format("2006-01-02T15:04:05.000Z"), "system": false})
		}
		return write(w, 200, docs)
	case "POST notes":
		d.say(i, text(r.body, "body"))
		return write(w, 201, map[string]any{"id": 1})
	}
	return false
}

func (d *Desk) gitlabPut(r *request, i *Issue) {
	state := i.State
	closed := state == Done || state == Declined
	switch text(r.body, "state_event") {
	case "close":
		closed = true
	case "reopen":
		closed = false
	}
	removed, added := strings.Split(text(r.body, "remove_labels"), ","), strings.Split(text(r.body, "add_labels"), ",")
	has := func(label string, now bool) bool {
		return slices.Contains(added, label) || now && !slices.Contains(removed, label)
	}
	inProgress, declined := has("in progress", state == Progress), has("wontfix", state == Declined)
	i.Labels = slices.DeleteFunc(i.Labels, func(l string) bool { return slices.Contains(removed, l) })
	switch {
	case closed && declined:
		state = Declined
	case closed:
		state = Done
	case inProgress:
		state = Progress
	default:
		state = Open
	}
	d.set(i, state)
}

func (d *Desk) gitlabList(w http.ResponseWriter, r *request) bool {
	q := r.URL.Query()
	var found []*Issue
	if mark := q.Get("search"); mark != "" {
		for _, i := range d.issues {
			if strings.Contains(i.Text, mark) && q.Get("in") == "description" {
				found = append(found, i)
			}
		}
	} else {
		since, err := time.Parse(time.RFC3339Nano, q.Get("updated_after"))
		if err != nil || q.Get("order_by") != "updated_at" || q.Get("sort") != "asc" {
			return false
		}
		found = d.changedSince(since)
	}
	docs := []map[string]any{}
	for _, i := range pageOf(found, number(r, "page", 1), min(number(r, "per_page", 20), 100)) {
		docs = append(docs, gitlabDoc(i))
	}
	return write(w, 200, docs)
}
