package jobs

import (
	"net"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"strings"
	"testing"

	"github.com/vedette-sec/vedette/internal/core/secret"
	"github.com/vedette-sec/vedette/internal/core/task"
	"github.com/vedette-sec/vedette/internal/core/toolkit"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/db/dbtest"
	"github.com/vedette-sec/vedette/internal/infra/isolate"
)

// A program that a person wrote works in a task: it reaches the task's targets and nothing else, and its owner's secret
// is in no text of the task.
func TestProgramsOfPeopleJoinATask(t *testing.T) {
	if err := isolate.Check(t.Context()); err != nil {
		t.Skip(err)
	}
	if _, err := exec.LookPath("python3"); err != nil {
		t.Skip(err)
	}
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		t.Error("a server out of scope was asked")
	}))
	t.Cleanup(elsewhere.Close)
	const token = "token-of-the-owner-0123456789"
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		url, _ := shop(t)
		_, port, err := net.SplitHostPort(elsewhere.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		o := openWith(t, d, scripted(
			call(1, "look", map[string]any{"url": 7}), // does not fit the schema
			call(2, "look", map[string]any{"url": url + "/"}),
			call(3, "look", map[string]any{"url": "http://127.0.0.2:" + port + "/"}),
		))
		if _, err := o.secrets.Create(o.ctx, secret.NewSecret{Name: "DESK", Value: token}); err != nil {
			t.Fatal(err)
		}
		if _, err := o.toolkits.Create(o.ctx, "desk", toolkit.Text{Name: "Desk", Language: toolkit.Python,
			EnvVars: []string{"DESK"}, InitCode: "import os, urllib.request, urllib.error"}); err != nil {
			t.Fatal(err)
		}
		if _, err := o.toolkits.CreateTool(o.ctx, "desk", toolkit.ToolText{ToolID: "look", Description: "Looks.", Code: `
def run(input):
    print("with", os.environ["DESK"])
    try:
        with urllib.request.urlopen(input["url"]) as r:
            return {"status": r.status}
    except urllib.error.HTTPError as e:
        return {"status": e.code, "said": e.read().decode()}
`, InputSchema: []byte(`{"type":"object","properties":{"url":{"type":"string"}},"required":["url"]}`)}); err != nil {
			t.Fatal(err)
		}
		done, _ := o.do(t, "look at "+url, func(task.Task, *task.Event) {})
		log := o.journal(t, done.ID)
		if strings.Contains(log, token) || !strings.Contains(log, `\"status\": 200`) && !strings.Contains(log, `\"status\":200`) ||
			!strings.Contains(log, "out of scope") && !strings.Contains(log, "The connection was refused") {
			t.Errorf("the log is %s", log)
		}
		if done.Status != task.Completed || !strings.Contains(done.Summary, "Requests sent to targets: 2") {
			t.Errorf("%s: %s", done.Status, done.Summary)
		}
	})
}
