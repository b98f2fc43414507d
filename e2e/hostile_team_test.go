package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/lab/weaksite"
)

// hostileTemplate is a template that a team sends to take memory or time from all others.
type hostileTemplate struct{ name, text string }

// holdingTemplate keeps 16 MB more after each request. The engine's own bound is on what one stretch of computing takes,
// so that this one always ends its child process.
func holdingTemplate(name string) hostileTemplate {
	return hostileTemplate{name, "id: " + name + `
info: {name: n, author: a, severity: low}
flow: |
  var s = "aaaaaaaaaaaaaaaa", all = [];
  while (s.length < 16e6) s += s;
  for (var i = 0; i < 200; i++) { all.push(s + i); http(1); }
http:
  - path: ["{{BaseURL}}/"]
    matchers: [{type: status, status: [200]}]
`}
}

// corpusTemplates are the named cases of the engine's corpus (internal/engine/testdata/hostile), such as
// "flow/json-by-name"; all that are an expression, a flow or a query when none is named.
func corpusTemplates(t *testing.T, names ...string) (out []hostileTemplate) {
	t.Helper()
	files, err := filepath.Glob("../internal/engine/testdata/hostile/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		archive, err := txtar.ParseFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range archive.Files {
			base, kind, _ := strings.Cut(f.Name, ".")
			name := strings.TrimSuffix(filepath.Base(file), ".txtar") + "/" + base
			if !slices.Contains([]string{"dsl", "flow", "xpath"}, kind) ||
				len(names) > 0 && !slices.Contains(names, name) {
				continue
			}
			_, source, _ := strings.Cut(string(f.Data), "\n")
			source = strings.ReplaceAll(strings.TrimSpace(expandRepeats(source)), "\n", "\n          ")
			text := "id: " + kind + "-" + base + "\ninfo: {name: N, author: a, severity: low}\n"
			get := "http:\n  - path: ['{{BaseURL}}/" + kind + "']\n"
			switch kind {
			case "flow":
				text += "flow: |\n          " + source + "\n" + get
			case "dsl":
				text += get + "    matchers:\n      - type: dsl\n        dsl:\n        - |-\n          " + source + "\n"
			case "xpath":
				text += get + "    extractors:\n      - type: xpath\n        xpath:\n        - |-\n          " + source + "\n"
			}
			out = append(out, hostileTemplate{kind + "-" + base, text})
		}
	}
	if len(names) > 0 && len(out) != len(names) {
		t.Fatalf("the corpus has %d of the cases %q", len(out), names)
	}
	return out
}

// expandRepeats writes out REPEAT{n|text}REPEAT, as the corpus has it.
func expandRepeats(s string) string {
	for {
		before, rest, found := strings.Cut(s, "REPEAT{")
		if !found {
			return s
		}
		inner, after, _ := strings.Cut(rest, "}REPEAT")
		count, text, _ := strings.Cut(inner, "|")
		var n int
		_, _ = fmt.Sscan(count, &n)
		s = before + strings.Repeat(text, n) + after
	}
}

// newCorpusSite answers what the corpus' templates compute with.
func newCorpusSite(t *testing.T) string {
	bodies := map[string]string{
		"/xpath": "<html><body>" + strings.Repeat("<div><p class='a'>words</p><b>b</b></div>", 3000) + "</body></html>",
		"/dsl":   strings.Repeat("abc ", 64<<10),
	}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, ok := bodies[r.URL.Path]
		if !ok {
			body = "yes"
		}
		_, _ = w.Write([]byte(body))
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// scanWith launches a scan of a target with templates that come with it.
func (c caller) scanWith(target string, templates []hostileTemplate) (id string) {
	c.t.Helper()
	var private []any
	for _, one := range templates {
		private = append(private, object("name", one.name+".yaml", "contents", one.text))
	}
	var made struct{ ID string }
	c.call("POST", "/v1/scans", object("targets", []string{target}, "private_templates", private), &made)
	return made.ID
}

// cells are the checks of a scan that were not tested, by template, each with its state and reason.
func (c caller) cells(id string) map[string]string {
	c.t.Helper()
	var coverage struct {
		Cells []struct {
			TemplateID    string `json:"template_id"`
			State, Reason string
		}
	}
	c.call("GET", "/v1/scans/"+id+"/coverage?limit=1000", nil, &coverage)
	out := map[string]string{}
	for _, cell := range coverage.Cells {
		out[cell.TemplateID] = cell.State + ": " + cell.Reason
	}
	return out
}

// runTemplateScript writes the answers of a scripted model that runs each template on a site and ends.
func runTemplateScript(t *testing.T, site string, templates ...hostileTemplate) string {
	t.Helper()
	var replies []any
	for i, one := range templates {
		args, err := json.Marshal(object("targets", []string{site}, "template", one.text))
		if err != nil {
			t.Fatal(err)
		}
		replies = append(replies, object("turn", i+1, "calls",
			[]any{object("name", "run_template_text", "args", string(args))}))
	}
	text, err := json.Marshal(object("replies", append(replies, object("turn", len(replies)+1, "text", "Done."))))
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(t.TempDir(), "script.json")
	if err := os.WriteFile(name, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// hostileTask creates a task in which the server's model does what its script says.
func (c caller) hostileTask(site string) (id string) {
	c.t.Helper()
	var made struct {
		ID string `json:"task_id"`
	}
	c.call("POST", "/api/v1/tasks", object("task", "look at "+site, "scope", object("intrusiveness", "intrusive")), &made)
	return made.ID
}

// honestTask creates a full check by the built-in planner, whatever model the server has.
func (c caller) honestTask(site string, more ...string) (id string) {
	c.t.Helper()
	return c.createTask(fullCheck(site), append([]string{"model", "builtin"}, more...)...)
}

// teamOf is the team of a task.
func teamOf(t *testing.T, d *db.DB, task string) string {
	t.Helper()
	team, err := db.Value[string](t.Context(), d, `SELECT team_id FROM task WHERE id = ?`, task)
	if err != nil {
		t.Fatal(err)
	}
	return team
}

// charge is a job of the queue that needed more than one attempt.
type charge struct {
	id       int64
	kind     string
	attempts int
	errors   string // JSON: of the attempts that failed; those whose process died have none
}

// charges are the jobs of a team that were tried again.
func charges(t *testing.T, d *db.DB, team string) []charge {
	t.Helper()
	scan := func(row db.Row) (c charge, err error) { return c, row.Scan(&c.id, &c.kind, &c.attempts, &c.errors) }
	all, err := db.Select(t.Context(), d, scan, `SELECT id, kind, attempt, coalesce(CAST(errors AS TEXT), '') FROM river_job
		WHERE queue LIKE ? AND attempt > 1 ORDER BY id`, "%:"+team)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// honestWork are scans and tasks of a team on a site with what it finds there when nobody disturbs it.
type honestWork struct {
	site         string
	scans, tasks []string
	wantScan     []string
	wantCells    map[string]string
	wantTask     []string
}

// begin launches some more scans and tasks.
func (w *honestWork) begin(c caller, each int) {
	w.scans, w.tasks = nil, nil
	for range each {
		w.scans = append(w.scans, c.launchScan(w.site))
		w.tasks = append(w.tasks, c.honestTask(w.site))
	}
}

// check waits for the work and compares what it found with what is there.
func (w *honestWork) check(c caller) {
	c.t.Helper()
	for _, id := range w.scans {
		if s := c.scanEnds(id, longWait); s.Status != "finished" || s.Progress != 100 {
			c.t.Errorf("the scan %s of the other team: %+v", id, s)
		}
		if got := c.scanFindings(id, w.site); !slices.Equal(got, w.wantScan) {
			c.t.Errorf("the scan %s of the other team found\n  %q\nnot\n  %q", id, got, w.wantScan)
		}
		if got := c.cells(id); !maps.Equal(got, w.wantCells) {
			c.t.Errorf("the scan %s of the other team did not test\n  %q\nbut\n  %q", id, got, w.wantCells)
		}
	}
	for _, id := range w.tasks {
		c.waitForTask(id, longWait)
		checkOnce(c.t, c, id, w.site, w.wantTask)
	}
}

// undisturbed does the work once to learn what is there.
func undisturbed(c caller, site string) *honestWork {
	c.t.Helper()
	scan := c.launchScan(site)
	w := &honestWork{site: site, wantTask: relative(c.waitForTask(c.honestTask(site), longWait).Issues, site)}
	c.scanEnds(scan, longWait)
	w.wantScan, w.wantCells = c.scanFindings(scan, site), c.cells(scan)
	if len(w.wantScan) == 0 || len(w.wantTask) == 0 {
		c.t.Fatalf("nothing is found: %+v", w)
	}
	return w
}

// timed does some work, and meanwhile sends the requests of a team's day. It returns the 99th percentile of the time
// that their answers took.
func (c caller) timed(work func()) (n int, p99 time.Duration) {
	c.t.Helper()
	ctx, stop := context.WithCancel(c.t.Context())
	var all []time.Duration
	done := make(chan struct{})
	go func() {
		defer close(done)
		for ctx.Err() == nil {
			for _, path := range []string{"/api/v1/tasks?limit=20", "/v1/scans?limit=20", "/v1/scans/results?limit=20"} {
				began := time.Now()
				c.call("GET", path, nil, nil)
				all = append(all, time.Since(began))
			}
			select {
			case <-ctx.Done():
			case <-time.After(5 * time.Millisecond): // a team asks now and then; it is no load test
			}
		}
	}()
	func() {
		defer func() {
			stop()
			<-done
		}()
		work()
	}()
	slices.Sort(all)
	return len(all), all[len(all)*99/100]
}

// worstAnswer bounds what a request of an honest team may take at the 99th percentile beside hostile work, on a machine
// that is busy with other tests as well: as calm is what they take there beside honest work. The figures are in the log.
func worstAnswer(calm time.Duration) time.Duration { return max(5*time.Second, 20*calm) }

// TestHostileTeamBesideHonestOnes: templates of one team, in a scan and in a task, crash, hang and eat memory, while
// another team scans and runs tasks. The other team's work completes, finds all, and is charged no attempt; each
// culprit is named in its own result.
func TestHostileTeamBesideHonestOnes(t *testing.T) {
	eachEngine(t, func(t *testing.T, dep deployment) {
		corpus := newCorpusSite(t)
		own := holdingTemplate("holding-of-the-task")
		mallory := dep.serveWithUser("--engine-memory", "256", "--llm-provider", "scripted", "--llm-script",
			runTemplateScript(t, corpus, own, own))
		honest := caller{t: t, base: mallory.base, token: dep.admin("honest@example.com")}
		site := httptest.NewServer(weaksite.New(1))
		defer site.Close()
		w := undisturbed(honest, site.URL)
		_, calm := honest.timed(func() {
			w.begin(honest, 3)
			w.check(honest)
		})

		ends := []hostileTemplate{holdingTemplate("holding-a"), holdingTemplate("holding-b")}
		hostile := append(corpusTemplates(t, "dsl/join-repeat", "dsl/concat-growth", "dsl/repeat-huge", "dsl/held-by-nesting",
			"flow/constructor", "flow/json-by-name", "flow/sparse-set", "flow/array-from", "flow/stringify-doubling",
			"xpath/count-nested"), ends...)
		badScan, badTask := mallory.scanWith(corpus, hostile), mallory.hostileTask(corpus)
		rounds := 0
		n, p99 := honest.timed(func() {
			for over := false; !over; rounds++ {
				over = mallory.scan(badScan).over()
				w.begin(honest, 3)
				w.check(honest)
			}
		})
		t.Logf("the 99th percentile of %d answers is %s beside hostile work (%d rounds), and %s in the calm", n, p99,
			rounds, calm)
		if p99 > worstAnswer(calm) {
			t.Errorf("the other team's requests take %s", p99)
		}
		d := dep.openDB()
		if got := charges(t, d, teamOf(t, d, w.tasks[0])); len(got) > 0 {
			t.Errorf("the other team's work was charged attempts: %+v", got)
		}
		if s := mallory.scanEnds(badScan, longWait); s.Status != "finished" {
			t.Errorf("the hostile scan: %+v", s)
		}
		cells := mallory.cells(badScan)
		for _, one := range hostile {
			want := "failed: "
			if slices.Contains(ends, one) {
				want += "the engine ended: over memory"
			}
			if !strings.HasPrefix(cells[one.name], want) || cells[one.name] == "failed: " {
				t.Errorf("the result of %s is %q, want %q", one.name, cells[one.name], want)
			}
		}
		mallory.waitForTask(badTask, longWait)
		var log json.RawMessage
		mallory.call("GET", "/api/v1/tasks/"+badTask+"/agent-audit-log?limit=100", nil, &log)
		if !strings.Contains(string(log), "task.yaml: the engine ended: over memory; it is set aside") {
			t.Errorf("the log of the hostile task does not name its template: %s", log)
		}
	})
}
