package e2e

import (
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"
)

// TestWorkersShareTheWork has one server that only answers, and two workers that do one
// task at a time each. Two tasks that hang at once are then in the hands of both.
func TestWorkersShareTheWork(t *testing.T) {
	t.Parallel()
	h := newHouse(t, "postgres")
	c := h.open("--role", "server")
	workers := []*process{h.work("--workers", "1"), h.work("--workers", "1")}

	gates := make([]*gate, 2)
	tasks := make([]string, 2)
	for i := range gates {
		gates[i] = newGate(t, at("/server-status"))
		tasks[i] = c.hand(fullCheck(gates[i].URL))
		gates[i].waitHeld(t)
	}
	third := c.hand(nothingToDo)
	if status := c.task(third).Task.Status; status != "queued" {
		t.Errorf("with both workers at work, a third task is %s", status)
	}

	asked := time.Now()
	c.call("POST", "/api/v1/tasks/"+tasks[0]+"/abort", nil, nil)
	d := c.end(tasks[0], soon)
	t.Logf("the abort reached the worker in %s", time.Since(asked).Round(time.Millisecond))
	if d.Task.Status != "aborted" {
		t.Errorf("the aborted task is %s", d.Task.Status)
	}
	if status := c.end(third, patience).Task.Status; status != "completed" {
		t.Errorf("the third task is %s", status)
	}
	if status := c.task(tasks[1]).Task.Status; status != "running" {
		t.Errorf("the task beside the aborted one is %s", status)
	}
	gates[1].open()
	if d := c.end(tasks[1], patience); d.Task.Status != "completed" || len(d.Issues) == 0 {
		t.Errorf("the task beside the aborted one is %s with %d issues", d.Task.Status, len(d.Issues))
	}
	for _, w := range workers {
		if code := w.stop(); code != 0 {
			t.Errorf("a worker ends with exit code %d", code)
		}
	}
}

// TestAbortCutsTheRequests holds that an abort reaches the requests that are under way.
func TestAbortCutsTheRequests(t *testing.T) {
	eachEngine(t, func(t *testing.T, h house) {
		c := h.open()
		cut := make(chan struct{})
		var once sync.Once
		g := newGate(t, func(r *http.Request) bool {
			held := at("/server-status")(r)
			if held {
				go func() {
					<-r.Context().Done()
					once.Do(func() { close(cut) })
				}()
			}
			return held
		})
		id := c.hand(fullCheck(g.URL))
		g.waitHeld(t)
		c.call("POST", "/api/v1/tasks/"+id+"/abort", nil, nil)
		select {
		case <-cut:
		case <-time.After(soon):
			t.Error("the request under way goes on")
		}
		if d := c.end(id, soon); d.Task.Status != "aborted" {
			t.Errorf("the task is %s", d.Task.Status)
		}
		if !slices.ContainsFunc(c.stream(id, patience, isFinish), func(e event) bool { return e.Type == "finish" && e.Data.Status == "aborted" }) {
			t.Error("the stream does not end with an aborted finish")
		}
	})
}

// TestSilentWorker freezes the worker that has a task: another takes the task over, and
// when the first wakes up it changes nothing.
func TestSilentWorker(t *testing.T) {
	t.Parallel()
	h := newHouse(t, "postgres").impatient()
	c := h.open("--role", "server")
	silent := h.work()
	want := undisturbed(t, c)
	g := newGate(t, at("/server-status"))
	id := c.hand(fullCheck(g.URL))
	g.waitHeld(t)
	silent.freeze()
	h.work()
	g.open()
	c.end(id, takeover)
	silent.thaw()
	checkOnce(t, c, id, g.URL, want)
	if code := silent.stop(); code != 0 { // it has seen that its task is gone, and let go of it
		t.Errorf("the worker that was silent ends with exit code %d", code)
	}
	checkOnce(t, c, id, g.URL, want)
}
