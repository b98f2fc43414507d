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

// takeover is how long a task may take to end after the process that ran it was killed:
// its lease must run out first.
const takeover = 2 * patience

// gate is the weak site behind a gate: requests that hold picks wait until the gate is
// opened.
type gate struct {
	*httptest.Server
	held   chan struct{} // closed when the first request is held
	opened chan struct{}
	once   sync.Once
}

func newGate(t *testing.T, hold func(*http.Request) bool) *gate { return newSlow(t, hold, time.Hour) }

// newSlow is a gate that lets what it held go on after a while.
func newSlow(t *testing.T, hold func(*http.Request) bool, while time.Duration) *gate {
	g := &gate{held: make(chan struct{}), opened: make(chan struct{})}
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

func (g *gate) open() { close(g.opened) }

// at holds requests to a path.
func at(path string) func(*http.Request) bool {
	return func(r *http.Request) bool { return r.URL.Path == path }
}

// after holds all requests but the first n.
func after(n int64) func(*http.Request) bool {
	var seen atomic.Int64
	return func(*http.Request) bool { return seen.Add(1) > n }
}

// secondLook holds the second request to any of paths but the first so asked: a task that
// verifies what it found at them has then a verdict for one.
func secondLook(paths ...string) func(*http.Request) bool {
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

func (g *gate) waitHeld(t *testing.T) {
	t.Helper()
	select {
	case <-g.held:
	case <-time.After(patience):
		t.Fatal("the task does not come to what the gate holds")
	}
}

func fullCheck(url string) string { return "Please run a full check of " + url }

// undisturbed is what a task finds on the weak site when nothing happens to it.
func undisturbed(t *testing.T, c caller) []string {
	t.Helper()
	site := httptest.NewServer(weaksite.New(1))
	defer site.Close()
	return relative(c.run(fullCheck(site.URL)).Issues, site.URL)
}

// checkOnce holds a task that lived through something against one that did not: it has
// the same findings, each once, in its detail and in its stream.
func checkOnce(t *testing.T, c caller, id, base string, want []string) {
	t.Helper()
	d := c.task(id)
	if d.Task.Status != "completed" {
		t.Errorf("the task is %s: %s", d.Task.Status, d.Task.Summary)
	}
	if got := relative(d.Issues, base); !slices.Equal(got, want) {
		t.Errorf("found\n  %q\nnot\n  %q", got, want)
	}
	if got := relative(c.seen(id), base); !slices.Equal(got, want) {
		t.Errorf("with what is not confirmed there are\n  %q\nnot\n  %q", got, want)
	}
	for _, f := range d.Issues {
		if len(f.Evidence) != 2 || f.Evidence[0].Kind != "detection" || f.Evidence[1].Kind != "verification" {
			t.Errorf("%s at %s has other evidence than one detection and one verification: %+v", f.Template, f.MatchedAt, f.Evidence)
		}
	}
	told := map[string]int{}
	for i, e := range c.stream(id, patience, isFinish) {
		if e.Seq != int64(i+1) {
			t.Errorf("event %d of the stream has the number %d", i+1, e.Seq)
		}
		if e.Type == "issue" {
			told[e.Data.ID]++
		}
	}
	if len(told) != len(want) {
		t.Errorf("the stream tells of %d issues, not %d", len(told), len(want))
	}
	for issue, n := range told {
		if n != 1 {
			t.Errorf("the stream tells of issue %s %d times", issue, n)
		}
	}
}

// runs are the numbers of a task's runs, as its stream tells.
func runs(events []event) (numbers []int64) {
	for _, e := range events {
		if e.Type == "status" && e.Data.Status == "running" {
			numbers = append(numbers, e.Data.Run)
		}
	}
	return numbers
}

func TestKilledWhileScanning(t *testing.T) {
	eachEngine(t, func(t *testing.T, h house) {
		token := h.admin("ada@example.com")
		first := h.serve()
		c := first.as(token)
		want := undisturbed(t, c)

		g := newGate(t, at("/server-status"))
		id := c.hand(fullCheck(g.URL))
		g.waitHeld(t)
		until(t, patience, "a match is on disk", func() bool { return len(c.seen(id)) > 0 })
		first.kill()
		g.open()

		c = h.serve().as(token)
		c.end(id, takeover)
		checkOnce(t, c, id, g.URL, want)
		if got := runs(c.stream(id, patience, isFinish)); !slices.Equal(got, []int64{1, 2}) {
			t.Errorf("the runs are %v, not the first and a second", got)
		}
	})
}

func TestKilledWhileVerifying(t *testing.T) {
	eachEngine(t, func(t *testing.T, h house) {
		token := h.admin("ada@example.com")
		first := h.serve()
		c := first.as(token)
		want := undisturbed(t, c)

		g := newGate(t, secondLook("/backup.zip", "/.git/HEAD", "/.git/config"))
		id := c.hand(fullCheck(g.URL))
		g.waitHeld(t)
		c.stream(id, patience, func(e event) bool { return e.Type == "issue" })
		first.kill()
		g.open()

		c = h.serve().as(token)
		c.end(id, takeover)
		checkOnce(t, c, id, g.URL, want)
		scans := 0
		for _, e := range c.stream(id, patience, isFinish) {
			if e.Type == "step-started" && e.Data.Tool == "scan" {
				scans++
			}
		}
		if scans != 1 {
			t.Errorf("what the first run had finished was done again: %d scans", scans)
		}
	})
}

// TestKilledBeforeItBegan kills the only process while nobody has begun the task.
func TestKilledBeforeItBegan(t *testing.T) {
	eachEngine(t, func(t *testing.T, h house) {
		token := h.admin("ada@example.com")
		first := h.serve("--role", "server")
		site := httptest.NewServer(weaksite.New(1))
		defer site.Close()
		c := first.as(token)
		id := c.hand(fullCheck(site.URL))
		if status := c.task(id).Task.Status; status != "queued" {
			t.Fatalf("with nobody to do it, the task is %s", status)
		}
		first.kill()

		c = h.serve("--role", "server").as(token)
		h.work()
		c.end(id, patience)
		checkOnce(t, c, id, site.URL, undisturbed(t, c))
	})
}

// TestToldToStop sends SIGTERM while a task is busy with a site that takes five seconds
// for each answer: it cannot come to its end within the time that a stop waits.
func TestToldToStop(t *testing.T) {
	eachEngine(t, func(t *testing.T, h house) {
		token := h.admin("ada@example.com")
		first := h.serve()
		c := first.as(token)
		want := undisturbed(t, c)

		g := newSlow(t, after(10), 5*time.Second)
		id := c.hand(fullCheck(g.URL))
		g.waitHeld(t)
		if code := first.stop(); code != 0 {
			t.Errorf("SIGTERM ends it with exit code %d", code)
		}
		g.open()
		var held int
		if err := h.data().QueryRow(t.Context(), `SELECT count(*) FROM queue_lease WHERE node <> ''`).Scan(&held); err != nil || held > 0 {
			t.Errorf("it did not hand back what it worked on: %d leases, %v", held, err)
		}

		c = h.serve().as(token)
		c.end(id, takeover)
		checkOnce(t, c, id, g.URL, want)
	})
}

func TestKilledAfterAbort(t *testing.T) {
	eachEngine(t, func(t *testing.T, h house) {
		token := h.admin("ada@example.com")
		first := h.serve()
		c := first.as(token)
		g := newGate(t, at("/server-status"))
		id := c.hand(fullCheck(g.URL))
		g.waitHeld(t)
		c.call("POST", "/api/v1/tasks/"+id+"/abort", nil, nil)
		first.kill()

		d := h.serve().as(token).end(id, takeover)
		if d.Task.Status != "aborted" {
			t.Errorf("the task is %s", d.Task.Status)
		}
	})
}

// TestKilledBeforeItHeardOfAbort freezes the worker, so that it certainly dies without
// having heard.
func TestKilledBeforeItHeardOfAbort(t *testing.T) {
	t.Parallel()
	h := newHouse(t, "postgres").impatient()
	c := h.open("--role", "server")
	worker := h.work()
	g := newGate(t, at("/server-status"))
	id := c.hand(fullCheck(g.URL))
	g.waitHeld(t)
	until(t, patience, "a match is on disk", func() bool { return len(c.seen(id)) > 0 })
	worker.freeze()
	c.call("POST", "/api/v1/tasks/"+id+"/abort", nil, nil)
	if status := c.task(id).Task.Status; status != "running" {
		t.Fatalf("with its worker frozen, the aborted task is %s", status)
	}
	worker.kill()

	h.work()
	d := c.end(id, takeover)
	if d.Task.Status != "aborted" {
		t.Errorf("the task is %s", d.Task.Status)
	}
	if len(c.seen(id)) == 0 {
		t.Error("what was found before the abort is gone")
	}
}

// TestRestartWhileIdle holds the plain case: what has ended stays as it is.
func TestRestartWhileIdle(t *testing.T) {
	t.Parallel()
	h := newHouse(t, dbtest.Engines[0])
	token := h.admin("ada@example.com")
	first := h.serve()
	site := httptest.NewServer(weaksite.New(1))
	defer site.Close()
	c := first.as(token)
	id := c.hand(fullCheck(site.URL), "completion_delivery", "artifact")
	before := c.end(id, patience)
	if code := first.stop(); code != 0 {
		t.Errorf("an idle server ends with exit code %d", code)
	}

	c = h.serve().as(token)
	if after := c.task(id); after.Task.Summary != before.Task.Summary || len(after.Issues) != len(before.Issues) {
		t.Errorf("after a restart the task is another:\n%+v\n%+v", before, after)
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
