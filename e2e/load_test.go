package e2e

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/vedette-sec/vedette/lab/weaksite"
)

// TestManyTasksAtOnce posts 200 tasks in parallel to a server on SQLite, which has one
// writer: none is refused, none is lost, and each has all findings.
func TestManyTasksAtOnce(t *testing.T) {
	t.Parallel()
	const tasks, within = 200, 10 * time.Minute
	c := newDeployment(t, "sqlite").serveWithUser()
	site := httptest.NewServer(weaksite.New(1))
	defer site.Close()

	ids := make(chan string, tasks)
	var posts sync.WaitGroup
	start := make(chan struct{})
	for range tasks {
		posts.Go(func() {
			<-start
			resp, err := c.do(t.Context(), "POST", "/api/v1/tasks", "application/json",
				map[string]string{"task": "look for git repositories on " + site.URL})
			if err != nil {
				t.Error(err)
				return
			}
			defer resp.Body.Close()
			var answer struct {
				ID string `json:"task_id"`
			}
			if err := json.NewDecoder(resp.Body).Decode(&answer); err != nil || resp.StatusCode != http.StatusAccepted {
				t.Errorf("a post was answered %s (%v)", resp.Status, err)
				return
			}
			ids <- answer.ID
		})
	}
	close(start)
	posts.Wait()
	close(ids)
	if t.Failed() {
		return
	}

	deadline, seen := time.Now().Add(within), map[string]bool{}
	for id := range ids {
		if seen[id] {
			t.Errorf("two posts made the one task %s", id)
		}
		seen[id] = true
		d := c.waitForTask(id, time.Until(deadline))
		if d.Task.Status != "completed" || len(d.Issues) != 2 { // HEAD and config
			t.Errorf("task %s is %s with %d issues: %s", id, d.Task.Status, len(d.Issues), d.Task.Summary)
		}
	}
	var list struct{ Total int }
	c.call("GET", "/api/v1/tasks?status=completed&limit=1", nil, &list)
	if len(seen) != tasks || list.Total != tasks {
		t.Errorf("%d posts were taken and %d tasks are completed, not %d", len(seen), list.Total, tasks)
	}
}
