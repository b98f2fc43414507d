package app

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/vedette-sec/vedette/internal/app/apptest"
	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/core/model"
	"github.com/vedette-sec/vedette/internal/core/task"
	"github.com/vedette-sec/vedette/internal/engine"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/db/dbtest"
	"github.com/vedette-sec/vedette/internal/infra/ids"
)

func TestMain(m *testing.M) {
	dbtest.Prepare = apptest.Prepare
	dbtest.Main(m)
}

const serviceKey = "service-key-of-the-tests"

// testServer is a running server on a test database.
type testServer struct {
	*App
	t    testing.TB
	base string
	logs *logBuffer
	stop func() // ends the server and waits for it; may be called twice

	digest  *digest
	written *writeWatch
}

// serve runs the real server on a loopback port, without workers, so that tasks keep their state.
// Options are NAME=VALUE.
func serve(t testing.TB, engine string, options ...string) *testServer {
	t.Helper()
	environ := []string{
		"VEDETTE_DATABASE=" + dbtest.MigratedURL(t, engine), "VEDETTE_DATA_DIR=" + t.TempDir(),
		"VEDETTE_LISTEN=127.0.0.1:0", "VEDETTE_ROLE=server",
		"VEDETTE_API_RATE=0", "VEDETTE_LOG_LEVEL=debug", "VEDETTE_INTERNAL_API_KEY=" + serviceKey,
		"VEDETTE_SOURCE_URLS=dns=127.0.0.1:9", // no name server: TXT queries fail at once
	}
	for _, option := range options {
		environ = append(environ, "VEDETTE_"+option)
	}
	c, _, err := Load(nil, environ, "")
	if err != nil {
		t.Fatal(err)
	}
	c.Engine.InProcess = true
	h := &testServer{t: t, logs: &logBuffer{}, digest: &digest{}}
	if h.App, err = Open(context.Background(), c,
		slog.New(slog.NewJSONHandler(h.logs, &slog.HandlerOptions{Level: slog.LevelDebug}))); err != nil {
		t.Fatal(err)
	}
	h.written = &writeWatch{db: h.db}
	if h.base, err = h.Listen(context.Background()); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- h.Run(ctx) }()
	h.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("stopping: %v", err)
		}
	})
	t.Cleanup(h.stop)
	return h
}

// person is a user with their credentials.
type person struct {
	account.Caller
	token, key string
}

// person creates a user of a team with a role and an API key.
func (h *testServer) person(name, team string, role account.Role) person {
	h.t.Helper()
	ctx := context.Background()
	u, err := h.Accounts.CreateUser(ctx,
		account.NewUser{Email: name + "@example.com", Team: team, Admin: role == account.Admin, Password: "correct-horse"})
	if err != nil {
		h.t.Fatal(err)
	}
	if _, err := h.db.Exec(ctx, `UPDATE member SET role = ? WHERE user_id = ?`, role, u.ID); err != nil {
		h.t.Fatal(err)
	}
	token, err := h.Accounts.IssueToken(ctx, u.Email)
	if err != nil {
		h.t.Fatal(err)
	}
	p := person{Caller: account.Caller{UserID: u.ID, Email: u.Email, TeamID: u.TeamID, Role: role},
		token: token.AccessToken}
	key, err := h.Accounts.CreateKey(account.WithCaller(ctx, p.Caller))
	if err != nil {
		h.t.Fatal(err)
	}
	p.key = key.Key
	return p
}

// task creates a task with artifact delivery and one verified issue.
func (h *testServer) task(p person) (taskID, issueID string) {
	h.t.Helper()
	ctx := account.WithCaller(context.Background(), p.Caller)
	t, err := h.Tasks.Create(ctx, task.NewTask{Instruction: "check the headers of http://127.0.0.1:9/",
		Delivery: task.Artifact})
	if err != nil {
		h.t.Fatal(err)
	}
	issueID = ids.New()
	now := db.At(time.Now())
	if _, err := h.db.Exec(ctx, `INSERT INTO issue (id, team_id, task_id, hash, status, verification, severity, title, description, remediation,
		template_id, target, matched_at, evidence, event, created_at, updated_at) VALUES (?, ?, ?, 'h', 'open', 'verified', 'low', 't', 'd', 'r', 'x', 'y', 'z', ?, ?, ?, ?)`,
		issueID, p.TeamID, t.ID, db.Doc([]task.Evidence{}), db.Doc(engine.Event{}), now, now); err != nil {
		h.t.Fatal(err)
	}
	if err := h.Models.RecordUsage(ctx, nil,
		model.Row{StreamID: ids.New(), TaskID: t.ID, TeamID: p.TeamID, UserID: p.UserID, Model: model.Builtin,
			Status: "completed", CreatedAt: now.Time}); err != nil {
		h.t.Fatal(err)
	}
	return t.ID, issueID
}

// answer is a response; the body of a stream is not read.
type answer struct {
	status int
	header http.Header
	body   []byte
}

// do sends a request. It fails the test when there is no answer.
func (h *testServer) do(r *http.Request) answer {
	h.t.Helper()
	ctx, cancel := context.WithTimeout(r.Context(), time.Minute)
	defer cancel()
	if r.Method == http.MethodDelete && strings.Contains(r.URL.Path+r.URL.Opaque, "/v1/user/sessions") {
		defer h.keepSessions()()
	}
	client := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	resp, err := client.Do(r.WithContext(ctx))
	if err != nil {
		h.t.Fatalf("%s %s: %v", r.Method, r.URL, err)
	}
	defer resp.Body.Close()
	a := answer{status: resp.StatusCode, header: resp.Header}
	if resp.Header.Get("Content-Type") == "text/event-stream" {
		return a
	}
	if a.body, err = io.ReadAll(resp.Body); err != nil {
		h.t.Fatalf("%s %s: reading the answer: %v", r.Method, r.URL, err)
	}
	return a
}

// keepSessions lets the people of a test stay signed in, whatever requests have ended their sessions before the result
// is called.
func (h *testServer) keepSessions() func() {
	h.t.Helper()
	scan := func(r db.Row) (values []any, err error) {
		values = make([]any, 8)
		into := make([]any, len(values))
		for i := range values {
			into[i] = &values[i]
		}
		return values, r.Scan(into...)
	}
	const columns = "id, user_id, hash, user_agent, address, created_at, expires_at, last_used_at"
	ctx := context.Background()
	rows, err := db.Select(ctx, h.db, scan, "SELECT "+columns+" FROM user_session")
	if err != nil {
		h.t.Fatal(err)
	}
	return func() {
		for _, row := range rows {
			if _, err := h.db.Exec(ctx, `INSERT INTO user_session (`+columns+`) VALUES (?, ?, ?, ?, ?, ?, ?, ?)
				ON CONFLICT (id) DO NOTHING`, row...); err != nil {
				h.t.Fatal(err)
			}
		}
	}
}

// request is a request with a person's bearer token, or anonymous without a person.
func (h *testServer) request(method, path string, p *person, body string) *http.Request {
	h.t.Helper()
	r, err := http.NewRequest(method, h.base, strings.NewReader(body))
	if err != nil {
		h.t.Fatal(err)
	}
	// The path is sent unchanged.
	r.URL.Opaque = strings.TrimPrefix(h.base, "http:") + path
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	if p != nil {
		r.Header.Set("Authorization", "Bearer "+p.token)
	}
	return r
}

// refusal checks an error answer against its API's shape, and returns the message.
func (a answer) refusal(platform bool) (message string, err error) {
	if got := a.header.Get("Content-Type"); got != "application/json" {
		return "", fmt.Errorf("the content type of an error is %q", got)
	}
	var doc struct {
		Error   *string `json:"error"`
		Code    *string `json:"code"`
		ErrorID *string `json:"error_id"`
		Kind    *string `json:"kind"`
		Message *string `json:"message"`
		SiteKey *string `json:"turnstile_site_key"`
		Param   *string `json:"param"`
		Status  *int    `json:"status"`
	}
	dec := json.NewDecoder(bytes.NewReader(a.body))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&doc); err != nil {
		return "", fmt.Errorf("the error does not have this API's shape: %w", err)
	}
	for name, field := range map[string]*string{"error": doc.Error, "code": doc.Code, "error_id": doc.ErrorID,
		"kind": doc.Kind, "message": doc.Message} {
		if field == nil || *field == "" {
			return "", fmt.Errorf("the error has no %s", name)
		}
	}
	if platform != (doc.Param != nil) || platform != (doc.Status != nil) || platform && doc.SiteKey != nil {
		return "", errors.New("the error has the other API's shape")
	}
	if platform && *doc.Status != a.status {
		return "", fmt.Errorf("the error says status %d", *doc.Status)
	}
	if id := a.header.Get("X-Request-Id"); *doc.ErrorID != id || !ids.IsUUID(id) {
		return "", fmt.Errorf("error_id is %q and X-Request-Id %q", *doc.ErrorID, id)
	}
	return *doc.Message, nil
}

// logBuffer keeps log lines; it may be written from many goroutines.
type logBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *logBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *logBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

// line is the log line of a request.
func (b *logBuffer) line(requestID string) string {
	for line := range strings.Lines(b.String()) {
		if strings.Contains(line, `"request"`) && strings.Contains(line, requestID) {
			return line
		}
	}
	return ""
}
