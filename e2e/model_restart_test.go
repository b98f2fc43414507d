package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// script writes the answers of a scripted model: it crawls a site, reports its open repository,
// takes a note, and ends.
func script(t *testing.T, url string) string {
	t.Helper()
	type object = map[string]any
	call := func(turn int, tool string, args object) object {
		text, err := json.Marshal(args)
		if err != nil {
			t.Fatal(err)
		}
		return object{"turn": turn, "calls": []object{{"name": tool, "args": string(text)}}}
	}
	text, err := json.Marshal(object{"replies": []object{
		call(1, "crawl", object{"url": url, "pages": 3}),
		call(2, "report_issue", object{"title": "An open repository", "severity": "medium", "description": "d",
			"proof": object{"url": url + "/.git/HEAD", "contains": []string{"ref: refs/heads/"}}}),
		call(3, "note", object{"todo": "tell the owner"}),
		{"turn": 4, "text": "Done."},
	}})
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(t.TempDir(), "script.json")
	if err := os.WriteFile(name, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// TestKilledWhileAModelWorks kills the process at several requests of the task's tools: in a crawl, in
// a report, and in the verifier. The next process continues from the journal, repeats no model call
// and has the same finding.
func TestKilledWhileAModelWorks(t *testing.T) {
	for _, requests := range []int64{0, 3, 5} {
		t.Run(fmt.Sprint(requests), func(t *testing.T) {
			eachEngine(t, func(t *testing.T, dep deployment) {
				token := dep.admin("ada@example.com")
				g := newHeldSite(t, afterFirst(requests))
				model := []string{"--llm-provider", "scripted", "--llm-script", script(t, g.URL)}
				first := dep.serve(model...)
				id := first.as(token).createTask("look at " + g.URL)
				g.waitHeld(t)
				first.kill()
				g.release()

				c := dep.serve(model...).as(token)
				d := c.waitForTask(id, takeoverWait)
				if d.Task.Status != "completed" || len(d.Issues) != 1 || len(d.Issues[0].Evidence) != 2 {
					t.Fatalf("%s with %+v: %s", d.Task.Status, d.Issues, d.Task.Summary)
				}
				var log struct {
					Events []struct{ Status string }
				}
				c.call("GET", "/api/v1/tasks/"+id+"/agent-audit-log?event_type=model_call", nil, &log)
				if len(log.Events) != 4 {
					t.Errorf("the model was called %d times, and not 4: %+v", len(log.Events), log.Events)
				}
			})
		})
	}
}
