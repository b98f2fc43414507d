package e2e

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/db/dbtest"
	"github.com/vedette-sec/vedette/internal/infra/ids"
	"github.com/vedette-sec/vedette/lab/weaksite"
)

// Every position of the journal is tried with VEDETTE_KILL_EVERYWHERE=1 (make kill);
// without it, some of them.
const (
	everywhere  = "VEDETTE_KILL_EVERYWHERE"
	samples     = 4 // on each database
	killWorkers = 4
	longestWait = 2 * takeoverWait // a busy disk makes a run of three hundred transactions slow
)

// TestKilledBetweenAnyTwoEntries kills the process with SIGKILL between two entries of the
// journal of a run of more than thirty steps, and starts the next one. The result must be that
// of an uninterrupted run: the same findings, the same artifact, and each model call charged
// once. A person decides about an interrupted request that must not be repeated.
func TestKilledBetweenAnyTwoEntries(t *testing.T) {
	t.Parallel()
	all := os.Getenv(everywhere) != ""
	for _, engine := range dbtest.Engines {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			baseline := newKillTest(t, engine).runWithoutKill()
			if baseline.steps < 30 {
				t.Fatalf("the run has only %d steps", baseline.steps)
			}
			var positions []int
			for k := range baseline.entries {
				if all || (baseline.entries-2-k)%(baseline.entries/samples) == 0 { // one is in the last verdict
					positions = append(positions, k)
				}
			}
			var unknown sync.Map // the positions at which a person was asked
			t.Run("workers", func(t *testing.T) {
				for worker := range killWorkers {
					t.Run(fmt.Sprint(worker), func(t *testing.T) {
						t.Parallel()
						l := newKillTest(t, engine)
						for i := worker; i < len(positions); i += killWorkers {
							if l.killedAt(positions[i], baseline) {
								unknown.Store(positions[i], true)
							}
						}
					})
				}
			})
			asked := 0
			unknown.Range(func(any, any) bool { asked++; return true })
			t.Logf("%d steps, %d entries: killed at %d positions; at %d a person was asked", baseline.steps, baseline.entries,
				len(positions), asked)
			if all && asked == 0 {
				t.Error("no kill interrupted a request that must not be repeated")
			}
		})
	}
}

// killTest is a deployment with a scripted model, a target site and direct access to the database.
type killTest struct {
	t      *testing.T
	deploy deployment
	db     *db.DB
	model  *scriptedModel
	site   *httptest.Server
	token  string
	server server

	mu    sync.Mutex
	times map[string]int // requests of http_request to the site, by query
}

// outcome is the result of a run of the agent.
type outcome struct {
	entries, steps int
	artifact       string // without ids, times and addresses
	paid           map[string]int
}

func newKillTest(t *testing.T, engine string) *killTest {
	t.Helper()
	l := &killTest{t: t, deploy: newDeployment(t, engine), times: map[string]int{}}
	site := weaksite.New(1)
	l.site = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		l.mu.Lock()
		l.times[r.URL.RawQuery]++
		l.mu.Unlock()
		site.ServeHTTP(w, r)
	}))
	t.Cleanup(l.site.Close)
	l.model = newScriptedModel(t, conversations(l.site.URL))
	l.token = l.deploy.admin("ada@example.com")
	l.serve()
	l.db = l.deploy.openDB()
	return l
}

func (l *killTest) serve() {
	l.server = l.deploy.serve("--llm-provider", "openai", "--llm-base-url", l.model.URL+"/v1", "--llm-model", "test-model",
		"--llm-context", "128000", "--llm-price", "3,15")
}

// conversations are the scripts of a run of more than thirty steps: it crawls, takes notes, reports,
// starts two sub-agents, and fetches pages with requests that must not be repeated.
func conversations(url string) map[string][]modelReply {
	fetch := func(n int) modelReply { return callTool("http_request", "url", fmt.Sprintf("%s/?page=%d", url, n)) }
	report := func(title, path, text string) modelReply {
		return callTool("report_issue", "title", title, "severity", "medium", "description", "d", "proof",
			object("url", url+path, "contains", []string{text}))
	}
	main := []modelReply{
		callTool("crawl", "url", url, "pages", 3), report("An open repository", "/.git/HEAD", "ref: refs/heads/"),
		callTool("note", "todo", "tell the owner"),
		callTool("delegate", "tasks", []any{object("instruction", "Be the left one."),
			object("instruction", "Be the right one.")}),
	}
	for n := range 20 {
		main = append(main, fetch(n))
	}
	main = append(main, callTool("remember", "text", "It is a shop."),
		report("Secrets in the open", "/.env", "DB_PASSWORD"), callTool("read_findings"),
		modelReply{calls: []toolCall{fetch(100).calls[0], fetch(101).calls[0]}},
		callTool("note", "todo", "tell the owner", "status", "completed"), modelReply{text: "That is all."})
	return map[string][]modelReply{
		"":         main,
		"left one": {fetch(200), fetch(201), modelReply{text: "Left done."}},
		"right one": {fetch(300), report("A status page", "/server-status", "Apache Status"),
			modelReply{text: "Right done."}},
	}
}

// startTask creates the task with a given id, and resets all counts.
func (l *killTest) startTask(id string) caller {
	l.model.forget()
	l.mu.Lock()
	clear(l.times)
	l.mu.Unlock()
	c := l.server.as(l.token).withT(l.t)
	c.call("POST", "/api/v1/tasks", object("id", id, "task", "look at "+l.site.URL, "ask_question", true,
		"completion_delivery", "artifact", "response_format", "json"), nil)
	return c
}

// runWithoutKill is the outcome of an uninterrupted run.
func (l *killTest) runWithoutKill() outcome {
	l.t.Helper()
	id := ids.New()
	l.startTask(id).waitForTask(id, longestWait)
	out := l.outcome(id)
	l.mu.Lock()
	defer l.mu.Unlock()
	for page, n := range l.times {
		if strings.HasPrefix(page, "page=") && n != 1 {
			l.t.Fatalf("%s was fetched %d times by an uninterrupted run", page, n)
		}
	}
	return out
}

// killedAt kills the process when entry k is stored and entry k+1 is blocked. It reports whether a
// person had to decide about an interrupted request.
func (l *killTest) killedAt(k int, baseline outcome) (decided bool) {
	l.t.Helper()
	id := ids.New()
	l.blockEntry(id, k+1)
	l.startTask(id)
	until(l.t, longWait, fmt.Sprintf("entry %d is on disk", k), func() bool {
		return l.number(`SELECT coalesce(max(e.seq), 0) FROM task_stream s LEFT JOIN task_entry e ON e.task_id = s.task_id WHERE s.task_id = ? AND s.status = 'running'`, id) == k &&
			l.number(`SELECT count(*) FROM task_stream WHERE task_id = ? AND status = 'running'`, id) == 1
	})
	calls, answers := l.count(id, "model_call"), l.count(id, "model_answer")
	until(l.t, longWait, "the model has answered what it was asked", func() bool {
		asked, _ := l.model.counts()
		return asked >= calls
	})
	l.server.kill()
	l.unblock()
	before, _ := l.model.counts()
	if before != calls {
		l.t.Fatalf("position %d: before the kill %d calls were noted, and %d made", k, calls, before)
	}
	l.serve()

	c := l.server.as(l.token).withT(l.t)
	decided = l.decide(c, id)
	got := l.outcome(id)
	where := fmt.Sprintf("killed behind entry %d of %d", k, baseline.entries)
	if got.artifact != baseline.artifact {
		l.t.Errorf("%s: the artifact is\n%s\nand not\n%s", where, got.artifact, baseline.artifact)
	}
	if !maps.Equal(got.paid, baseline.paid) {
		l.t.Errorf("%s: paid were %v", where, got.paid)
	}
	if asked, _ := l.model.counts(); asked != baseline.steps+before-answers {
		l.t.Errorf("%s: the model was asked %d times; %d answers were on disk of %d asked for", where, asked, answers, before)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for page, n := range l.times {
		if strings.HasPrefix(page, "page=") && n != 1 {
			l.t.Errorf("%s: %s was fetched %d times", where, page, n)
		}
	}
	return decided
}

// decide waits for the end of a task, and declines to repeat interrupted requests.
func (l *killTest) decide(c caller, id string) (decided bool) {
	l.t.Helper()
	for {
		events := c.stream(id, longestWait, func(e event) bool {
			return e.Type == "finish" || e.Type == "suspended" && c.task(id).Task.Status == "suspended"
		})
		if isFinish(events[len(events)-1]) {
			return decided
		}
		var pending []struct{ Ask struct{ Kind, Text string } }
		if err := json.Unmarshal([]byte(l.text(`SELECT pending FROM task_stream WHERE task_id = ?`, id)),
			&pending); err != nil {
			l.t.Fatal(err)
		}
		for _, p := range pending {
			if p.Ask.Kind != "unknown" || !strings.Contains(p.Ask.Text, "http_request") {
				l.t.Fatalf("it asks %+v", p)
			}
		}
		decided = true
		c.call("POST", "/api/v1/tasks/"+id+"/approve", object("decision", "decline"), nil)
	}
}

// outcome reads the result of a run.
func (l *killTest) outcome(id string) outcome {
	l.t.Helper()
	c := l.server.as(l.token).withT(l.t)
	var artifact json.RawMessage
	c.call("GET", "/api/v1/tasks/"+id+"/artifacts", nil, &artifact)
	_, paid := l.model.counts()
	return outcome{l.number(`SELECT count(*) FROM task_entry WHERE task_id = ?`, id), l.count(id, "model_call"),
		timeless(string(artifact), l.site.URL), paid}
}

var changing = []struct {
	pattern *regexp.Regexp
	name    string
}{
	{regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`), "ID"},
	{regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z`), "TIME"},
	{regexp.MustCompile(`"digest":"[0-9a-f]{64}"`), "DIGEST"}, // of a template that names the site
	{regexp.MustCompile(`Date: [A-Z][a-z]{2}, [^\\]+ GMT`), "DATE"},
	{regexp.MustCompile(`/[0-9A-Za-z]{12}(?:\.[a-z]+)? HTTP/1\.1`), "/NAME HTTP/1.1"}, // of a control: nothing has it
}

// timeless is a document without the parts that differ between two identical runs.
func timeless(doc, base string) string {
	doc = strings.ReplaceAll(doc, strings.TrimPrefix(base, "http://"), "SITE")
	for _, c := range changing {
		doc = c.pattern.ReplaceAllString(doc, c.name)
	}
	return doc
}

// blockEntry installs a trigger that makes the insert of an entry wait forever.
func (l *killTest) blockEntry(id string, seq int) {
	l.t.Helper()
	when := fmt.Sprintf(`WHEN (NEW.task_id = '%s' AND NEW.seq = %d)`, id, seq)
	if l.onSQLite() {
		l.exec(`CREATE VIEW forever AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n`)
		l.exec(`CREATE TRIGGER trap BEFORE INSERT ON task_entry ` + when + ` BEGIN SELECT count(*) FROM forever; END`)
		return
	}
	l.exec(`CREATE OR REPLACE FUNCTION forever() RETURNS trigger AS $$ BEGIN PERFORM pg_sleep(3600); RETURN NEW; END $$ LANGUAGE plpgsql`)
	l.exec(`CREATE TRIGGER trap BEFORE INSERT ON task_entry FOR EACH ROW ` + when + ` EXECUTE FUNCTION forever()`)
}

// unblock removes the trigger, and expires the leases of the killed process.
func (l *killTest) unblock() {
	l.t.Helper()
	if l.onSQLite() {
		l.exec(`DROP TRIGGER trap`)
		l.exec(`DROP VIEW forever`)
	} else {
		l.text(`SELECT count(pg_terminate_backend(pid))::text FROM pg_stat_activity WHERE datname = current_database() AND state <> 'idle' AND pid <> pg_backend_pid()`)
		l.exec(`DROP TRIGGER trap ON task_entry`)
	}
	l.exec(`UPDATE queue_lease SET beat_at = 0 WHERE node <> ''`)
}

func (l *killTest) onSQLite() bool { return l.db.URL == "" }

func (l *killTest) exec(query string) {
	l.t.Helper()
	if _, err := l.db.Exec(l.t.Context(), query); err != nil {
		l.t.Fatalf("%s: %v", query, err)
	}
}

func (l *killTest) number(query string, args ...any) (n int) {
	l.t.Helper()
	if err := l.db.QueryRow(l.t.Context(), query, args...).Scan(&n); err != nil {
		l.t.Fatalf("%s: %v", query, err)
	}
	return n
}

func (l *killTest) text(query string, args ...any) (s string) {
	l.t.Helper()
	if err := l.db.QueryRow(l.t.Context(), query, args...).Scan(&s); err != nil {
		l.t.Fatalf("%s: %v", query, err)
	}
	return s
}

// count is the number of entries of a kind in a task's journal.
func (l *killTest) count(id, kind string) int {
	l.t.Helper()
	return l.number(`SELECT count(*) FROM task_entry WHERE task_id = ? AND kind = ?`, id, kind)
}
