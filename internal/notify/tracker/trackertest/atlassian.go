package trackertest

import (
	"encoding/json"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

func jira2(d *Desk, w http.ResponseWriter, r *request) bool { return d.jira(w, r, "2") }
func jira3(d *Desk, w http.ResponseWriter, r *request) bool { return d.jira(w, r, "3") }

const jiraTime = "2006-01-02T15:04:05.000-0700"

// statuses are those of the workflow; every one leads to every other.
var statuses = []struct{ id, name, category, state string }{
	{"11", "To Do", "new", Open}, {"21", "In Progress", "indeterminate", Progress}, {"31", "Done", "done", Done},
	{"41", "Won't Do", "done", Declined},
}

func jiraDoc(i *Issue) map[string]any {
	fields := map[string]any{"summary": i.Title, "updated": i.Updated.Format(jiraTime), "labels": i.Labels,
		"resolution": nil}
	for _, s := range statuses {
		if s.state == i.State {
			fields["status"] = map[string]any{"name": s.name, "statusCategory": map[string]any{"key": s.category}}
		}
	}
	switch i.State {
	case Done:
		fields["resolution"] = map[string]any{"name": "Done"}
	case Declined:
		fields["resolution"] = map[string]any{"name": "Won't Do"}
	}
	return map[string]any{"id": "1000" + i.ID, "key": i.ID, "fields": fields}
}

// jira speaks Jira's REST API of a version: 2 of a server, 3 of the cloud.
func (d *Desk) jira(w http.ResponseWriter, r *request, version string) bool {
	if login, token, _ := r.BasicAuth(); login != "me@example.com" || token != "t0ken" {
		return false
	}
	path, ok := strings.CutPrefix(r.URL.Path, "/rest/api/"+version)
	if !ok {
		return false
	}
	isCloud := version == "3"
	search := "/search"
	if isCloud {
		search = "/search/jql" // the other one was removed there
	}
	switch r.Method + " " + path {
	case "GET /myself":
		return write(w, 200, map[string]any{"accountId": "bot-id", "displayName": "bot"})
	case "GET /project/P":
		return write(w, 200, map[string]any{"key": "P"})
	case "POST " + search:
		return d.jiraSearch(w, r, isCloud)
	case "POST /issue":
		fields, _ := r.body["fields"].(map[string]any)
		project, _ := fields["project"].(map[string]any)
		if project["key"] != "P" || text(fields, "summary") == "" {
			return complain(w, "project is required")
		}
		body, good := jiraText(fields["description"], isCloud)
		made := d.create("P-"+d.next(), Issue{Title: text(fields, "summary"), Text: body})
		return write(w, 201, map[string]any{"key": made.ID}) && good
	}
	id, what, _ := strings.Cut(strings.TrimPrefix(path, "/issue/"), "/")
	i := d.find(id)
	if i == nil {
		write(w, http.StatusNotFound, map[string]any{"errorMessages": []string{"Issue does not exist"}})
		return true
	}
	switch r.Method + " " + what {
	case "GET ":
		return write(w, 200, jiraDoc(i))
	case "GET transitions":
		return write(w, 200, map[string]any{"transitions": transitions(r.URL.Query().Get("expand") != "")})
	case "POST transitions":
		return d.jiraMove(w, r, i)
	case "POST comment":
		body, good := jiraText(r.body["body"], isCloud)
		d.say(i, body)
		return write(w, 201, map[string]any{"id": "1"}) && good
	case "GET comment":
		docs := []map[string]any{}
		for _, c := range slices.Backward(i.Comments) {
			var body any = c.Text
			if isCloud {
				body = map[string]any{"type": "doc", "version": 1, "content": []any{map[string]any{"type": "paragraph",
					"content": []any{map[string]any{"type": "text", "text": c.Text}}}}}
			}
			docs = append(docs, map[string]any{"id": c.ID, "body": body, "created": c.At.Format(jiraTime),
				"author": map[string]any{"displayName": c.Author}})
		}
		return write(w, 200, map[string]any{"comments": docs, "total": len(docs)})
	}
	return false
}

func complain(w http.ResponseWriter, why string) bool {
	return write(w, http.StatusBadRequest, map[string]any{"errorMessages": []string{why}})
}

func transitions(fields bool) (out []map[string]any) {
	for _, s := range statuses {
		t := map[string]any{"id": s.id, "name": s.name,
			"to": map[string]any{"name": s.name, "statusCategory": map[string]any{"key": s.category}}}
		if fields && s.category == "done" {
			t["fields"] = map[string]any{"resolution": map[string]any{"required": false,
				"allowedValues": []any{map[string]any{"name": "Done"}, map[string]any{"name": "Won't Do"}}}}
		}
		out = append(out, t)
	}
	return out
}

func (d *Desk) jiraMove(w http.ResponseWriter, r *request, i *Issue) bool {
	transition, _ := r.body["transition"].(map[string]any)
	for _, s := range statuses {
		if s.id == transition["id"] {
			d.set(i, s.state)
			w.WriteHeader(http.StatusNoContent)
			return true
		}
	}
	return complain(w, "It is not a valid transition.")
}

// jiraText is the text of a document, or of a field of plain text.
func jiraText(value any, isCloud bool) (string, bool) {
	s, isPlain := value.(string)
	if !isCloud {
		return s, isPlain
	}
	doc, ok := value.(map[string]any)
	if !ok || doc["type"] != "doc" || doc["version"] != 1.0 {
		return "", false
	}
	raw := encoded(doc["content"])
	var b strings.Builder
	for _, m := range regexp.MustCompile(`"text":("(?:[^"\\]|\\.)*")`).FindAllStringSubmatch(string(raw), -1) {
		var part string
		_ = json.Unmarshal([]byte(m[1]), &part)
		b.WriteString(part + "\n")
	}
	return strings.TrimSpace(b.String()), true
}

var (
	jqlText  = regexp.MustCompile(`text ~ "\\"([^"]*)\\""`)
	jqlSince = regexp.MustCompile(`updated >= "-(\d+)m"`)
)

func (d *Desk) jiraSearch(w http.ResponseWriter, r *request, isCloud bool) bool {
	jql := text(r.body, "jql")
	if !strings.HasPrefix(jql, `project = "P" AND `) {
		return false
	}
	var found []*Issue
	if m := jqlText.FindStringSubmatch(jql); m != nil {
		for _, i := range d.issues {
			if strings.Contains(i.Text, m[1]) {
				found = append(found, i)
			}
		}
	} else if m := jqlSince.FindStringSubmatch(jql); m != nil && strings.HasSuffix(jql, "ORDER BY updated ASC") {
		minutes, _ := strconv.Atoi(m[1])
		found = d.changedSince(time.Now().Add(-time.Duration(minutes) * time.Minute))
	} else {
		return false
	}
	limit, _ := r.body["maxResults"].(float64)
	size := min(int(limit), d.page)
	start := 0
	if isCloud {
		start, _ = strconv.Atoi(text(r.body, "nextPageToken"))
	} else if at, ok := r.body["startAt"].(float64); ok {
		start = int(at)
	}
	docs := []map[string]any{}
	end := min(start+size, len(found))
	for _, i := range found[min(start, len(found)):end] {
		docs = append(docs, jiraDoc(i))
	}
	answer := map[string]any{"issues": docs}
	switch {
	case !isCloud:
		answer["startAt"], answer["maxResults"], answer["total"] = start, size, len(found)
	case end < len(found):
		answer["nextPageToken"], answer["isLast"] = strconv.Itoa(end), false
	default:
		answer["isLast"] = true
	}
	return write(w, 200, answer)
}
