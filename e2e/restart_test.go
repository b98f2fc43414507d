package e2e

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/vedette-sec/vedette/internal/infra/db/dbtest"
	"github.com/vedette-sec/vedette/lab/weaksite"
)

// takeoverWait is the time limit for a task whose process was killed: its lease must expire first.
const takeoverWait = 2 * longWait

// heldSite is the weak site with a hold: requests that hold selects wait until release.
type heldSite struct {
	*httptest.Server
	held   chan struct{} // closed when the first request is held
	opened chan struct{}
	once   sync.Once
}

func newHeldSite(t *testing.T, hold func(*http.Request) bool) *heldSite {
	return newSlowSite(t, hold, time.Hour)
}

// newSlowSite is a held site whose requests continue after a while by themselves.
func newSlowSite(t *testing.T, hold func(*http.Request) bool, while time.Duration) *heldSite {
	g := &heldSite{held: make(chan struct{}), opened: make(chan struct{})}
	site := weaksite.New(1)
	g.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-g.opened:
		default:
			if hold(r) {
				g.once.Do(func() { close(g.held) })
				select {
				case <-g.opened:
				case <-time.After(while):
				case <-r.Context().Done():
					return
				}
			}
		}
		site.ServeHTTP(w, r)
	}))
	t.Cleanup(g.Close)
	return g
}

func (g *heldSite) release() { close(g.opened) }

// pathIs selects requests to a path.
func pathIs(path string) func(*http.Request) bool {
	return func(r *http.Request) bool { return r.URL.Path == path }
}

// afterFirst selects all requests except the first n.
func afterFirst(n int64) func(*http.Request) bool {
	var seen atomic.Int64
	return func(*http.Request) bool { return seen.Add(1) > n }
}

// secondRequest selects the second request to any of paths, except for the path that is first
// requested twice: a task that verifies its findings there then has a result for one of them.
func secondRequest(paths ...string) func(*http.Request) bool {
	var mu sync.Mutex
	times := map[string]int{}
	first := ""
	return func(r *http.Request) bool {
		mu.Lock()
		defer mu.Unlock()
		if !slices.Contains(paths, r.URL.Path) {
			return false
		}
		times[r.URL.Path]++
		if times[r.URL.Path] == 2 && first == "" {
			first = r.URL.Path
		}
		return times[r.URL.Path] >= 2 && r.URL.Path != first
	}
}

func (g *heldSite) waitHeld(t *testing.T) {
	t.Helper()
	select {
	case <-g.held:
	case <-time.After(longWait):
		t.Fatal("the task does not send the held request")
	}
}

func fullCheck(url string) string { return "Please run a full check of " + url }

// findingsWithoutKill is what an uninterrupted task finds on the weak site.
func findingsWithoutKill(t *testing.T, c caller) []string {
	t.Helper()
	site := httptest.NewServer(weaksite.New(1))
	defer site.Close()
	return relative(c.runTask(fullCheck(site.URL)).Issues, site.URL)
}

// checkOnce compares an interrupted task with an uninterrupted one: it has the same findings, each
// once, in its detail and in its stream.
func checkOnce(t *testing.T, c caller, id, base string, want []string) {
	t.Helper()
	d := c.task(id)
	if d.Task.Status != "completed" {
		t.Errorf("the task is %s: %s", d.Task.Status, d.Task.Summary)
	}
	if got := relative(d.Issues, base); !slices.Equal(got, want) {
		t.Errorf("found\n  %q\nnot\n  %q", got, want)
	}
	if got := relative(c.allIssues(id), base); !slices.Equal(got, want) {
		t.Errorf("with unconfirmed ones there are\n  %q\nnot\n  %q", got, want)
	}
	for _, f := range d.Issues {
		if len(f.Evidence) != 2 || f.Evidence[0].Kind != "detection" || f.Evidence[1].Kind != "verification" {
			t.Errorf("%s at %s has other evidence than one detection and one verification: %+v", f.Template, f.MatchedAt,
				f.Evidence)
		}
	}
	reported := map[string]int{}
	for i, e := range c.stream(id, longWait, isFinish) {
		if e.Seq != int64(i+1) {
			t.Errorf("event %d of the stream has the number %d", i+1, e.Seq)
		}
		if e.Type == "issue" {
			reported[e.Data.ID]++
		}
	}
	if len(reported) != len(want) {
		t.Errorf("the stream has %d issues, not %d", len(reported), len(want))
	}
	for issue, n := range reported {
		if n != 1 {
			t.Errorf("the stream has issue %s %d times", issue, n)
		}
	}
}

// runNumbers are the numbers of a task's runs in its stream.
func runNumbers(events []event) (numbers []int64) {
	for _, e := range events {
		if e.Type == "status" && e.Data.Status == "running" {
			numbers = append(numbers, e.Data.Run)
		}
	}
	return numbers
}

func TestKilledWhileScanning(t *testing.T) {
	eachEngine(t, func(t *testing.T, dep deployment) {
		token := dep.admin("ada@example.com")
		first := dep.serve()
		c := first.as(token)
		want := findingsWithoutKill(t, c)

		g := newHeldSite(t, pathIs("/server-status"))
		id := c.createTask(fullCheck(g.URL))
		g.waitHeld(t)
		until(t, longWait, "a match is on disk", func() bool { return len(c.allIssues(id)) > 0 })
		first.kill()
		g.release()

		c = dep.serve().as(token)
		c.waitForTask(id, takeoverWait)
		checkOnce(t, c, id, g.URL, want)
		if got := runNumbers(c.stream(id, longWait, isFinish)); !slices.Equal(got, []int64{1, 2}) {
			t.Errorf("the runs are %v, not the first and a second", got)
		}
	})
}

func TestKilledWhileVerifying(t *testing.T) {
	eachEngine(t, func(t *testing.T, dep deployment) {
		token := dep.admin("ada@example.com")
		first := dep.serve()
		c := first.as(token)
		want := findingsWithoutKill(t, c)

		g := newHeldSite(t, secondRequest("/backup.zip", "/.git/HEAD", "/.git/config"))
		id := c.createTask(fullCheck(g.URL))
		g.waitHeld(t)
		c.stream(id, longWait, func(e event) bool { return e.Type == "issue" })
		first.kill()
		g.release()

		c = dep.serve().as(token)
		c.waitForTask(id, takeoverWait)
		checkOnce(t, c, id, g.URL, want)
		scans := 0
		for _, e := range c.stream(id, longWait, isFinish) {
			if e.Type == "step-started" && e.Data.Tool == "scan" {
				scans++
			}
		}
		if scans != 1 {
			t.Errorf("a finished step was repeated: %d scans", scans)
		}
	})
}

// TestKilledBeforeItBegan kills the only process before a worker has started the task.
func TestKilledBeforeItBegan(t *testing.T) {
	eachEngine(t, func(t *testing.T, dep deployment) {
		token := dep.admin("ada@example.com")
		first := dep.serve("--role", "server")
		site := httptest.NewServer(weaksite.New(1))
		defer site.Close()
		c := first.as(token)
		id := c.createTask(fullCheck(site.URL))
		if status := c.task(id).Task.Status; status != "queued" {
			t.Fatalf("without a worker, the task is %s", status)
		}
		first.kill()

		c = dep.serve("--role", "server").as(token)
		dep.startWorker()
		c.waitForTask(id, longWait)
		checkOnce(t, c, id, site.URL, findingsWithoutKill(t, c))
	})
}

// TestStoppedWhileScanning sends SIGTERM while a task scans a site that takes five seconds for each
// answer, so that the task cannot end within the time that a stop waits.
func TestStoppedWhileScanning(t *testing.T) {
	eachEngine(t, func(t *testing.T, dep deployment) {
		token := dep.admin("ada@example.com")
		first := dep.serve()
		c := first.as(token)
		want := findingsWithoutKill(t, c)

		g := newSlowSite(t, afterFirst(10), 5*time.Second)
		id := c.createTask(fullCheck(g.URL))
		g.waitHeld(t)
		if code := first.stop(); code != 0 {
			t.Errorf("SIGTERM ends it with exit code %d", code)
		}
		g.release()
		var held int
		if err := dep.openDB().QueryRow(t.Context(),
			`SELECT count(*) FROM queue_lease WHERE node <> ''`).Scan(&held); err != nil || held > 0 {
			t.Errorf("it did not return its jobs to the queue: %d leases, %v", held, err)
		}

		c = dep.serve().as(token)
		c.waitForTask(id, takeoverWait)
		checkOnce(t, c, id, g.URL, want)
	})
}

func TestKilledAfterAbort(t *testing.T) {
	eachEngine(t, func(t *testing.T, dep deployment) {
		token := dep.admin("ada@example.com")
		first := dep.serve()
		c := first.as(token)
		g := newHeldSite(t, pathIs("/server-status"))
		id := c.createTask(fullCheck(g.URL))
		g.waitHeld(t)
		c.call("POST", "/api/v1/tasks/"+id+"/abort", nil, nil)
		first.kill()

		d := dep.serve().as(token).waitForTask(id, takeoverWait)
		if d.Task.Status != "aborted" {
			t.Errorf("the task is %s", d.Task.Status)
		}
	})
}

// TestKilledBeforeItHeardOfAbort freezes the worker, so that it is certainly killed before it
// sees the abort.
func TestKilledBeforeItHeardOfAbort(t *testing.T) {
	t.Parallel()
	dep := newDeployment(t, "postgres").withProductTimeouts()
	c := dep.serveWithUser("--role", "server")
	worker := dep.startWorker()
	g := newHeldSite(t, pathIs("/server-status"))
	id := c.createTask(fullCheck(g.URL))
	g.waitHeld(t)
	until(t, longWait, "a match is on disk", func() bool { return len(c.allIssues(id)) > 0 })
	worker.freeze()
	c.call("POST", "/api/v1/tasks/"+id+"/abort", nil, nil)
	if status := c.task(id).Task.Status; status != "running" {
		t.Fatalf("with its worker frozen, the aborted task is %s", status)
	}
	worker.kill()

	dep.startWorker()
	d := c.waitForTask(id, takeoverWait)
	if d.Task.Status != "aborted" {
		t.Errorf("the task is %s", d.Task.Status)
	}
	if len(c.allIssues(id)) == 0 {
		t.Error("the findings from before the abort are missing")
	}
}

// TestRestartWhileIdle: a restart does not change finished tasks.
func TestRestartWhileIdle(t *testing.T) {
	t.Parallel()
	dep := newDeployment(t, dbtest.Engines[0])
	token := dep.admin("ada@example.com")
	first := dep.serve()
	site := httptest.NewServer(weaksite.New(1))
	defer site.Close()
	c := first.as(token)
	id := c.createTask(fullCheck(site.URL), "completion_delivery", "artifact")
	before := c.waitForTask(id, longWait)
	if code := first.stop(); code != 0 {
		t.Errorf("an idle server ends with exit code %d", code)
	}

	c = dep.serve().as(token)
	if after := c.task(id); after.Task.Summary != before.Task.Summary || len(after.Issues) != len(before.Issues) {
		t.Errorf("a restart changed the task:\n%+v\n%+v", before, after)
	}
	var artifact struct {
		Artifact struct {
			Status string
			Count  int `json:"issue_count"`
		}
	}
	c.call("GET", "/api/v1/tasks/"+id+"/artifacts", nil, &artifact)
	if artifact.Artifact.Status != "completed" || artifact.Artifact.Count != len(before.Issues) {
		t.Errorf("the artifact is %+v", artifact)
	}
}
