package trackertest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

var linearStates = []map[string]any{
	{"id": "s-canceled", "name": "Canceled", "type": "canceled", "position": 5},
	{"id": "s-triage", "name": "Triage", "type": "triage", "position": 0},
	{"id": "s-todo", "name": "Todo", "type": "unstarted", "position": 1},
	{"id": "s-review", "name": "In Review", "type": "started", "position": 3},
	{"id": "s-doing", "name": "In Progress", "type": "started", "position": 2},
	{"id": "s-done", "name": "Done", "type": "completed", "position": 4},
}

var linearOf = map[string]string{"s-canceled": Declined, "s-triage": Open, "s-todo": Open, "s-review": Progress,
	"s-doing": Progress, "s-done": Done}

func linearDoc(i *Issue) map[string]any {
	state := map[string]map[string]any{Open: linearStates[2], Progress: linearStates[4], Done: linearStates[5],
		Declined: linearStates[0]}[i.State]
	labels := []map[string]any{}
	for _, l := range i.Labels {
		labels = append(labels, map[string]any{"name": l})
	}
	return map[string]any{"id": i.ID, "url": "https://ln/" + i.ID,
		"updatedAt": i.Updated.Format("2006-01-02T15:04:05.000Z"),
		"trashed":   nil, "archivedAt": nil, "state": state, "labels": map[string]any{"nodes": labels}}
}

// linear speaks Linear's GraphQL API, as far as the queries of internal/notify/tracker go.
func linear(d *Desk, w http.ResponseWriter, r *request) bool {
	query, variables := text(r.body, "query"), map[string]any{}
	if v, ok := r.body["variables"].(map[string]any); ok {
		variables = v
	}
	if r.URL.Path != "/graphql" || r.Header.Get("Authorization") != "t0ken" {
		return false
	}
	input, _ := variables["input"].(map[string]any)
	data := func(doc map[string]any) bool { return write(w, 200, map[string]any{"data": doc}) }
	of := func(id string) *Issue {
		i := d.find(id)
		if i == nil {
			write(w, 200, map[string]any{"data": nil, "errors": []any{map[string]any{"message": "Entity not found: Issue",
				"extensions": map[string]any{"code": "ENTITY_NOT_FOUND"}}}})
		}
		return i
	}
	switch {
	case strings.Contains(query, "viewer"):
		return data(map[string]any{"viewer": map[string]any{"id": "bot-id", "name": "bot"},
			"team": map[string]any{"id": "team-1"}})
	case strings.Contains(query, "states"):
		return data(map[string]any{"team": map[string]any{"states": map[string]any{"nodes": linearStates}}})
	case strings.Contains(query, "issueCreate"):
		made := d.create("L"+d.next(), Issue{Title: text(input, "title"), Text: text(input, "description")})
		return data(map[string]any{"issueCreate": map[string]any{"success": true, "issue": linearDoc(made)}}) &&
			text(input, "teamId") == "team-1"
	case strings.Contains(query, "issueUpdate"):
		i := of(text(variables, "id"))
		if i != nil {
			d.set(i, linearOf[text(input, "stateId")])
			return data(map[string]any{"issueUpdate": map[string]any{"success": true}})
		}
	case strings.Contains(query, "commentCreate"):
		if i := of(text(input, "issueId")); i != nil {
			d.say(i, text(input, "body"))
			return data(map[string]any{"commentCreate": map[string]any{"success": true}})
		}
	case strings.Contains(query, "comments("):
		if i := of(text(variables, "id")); i != nil {
			nodes := linearNotes(i, text(variables, "since"))
			return data(map[string]any{"issue": map[string]any{"comments": map[string]any{"nodes": nodes}}})
		}
	case strings.Contains(query, "issue("):
		if i := of(text(variables, "id")); i != nil {
			return data(map[string]any{"issue": linearDoc(i)})
		}
	case strings.Contains(query, "issues("):
		return data(map[string]any{"issues": d.linearList(variables)})
	default:
		return false
	}
	return true
}

func linearNotes(i *Issue, since string) []map[string]any {
	from, _ := time.Parse(time.RFC3339Nano, since)
	docs := []map[string]any{}
	for _, c := range slices.Backward(i.Comments) { // the newest first, as it sorts them
		if !c.At.Before(from) {
			docs = append(docs, map[string]any{"id": c.ID, "body": c.Text, "user": map[string]any{"displayName": c.Author},
				"createdAt": c.At.Format("2006-01-02T15:04:05.000Z")})
		}
	}
	return docs
}

func (d *Desk) linearList(variables map[string]any) map[string]any {
	nodes := []map[string]any{}
	if mark, is := variables["mark"].(string); is {
		for _, i := range d.issues {
			if strings.Contains(i.Text, mark) {
				nodes = append(nodes, linearDoc(i))
			}
		}
		return map[string]any{"nodes": nodes}
	}
	since, _ := time.Parse(time.RFC3339Nano, text(variables, "since"))
	found := d.changedSince(since)
	slices.Reverse(found) // it sorts the newest first
	start, _ := strconv.Atoi(text(variables, "after"))
	end := min(start+min(100, d.page), len(found))
	for _, i := range found[min(start, len(found)):end] {
		nodes = append(nodes, linearDoc(i))
	}
	info := map[string]any{"hasNextPage": end < len(found), "endCursor": strconv.Itoa(end)}
	return map[string]any{"nodes": nodes, "pageInfo": info}
}

var azureStates = []map[string]any{
	{"name": "To Do", "category": "Proposed"}, {"name": "Doing", "category": "InProgress"},
	{"name": "Done", "category": "Completed"},
	{"name": "Removed", "category": "Removed"},
}

var azureOf = map[string]string{"To Do": Open, "Doing": Progress, "Done": Done, "Removed": Declined}

func azureDoc(i *Issue) map[string]any {
	name := map[string]string{Open: "To Do", Progress: "Doing", Done: "Done", Declined: "Removed"}[i.State]
	id, _ := strconv.Atoi(i.ID)
	return map[string]any{"id": id, "rev": i.Version, "fields": map[string]any{
		"System.State": name, "System.WorkItemType": "Issue", "System.Tags": i.Tags,
		"System.ChangedDate": i.Updated.Format("2006-01-02T15:04:05.000Z")}}
}

var (
	wiqlTag   = regexp.MustCompile(`\[System.Tags\] CONTAINS '([^']*)'`)
	wiqlSince = regexp.MustCompile(`\[System.ChangedDate\] >= '([^']*)'`)
)

// azure speaks the REST API of Azure DevOps, version 7.1.
func azure(d *Desk, w http.ResponseWriter, r *request) bool {
	if _, token, _ := r.BasicAuth(); token != "t0ken" {
		return false
	}
	path, ok := strings.CutPrefix(r.URL.Path, "/org/proj/_apis/wit/")
	switch {
	case r.Method == http.MethodGet && r.URL.Path == "/org/_apis/connectionData":
		return write(w, 200, map[string]any{"authenticatedUser": map[string]any{"id": "7f", "providerDisplayName": "bot",
			"properties": map[string]any{"Account": map[string]any{"$type": "System.String", "$value": "bot@example.com"}}}})
	case r.Method == http.MethodGet && r.URL.Path == "/org/_apis/projects/proj":
		return write(w, 200, map[string]any{"name": "proj"})
	case !ok || !strings.HasPrefix(r.URL.Query().Get("api-version"), "7.1"):
		return false
	}
	switch r.Method + " " + path {
	case "POST wiql":
		return d.azureQuery(w, r)
	case "GET workitemtypes/Issue/states":
		return write(w, 200, map[string]any{"value": azureStates})
	case "POST workitemsbatch":
		docs := []map[string]any{}
		ids, _ := r.body["ids"].([]any)
		for _, id := range ids {
			if i := d.find(fmt.Sprint(id)); i != nil {
				docs = append(docs, azureDoc(i))
			}
		}
		return write(w, 200, map[string]any{"value": docs})
	case "POST workitems/$Issue":
		ops := azureOps(r)
		made := Issue{Title: text(ops, "System.Title"), Text: text(ops, "System.Description"), Tags: text(ops, "System.Tags")}
		return write(w, 200, azureDoc(d.create(d.next(), made))) && ops != nil
	}
	id, what, _ := strings.Cut(strings.TrimPrefix(strings.TrimPrefix(path, "workItems/"), "workitems/"), "/")
	i := d.find(id)
	if i == nil {
		return write(w, http.StatusNotFound, map[string]any{"message": "TF401232: Work item " + id + " does not exist."})
	}
	switch r.Method + " " + what {
	case "GET ":
		return write(w, 200, azureDoc(i))
	case "PATCH ":
		ops := azureOps(r)
		if ops["rev"] != float64(i.Version) {
			return write(w, http.StatusPreconditionFailed, map[string]any{"message": "VS403357: The test operation failed."})
		}
		d.set(i, azureOf[text(ops, "System.State")])
		return write(w, 200, azureDoc(i))
	case "GET comments":
		docs := []map[string]any{}
		for _, c := range slices.Backward(i.Comments) {
			id, _ := strconv.Atoi(c.ID)
			docs = append(docs, map[string]any{"id": id, "text": c.Text, "createdBy": map[string]any{"displayName": c.Author},
				"createdDate": c.At.Format("2006-01-02T15:04:05.000Z")})
		}
		return write(w, 200, map[string]any{"comments": docs})
	case "POST comments":
		d.say(i, text(r.body, "text"))
		return write(w, 200, map[string]any{"id": 1})
	}
	return false
}

// azureOps are the operations of a patch, by their fields.
func azureOps(r *request) map[string]any {
	var ops []struct {
		Op, Path string
		Value    any
	}
	if r.Header.Get("Content-Type") != "application/json-patch+json" || json.Unmarshal(r.text, &ops) != nil {
		return nil
	}
	out := map[string]any{}
	for _, o := range ops {
		out[strings.TrimPrefix(strings.TrimPrefix(o.Path, "/fields/"), "/")] = o.Value
	}
	return out
}

func (d *Desk) azureQuery(w http.ResponseWriter, r *request) bool {
	query := text(r.body, "query")
	items := []map[string]any{}
	add := func(i *Issue) {
		id, _ := strconv.Atoi(i.ID)
		items = append(items, map[string]any{"id": id})
	}
	if m := wiqlTag.FindStringSubmatch(query); m != nil {
		for _, i := range d.issues {
			if slices.Contains(strings.Split(i.Tags, "; "), m[1]) {
				add(i)
			}
		}
	} else if m := wiqlSince.FindStringSubmatch(query); m != nil && r.URL.Query().Get("timePrecision") == "true" {
		since, _ := time.Parse("2006-01-02T15:04:05.000Z", m[1])
		for _, i := range d.changedSince(since) {
			add(i)
		}
	} else {
		return false
	}
	return write(w, 200, map[string]any{"workItems": items[:min(len(items), number(r, "$top", 20_000))]})
}

func recordDoc(i *Issue) map[string]any {
	doc := map[string]any{"sys_id": i.ID, "number": "INC" + i.ID,
		"sys_updated_on": i.Updated.Format("2006-01-02 15:04:05"),
		"sys_mod_count":  strconv.Itoa(i.Version), "close_code": "", "correlation_id": i.Mark}
	switch i.State {
	case Open:
		doc["state"] = "1"
	case Progress:
		doc["state"] = "2"
	case Done:
		doc["state"], doc["close_code"] = "6", "Solution provided"
	case Declined:
		doc["state"], doc["close_code"] = "7", "No resolution provided"
	}
	if i.Final && i.State == Done {
		doc["state"] = "7"
	}
	return doc
}

// servicenow speaks ServiceNow's Table API. What is closed stays closed.
func servicenow(d *Desk, w http.ResponseWriter, r *request) bool {
	if user, password, _ := r.BasicAuth(); user != "bot" || password != "t0ken" {
		return false
	}
	query := r.URL.Query().Get("sysparm_query")
	switch r.Method + " " + r.URL.Path {
	case "GET /api/now/table/sys_user":
		user := map[string]any{"user_name": "bot", "name": "A bot"}
		return write(w, 200, map[string]any{"result": []any{user}}) && query == "user_name=bot"
	case "GET /api/now/table/sys_journal_field":
		return d.journal(w, query)
	case "GET /api/now/table/incident":
		return d.recordList(w, r, query)
	case "POST /api/now/table/incident":
		made := Issue{Title: text(r.body, "short_description"), Text: text(r.body, "description"),
			Mark: text(r.body, "correlation_id")}
		return write(w, 201, map[string]any{"result": recordDoc(d.create("inc"+d.next(), made))})
	}
	i := d.find(strings.TrimPrefix(r.URL.Path, "/api/now/table/incident/"))
	switch {
	case i == nil:
		return failed(w, http.StatusNotFound, "No Record found")
	case r.Method == http.MethodGet:
		return write(w, 200, map[string]any{"result": recordDoc(i)})
	case r.Method != http.MethodPatch:
		return false
	}
	if note, is := r.body["work_notes"].(string); is {
		d.say(i, note)
		return write(w, 200, map[string]any{"result": recordDoc(i)})
	}
	state := map[string]string{"1": Open, "2": Progress, "6": Done, "7": Declined}[text(r.body, "state")]
	closing := state == Done || state == Declined
	isComplete := text(r.body, "close_code") != "" && text(r.body, "close_notes") != ""
	if i.Final || i.State == Declined || closing && !isComplete {
		return failed(w, http.StatusForbidden, "Operation Failed")
	}
	d.set(i, state)
	return write(w, 200, map[string]any{"result": recordDoc(i)})
}

func failed(w http.ResponseWriter, status int, why string) bool {
	return write(w, status, map[string]any{"error": map[string]any{"message": why}, "status": "failure"})
}

func (d *Desk) recordList(w http.ResponseWriter, r *request, query string) bool {
	docs := []map[string]any{}
	mark, found := strings.CutPrefix(query, "correlation_id=")
	_, since, listed := strings.Cut(query, "^sys_updated_on>=")
	switch {
	case query == "":
	case found:
		mark, _, _ = strings.Cut(mark, "^")
		for _, i := range d.issues {
			if i.Mark == mark && !i.Final && i.State != Declined {
				docs = append(docs, recordDoc(i))
			}
		}
	case listed && strings.HasPrefix(query, "correlation_idSTARTSWITH"):
		since, _, _ = strings.Cut(since, "^")
		from, _ := time.Parse("2006-01-02 15:04:05", since)
		for _, i := range d.changedSince(from) {
			docs = append(docs, recordDoc(i))
		}
	default:
		return false
	}
	size := number(r, "sysparm_limit", 10_000)
	start := min(number(r, "sysparm_offset", 0), len(docs))
	return write(w, 200, map[string]any{"result": docs[start:min(start+size, len(docs))]})
}

func (d *Desk) journal(w http.ResponseWriter, query string) bool {
	rest, ok := strings.CutPrefix(query, "element_id=")
	id, _, _ := strings.Cut(rest, "^")
	_, after, _ := strings.Cut(query, "sys_created_on>=")
	after, _, _ = strings.Cut(after, "^")
	since, _ := time.Parse("2006-01-02 15:04:05", after)
	docs := []map[string]any{}
	if i := d.find(id); i != nil {
		for _, c := range i.Comments {
			if !c.At.Before(since) {
				docs = append(docs, map[string]any{"sys_id": c.ID, "value": c.Text, "sys_created_by": c.Author,
					"sys_created_on": c.At.Format("2006-01-02 15:04:05")})
			}
		}
	}
	return write(w, 200, map[string]any{"result": docs}) && ok
}
