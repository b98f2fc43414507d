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
	killLanes   = 4
	longestWait = 2 * takeover // a busy disk makes a run of three hundred transactions slow
)

// TestKilledBetweenAnyTwoEntries kills the process with SIGKILL between two entries of the
// journal of a run of more than thirty steps, and starts the next one. The end must be that
// of a run that nobody killed: the same findings, the same artifact, and each call of the
// model paid once. A request that was under way and is not one to be made twice is a
// person's to decide.
func TestKilledBetweenAnyTwoEntries(t *testing.T) {
	t.Parallel()
	all := os.Getenv(everywhere) != ""
	for _, engine := range dbtest.Engines {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			whole := newKilling(t, engine).undisturbed()
			if whole.steps < 30 {
				t.Fatalf("the run has only %d steps", whole.steps)
			}
			var positions []int
			for k := range whole.entries {
				if all || (whole.entries-2-k)%(whole.entries/samples) == 0 { // one is in the last verdict
					positions = append(positions, k)
				}
			}
			var unknown sync.Map // the positions at which a person was asked
			t.Run("lanes", func(t *testing.T) {
				for lane := range killLanes {
					t.Run(fmt.Sprint(lane), func(t *testing.T) {
						t.Parallel()
						l := newKilling(t, engine)
						for i := lane; i < len(positions); i += killLanes {
							if l.killedAt(positions[i], whole) {
								unknown.Store(positions[i], true)
							}
						}
					})
				}
			})
			asked := 0
			unknown.Range(func(any, any) bool { asked++; return true })
			t.Logf("%d steps, %d entries: killed at %d positions; at %d a person was asked", whole.steps, whole.entries, len(positions), asked)
			if all && asked == 0 {
				t.Error("at no position was a request under way that must not be made twice")
			}
		})
	}
}

// killing is a house with a model, a site and a hand on the database.
type killing struct {
	t       *testing.T
	house   house
	db      *db.DB
	teacher *teacher
	site    *httptest.Server
	token   string
	server  server

	mu    sync.Mutex
	times map[string]int // requests of http_request to the site, by query
}

// ended is how a run of the agent ended.
type ended struct {
	entries, steps int
	artifact       string // without ids, times and addresses
	paid           map[string]int
}

func newKilling(t *testing.T, engine string) *killing {
	t.Helper()
	l := &killing{t: t, house: newHouse(t, engine), times: map[string]int{}}
	site := weaksite.New(1)
	l.site = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		l.mu.Lock()
		l.times[r.URL.RawQuery]++
		l.mu.Unlock()
		site.ServeHTTP(w, r)
	}))
	t.Cleanup(l.site.Close)
	l.teacher = newTeacher(t, lessons(l.site.URL))
	l.token = l.house.admin("ada@example.com")
	l.serve()
	l.db = l.house.data()
	return l
}

func (l *killing) serve() {
	l.server = l.house.serve("--llm-provider", "openai", "--llm-base-url", l.teacher.URL+"/v1", "--llm-model", "taught", "--llm-context", "128000", "--llm-price", "3,15")
}

// lessons are a run of more than thirty steps: it looks, remembers, reports, asks twice the
// same of two sub-agents, and fetches page after page with requests that are not to be made
// twice.
func lessons(url string) map[string][]act {
	fetch := func(n int) act { return does("http_request", "url", fmt.Sprintf("%s/?page=%d", url, n)) }
	report := func(title, path, text string) act {
		return does("report_issue", "title", title, "severity", "medium", "description", "d", "proof", object("url", url+path, "contains", []string{text}))
	}
	main := []act{
		does("crawl", "url", url, "pages", 3), report("An open repository", "/.git/HEAD", "ref: refs/heads/"), does("note", "todo", "tell the owner"),
		does("delegate", "tasks", []any{object("instruction", "Be the left one."), object("instruction", "Be the right one.")}),
	}
	for n := range 20 {
		main = append(main, fetch(n))
	}
	main = append(main, does("remember", "text", "It is a shop."), report("Secrets in the open", "/.env", "DB_PASSWORD"), does("read_findings"),
		act{calls: []deed{fetch(100).calls[0], fetch(101).calls[0]}}, does("note", "todo", "tell the owner", "status", "completed"), act{words: "That is all."})
	return map[string][]act{
		"":          main,
		"left one":  {fetch(200), fetch(201), act{words: "Left done."}},
		"right one": {fetch(300), report("A status page", "/server-status", "Apache Status"), act{words: "Right done."}},
	}
}

// hand hands the task over, under an id of its own, and forgets what was before.
func (l *killing) hand(id string) caller {
	l.teacher.forget()
	l.mu.Lock()
	clear(l.times)
	l.mu.Unlock()
	c := l.server.as(l.token).in(l.t)
	c.call("POST", "/api/v1/tasks", object("id", id, "task", "look at "+l.site.URL, "ask_question", true, "completion_delivery", "artifact", "response_format", "json"), nil)
	return c
}

// undisturbed is what comes of the run when nobody kills it.
func (l *killing) undisturbed() ended {
	l.t.Helper()
	id := ids.New()
	l.hand(id).end(id, longestWait)
	out := l.ended(id)
	l.mu.Lock()
	defer l.mu.Unlock()
	for page, n := range l.times {
		if strings.HasPrefix(page, "page=") && n != 1 {
			l.t.Fatalf("%s was fetched %d times by a run that nobody killed", page, n)
		}
	}
	return out
}

// killedAt kills the process when entry k is on disk, and entry k+1 cannot come there. It
// says whether a person had to decide about what was under way.
func (l *killing) killedAt(k int, whole ended) (decided bool) {
	l.t.Helper()
	id := ids.New()
	l.trap(id, k+1)
	l.hand(id)
	until(l.t, patience, fmt.Sprintf("entry %d is on disk", k), func() bool {
		return l.number(`SELECT coalesce(max(e.seq), 0) FROM task_stream s LEFT JOIN task_entry e ON e.task_id = s.task_id WHERE s.task_id = ? AND s.status = 'running'`, id) == k &&
			l.number(`SELECT count(*) FROM task_stream WHERE task_id = ? AND status = 'running'`, id) == 1
	})
	calls, answers := l.count(id, "model_call"), l.count(id, "model_answer")
	until(l.t, patience, "the model has answered what it was asked", func() bool {
		asked, _ := l.teacher.counted()
		return asked >= calls
	})
	l.server.kill()
	l.release()
	before, _ := l.teacher.counted()
	if before != calls {
		l.t.Fatalf("position %d: before the kill %d calls were noted, and %d made", k, calls, before)
	}
	l.serve()

	c := l.server.as(l.token).in(l.t)
	decided = l.decide(c, id)
	got := l.ended(id)
	where := fmt.Sprintf("killed behind entry %d of %d", k, whole.entries)
	if got.artifact != whole.artifact {
		l.t.Errorf("%s: the artifact is\n%s\nand not\n%s", where, got.artifact, whole.artifact)
	}
	if !maps.Equal(got.paid, whole.paid) {
		l.t.Errorf("%s: paid were %v", where, got.paid)
	}
	if asked, _ := l.teacher.counted(); asked != whole.steps+before-answers {
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

// decide waits for the end of a task, and declines to make again what may have been done.
func (l *killing) decide(c caller, id string) (decided bool) {
	l.t.Helper()
	for {
		events := c.stream(id, longestWait, func(e event) bool {
			return e.Type == "finish" || e.Type == "suspended" && c.task(id).Task.Status == "suspended"
		})
		if isFinish(events[len(events)-1]) {
			return decided
		}
		var pending []struct{ Ask struct{ Kind, Text string } }
		if err := json.Unmarshal([]byte(l.text(`SELECT pending FROM task_stream WHERE task_id = ?`, id)), &pending); err != nil {
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

// ended reads how a run ended.
func (l *killing) ended(id string) ended {
	l.t.Helper()
	c := l.server.as(l.token).in(l.t)
	var artifact json.RawMessage
	c.call("GET", "/api/v1/tasks/"+id+"/artifacts", nil, &artifact)
	_, paid := l.teacher.counted()
	return ended{l.number(`SELECT count(*) FROM task_entry WHERE task_id = ?`, id), l.count(id, "model_call"), timeless(string(artifact), l.site.URL), paid}
}

var changing = []struct {
	pattern *regexp.Regexp
	name    string
}{
	{regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`), "ID"},
	{regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z`), "TIME"},
	{regexp.MustCompile(`"digest":"[0-9a-f]{64}"`), "DIGEST"}, // of a template that names the site
	{regexp.MustCompile(`Date: [A-Z][a-z]{2}, [^\\]+ GMT`), "DATE"},
}

// timeless is a document without what differs between two runs of the same.
func timeless(doc, base string) string {
	doc = strings.ReplaceAll(doc, strings.TrimPrefix(base, "http://"), "SITE")
	for _, c := range changing {
		doc = c.pattern.ReplaceAllString(doc, c.name)
	}
	return doc
}

// trap keeps an entry from being written: whoever tries waits for ever.
func (l *killing) trap(id string, seq int) {
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

// release takes the trap away, and lets the leases of the dead run out at once.
func (l *killing) release() {
	l.t.Helper()
	if l.onSQLite() {
		l.exec(`DROP TRIGGER trap`)
		l.exec(`DROP VIEW forever`)
	} else {
		l.text(`SELECT count(pg_terminate_backend(pid))::text FROM pg_stat_activity WHERE datname = current_database() AND wait_event = 'PgSleep'`)
		l.exec(`DROP TRIGGER trap ON task_entry`)
	}
	l.exec(`UPDATE queue_lease SET beat_at = 0 WHERE node <> ''`)
}

func (l *killing) onSQLite() bool { return l.db.URL == "" }

func (l *killing) exec(query string) {
	l.t.Helper()
	if _, err := l.db.Exec(l.t.Context(), query); err != nil {
		l.t.Fatalf("%s: %v", query, err)
	}
}

func (l *killing) number(query string, args ...any) (n int) {
	l.t.Helper()
	if err := l.db.QueryRow(l.t.Context(), query, args...).Scan(&n); err != nil {
		l.t.Fatalf("%s: %v", query, err)
	}
	return n
}

func (l *killing) text(query string, args ...any) (s string) {
	l.t.Helper()
	if err := l.db.QueryRow(l.t.Context(), query, args...).Scan(&s); err != nil {
		l.t.Fatalf("%s: %v", query, err)
	}
	return s
}

// count is how many entries of a kind a task's journal has, whatever wrote them.
func (l *killing) count(id, kind string) int {
	l.t.Helper()
	return l.number(`SELECT count(*) FROM task_entry WHERE task_id = ? AND kind = ?`, id, kind)
}
