package e2e

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/db/dbtest"
)

// house is a place with data where vedette processes live and die.
type house struct {
	t   *testing.T
	env []string
}

// newHouse makes an empty database of the named engine.
func newHouse(t *testing.T, engine string) house {
	t.Helper()
	return house{t, []string{"VEDETTE_DATABASE=" + dbtest.URL(t, engine), "VEDETTE_DATA_DIR=" + t.TempDir(), "VEDETTE_LISTEN=127.0.0.1:0"}}
}

// data opens the house's database.
func (h house) data() *db.DB {
	h.t.Helper()
	d, err := db.Open(h.t.Context(), db.Config{URL: strings.TrimPrefix(h.env[0], "VEDETTE_DATABASE=")})
	if err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(func() { d.Close() })
	return d
}

// impatient is the house with the product's own patience for a process that freezes in a
// transaction, which is shorter than that of the tests.
func (h house) impatient() house {
	h.env[0] = strings.Replace(h.env[0], "idle_in_transaction_session_timeout=60s", "idle_in_transaction_session_timeout=10s", 1)
	return h
}

// eachEngine runs fn on a house of each database, in parallel with other tests.
func eachEngine(t *testing.T, fn func(t *testing.T, h house)) {
	t.Parallel()
	for _, engine := range dbtest.Engines {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			fn(t, newHouse(t, engine))
		})
	}
}

// server is a process with its address.
type server struct {
	*process
	base string
}

// serve starts a server and waits until it takes requests.
func (h house) serve(args ...string) server {
	h.t.Helper()
	p := launch(h.t, h.env, append([]string{"serve"}, args...)...)
	return server{p, p.hears(`vedette serves on (http://\S+) `)[1]}
}

// work starts a worker and waits until it works.
func (h house) work(args ...string) *process {
	h.t.Helper()
	p := launch(h.t, h.env, append([]string{"worker"}, args...)...)
	p.hears("vedette works on tasks")
	return p
}

// command runs a command to its end and returns what it printed.
func (h house) command(args ...string) string {
	h.t.Helper()
	cmd := exec.Command(binary(h.t), args...)
	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH")}, h.env...)
	var talk bytes.Buffer
	cmd.Stderr = &talk
	out, err := cmd.Output()
	if err != nil {
		h.t.Fatalf("vedette %s: %v\n%s", strings.Join(args, " "), err, talk.Bytes())
	}
	return strings.TrimSpace(string(out))
}

// admin makes a user with a team, and returns their bearer token.
func (h house) admin(email string) (token string) {
	h.t.Helper()
	h.command("user", "create", "--email", email, "--admin")
	return h.command("token", "create", "--email", email)
}

// caller is a user of a server.
type caller struct {
	t     *testing.T
	base  string
	token string
}

func (s server) as(token string) caller { return caller{s.t, s.base, token} }

// do sends a request and returns the answer.
func (c caller) do(ctx context.Context, method, path, accept string, body any) (*http.Response, error) {
	text, err := json.Marshal(body)
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, method, c.base+path, bytes.NewReader(text))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Authorization", "Bearer "+c.token)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", accept)
	return http.DefaultClient.Do(req)
}

// call sends a request that must be answered with a 2xx, and reads the answer into out.
func (c caller) call(method, path string, body, out any) {
	c.t.Helper()
	resp, err := c.do(c.t.Context(), method, path, "application/json", body)
	if err != nil {
		c.t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode/100 != 2 {
		c.t.Fatalf("%s %s: %s: %s (%v)", method, path, resp.Status, text, err)
	}
	if out != nil {
		if err := json.Unmarshal(text, out); err != nil {
			c.t.Fatalf("%s %s: %v: %s", method, path, err, text)
		}
	}
}

// hand hands a task over and returns its id.
func (c caller) hand(instruction string, more ...string) (id string) {
	c.t.Helper()
	body := map[string]string{"task": instruction, "response_format": "json"}
	for i := 0; i+1 < len(more); i += 2 {
		body[more[i]] = more[i+1]
	}
	var answer struct {
		ID string `json:"task_id"`
	}
	c.call("POST", "/api/v1/tasks", body, &answer)
	return answer.ID
}

// finding is an issue as the API shows it.
type finding struct {
	Template     string `json:"template_id"`
	Title        string
	MatchedAt    string `json:"matched_at"`
	Verification string
	Note         string
	Evidence     []struct{ Kind, Request, Response string }
}

// detail is a task as the API shows it.
type detail struct {
	Task struct {
		Status, Summary string
		CompletedAt     *time.Time `json:"completed_at"`
	}
	Issues []finding
}

func (c caller) task(id string) (d detail) {
	c.t.Helper()
	c.call("GET", "/api/v1/tasks/"+id, nil, &d)
	return d
}

// seen are a task's matches, also those that are not confirmed.
func (c caller) seen(id string) []finding {
	c.t.Helper()
	var list struct{ Issues []finding }
	c.call("GET", "/api/v1/issues?per_page=200&unverified=true&task_id="+id, nil, &list)
	return list.Issues
}

// end waits until a task has ended, as its stream tells.
func (c caller) end(id string, within time.Duration) detail {
	c.t.Helper()
	c.stream(id, within, isFinish)
	d := c.task(id)
	if d.Task.CompletedAt == nil {
		c.t.Fatalf("the stream of task %s has finished, and the task is %s", id, d.Task.Status)
	}
	return d
}

// event is one event of a task's stream.
type event struct {
	Type string
	Seq  int64
	At   time.Time
	Data struct {
		Tool, Status string
		Run          int64
		ID           string // of an issue
	}
}

// stream reads a task's stream until last says that an event is the last of interest.
func (c caller) stream(id string, within time.Duration, last func(event) bool) (events []event) {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.t.Context(), within)
	defer cancel()
	resp, err := c.do(ctx, "GET", "/api/v1/tasks/"+id+"/stream", "text/event-stream", nil)
	if err != nil {
		c.t.Fatal(err)
	}
	defer resp.Body.Close()
	lines := bufio.NewScanner(resp.Body)
	lines.Buffer(nil, 8<<20)
	for lines.Scan() {
		data, ok := strings.CutPrefix(lines.Text(), "data: ")
		if !ok {
			continue
		}
		var e event
		if err := json.Unmarshal([]byte(data), &e); err != nil {
			c.t.Fatalf("an event that cannot be read: %v: %s", err, data)
		}
		events = append(events, e)
		if last(e) {
			return events
		}
	}
	c.t.Fatalf("within %s the stream of task %s does not come to what the test waits for (%v): %d events", within, id, lines.Err(), len(events))
	return nil
}

func isFinish(e event) bool { return e.Type == "finish" }

// open starts a server with one user, for tests that only need somebody to ask.
func (h house) open(args ...string) caller {
	h.t.Helper()
	token := h.admin("ada@example.com")
	return h.serve(args...).as(token)
}

// in is the caller within another test.
func (c caller) in(t *testing.T) caller { return caller{t, c.base, c.token} }

// run hands a task over and waits for its end.
func (c caller) run(instruction string) detail {
	c.t.Helper()
	return c.end(c.hand(instruction), patience)
}
