package e2e

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/lab/weaksite"
)

// `make chaos` sets how many rounds of chaos there are, and may repeat those of a seed that a test has printed.
const (
	chaosRounds = "VEDETTE_CHAOS_ROUNDS"
	chaosSeed   = "VEDETTE_CHAOS_SEED"
	fewRounds   = 5 // without it
)

// silence is after how long without a heartbeat (one a second) the test ends a lease, so that a round does not wait
// for the product's ten seconds.
const silence = 2 * time.Second

// TestChaos kills processes with SIGKILL at random moments, while templates, a model and requests of one team attack
// whatever they reach: the server, on PostgreSQL also a second worker, and children of both. The work of another team
// completes all the same: nothing is lost, nothing is there twice, and its jobs were charged an attempt for each time
// that the test killed their process, and for nothing else.
func TestChaos(t *testing.T) {
	rounds, err := strconv.Atoi(cmp.Or(os.Getenv(chaosRounds), strconv.Itoa(fewRounds)))
	if err != nil {
		t.Fatal(err)
	}
	seed, err := strconv.ParseUint(cmp.Or(os.Getenv(chaosSeed), "0"), 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	seed = cmp.Or(seed, rand.Uint64N(1e9))
	eachEngine(t, func(t *testing.T, dep deployment) {
		t.Logf("the seed is %d", seed)
		x := newChaos(t, dep, rounds, rand.New(rand.NewPCG(seed, uint64(len(t.Name())))))
		for n := range rounds {
			if x.round(n); t.Failed() {
				t.Fatalf("this was round %d of %d", n+1, rounds)
			}
		}
		t.Logf("%d rounds: %d servers, %d workers and %d children killed; %d scans and %d tasks of the other team, and %d "+
			"attempts charged for killed processes; %d hostile requests were answered",
			rounds, x.killed["server"], x.killed["worker"], x.killed["child"], x.ended, x.ended, x.charged, x.attacks.Load())
	})
}

// chaos is a deployment that is attacked and killed.
type chaos struct {
	t             *testing.T
	dep           deployment
	random        *rand.Rand
	db            *db.DB
	model         *scriptedModel
	flags         []string
	honest, bad   string // tokens
	team          string // the honest one
	corpus        string
	templates     []hostileTemplate
	receiver      *receiver
	work          *honestWork
	took          time.Duration // the work, without chaos
	base          atomic.Value  // of the server
	server        server
	worker        *process // nil on SQLite
	killed        map[string]int
	charged       int // attempts whose process was killed
	ended         int // scans, and as many tasks
	attacks       atomic.Int64
	mu            sync.Mutex
	lost          map[int64]int // how often a job's lease was ended because of a killed process
	killedInRound int           // processes
}

func newChaos(t *testing.T, dep deployment, rounds int, random *rand.Rand) *chaos {
	x := &chaos{t: t, dep: dep, random: random, killed: map[string]int{}, lost: map[int64]int{},
		corpus: newCorpusSite(t), templates: corpusTemplates(t), receiver: newReceiver(t)}
	talks := map[string][]modelReply{}
	for n := range rounds {
		text := holdingTemplate(nameOf("task", n)).text
		run := callTool("run_template_text", "targets", []string{x.corpus}, "template", text)
		talks[nameOf("round", n)] = []modelReply{run, run, {text: "Done."}}
	}
	x.model = newScriptedModel(t, talks)
	x.bad, x.honest = dep.admin("mallory@example.com"), dep.admin("honest@example.com")
	x.db = dep.openDB()
	x.flags = []string{"--engine-memory", "256", "--webhook-allow", "127.0.0.0/8", "--llm-provider", "openai",
		"--llm-base-url", x.model.URL + "/v1", "--llm-model", "test-model", "--llm-context", "128000"}
	x.serve()
	site := httptest.NewServer(weaksite.New(1))
	t.Cleanup(site.Close)
	x.as(x.honest).call("PATCH", "/api/v1/teams", map[string]string{"webhook_url": x.receiver.URL}, nil)
	x.work = undisturbed(x.as(x.honest), site.URL)
	began := time.Now()
	x.begin()
	x.work.check(x.as(x.honest))
	x.took = time.Since(began)
	x.team = teamOf(t, x.db, x.work.tasks[0])
	if x.db.URL != "" {
		x.worker = dep.startWorker(x.flags...)
		x.endLeases()
	}
	x.attack()
	return x
}

// nameOf names something of a round so that no name is part of another.
func nameOf(what string, round int) string { return fmt.Sprintf("%s-%04dx", what, round) }

func (x *chaos) as(token string) caller { return x.server.as(token) }

func (x *chaos) serve() {
	x.server = x.dep.serve(x.flags...)
	x.base.Store(x.server.base)
}

// begin launches the work of the honest team.
func (x *chaos) begin() {
	c := x.as(x.honest)
	x.work.scans = []string{c.launchScan(x.work.site)}
	x.work.tasks = []string{c.honestTask(x.work.site, "completion_delivery", "webhook")}
}

// round does some work, with kills while it goes on, and checks it.
func (x *chaos) round(n int) {
	x.killedInRound = 0
	stop := x.disturb(n)
	x.begin()
	for range 1 + x.random.IntN(3) {
		time.Sleep(time.Duration(x.random.Int64N(int64(x.took / 2)))) // a random moment is what is tested
		x.kill()
	}
	x.work.check(x.as(x.honest))
	x.ended += len(x.work.scans)
	for _, id := range x.work.tasks {
		x.checkSteps(id)
		x.checkDelivery(id)
	}
	stop()
	for _, p := range x.processes() {
		if p.hasEnded() {
			x.t.Errorf("a process ended that was not killed: %v", p.err)
		}
	}
	x.checkCharges()
}

// disturb has the hostile team scan with hostile templates, and a model of its run one. They are new in each round, as
// those that end a child are set aside. stop ends them.
func (x *chaos) disturb(n int) (stop func()) {
	c := x.as(x.bad)
	var scans []string
	for _, one := range x.random.Perm(len(x.templates))[:3] {
		text := x.templates[one].text + "\n# " + nameOf("round", n)
		if id, ok := x.tryScan(hostileTemplate{x.templates[one].name, text}); ok {
			scans = append(scans, id)
		}
	}
	scans = append(scans, c.scanWith(x.corpus, []hostileTemplate{holdingTemplate(nameOf("scan", n))}))
	var made struct {
		ID string `json:"task_id"`
	}
	c.call("POST", "/api/v1/tasks", object("task", "look at "+x.corpus+" in "+nameOf("round", n),
		"scope", object("intrusiveness", "intrusive")), &made)
	return func() {
		x.as(x.bad).try("/api/v1/tasks/"+made.ID+"/abort", nil, nil) // it may have ended
		for _, id := range scans {
			x.as(x.bad).try("/v1/scans/"+id+"/stop", nil, nil)
		}
	}
}

// tryScan launches a scan with a template of the corpus. Some are refused.
func (x *chaos) tryScan(one hostileTemplate) (id string, ok bool) {
	var made struct{ ID string }
	ok = x.as(x.bad).try("/v1/scans", object("targets", []string{x.corpus}, "private_templates",
		[]any{object("name", one.name+".yaml", "contents", one.text)}), &made)
	return made.ID, ok
}

// try posts what may be refused.
func (c caller) try(path string, body, out any) (ok bool) {
	c.t.Helper()
	resp, err := c.do(c.t.Context(), "POST", path, "application/json", body)
	if err != nil {
		c.t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode >= http.StatusInternalServerError {
		c.t.Fatalf("POST %s: %s", path, resp.Status)
	}
	return resp.StatusCode/100 == 2 && (out == nil || json.NewDecoder(resp.Body).Decode(out) == nil)
}

func (x *chaos) processes() []*process {
	if x.worker == nil {
		return []*process{x.server.process}
	}
	return []*process{x.server.process, x.worker}
}

// kill ends a random process or child with SIGKILL, and starts the process again.
func (x *chaos) kill() {
	all := x.processes()
	p := all[x.random.IntN(len(all))]
	if children := childrenOf(x.t, p.cmd.Process.Pid); len(children) > 0 && x.random.IntN(2) == 0 {
		_ = syscall.Kill(children[x.random.IntN(len(children))], syscall.SIGKILL) // it may end now
		x.killed["child"]++
		return
	}
	if p.hasEnded() {
		x.t.Fatalf("a process ended that was not killed: %v", p.err)
	}
	p.kill()
	x.killedInRound++
	if x.worker == nil {
		x.endLeasesSilentFor(0) // the only process
	}
	if p == x.worker {
		x.killed["worker"]++
		x.worker = x.dep.startWorker(x.flags...)
		return
	}
	x.killed["server"]++
	if x.random.IntN(4) == 0 { // also while it starts
		again := launch(x.t, x.dep.env, append([]string{"serve"}, x.flags...)...)
		time.Sleep(time.Duration(x.random.Int64N(int64(time.Second))))
		again.kill()
		x.killed["server"]++
		if x.worker == nil {
			x.endLeasesSilentFor(0)
		}
	}
	x.serve()
}

func (p *process) hasEnded() bool {
	select {
	case <-p.ended:
		return true
	default:
		return false
	}
}

// childrenOf are the child processes of a process.
func childrenOf(t *testing.T, parent int) (pids []int) {
	t.Helper()
	entries, err := os.ReadDir("/proc")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		stat, err := os.ReadFile("/proc/" + e.Name() + "/stat")
		if err != nil {
			continue // it has ended
		}
		fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
		if fields[1] == strconv.Itoa(parent) && fields[0] != "Z" {
			pids = append(pids, pid)
		}
	}
	return pids
}

// hostileBodies are bodies of requests that cost their reader the most for each byte.
func hostileBodies() []string {
	numbers := strings.Repeat("1,", 130_000) + "1"
	long := strings.Repeat("k", 250_000)
	var keys strings.Builder
	for i := range 60_000 {
		fmt.Fprintf(&keys, `"k%d":1,`, i%7)
	}
	return []string{
		`{"` + long + `":[` + numbers + `]}`,
		strings.Repeat("[", 500_000),
		strings.Repeat(`{"a":`, 100_000) + "1" + strings.Repeat("}", 100_000),
		`{` + keys.String() + `"email":"a@example.com"}`,
		`{"email":` + strings.Repeat("9", 400_000) + `}`,
		`{"email":"` + strings.Repeat(`\ud800`, 80_000) + `"}`,
		`{"task":"` + strings.Repeat("http://127.0.0.1/ ", 25_000) + `"}`,
		`{"targets":["` + strings.Repeat(`0.0.0.0/0","`, 30_000) + `"]}`,
	}
}

// attack sends hostile requests, one after the other, until the end of the test.
func (x *chaos) attack() {
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan struct{})
	bodies, paths := hostileBodies(), []string{"/api/v1/auth/login", "/api/v1/tasks", "/v1/scans"}
	go func() {
		defer close(done)
		for n := 0; ; n++ {
			select {
			case <-ctx.Done():
				return
			case <-time.After(20 * time.Millisecond): // the attack is what a request costs, not their number
			}
			req, err := http.NewRequestWithContext(ctx, "POST", x.base.Load().(string)+paths[n%len(paths)],
				strings.NewReader(bodies[n%len(bodies)]))
			if err != nil {
				continue
			}
			req.Header.Set("Content-Type", "application/json")
			req.Header.Set("Authorization", "Bearer "+x.bad)
			resp, err := http.DefaultClient.Do(req)
			if err != nil {
				continue // the server was killed
			}
			resp.Body.Close()
			x.attacks.Add(1)
			if resp.StatusCode >= http.StatusInternalServerError && resp.StatusCode != http.StatusServiceUnavailable {
				x.t.Errorf("POST %s: %s to %.60s", req.URL.Path, resp.Status, bodies[n%len(bodies)])
			}
		}
	}()
	x.t.Cleanup(func() {
		stop()
		<-done
	})
}
