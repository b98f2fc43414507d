package engine_test

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/vedette-sec/vedette/internal/engine"
	"github.com/vedette-sec/vedette/internal/engine/event"
	"github.com/vedette-sec/vedette/internal/engine/program"
)

// paths makes n templates that each find what answers 200 at a path of their own.
func paths(t testing.TB, n int) (programs []*program.Program) {
	for i := range n {
		programs = append(programs, found(t, fmt.Sprintf("p%d", i), fmt.Sprintf("/%d", i)))
	}
	return programs
}

// mortal is a site that dies after some answers, and is back when its root has been asked
// for several times: as the engine does with a host in doubt.
func mortal(answers, attempts int32) (site http.HandlerFunc, refused *atomic.Int32) {
	var answered, asked atomic.Int32
	refused = new(atomic.Int32)
	return func(w http.ResponseWriter, r *http.Request) {
		if answered.Add(1) <= answers || asked.Load() >= attempts {
			return
		}
		if r.URL.Path == "/" && asked.Add(1) >= attempts {
			return
		}
		refused.Add(1)
		panic(http.ErrAbortHandler)
	}, refused
}

// A host that is gone for a while is asked again, and only those requests are lost that
// had failed before it was in doubt.
func TestHostThatComesBack(t *testing.T) {
	site, refused := mortal(30, 2)
	e := newEngine(t, engine.Config{PerHost: 4,
		RecheckPauses: []time.Duration{time.Millisecond, time.Millisecond, time.Millisecond}})
	report, events, _ := run(t, e, engine.Scan{Targets: []string{serve(t, site)}, Programs: paths(t, 100)})
	counts := report.Counts()
	if counts[engine.Failed] > 8 || counts[engine.Tested] < 92 || len(events) != counts[engine.Tested] ||
		refused.Load() < 8 {
		t.Errorf("counts %v, %d events, %d refused", counts, len(events), refused.Load())
	}
}

// A target that accepts connections and never answers costs two waits, whatever there is to ask, and the next target on
// its host none.
func TestTargetThatNeverAnswers(t *testing.T) {
	t.Parallel()
	for _, scheme := range []string{"http://", "https://", ""} {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		var taken atomic.Int32
		go func() {
			for c, err := l.Accept(); err == nil; c, err = l.Accept() {
				taken.Add(1)
				defer c.Close()
			}
		}()
		e := newEngine(t, engine.Config{Timeout: 50 * time.Millisecond, Retries: 3,
			RecheckPauses: []time.Duration{time.Hour}})
		at := scheme + l.Addr().String()
		report, _, _ := run(t, e, engine.Scan{Targets: []string{at, at + "/app"}, Programs: paths(t, 6), Parallel: 1})
		if n := taken.Load(); n > 2 || report.Counts()[engine.Failed] != 12 {
			t.Errorf("%s: %d connections, %v", at, n, report.Counts())
		}
	}
}

// With retries, a host that comes back loses nothing at all.
func TestRetriesOutlastADeath(t *testing.T) {
	t.Parallel()
	site, refused := mortal(30, 2)
	e := newEngine(t, engine.Config{PerHost: 4, Retries: 3,
		RecheckPauses: []time.Duration{time.Millisecond, time.Millisecond, time.Millisecond}})
	report, events, _ := run(t, e, engine.Scan{Targets: []string{serve(t, site)}, Programs: paths(t, 60)})
	if counts := report.Counts(); counts[engine.Tested] != 60 || len(events) != 60 || refused.Load() < 8 {
		t.Errorf("counts %v, %d events, %d refused", counts, len(events), refused.Load())
	}
}

// A host that wants fewer requests gets fewer, and every request its answer in the end.
func TestTooManyRequests(t *testing.T) {
	t.Parallel()
	var seen, complaints atomic.Int32
	var quiet sync.Once
	var until time.Time // which it wants to be left alone
	target := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if seen.Add(1) <= 40 {
			return
		}
		quiet.Do(func() { until = time.Now().Add(300 * time.Millisecond) })
		if complaints.Load() == 0 || time.Now().Before(until) {
			complaints.Add(1)
			w.Header().Set("Retry-After", "0")
			w.WriteHeader(http.StatusTooManyRequests)
		}
	})
	report, events, _ := run(t, newEngine(t, engine.Config{PerHost: 8}),
		engine.Scan{Targets: []string{target}, Programs: paths(t, 120)})
	if counts := report.Counts(); counts[engine.Tested] != 120 || len(events) != 120 || complaints.Load() == 0 {
		t.Errorf("counts %v, %d events, %d complaints", counts, len(events), complaints.Load())
	}
}

// A path that answers 429 by itself is asked for a second time, holds nobody up, and is
// judged as it answers.
func TestOnePathThatComplains(t *testing.T) {
	t.Parallel()
	var seen counter
	target := serve(t, func(w http.ResponseWriter, r *http.Request) {
		seen.add(r.URL.Path)
		if r.URL.Path == "/3" {
			w.WriteHeader(http.StatusTooManyRequests)
		}
	})
	programs := append(paths(t, 50),
		template(t, "busy", "  - path: ['{{BaseURL}}/3']\n    matchers: [{type: status, status: [429]}]\n"))
	start := time.Now()
	report, events, _ := run(t, newEngine(t, engine.Config{PerHost: 2}),
		engine.Scan{Targets: []string{target}, Programs: programs})
	if len(events) != 50 || report.Partial() || seen.get("/3") != 2 {
		t.Errorf("%d events, %v, asked %d times", len(events), report.Counts(), seen.get("/3"))
	}
	if took := time.Since(start); took > 9*time.Second {
		t.Errorf("it took %v", took)
	}
}

func TestHostRate(t *testing.T) {
	t.Parallel()
	site := func(w http.ResponseWriter, r *http.Request) {}
	targets := []string{serve(t, site), serve(t, site)}
	start := time.Now()
	run(t, newEngine(t, engine.Config{HostRate: 50}), engine.Scan{Targets: targets, Programs: paths(t, 22)})
	// 25 requests to each host, 5 of them at once; the hosts do not wait for each other.
	if took := time.Since(start); took < 380*time.Millisecond {
		t.Errorf("two times 25 requests at 50/s a host took %v", took)
	}
}

func TestBudget(t *testing.T) {
	var seen counter
	target := serve(t, func(w http.ResponseWriter, r *http.Request) { seen.add("") })
	report, events, last := run(t, newEngine(t, engine.Config{PerHost: 4}), engine.Scan{
		Targets: []string{target}, Programs: append(paths(t, 40), mixed(t)...), MaxRequests: 20,
	})
	counts := report.Counts()
	if counts[engine.Budget] < 20 || counts[engine.Failed] != 0 || !report.Partial() || len(events) == 0 {
		t.Errorf("counts %v, %d events", counts, len(events))
	}
	if report.Requests != 20 || seen.get("") != 20 || last.Requests != 20 {
		t.Errorf("%d requests were sent, the report says %d", seen.get(""), report.Requests)
	}
}

// A budget goes to payloads in their order, and what was sent is waited for and judged.
func TestBudgetGoesToPayloadsInOrder(t *testing.T) {
	var under sync.WaitGroup
	under.Add(4)
	target := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if n := r.URL.Query().Get("n"); n != "" {
			under.Done()
			under.Wait() // the last tuple that is paid for is under way, too
			fmt.Fprint(w, n)
		}
	})
	many := template(t, "many", `  - path: ["{{BaseURL}}/?n={{n}}"]
    payloads: {n: [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t]}
    matchers: [{type: status, status: [200]}]
`)
	_, events, _ := run(t, newEngine(t, engine.Config{PerHost: 10}),
		engine.Scan{Targets: []string{target}, Programs: []*program.Program{many}, MaxRequests: 5})
	var hit []string
	for _, ev := range events {
		_, n, _ := strings.Cut(ev.MatchedAt, "n=")
		hit = append(hit, n)
	}
	if got := strings.Join(hit, ""); got != "abcd" {
		t.Errorf("findings of %q", got)
	}
}

// Two scans in one engine share the bound of a host, and each sees what it should.
func TestScansShareAnEngine(t *testing.T) {
	var now, most atomic.Int32
	target := serve(t, func(w http.ResponseWriter, r *http.Request) {
		n := now.Add(1)
		defer now.Add(-1)
		for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
		}
		mixedSite(w, r)
	})
	e := newEngine(t, engine.Config{PerHost: 3})
	programs := mixed(t)
	results := make(chan int, 4)
	for range cap(results) {
		go func() {
			n := 0
			_, err := e.Run(context.Background(),
				engine.Scan{Targets: []string{target}, Programs: programs, OnEvent: func(engine.Event) { n++ }})
			if err != nil {
				n = -1
			}
			results <- n
		}()
	}
	first := <-results
	for range cap(results) - 1 {
		if n := <-results; n != first || n < 5 {
			t.Errorf("%d events, and %d of another scan", n, first)
		}
	}
	if most.Load() > 3 {
		t.Errorf("%d requests at a time", most.Load())
	}
}

// A server that drops what it does not know is tested all the same.
func TestServerThatDropsMissingPaths(t *testing.T) {
	target := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/" && r.URL.Path != "/5" {
			panic(http.ErrAbortHandler)
		}
	})
	report, events, _ := run(t, newEngine(t, engine.Config{}),
		engine.Scan{Targets: []string{target}, Programs: []*program.Program{found(t, "five", "/5"), found(t, "six", "/6")}})
	if len(events) != 1 || events[0].TemplateID != "five" || !report.Targets[0].Alive {
		t.Errorf("%d events, %+v", len(events), report.Counts())
	}
}

// Hosts that many templates match are marked, and so are findings there; none is hidden.
func TestMatchDensity(t *testing.T) {
	trap := serve(t, func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, "all you want") })
	honest := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/3" {
			http.NotFound(w, r)
		}
	})
	report, events, _ := run(t, newEngine(t, engine.Config{PerHost: 1}),
		engine.Scan{Targets: []string{trap, honest}, Programs: paths(t, 30)})
	if len(events) != 31 {
		t.Fatalf("%d events", len(events))
	}
	dense := 0
	for _, ev := range events {
		if ev.Target == honest && len(ev.Marks) > 0 {
			t.Errorf("a finding on an honest host has marks: %v", ev.Marks)
		}
		if ev.Target == trap && !slices.Contains(ev.Marks, event.AnswersAlike) {
			t.Error("a finding at a path of a wall has no mark")
		}
		if slices.Contains(ev.Marks, event.MatchDensity) {
			dense++
		}
	}
	if dense != 16 { // from the fifteenth on
		t.Errorf("%d findings are marked as too many", dense)
	}
	if got := fmt.Sprint(report.Targets[0].Marks, report.Targets[1].Marks); got != "[answers_alike match_density] []" ||
		report.Targets[0].Matched != 30 {
		t.Errorf("marks %s", got)
	}
}

// A cancelled scan in the middle of payloads, redirects and slow bodies leaves nothing
// behind: no goroutine of the engine, no descriptor.
func TestNoLeakOfSessions(t *testing.T) {
	release := make(chan struct{})
	var started atomic.Int32
	enough := make(chan struct{})
	target := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/slow") {
			fmt.Fprint(w, "begun")
			w.(http.Flusher).Flush()
			if started.Add(1) == 3 {
				close(enough)
			}
			select {
			case <-release:
			case <-r.Context().Done():
			}
			return
		}
		mixedSite(w, r)
	})
	defer close(release)
	programs := append(mixed(t),
		template(t, "slow", "  - path: ['{{BaseURL}}/slow/{{n}}']\n    payloads: {n: [1, 2, 3, 4, 5, 6, 7, 8, 9]}\n    matchers: [{type: status, status: [200]}]\n"),
		template(t, "race", "  - race: true\n    race_count: 3\n    raw: [\"GET /slow/race HTTP/1.1\\nHost: {{Hostname}}\\n\\n\"]\n    matchers: [{type: status, status: [200]}]\n"))
	var open atomic.Int32
	e := engine.New(engine.Config{Timeout: time.Minute, PerHost: 4,
		Dial: func(ctx context.Context, network, addr string) (net.Conn, error) {
			conn, err := (&net.Dialer{}).DialContext(ctx, network, addr)
			if err == nil {
				open.Add(1)
				conn = &counted{Conn: conn, open: &open}
			}
			return conn, err
		}})
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-enough
		cancel()
	}()
	report, _, _ := runIn(t, ctx, e, engine.Scan{Targets: []string{target}, Programs: programs})
	if report.Counts()[engine.Skipped] == 0 {
		t.Errorf("nothing was interrupted: %v", report.Counts())
	}
	e.Close()
	waitGone(t, &open)
}
