package trackertest

import (
	"fmt"
	"net/http"
	"strings"
	"time"
)

// own speaks the format of webhooks of one's own.
func own(d *Desk, w http.ResponseWriter, r *request) bool {
	if r.Header.Get("Authorization") != "Bearer t0ken" {
		return false
	}
	doc := func(i *Issue) map[string]any {
		return map[string]any{"id": i.ID, "url": "https://cu/" + i.ID, "state": i.State,
			"version": fmt.Sprintf("%08d", i.Version)}
	}
	i := d.find(text(r.body, "issue"))
	action := text(r.body, "action")
	if i == nil && (action == "get" || action == "set" || action == "comment" || action == "comments") {
		return notFound(w)
	}
	switch action {
	case "verify":
		return write(w, 200, map[string]any{})
	case "find":
		for _, i := range d.issues {
			if strings.Contains(i.Mark, text(r.body, "mark")) {
				return write(w, 200, doc(i))
			}
		}
		return write(w, 200, map[string]any{})
	case "open":
		made := Issue{Title: text(r.body, "title"), Text: text(r.body, "text"), Mark: text(r.body, "mark")}
		return write(w, 200, doc(d.create("c"+d.next(), made)))
	case "get":
		return write(w, 200, doc(i))
	case "set":
		d.set(i, text(r.body, "state"))
		return write(w, 200, doc(i))
	case "comment":
		d.say(i, text(r.body, "text"))
		return write(w, 200, map[string]any{})
	case "comments":
		since, _ := time.Parse(time.RFC3339Nano, text(r.body, "since"))
		docs := []map[string]any{}
		for _, c := range i.Comments {
			if !c.At.Before(since) {
				docs = append(docs, map[string]any{"id": c.ID, "author": c.Author, "text": c.Text, "at": c.At})
			}
		}
		return write(w, 200, map[string]any{"comments": docs})
	case "changed":
		since, _ := time.Parse(time.RFC3339Nano, text(r.body, "since"))
		docs := []map[string]any{}
		for _, i := range d.changedSince(since) {
			docs = append(docs, map[string]any{"id": i.ID, "version": fmt.Sprintf("%08d", i.Version), "at": i.Updated})
		}
		return write(w, 200, map[string]any{"issues": docs})
	}
	return false
}
