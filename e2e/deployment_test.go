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

// deployment is a database and a data directory on which a test starts vedette processes.
type deployment struct {
	t   *testing.T
	env []string
}

// newDeployment creates a migrated, empty database of the named engine.
func newDeployment(t *testing.T, engine string) deployment {
	t.Helper()
	return deploymentOn(t, dbtest.MigratedURL(t, engine))
}

// emptyDeployment is a place that a backup can be restored into.
func emptyDeployment(t *testing.T, engine string) deployment {
	t.Helper()
	return deploymentOn(t, dbtest.URL(t, engine))
}

func deploymentOn(t *testing.T, database string) deployment {
	return deployment{t, []string{"VEDETTE_DATABASE=" + database, "VEDETTE_DATA_DIR=" + t.TempDir(),
		"VEDETTE_LISTEN=127.0.0.1:0"}}
}

// openDB opens the deployment's database.
func (dep deployment) openDB() *db.DB {
	dep.t.Helper()
	d, err := db.Open(dep.t.Context(), db.Config{URL: strings.TrimPrefix(dep.env[0], "VEDETTE_DATABASE=")})
	if err != nil {
		dep.t.Fatal(err)
	}
	dep.t.Cleanup(func() { d.Close() })
	return d
}

// withProductTimeouts uses the product's own timeout for a process that freezes in a
// transaction, which is shorter than the tests' one.
func (dep deployment) withProductTimeouts() deployment {
	dep.env[0] = strings.Replace(dep.env[0], "idle_in_transaction_session_timeout=60s",
		"idle_in_transaction_session_timeout=10s", 1)
	return dep
}

// eachEngine runs fn on a deployment of each database, in parallel with other tests.
func eachEngine(t *testing.T, fn func(t *testing.T, dep deployment)) {
	t.Parallel()
	for _, engine := range dbtest.Engines {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			fn(t, newDeployment(t, engine))
		})
	}
}

// server is a running vedette serve.
type server struct {
	*process
	base string
}

// serve starts a server and waits until it accepts requests.
func (dep deployment) serve(args ...string) server {
	dep.t.Helper()
	p := launch(dep.t, dep.env, append([]string{"serve"}, args...)...)
	return server{p, p.waitForOutput(`vedette serves on (http://\S+) `)[1]}
}

// startWorker starts a worker and waits until it is ready.
func (dep deployment) startWorker(args ...string) *process {
	dep.t.Helper()
	p := launch(dep.t, dep.env, append([]string{"worker"}, args...)...)
	p.waitForOutput("vedette works on tasks")
	return p
}

// command runs a command to its end and returns what it printed.
func (dep deployment) command(args ...string) string {
	dep.t.Helper()
	cmd := exec.Command(binary(dep.t), args...)
	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH")}, dep.env...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		dep.t.Fatalf("vedette %s: %v\n%s", strings.Join(args, " "), err, stderr.Bytes())
	}
	return strings.TrimSpace(string(out))
}

// admin creates a user with a team, and returns their bearer token.
func (dep deployment) admin(email string) (token string) {
	dep.t.Helper()
	dep.command("user", "create", "--email", email, "--admin")
	return dep.command("token", "create", "--email", email)
}

// caller sends requests to a server as one user.
type caller struct {
	client *http.Client // nil: that of all tests
	t      *testing.T
	base   string
	token  string
}

func (s server) as(token string) caller { return caller{t: s.t, base: s.base, token: token} }

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

// createTask creates a task and returns its id; more are further fields and values.
func (c caller) createTask(instruction string, more ...string) (id string) {
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

// allIssues are a task's matches, including unconfirmed ones.
func (c caller) allIssues(id string) []finding {
	c.t.Helper()
	var list struct{ Issues []finding }
	c.call("GET", "/api/v1/issues?per_page=200&unverified=true&task_id="+id, nil, &list)
	return list.Issues
}

// waitForTask waits for the finish event of a task's stream.
func (c caller) waitForTask(id string, within time.Duration) detail {
	c.t.Helper()
	c.stream(id, within, isFinish)
	d := c.task(id)
	if d.Task.CompletedAt == nil {
		c.t.Fatalf("the stream of task %s has finished, but the task is %s", id, d.Task.Status)
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
		Run, Seq     int64
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
			c.t.Fatalf("an invalid event: %v: %s", err, data)
		}
		events = append(events, e)
		if last(e) {
			return events
		}
	}
	c.t.Fatalf("within %s the expected event of task %s did not arrive (%v): %d events", within, id, lines.Err(),
		len(events))
	return nil
}

func isFinish(e event) bool { return e.Type == "finish" }

// serveWithUser starts a server with one admin, and returns that user.
func (dep deployment) serveWithUser(args ...string) caller {
	dep.t.Helper()
	token := dep.admin("ada@example.com")
	return dep.serve(args...).as(token)
}

// withT is the caller within another test.
func (c caller) withT(t *testing.T) caller {
	return caller{t: t, base: c.base, token: c.token, client: c.client}
}

// runTask creates a task and waits for its end.
func (c caller) runTask(instruction string) detail {
	c.t.Helper()
	return c.waitForTask(c.createTask(instruction), longWait)
}
