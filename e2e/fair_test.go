package e2e

import (
	"testing"
	"time"
)

// TestAnIdleTeamStartsBesideAFlood: tasks of one team hang on all workers, more of them wait, and a task of another team
// runs all the same.
func TestAnIdleTeamStartsBesideAFlood(t *testing.T) {
	eachEngine(t, func(t *testing.T, dep deployment) {
		loud := dep.serveWithUser("--workers", "2", "--spare-workers", "1")
		calm := caller{t: t, base: loud.base, token: dep.admin("calm@example.com")}
		var tasks []string
		for range 2 {
			site := newHeldSite(t, pathIs("/server-status"))
			defer site.release()
			tasks = append(tasks, loud.createTask(fullCheck(site.URL)))
			site.waitHeld(t)
		}
		for range 8 {
			tasks = append(tasks, loud.createTask(taskWithoutTarget))
		}
		posted := time.Now()
		if d := calm.waitForTask(calm.createTask(taskWithoutTarget), shortWait); d.Task.Status != "completed" {
			t.Errorf("the task of the idle team is %s", d.Task.Status)
		}
		t.Logf("it took %s", time.Since(posted).Round(time.Millisecond))
		for i, id := range tasks {
			want := "queued"
			if i < 2 {
				want = "running"
			}
			if status := loud.task(id).Task.Status; status != want {
				t.Errorf("task %d of the other team is %s, want %s", i, status, want)
			}
		}
	})
}
