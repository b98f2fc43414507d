// Package githubtest has a GitHub for tests: it speaks the part of the REST API that an App uses to review pull
// requests, as its public documentation describes it, and keeps what is written.
//
// The App 12 is installed as 7 at the organisation octo, with the repositories octo/shop (70) and octo/site (71). The
// pull request 1 of octo/shop waits there. ada has write access, eve has not. Any other token, path or line is refused
// as GitHub refuses it. GET /state answers with what was written.
package githubtest

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

// What the App is.
const (
	AppID        = 12
	Installation = 7
	Secret       = "the-webhook-secret"
	ClientID     = "Iv1.client"
	ClientSecret = "client-secret-0123"
	token        = "ghs_installation_7"
	personToken  = "ghu_person"
	bot          = "vedette-test[bot]"
)

// File is a file of a pull request.
type File struct {
	Name   string `json:"filename"`
	Status string `json:"status"`
	Patch  string `json:"patch,omitempty"`
	Text   string `json:"-"` // all of it, as the pull request leaves it
}

// Pull is a pull request.
type Pull struct {
	Repo   string
	Number int
	Title  string
	Author string
	Head   string
	Draft  bool
	Closed bool
	Labels []string
	Files  []File
}

// Text is a comment or a review that was written.
type Text struct {
	ID       int64         `json:"id"`
	Repo     string        `json:"repo"`
	Pull     int           `json:"pull"`
	Author   string        `json:"author"`
	Body     string        `json:"body"`
	Commit   string        `json:"commit,omitempty"`
	Comments []LineComment `json:"comments,omitempty"`
	Edits    int           `json:"edits"`
}

// LineComment is a comment on a line.
type LineComment struct {
	Path string `json:"path"`
	Line int    `json:"line"`
	Side string `json:"side"`
	Body string `json:"body"`
}

// Check is a check run.
type Check struct {
	ID         int64  `json:"id"`
	Repo       string `json:"repo"`
	Name       string `json:"name"`
	Commit     string `json:"head_sha"`
	External   string `json:"external_id"`
	Status     string `json:"status"`
	Conclusion string `json:"conclusion"`
	Output     struct {
		Title   string `json:"title"`
		Summary string `json:"summary"`
	} `json:"output"`
}

// State is what was written.
type State struct {
	Comments []Text  `json:"comments"`
	Reviews  []Text  `json:"reviews"`
	Checks   []Check `json:"checks"`
}

// Hub is the server.
type Hub struct {
	key *rsa.PrivateKey

	mu     sync.Mutex
	next   int64
	pulls  []*Pull
	state  State
	fail   map[string]int // status of the next answers, by method and the end of the path
	Tokens int            // that were made
}

// key is made once: it costs time.
var key = sync.OnceValue(func() *rsa.PrivateKey {
	k, err := rsa.GenerateKey(rand.Reader, 1024) //nolint:gosec // of tests
	if err != nil {
		panic(err)
	}
	return k
})

// New makes a server.
func New() *Hub { return &Hub{key: key(), fail: map[string]int{}} }

// KeyPEM is the App's private key.
func (h *Hub) KeyPEM() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(h.key)})
}

// Sign is the signature of a webhook.
func Sign(body []byte) string {
	mac := hmac.New(sha256.New, []byte(Secret))
	mac.Write(body)
	return "sha256=" + hex.EncodeToString(mac.Sum(nil))
}

// Put adds a pull request, or replaces it.
func (h *Hub) Put(p Pull) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.pulls = slices.DeleteFunc(h.pulls, func(q *Pull) bool { return q.Repo == p.Repo && q.Number == p.Number })
	h.pulls = append(h.pulls, &p)
}

// Fail has the next request with a method and the end of a path answered with a status.
func (h *Hub) Fail(request string, status int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.fail[request] = status
}

// Write adds a comment by somebody.
func (h *Hub) Write(repo string, pull int, author, body string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.add(&h.state.Comments, Text{Repo: repo, Pull: pull, Author: author, Body: body})
}

// State is what was written until now.
func (h *Hub) State() State {
	h.mu.Lock()
	defer h.mu.Unlock()
	return State{slices.Clone(h.state.Comments), slices.Clone(h.state.Reviews), slices.Clone(h.state.Checks)}
}

func (h *Hub) add(to *[]Text, t Text) int64 {
	h.next++
	t.ID = h.next
	*to = append(*to, t)
	return t.ID
}

// ServeHTTP implements http.Handler.
func (h *Hub) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if r.URL.Path == "/state" { // for tests that have only the address
		answer(w, http.StatusOK, h.state)
		return
	}
	for request, status := range h.fail {
		method, end, _ := strings.Cut(request, " ")
		if r.Method == method && strings.HasSuffix(r.URL.Path, end) {
			delete(h.fail, request)
			answer(w, status, map[string]any{"message": "It fails for a test."})
			return
		}
	}
	status, doc := h.answer(r)
	answer(w, status, doc)
}

func answer(w http.ResponseWriter, status int, doc any) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(doc) //nolint:errchkjson // documents of this file
}

var (
	notFound = map[string]any{"message": "Not Found"}
	badCreds = map[string]any{"message": "Bad credentials"}
)

func (h *Hub) answer(r *http.Request) (int, any) {
	bearer := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
	path := r.URL.Path
	installed := map[string]any{"id": Installation, "app_id": AppID, "account": map[string]any{"login": "octo",
		"type": "Organization"}}
	switch {
	case path == "/login/oauth/access_token":
		if r.FormValue("client_id") != ClientID || r.FormValue("client_secret") != ClientSecret ||
			r.FormValue("code") != "the-code" {
			return http.StatusOK, map[string]any{"error": "bad_verification_code"}
		}
		return http.StatusOK, map[string]any{"access_token": personToken, "token_type": "bearer"}
	case path == "/user/installations" && bearer == personToken:
		return http.StatusOK, map[string]any{"total_count": 1, "installations": []any{installed}}
	case path == "/app" || strings.HasPrefix(path, "/app/"):
		if !h.isApp(bearer) {
			return http.StatusUnauthorized, badCreds
		}
	case bearer != token:
		return http.StatusUnauthorized, badCreds
	}
	switch r.Method + " " + path {
	case "GET /app":
		return http.StatusOK, map[string]any{"id": AppID, "slug": "vedette-test",
			"html_url": "https://github.com/apps/vedette-test"}
	case "GET /app/installations/7":
		return http.StatusOK, installed
	case "POST /app/installations/7/access_tokens":
		h.Tokens++
		return http.StatusCreated, map[string]any{"token": token, "expires_at": time.Now().Add(time.Hour).UTC().Format(time.RFC3339)}
	case "GET /installation/repositories":
		return http.StatusOK, map[string]any{"total_count": 2, "repositories": []any{
			map[string]any{"id": 70, "full_name": "octo/shop", "private": true}, map[string]any{"id": 71,
				"full_name": "octo/site"}}}
	}
	parts := strings.Split(strings.TrimPrefix(path, "/repos/"), "/")
	if !strings.HasPrefix(path, "/repos/octo/") || len(parts) < 3 {
		return http.StatusNotFound, notFound
	}
	return h.repo(r, parts[0]+"/"+parts[1], parts[2:])
}

// isApp checks the token that the App signs.
func (h *Hub) isApp(bearer string) bool {
	parsed, err := jwt.ParseWithClaims(bearer, &jwt.RegisteredClaims{}, func(*jwt.Token) (any, error) {
		return &h.key.PublicKey, nil
	},
		jwt.WithValidMethods([]string{"RS256"}), jwt.WithIssuer(strconv.Itoa(AppID)), jwt.WithExpirationRequired())
	if err != nil {
		return false
	}
	claims, _ := parsed.Claims.(*jwt.RegisteredClaims)
	return claims != nil && claims.ExpiresAt.Before(time.Now().Add(10*time.Minute))
}

func (h *Hub) repo(r *http.Request, repo string, parts []string) (int, any) {
	what := parts[len(parts)-1]
	switch {
	case parts[0] == "collaborators" && what == "permission":
		permission := map[string]string{"ada": "admin", "bob": "write", "eve": "read"}[parts[1]]
		if permission == "" {
			return http.StatusNotFound, notFound
		}
		return http.StatusOK, map[string]any{"permission": permission}
	case parts[0] == "check-runs", what == "check-runs":
		return h.checks(r, repo, parts)
	case parts[0] == "issues" && parts[1] == "comments":
		return h.edit(r, repo, what)
	case parts[0] == "issues" && what == "comments":
		return h.comments(r, repo, parts[1])
	case parts[0] == "contents":
		return h.content(repo, strings.Join(parts[1:], "/"), r.URL.Query().Get("ref"))
	case parts[0] == "pulls":
		return h.pull(r, repo, parts[1:])
	}
	return http.StatusNotFound, notFound
}

func (h *Hub) content(repo, path, ref string) (int, any) {
	for _, p := range h.pulls {
		for _, f := range p.Files {
			if p.Repo == repo && f.Name == path && p.Head == ref && f.Text != "" {
				return http.StatusOK, map[string]any{"type": "file", "encoding": "base64", "size": len(f.Text),
					"content": base64.StdEncoding.EncodeToString([]byte(f.Text)) + "\n"}
			}
		}
	}
	return http.StatusNotFound, notFound
}

func (h *Hub) checks(r *http.Request, repo string, parts []string) (int, any) {
	if parts[0] == "commits" {
		found := []Check{}
		for _, c := range h.state.Checks {
			if c.Repo == repo && c.Commit == parts[1] {
				found = append(found, c)
			}
		}
		return http.StatusOK, map[string]any{"total_count": len(found), "check_runs": found}
	}
	c := &Check{Repo: repo}
	if len(parts) == 2 {
		id, _ := strconv.ParseInt(parts[1], 10, 64)
		i := slices.IndexFunc(h.state.Checks, func(c Check) bool { return c.ID == id && c.Repo == repo })
		if i < 0 {
			return http.StatusNotFound, notFound
		}
		c = &h.state.Checks[i]
	}
	if json.NewDecoder(r.Body).Decode(c) != nil || c.Name == "" || c.Commit == "" ||
		(c.Status == "completed") != (c.Conclusion != "") {
		return http.StatusUnprocessableEntity, map[string]any{"message": "Invalid request."}
	}
	if c.ID == 0 {
		h.next++
		c.ID = h.next
		h.state.Checks = append(h.state.Checks, *c)
		return http.StatusCreated, *c
	}
	return http.StatusOK, *c
}

func (h *Hub) edit(r *http.Request, repo, id string) (int, any) {
	for i := range h.state.Comments {
		if c := &h.state.Comments[i]; c.Repo == repo && strconv.FormatInt(c.ID, 10) == id {
			var sent struct{ Body string }
			if c.Author != bot {
				return http.StatusForbidden, map[string]any{"message": "Resource not accessible by integration"}
			}
			if json.NewDecoder(r.Body).Decode(&sent) != nil || sent.Body == "" {
				return http.StatusUnprocessableEntity, map[string]any{"message": "Invalid request."}
			}
			c.Body = sent.Body
			c.Edits++
			return http.StatusOK, map[string]any{"id": c.ID}
		}
	}
	return http.StatusNotFound, notFound
}

func texts(all []Text, repo, number string) []any {
	out := []any{}
	for _, c := range all {
		if c.Repo == repo && strconv.Itoa(c.Pull) == number {
			out = append(out, map[string]any{"id": c.ID, "body": c.Body, "user": map[string]any{"login": c.Author}})
		}
	}
	return out
}

func (h *Hub) comments(r *http.Request, repo, number string) (int, any) {
	if r.Method == http.MethodGet {
		return http.StatusOK, texts(h.state.Comments, repo, number)
	}
	var sent struct{ Body string }
	n, err := strconv.Atoi(number)
	if json.NewDecoder(r.Body).Decode(&sent) != nil || sent.Body == "" || err != nil {
		return http.StatusUnprocessableEntity, map[string]any{"message": "Invalid request."}
	}
	return http.StatusCreated, map[string]any{"id": h.add(&h.state.Comments, Text{Repo: repo, Pull: n, Author: bot, Body: sent.Body})}
}

func (h *Hub) pull(r *http.Request, repo string, parts []string) (int, any) {
	i := slices.IndexFunc(h.pulls, func(p *Pull) bool { return p.Repo == repo && strconv.Itoa(p.Number) == parts[0] })
	if i < 0 {
		return http.StatusNotFound, notFound
	}
	p := h.pulls[i]
	switch {
	case len(parts) == 1:
		return http.StatusOK, p.Doc()
	case parts[1] == "files":
		page, _ := strconv.Atoi(r.URL.Query().Get("page"))
		per, _ := strconv.Atoi(r.URL.Query().Get("per_page"))
		from := min(max(page-1, 0)*per, len(p.Files))
		return http.StatusOK, append([]File{}, p.Files[from:min(from+per, len(p.Files))]...)
	case r.Method == http.MethodGet:
		return http.StatusOK, texts(h.state.Reviews, repo, parts[0])
	}
	var sent struct {
		Commit   string `json:"commit_id"`
		Event    string
		Body     string
		Comments []LineComment
	}
	if json.NewDecoder(r.Body).Decode(&sent) != nil || sent.Event != "COMMENT" || sent.Body == "" ||
		sent.Commit != p.Head {
		return http.StatusUnprocessableEntity, map[string]any{"message": "Invalid request."}
	}
	for _, c := range sent.Comments {
		if c.Side != "RIGHT" || !p.shows(c.Path, c.Line) {
			return http.StatusUnprocessableEntity,
				map[string]any{"message": "Unprocessable Entity", "errors": []string{"Line could not be resolved"}}
		}
	}
	id := h.add(&h.state.Reviews, Text{Repo: repo, Pull: p.Number, Author: bot, Body: sent.Body, Commit: sent.Commit,
		Comments: sent.Comments})
	return http.StatusOK, map[string]any{"id": id}
}

// Doc is the pull request as GitHub describes it.
func (p Pull) Doc() map[string]any {
	state, labels := "open", []any{}
	if p.Closed {
		state = "closed"
	}
	for _, l := range p.Labels {
		labels = append(labels, map[string]any{"name": l})
	}
	return map[string]any{"number": p.Number, "state": state, "draft": p.Draft, "title": p.Title,
		"user": map[string]any{"login": p.Author},
		"head": map[string]any{"sha": p.Head, "ref": "change"}, "base": map[string]any{"sha": strings.Repeat("0", 40),
			"ref": "main"},
		"labels": labels}
}

// shows reports whether the patch of a file shows a line of the new file.
func (p Pull) shows(path string, line int) bool {
	for _, f := range p.Files {
		if f.Name != path {
			continue
		}
		number := 0
		for text := range strings.SplitSeq(f.Patch, "\n") {
			var old, oldCount, count int
			if n, _ := fmt.Sscanf(text, "@@ -%d,%d +%d,%d @@", &old, &oldCount, &number, &count); n == 4 {
				continue
			}
			if strings.HasPrefix(text, "-") {
				continue
			}
			if number == line {
				return true
			}
			number++
		}
	}
	return false
}
