// Package gitlabtest has a GitLab for tests: it speaks the part of the REST API (version 4) that reviews of merge
// requests use, as its public documentation describes it, and keeps what is written.
//
// The token Token is of the account bot (5). The project acme/shop (70) has merge requests that a test puts there. ada
// (1) may push to it, eve (2) is a reporter. GET /state answers with what was written. Any other token, path or line is
// refused as GitLab refuses it.
package gitlabtest

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// What the account is.
const (
	Token = "glpat-token-of-the-bot"
	Bot   = 5
)

// File is a file of a merge request.
type File struct {
	Old  string `json:"old_path"`
	New  string `json:"new_path"`
	Diff string `json:"diff"`
	Text string `json:"-"` // all of it, as the merge request leaves it
}

// Merge is a merge request of acme/shop.
type Merge struct {
	Number int
	Title  string
	Author string
	Head   string
	Draft  bool
	Closed bool
	Labels []string
	Files  []File
}

// Note is a comment that was written.
type Note struct {
	ID    int64  `json:"id"`
	Merge int    `json:"merge"`
	By    int64  `json:"by"`
	Body  string `json:"body"`
	Path  string `json:"path,omitempty"` // of a discussion on a line
	Line  int    `json:"line,omitempty"`
	Edits int    `json:"edits"`
}

// Status is a commit status.
type Status struct {
	Commit      string `json:"commit"`
	Name        string `json:"name"`
	State       string `json:"state"`
	Description string `json:"description"`
}

// State is what was written.
type State struct {
	Notes       []Note   `json:"notes"`
	Discussions []Note   `json:"discussions"`
	Statuses    []Status `json:"statuses"`
}

// Lab is the server.
type Lab struct {
	mu     sync.Mutex
	next   int64
	merges []Merge
	state  State
	fail   map[string]int
}

// New makes a server.
func New() *Lab { return &Lab{fail: map[string]int{}} }

// Sign is the header of a webhook that is signed with a signing token.
func Sign(secret, id string, body []byte, at time.Time) http.Header {
	key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, "whsec_"))
	if err != nil {
		panic(err) // in a test
	}
	seconds := strconv.FormatInt(at.Unix(), 10)
	mac := hmac.New(sha256.New, key)
	mac.Write(append([]byte(id+"."+seconds+"."), body...))
	return http.Header{"Webhook-Id": {id}, "Webhook-Timestamp": {seconds},
		"Webhook-Signature": {"v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))}}
}

// Put adds a merge request, or replaces it.
func (l *Lab) Put(m Merge) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.merges = slices.DeleteFunc(l.merges, func(o Merge) bool { return o.Number == m.Number })
	l.merges = append(l.merges, m)
}

// Fail has the next request with a method and the end of a path answered with a status.
func (l *Lab) Fail(request string, status int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.fail[request] = status
}

// Write adds a comment by an account.
func (l *Lab) Write(merge int, by int64, body string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.add(&l.state.Notes, Note{Merge: merge, By: by, Body: body})
}

// State is what was written until now.
func (l *Lab) State() State {
	l.mu.Lock()
	defer l.mu.Unlock()
	return State{slices.Clone(l.state.Notes), slices.Clone(l.state.Discussions), slices.Clone(l.state.Statuses)}
}

func (l *Lab) add(to *[]Note, n Note) int64 {
	l.next++
	n.ID = l.next
	*to = append(*to, n)
	return n.ID
}

// ServeHTTP implements http.Handler.
func (l *Lab) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	l.mu.Lock()
	defer l.mu.Unlock()
	status, doc := l.answer(r)
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(doc) //nolint:errchkjson // documents of this file
}

func message(status int, text string) (int, any) { return status, map[string]any{"message": text} }

func (l *Lab) answer(r *http.Request) (int, any) {
	if r.URL.Path == "/state" { // for tests that have only the address
		return http.StatusOK, l.state
	}
	for request, status := range l.fail {
		if method, end, _ := strings.Cut(request, " "); r.Method == method && strings.HasSuffix(r.URL.Path, end) {
			delete(l.fail, request)
			return message(status, "It fails for a test.")
		}
	}
	path, ok := strings.CutPrefix(r.URL.EscapedPath(), "/api/v4")
	switch {
	case r.Header.Get("Private-Token") != Token:
		return message(http.StatusUnauthorized, "401 Unauthorized")
	case !ok:
		return message(http.StatusNotFound, "404 Not Found")
	case path == "/user":
		return http.StatusOK, map[string]any{"id": Bot, "username": "bot"}
	case path == "/projects/acme%2Fshop":
		return http.StatusOK, map[string]any{"id": 70, "path_with_namespace": "acme/shop", "visibility": "private"}
	case path == "/projects/acme%2Fsite":
		return http.StatusOK, map[string]any{"id": 71, "path_with_namespace": "acme/site", "visibility": "public"}
	}
	path, ok = strings.CutPrefix(path, "/projects/70/")
	parts := strings.Split(path, "/")
	switch {
	case !ok:
	case strings.HasPrefix(path, "members/all/"):
		level := map[string]int{"1": 40, "2": 20}[parts[2]]
		if level == 0 {
			return message(http.StatusNotFound, "404 Not found")
		}
		return http.StatusOK, map[string]any{"access_level": level, "state": "active"}
	case strings.HasPrefix(path, "repository/files/"):
		return l.content(r, strings.TrimPrefix(path, "repository/files/"))
	case parts[0] == "statuses" && r.Method == http.MethodPost:
		return l.setStatus(r, parts[1])
	case parts[0] == "merge_requests" && len(parts) > 1:
		if i := slices.IndexFunc(l.merges, func(m Merge) bool { return strconv.Itoa(m.Number) == parts[1] }); i >= 0 {
			return l.merge(r, l.merges[i], parts[2:])
		}
	}
	return message(http.StatusNotFound, "404 Not found")
}

func (l *Lab) content(r *http.Request, path string) (int, any) {
	for _, m := range l.merges {
		for _, f := range m.Files {
			if url.PathEscape(f.New) == path && r.URL.Query().Get("ref") == m.Head && f.Text != "" {
				return http.StatusOK, map[string]any{"encoding": "base64", "size": len(f.Text),
					"content": base64.StdEncoding.EncodeToString([]byte(f.Text))}
			}
		}
	}
	return message(http.StatusNotFound, "404 File Not Found")
}

func (l *Lab) setStatus(r *http.Request, commit string) (int, any) {
	s := Status{Commit: commit}
	if json.NewDecoder(r.Body).Decode(&s) != nil || s.Name == "" ||
		!slices.Contains([]string{"pending", "running", "success", "failed", "canceled"}, s.State) ||
		len(s.Description) > 255 {
		return message(http.StatusBadRequest, "state does not have a valid value")
	}
	i := slices.IndexFunc(l.state.Statuses, func(o Status) bool { return o.Commit == commit && o.Name == s.Name })
	switch {
	case i < 0:
		l.state.Statuses = append(l.state.Statuses, s)
		i = len(l.state.Statuses) - 1
	case l.state.Statuses[i].State == s.State:
		return message(http.StatusBadRequest, "Cannot transition status via :run from :running (Reason(s): Status cannot transition)")
	default:
		l.state.Statuses[i] = s
	}
	return http.StatusCreated, map[string]any{"id": i + 1}
}

func (l *Lab) merge(r *http.Request, m Merge, parts []string) (int, any) {
	var sent struct {
		Body     string
		Position struct {
			Type  string `json:"position_type"`
			Base  string `json:"base_sha"`
			Start string `json:"start_sha"`
			Head  string `json:"head_sha"`
			Old   string `json:"old_path"`
			New   string `json:"new_path"`
			Line  int    `json:"new_line"`
		}
	}
	if r.Method != http.MethodGet && (json.NewDecoder(r.Body).Decode(&sent) != nil || sent.Body == "") {
		return message(http.StatusBadRequest, "body is missing")
	}
	switch what := r.Method + " " + strings.Join(parts, "/"); {
	case what == "GET ":
		return http.StatusOK, m.doc()
	case what == "GET diffs":
		return http.StatusOK, append([]File{}, m.Files...)
	case what == "GET notes":
		return http.StatusOK, of(l.state.Notes, m.Number)
	case what == "GET discussions":
		found := []any{}
		for _, n := range of(l.state.Discussions, m.Number) {
			found = append(found, map[string]any{"id": "d", "notes": []any{n}})
		}
		return http.StatusOK, found
	case what == "POST notes":
		return http.StatusCreated, map[string]any{"id": l.add(&l.state.Notes, Note{Merge: m.Number, By: Bot, Body: sent.Body})}
	case what == "POST discussions":
		p := sent.Position
		if p.Type != "text" || p.Head != m.Head || p.Base != base || p.Start != start || !m.shows(p.Old, p.New, p.Line) {
			return message(http.StatusBadRequest,
				"400 Bad request - Note {:line_code=>[\"can't be blank\", \"must be a valid line code\"]}")
		}
		l.add(&l.state.Discussions, Note{Merge: m.Number, By: Bot, Body: sent.Body, Path: p.New, Line: p.Line})
		return http.StatusCreated, map[string]any{"id": "d"}
	case strings.HasPrefix(what, "PUT notes/"):
		for i := range l.state.Notes {
			if n := &l.state.Notes[i]; strconv.FormatInt(n.ID, 10) == parts[1] && n.By == Bot {
				n.Body = sent.Body
				n.Edits++
				return http.StatusOK, map[string]any{"id": n.ID}
			}
		}
	}
	return message(http.StatusNotFound, "404 Not found")
}

// The commits that a merge request is relative to.
var base, start = strings.Repeat("b", 40), strings.Repeat("c", 40)

func (m Merge) doc() map[string]any {
	state := "opened"
	if m.Closed {
		state = "closed"
	}
	return map[string]any{"iid": m.Number, "state": state, "draft": m.Draft, "title": m.Title, "sha": m.Head,
		"target_branch": "main", "labels": append([]string{}, m.Labels...), "author": map[string]any{"id": 1,
			"username": m.Author},
		"diff_refs": map[string]any{"base_sha": base, "start_sha": start, "head_sha": m.Head}}
}

// shows reports whether a line of a file is one that the merge request adds.
func (m Merge) shows(before, name string, line int) bool {
	for _, f := range m.Files {
		if f.New != name || f.Old != before {
			continue
		}
		number := 0
		for text := range strings.SplitSeq(f.Diff, "\n") {
			switch {
			case strings.HasPrefix(text, "@@ "):
				_, after, _ := strings.Cut(text, "+")
				first, _, _ := strings.Cut(after, ",")
				number, _ = strconv.Atoi(first)
				continue
			case strings.HasPrefix(text, "-"):
				continue
			case number == line && strings.HasPrefix(text, "+"):
				return true
			}
			number++
		}
	}
	return false
}

func of(all []Note, merge int) []any {
	found := []any{}
	for _, n := range all {
		if n.Merge == merge {
			found = append(found, map[string]any{"id": n.ID, "body": n.Body, "author": map[string]any{"id": n.By}})
		}
	}
	return found
}
