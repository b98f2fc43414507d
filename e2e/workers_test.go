package e2e

import (
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"
)

// TestWorkersShareTheWork has one server without workers, and two workers with one task at a time each. Two tasks that
// hang at once then occupy both.
func TestWorkersShareTheWork(t *testing.T) {
	t.Parallel()
	dep := newDeployment(t, "postgres")
	c := dep.serveWithUser("--role", "server")
	workers := []*process{dep.startWorker("--workers", "1"), dep.startWorker("--workers", "1")}

	sites := make([]*heldSite, 2)
	tasks := make([]string, 2)
	for i := range sites {
		sites[i] = newHeldSite(t, pathIs("/server-status"))
		tasks[i] = c.createTask(fullCheck(sites[i].URL))
		sites[i].waitHeld(t)
	}
	third := c.createTask(taskWithoutTarget)
	if status := c.task(third).Task.Status; status != "queued" {
		t.Errorf("with both workers busy, a third task is %s", status)
	}

	asked := time.Now()
	c.call("POST", "/api/v1/tasks/"+tasks[0]+"/abort", nil, nil)
	d := c.waitForTask(tasks[0], shortWait)
	t.Logf("the abort reached the worker in %s", time.Since(asked).Round(time.Millisecond))
	if d.Task.Status != "aborted" {
		t.Errorf("the aborted task is %s", d.Task.Status)
	}
	if status := c.waitForTask(third, longWait).Task.Status; status != "completed" {
		t.Errorf("the third task is %s", status)
	}
	if status := c.task(tasks[1]).Task.Status; status != "running" {
		t.Errorf("the other task is %s", status)
	}
	sites[1].release()
	if d := c.waitForTask(tasks[1], longWait); d.Task.Status != "completed" || len(d.Issues) == 0 {
		t.Errorf("the other task is %s with %d issues", d.Task.Status, len(d.Issues))
	}
	for _, w := range workers {
		if code := w.stop(); code != 0 {
			t.Errorf("a worker ends with exit code %d", code)
		}
	}
}

// TestAbortCutsTheRequests: an abort cancels running requests.
func TestAbortCutsTheRequests(t *testing.T) {
	eachEngine(t, func(t *testing.T, dep deployment) {
		c := dep.serveWithUser()
		cut := make(chan struct{})
		var once sync.Once
		g := newHeldSite(t, func(r *http.Request) bool {
			held := pathIs("/server-status")(r)
			if held {
				go func() {
					<-r.Context().Done()
					once.Do(func() { close(cut) })
				}()
			}
			return held
		})
		id := c.createTask(fullCheck(g.URL))
		g.waitHeld(t)
		c.call("POST", "/api/v1/tasks/"+id+"/abort", nil, nil)
		select {
		case <-cut:
		case <-time.After(shortWait):
			t.Error("the running request was not cancelled")
		}
		if d := c.waitForTask(id, shortWait); d.Task.Status != "aborted" {
			t.Errorf("the task is %s", d.Task.Status)
		}
		if !slices.ContainsFunc(c.stream(id, longWait, isFinish),
			func(e event) bool { return e.Type == "finish" && e.Data.Status == "aborted" }) {
			t.Error("the stream does not end with an aborted finish")
		}
	})
}

// TestSilentWorker freezes the worker that has a task: another takes it over, and the first changes
// nothing when it resumes.
func TestSilentWorker(t *testing.T) {
	t.Parallel()
	dep := newDeployment(t, "postgres").withProductTimeouts()
	c := dep.serveWithUser("--role", "server")
	silent := dep.startWorker()
	want := findingsWithoutKill(t, c)
	g := newHeldSite(t, pathIs("/server-status"))
	id := c.createTask(fullCheck(g.URL))
	g.waitHeld(t)
	silent.freeze()
	dep.startWorker()
	g.release()
	c.waitForTask(id, takeoverWait)
	silent.thaw()
	checkOnce(t, c, id, g.URL, want)
	if code := silent.stop(); code != 0 { // it noticed that it lost the lease
		t.Errorf("the worker that was silent ends with exit code %d", code)
	}
	checkOnce(t, c, id, g.URL, want)
}
