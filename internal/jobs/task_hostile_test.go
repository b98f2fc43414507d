package jobs

import (
	"bytes"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/core/model"
	"github.com/vedette-sec/vedette/internal/core/task"
	"github.com/vedette-sec/vedette/internal/engine/child"
	"github.com/vedette-sec/vedette/internal/engine/templates/starter"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/db/dbtest"
	"github.com/vedette-sec/vedette/internal/tools/runner"
)

const headFile = "vcs/vedette-git-head.yaml"

const doubling = `id: doubling
info: {name: n, author: a, severity: low}
flow: |
  http(1); var s = "aaaaaaaaaaaaaaaa"; var all = []; while (true) { all.push(s += s); }
http:
  - path: ["{{BaseURL}}/"]
    matchers: [{type: status, status: [200]}]
`

// Templates that end the engine cost a model's task a line in the answer of its tool, and nobody anything else: the task
// goes on, finds what the next template shows, and is verified; the task of another team, too.
func TestHostileTemplatesOfATaskEndOnlyThemselves(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		url, _ := shop(t)
		leak := strings.Replace(strings.Replace(harmless, "{{BaseURL}}/", "{{BaseURL}}/debug", 1), "status, status: [200]",
			`word, words: ["DB_PASSWORD="]`, 1)
		o := openEngine(t, d, scripted(
			call(1, "run_template_text", map[string]any{"targets": []string{url}, "template": endless}),
			call(2, "run_template_text", map[string]any{"targets": []string{url}, "template": doubling}),
			call(3, "run_template_text", map[string]any{"targets": []string{url}, "template": endless}),
			call(4, "run_template_text", map[string]any{"targets": []string{url}, "template": leak}),
		), child.Config{
			Args: []string{engineCommand, strconv.Itoa(256 << 20)}, Memory: 256 << 20, Compute: 500 * time.Millisecond,
		})
		accounts, err := account.Open(t.Context(), d, account.Config{})
		if err != nil {
			t.Fatal(err)
		}
		u, err := accounts.CreateUser(t.Context(), account.NewUser{Email: "bob@example.com", Admin: true})
		if err != nil {
			t.Fatal(err)
		}
		bob := o
		bob.ctx = account.WithCaller(t.Context(), account.Caller{UserID: u.ID, TeamID: u.TeamID, Role: u.Role})
		bad, err := o.tasks.Create(o.ctx, task.NewTask{Instruction: "look at " + url,
			Options: task.Options{Scope: &task.Scope{Intrusiveness: task.Intrusive}}})
		if err != nil {
			t.Fatal(err)
		}
		good, err := bob.tasks.Create(bob.ctx, task.NewTask{Instruction: "check " + url,
			Options: task.Options{Model: "builtin"}})
		if err != nil {
			t.Fatal(err)
		}
		if good = bob.end(t, good); good.Status != task.Completed {
			t.Errorf("the other team's task: %s: %s", good.Status, good.Summary)
		}
		if bad = o.end(t, bad); bad.Status != task.Completed || !strings.Contains(bad.Summary, "1 verified finding") {
			t.Errorf("%s: %s", bad.Status, bad.Summary)
		}
		journal := o.journal(t, bad.ID)
		for _, want := range []string{"task.yaml: the engine ended: over time; it is set aside.",
			"task.yaml: the engine ended: over", "because it ended the engine twice (over time)"} {
			if !strings.Contains(journal, want) {
				t.Errorf("no answer says %q", want)
			}
		}
		attempts, err := db.Value[int](o.ctx, d, `SELECT max(attempt) FROM river_job WHERE kind LIKE 'task%'`)
		if err != nil || attempts != 1 {
			t.Errorf("%d attempts, %v", attempts, err)
		}
	})
}

// killChildren ends the children of this process.
func killChildren(t *testing.T) {
	t.Helper()
	all, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		t.Error(err)
	}
	for _, name := range all {
		text, err := os.ReadFile(name)
		if err != nil {
			continue // it has ended
		}
		fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(name)))
		command, _ := os.ReadFile(filepath.Join(filepath.Dir(name), "cmdline"))
		if err == nil && fields[1] == strconv.Itoa(os.Getpid()) && bytes.Contains(command, []byte(engineCommand)) {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
}

// The steps of the built-in planner run in children: these may be killed while a scan runs, and a match that they cannot
// verify is no finding. A template that is set aside is named.
func TestABuiltinTaskSurvivesItsEngines(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("children are found in /proc")
	}
	d := dbtest.Open(t, "sqlite")
	var heads, first, last atomic.Int64 // requests, and between which of them the engine is ended
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/.git/HEAD":
			if n := heads.Add(1); n >= first.Load() && n <= last.Load() {
				killChildren(t)
				<-r.Context().Done()
			}
			fmt.Fprintln(w, "ref: refs/heads/main")
		case "/.git/config":
			fmt.Fprint(w, "[core]\n\trepositoryformatversion = 0\n")
		default:
			http.NotFound(w, r)
		}
	}))
	defer site.Close()
	o := openEngine(t, d, model.Config{}, child.Config{Args: []string{engineCommand, strconv.Itoa(256 << 20)}})
	run := func() (task.Task, []string) {
		made, err := o.tasks.Create(o.ctx, task.NewTask{Instruction: "Please run a full check of " + site.URL})
		if err != nil {
			t.Fatal(err)
		}
		if made = o.end(t, made); made.Status != task.Completed {
			t.Errorf("%s: %s", made.Status, made.Summary)
		}
		issues, err := db.Values[string](t.Context(), d, `SELECT template_id || ' ' || verification || ' ' || note FROM issue
			WHERE task_id = ? AND template_id LIKE 'vedette-git%' ORDER BY 1`, made.ID)
		if err != nil {
			t.Fatal(err)
		}
		return made, issues
	}
	const head, config = "vedette-git-head", "vedette-git-config verified "
	if _, issues := run(); !slices.Equal(issues, []string{config, head + " verified "}) {
		t.Errorf("undisturbed: %q", issues)
	}
	for name, c := range map[string]struct {
		first, last int64
		head        string
	}{
		"while it scans": {1, 2, " verified "},
		"while it verifies": {2, 99,
			" unverified the second request failed: the engine ended: crashed in the work for " + headFile},
	} {
		heads.Store(0)
		first.Store(c.first)
		last.Store(c.last)
		if _, issues := run(); !slices.Equal(issues, []string{config, head + c.head}) {
			t.Errorf("ended %s: %q", name, issues)
		}
	}
	last.Store(0)
	text, err := fs.ReadFile(starter.FS(), headFile)
	if err != nil {
		t.Fatal(err)
	}
	made, _ := run()
	if err := o.scans.SetAside(o.ctx, made.TeamID, runner.Text(headFile, string(text)), "over memory"); err != nil {
		t.Fatal(err)
	}
	made, issues := run()
	if want := headFile + " was not run: "; !strings.Contains(made.Summary, want) || !slices.Equal(issues, []string{config}) {
		t.Errorf("%q, and the summary does not say %q: %s", issues, want, made.Summary)
	}
}
