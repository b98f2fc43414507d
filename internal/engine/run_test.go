package engine_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/vedette-sec/vedette/internal/engine"
	"github.com/vedette-sec/vedette/internal/engine/program"
	"github.com/vedette-sec/vedette/internal/infra/errs"
)

// Eight equal hosts give eight times what one gives, every time: templates of all kinds,
// many at a time.
func TestEqualHostsGiveEqualFindings(t *testing.T) {
	t.Parallel()
	programs := mixed(t)
	one := serve(t, mixedSite)
	e := newEngine(t, engine.Config{Concurrency: 16, PerHost: 4})
	alone, events, _ := run(t, e, engine.Scan{Targets: []string{one}, Programs: programs})
	var want []string
	for _, ev := range events {
		want = append(want, strings.ReplaceAll(said(ev), one, "HOST"))
	}
	slices.Sort(want)
	var targets []string
	for range 8 {
		targets = append(targets, serve(t, mixedSite))
	}
	for range 20 {
		report, events, last := run(t, e, engine.Scan{Targets: targets, Programs: programs})
		byTarget := map[string][]string{}
		for _, ev := range events {
			byTarget[ev.Target] = append(byTarget[ev.Target], strings.ReplaceAll(said(ev), ev.Target, "HOST"))
		}
		for _, target := range targets {
			if slices.Sort(byTarget[target]); !slices.Equal(byTarget[target], want) {
				t.Fatalf("one of eight hosts\n got %q\nwant %q", byTarget[target], want)
			}
		}
		if report.Events != 8*len(want) || last.Matched != report.Events || report.Partial() ||
			report.Requests != 8*alone.Requests {
			t.Fatalf("%d events, %d matched, %d requests, %v", report.Events, last.Matched, report.Requests, report.Counts())
		}
		if last.Done != last.Total || last.TargetsDone != 8 || last.Requests != report.Requests {
			t.Fatalf("progress %+v", last)
		}
	}
}

func TestTargetThatIsNotThere(t *testing.T) {
	const gone = "http://127.0.0.1:1"
	alive := serve(t, func(w http.ResponseWriter, r *http.Request) {})
	programs := []*program.Program{found(t, "a", "/a"), found(t, "b", "/b")}
	report, _, last := run(t, newEngine(t, engine.Config{}),
		engine.Scan{Targets: []string{gone, "ftp://x", alive, alive}, Programs: programs})
	if !report.Partial() || len(report.Targets) != 3 {
		t.Errorf("partial %v, %d targets", report.Partial(), len(report.Targets))
	}
	if first := report.Targets[0]; first.Alive || first.Reason != "dial: connect: connection refused" {
		t.Errorf("%+v", first)
	}
	const refused, strange = "failed dial: connect: connection refused",
		`failed "ftp://x" is not a target: only http, https, ws and wss can be tested.`
	wantCells(t, report, "a "+refused, "b "+refused, "a "+strange, "b "+strange, "a tested", "b tested")
	if last.Done != last.Total || last.TargetsDone != 3 || last.Errors == 0 {
		t.Errorf("progress %+v", last)
	}
}

func TestNothingToDo(t *testing.T) {
	e := newEngine(t, engine.Config{})
	for _, scan := range []engine.Scan{{}, {Targets: []string{"x"}}, {Programs: []*program.Program{found(t, "a", "/")}}} {
		if _, err := e.Run(t.Context(), scan); !errs.Is(err, errs.Invalid) {
			t.Errorf("%v", err)
		}
	}
}

// A host that dies in the middle is given up after few requests, and exactly the
// templates that it left unanswered have failed.
func TestHostThatDies(t *testing.T) {
	var answered atomic.Int32
	target := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if answered.Add(1) > 20 {
			panic(http.ErrAbortHandler)
		}
	})
	var programs []*program.Program
	for i := range 200 {
		programs = append(programs, found(t, fmt.Sprintf("p%d", i), fmt.Sprintf("/%d", i)))
	}
	report, events, last := run(t, newEngine(t,
		engine.Config{PerHost: 2, RecheckPauses: []time.Duration{time.Millisecond}}),
		engine.Scan{Targets: []string{target}, Programs: programs})
	counts := report.Counts()
	if counts[engine.Tested] != 17 || counts[engine.Failed] != 183 || len(events) != 17 {
		t.Errorf("counts %v, %d events; want 17 tested (20 answers, 3 of them to canaries) and 183 failed", counts,
			len(events))
	}
	if last.Requests > 60 {
		t.Errorf("%d requests to a dead host", last.Requests)
	}
	if _, reason := report.Targets[0].Cell(199); !strings.HasPrefix(reason, "the host stopped answering") {
		t.Errorf("reason %q", reason)
	}
}

func TestCancel(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	var seen counter
	target := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/hang" {
			seen.add("hang")
			cancel()
			<-r.Context().Done()
		}
	})
	programs := []*program.Program{found(t, "first", "/first"), found(t, "hang", "/hang"), found(t, "never", "/never")}
	e := newEngine(t, engine.Config{PerHost: 1, Timeout: time.Minute})
	start := time.Now()
	report, _, _ := runIn(t, ctx, e, engine.Scan{Targets: []string{target, target + "/2"}, Programs: programs})
	if took := time.Since(start); took > 30*time.Second { // the hanging request alone would last a minute
		t.Errorf("stopping took %v", took)
	}
	if seen.get("hang") == 0 {
		t.Error("the scan was not under way")
	}
	if got := report.Counts(); got[engine.Skipped] < 2 || got[engine.Skipped]+got[engine.Tested] != 6 ||
		!report.Partial() {
		t.Errorf("counts %v", got)
	}
	for c := range report.Cells() {
		if c.State == engine.Skipped && c.Reason != engine.Interrupted {
			t.Errorf("%+v", c)
		}
	}
}

func TestScope(t *testing.T) {
	inside := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/out" {
			http.Redirect(w, r, "http://127.0.0.2:1/", http.StatusFound)
		}
	})
	var outside counter
	e := newEngine(t, engine.Config{Retries: 3, Dial: func(ctx context.Context, network, addr string) (net.Conn, error) {
		if "http://"+addr != inside {
			outside.add(addr)
			return nil, errs.New(errs.Forbidden, "out_of_scope", "%s is out of scope.", addr)
		}
		return (&net.Dialer{}).DialContext(ctx, network, addr)
	}})
	out := template(t, "out", "  - path: ['{{BaseURL}}/out']\n    redirects: true\n    matchers: [{type: status, status: [302]}]\n")
	elsewhere := template(t, "elsewhere",
		"  - path: ['http://127.0.0.3:1/x']\n    matchers: [{type: status, status: [200]}]\n")
	report, events, _ := run(t, e, engine.Scan{Targets: []string{inside, "http://127.0.0.4:1"},
		Programs: []*program.Program{out, elsewhere}})
	wantCells(t, report,
		"out tested", "elsewhere denied 127.0.0.3:1 is out of scope.",
		"out denied 127.0.0.4:1 is out of scope.", "elsewhere denied 127.0.0.4:1 is out of scope.")
	if len(events) != 1 || events[0].TemplateID != "out" {
		t.Errorf("a redirect out of scope is judged by itself: %+v", events)
	}
	if outside.get("127.0.0.3:1") != 1 {
		t.Errorf("a refusal was asked for %d times", outside.get("127.0.0.3:1"))
	}
}

func TestRetries(t *testing.T) {
	t.Parallel()
	var seen counter
	target := serve(t, func(w http.ResponseWriter, r *http.Request) {
		// The transport itself repeats a GET once when a kept connection breaks.
		if seen.add(r.Method+r.URL.Path) <= 2 && strings.HasPrefix(r.URL.Path, "/flaky") {
			panic(http.ErrAbortHandler)
		}
	})
	post := template(t, "post", "  - method: POST\n    path: ['{{BaseURL}}/flaky-post']\n    body: x\n    matchers: [{type: status, status: [200]}]\n")
	report, _, _ := run(t, newEngine(t, engine.Config{Retries: 2}), engine.Scan{
		Targets: []string{target}, Programs: []*program.Program{found(t, "get", "/flaky"), post},
	})
	wantCells(t, report, "get tested", "post failed the connection ended without an answer")
	if n := seen.get("POST/flaky-post"); n != 1 {
		t.Errorf("a POST that may have worked was sent %d times", n)
	}
}

func TestRateLimit(t *testing.T) {
	t.Parallel()
	target := serve(t, func(w http.ResponseWriter, r *http.Request) {})
	e := newEngine(t, engine.Config{RateLimit: 50})
	var programs []*program.Program
	for i := range 22 {
		programs = append(programs, found(t, fmt.Sprintf("p%d", i), fmt.Sprintf("/%d", i)))
	}
	start := time.Now()
	run(t, e, engine.Scan{Targets: []string{target}, Programs: programs})
	if took := time.Since(start); took < 380*time.Millisecond { // 25 requests, 5 of them at once
		t.Errorf("25 requests at 50/s took %v", took)
	}
}

func TestConcurrencyIsBounded(t *testing.T) {
	var now, most atomic.Int32
	arrived := make(chan struct{}, 1000)
	target := serve(t, func(w http.ResponseWriter, r *http.Request) {
		n := now.Add(1)
		defer now.Add(-1)
		for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
		}
		arrived <- struct{}{}
		runtime.Gosched()
	})
	var programs []*program.Program
	for i := range 100 {
		programs = append(programs, found(t, fmt.Sprintf("p%d", i), fmt.Sprintf("/%d", i)))
	}
	// Two targets on one host share its bound.
	run(t, newEngine(t, engine.Config{Concurrency: 20, PerHost: 3}),
		engine.Scan{Targets: []string{target, target + "/sub"}, Programs: programs})
	if most.Load() > 3 || len(arrived) < 200 {
		t.Errorf("%d requests at a time, %d in all", most.Load(), len(arrived))
	}
}

func TestSchemeless(t *testing.T) {
	site := func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, "ok") }
	plain := strings.TrimPrefix(serve(t, site), "http://")
	s := httptest.NewUnstartedServer(http.HandlerFunc(site))
	s.Config.ErrorLog = quiet()
	s.StartTLS()
	t.Cleanup(s.Close)
	secure := strings.TrimPrefix(s.URL, "https://")
	p := []*program.Program{found(t, "a", "/a")}
	report, events, _ := run(t, newEngine(t, engine.Config{}),
		engine.Scan{Targets: []string{plain, secure + "/app"}, Programs: p})
	if a, b := report.Targets[0].URL, report.Targets[1].URL; a != "http://"+plain || b != "https://"+secure+"/app" {
		t.Errorf("%s, %s", a, b)
	}
	if len(events) != 2 {
		t.Errorf("%d events", len(events))
	}
}

// A body that stops coming is judged as far as it came.
func TestSlowBody(t *testing.T) {
	t.Parallel()
	target := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/slow" {
			fmt.Fprint(w, "beginning")
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		}
	})
	p := template(t, "slow", "  - path: ['{{BaseURL}}/slow']\n    matchers: [{type: word, words: [beginning]}]\n")
	_, events, _ := run(t, newEngine(t, engine.Config{Timeout: time.Second}),
		engine.Scan{Targets: []string{target}, Programs: []*program.Program{p}})
	if len(events) != 1 {
		t.Errorf("%d events", len(events))
	}
}

func TestSilentServerTimesOut(t *testing.T) {
	t.Parallel()
	target := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/silent" {
			<-r.Context().Done()
		}
	})
	report, _, _ := run(t, newEngine(t, engine.Config{Timeout: time.Second}),
		engine.Scan{Targets: []string{target}, Programs: []*program.Program{found(t, "silent", "/silent")}})
	wantCells(t, report, "silent failed timed out")
}

// After a scan that was cancelled and a Close, no goroutine of the engine and no
// connection is left.
func TestNoLeak(t *testing.T) {
	release := make(chan struct{})
	target := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/hang" {
			select {
			case <-release:
			case <-r.Context().Done():
			}
		}
	})
	defer close(release)
	var open atomic.Int32
	e := engine.New(engine.Config{Timeout: time.Minute,
		Dial: func(ctx context.Context, network, addr string) (net.Conn, error) {
			conn, err := (&net.Dialer{}).DialContext(ctx, network, addr)
			if err == nil {
				open.Add(1)
				conn = &counted{Conn: conn, open: &open}
			}
			return conn, err
		}})
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	runIn(t, ctx, e, engine.Scan{Targets: []string{target},
		Programs: []*program.Program{found(t, "a", "/a"), found(t, "h", "/hang")}})
	e.Close()
	waitGone(t, &open)
}

// waitGone waits until no goroutine of the engine and no connection is left.
func waitGone(t *testing.T, open *atomic.Int32) {
	t.Helper()
	deadline := time.Now().Add(time.Minute)
	for {
		left := engineStacks()
		if len(left) == 0 && open.Load() == 0 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d connections open, goroutines:\n%s", open.Load(), strings.Join(left, "\n\n"))
		}
		runtime.Gosched()
	}
}

type counted struct {
	net.Conn
	open   *atomic.Int32
	closed atomic.Bool
}

func (c *counted) Close() error {
	if c.closed.CompareAndSwap(false, true) {
		c.open.Add(-1)
	}
	return c.Conn.Close()
}

// engineStacks are the goroutines, other than tests, that the engine started.
func engineStacks() []string {
	buf := make([]byte, 1<<20)
	all := strings.Split(string(buf[:runtime.Stack(buf, true)]), "\n\n")
	return slices.DeleteFunc(all, func(s string) bool {
		return strings.Contains(s, "testing.") || !strings.Contains(s, "internal/engine.") &&
			!strings.Contains(s, "persistConn")
	})
}

// An event has the keys of the specification and no others, and hostile bytes are text.
func TestEventDocument(t *testing.T) {
	target := serve(t, func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, "a\x00b\xff\xfe'; rm -rf \u202e <script>")
	})
	p := template(t, "doc", "  - path: [\"{{BaseURL}}/it's\"]\n    matchers: [{type: word, name: m, words: [script]}]\n    extractors: [{type: regex, regex: ['(?s)a.b...']}]\n")
	_, events, _ := run(t, newEngine(t, engine.Config{}),
		engine.Scan{Targets: []string{target}, Programs: []*program.Program{p}})
	data, err := json.Marshal(events[0])
	if err != nil || strings.Contains(string(data), `\u0000`) || strings.Contains(string(data), `\ufffd`) {
		t.Fatalf("%v %s", err, data)
	}
	var doc map[string]any
	if err := json.Unmarshal(data, &doc); err != nil {
		t.Fatal(err)
	}
	known := []string{"curl-command", "extracted-results", "extractor-name", "host", "info", "ip", "matched-at",
		"matched-line", "matcher-name",
		"matcher-status", "path", "request", "response", "template-id", "template-path", "timestamp", "type", "error",
		"issue_trackers", "port", "marks"}
	for key := range doc {
		if !slices.Contains(known, key) {
			t.Errorf("the specification has no key %q", key)
		}
	}
	host, port, _ := net.SplitHostPort(strings.TrimPrefix(target, "http://"))
	for key, want := range map[string]any{
		"host": host, "port": port, "ip": "127.0.0.1", "path": "/it's", "type": "http", "matcher-name": "m",
		"matcher-status": true,
		"matched-at":     target + "/it's", "template-id": "doc", "template-path": "doc.yaml",
	} {
		if doc[key] != want {
			t.Errorf("%s is %v, want %v", key, doc[key], want)
		}
	}
	if got := events[0].ExtractedResults; !slices.Equal(got, []string{`a\x00b\xff\xfe'`}) {
		t.Errorf("extracted %q", got)
	}
	if !strings.HasSuffix(events[0].CurlCommand, ` '`+target+`/it'\''s'`) {
		t.Errorf("curl %s", events[0].CurlCommand)
	}
	if ts, err := time.Parse(time.RFC3339, doc["timestamp"].(string)); err != nil || ts.Location() != time.UTC {
		t.Errorf("timestamp %v %v", doc["timestamp"], err)
	}
	if !strings.HasPrefix(events[0].Request, "GET /it's HTTP/1.1\r\nHost: "+host) ||
		!strings.HasPrefix(events[0].Response, "HTTP/1.1 200 OK\r\n") {
		t.Errorf("evidence %q %q", events[0].Request, events[0].Response)
	}
}

// A place out of scope stays denied however often it is asked for, and does not count
// against the target.
func TestDeniedIsNotSilence(t *testing.T) {
	target := serve(t, func(w http.ResponseWriter, r *http.Request) {})
	e := newEngine(t, engine.Config{PerHost: 1, Dial: func(ctx context.Context, network, addr string) (net.Conn, error) {
		if "http://"+addr != target {
			return nil, errs.New(errs.Forbidden, "out_of_scope", "out of scope")
		}
		return (&net.Dialer{}).DialContext(ctx, network, addr)
	}})
	var programs []*program.Program
	for i := range 20 {
		programs = append(programs, template(t, fmt.Sprintf("p%d", i),
			fmt.Sprintf("  - path: ['http://127.0.0.9:1/%d', '{{BaseURL}}/%d']\n    matchers: [{type: status, status: [200]}]\n",
				i, i)))
	}
	report, events, _ := run(t, e, engine.Scan{Targets: []string{target}, Programs: programs})
	if got := report.Counts(); got[engine.Denied] != 20 || len(events) != 20 {
		t.Errorf("counts %v, %d events", got, len(events))
	}
}

// A scan whose time is up while requests wait for the rate limit was interrupted; none
// of them failed.
func TestDeadlineUnderRateLimit(t *testing.T) {
	t.Parallel()
	target := serve(t, func(w http.ResponseWriter, r *http.Request) {})
	var programs []*program.Program
	for i := range 20 {
		programs = append(programs, found(t, fmt.Sprintf("p%d", i), fmt.Sprintf("/%d", i)))
	}
	ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
	defer cancel()
	report, _, _ := runIn(t, ctx, newEngine(t, engine.Config{RateLimit: 10}),
		engine.Scan{Targets: []string{target}, Programs: programs})
	if got := report.Counts(); got[engine.Failed] != 0 || got[engine.Skipped] == 0 ||
		got[engine.Skipped]+got[engine.Tested] != 20 {
		t.Errorf("counts %v", got)
	}
}

// Whoever is told of an event may ask the engine about it at once.
func TestConfirmWhileRunning(t *testing.T) {
	target := serve(t, func(w http.ResponseWriter, r *http.Request) {})
	e := newEngine(t, engine.Config{Concurrency: 1, PerHost: 1})
	p := found(t, "a", "/a")
	confirmed := false
	_, err := e.Run(t.Context(), engine.Scan{Targets: []string{target}, Programs: []*program.Program{p},
		OnEvent: func(ev engine.Event) {
			_, confirmed, _ = e.Confirm(t.Context(), target, p, ev)
		}})
	if err != nil || !confirmed {
		t.Error(err, confirmed)
	}
}

// TestEventPath: the path of an event is that of the request which the response answers, also in a target below a path
// and after a redirect.
func TestEventPath(t *testing.T) {
	target := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/app/from" {
			http.Redirect(w, r, "/to/here?x=1", http.StatusFound)
			return
		}
		fmt.Fprint(w, "page")
	})
	for path, want := range map[string]string{
		"{{BaseURL}}": "/app", "{{BaseURL}}/a?b=1": "/app/a", "{{RootURL}}": "/", "{{BaseURL}}/from": "/to/here",
	} {
		p := template(t, "p", "  - path: ['"+path+"']\n    redirects: true\n    matchers: [{type: word, words: [page]}]\n")
		_, events, _ := run(t, newEngine(t, engine.Config{}),
			engine.Scan{Targets: []string{target + "/app"}, Programs: []*program.Program{p}})
		if len(events) != 1 || events[0].Path != want || events[0].Target != target+"/app" {
			t.Errorf("%s: %+v, want %s", path, events, want)
		}
	}
}

// A target whose every answer is an error of the server was not tested, except by what matched an error. One answer
// that is none, whether of a template or of a missing path, shows that it is there.
func TestTargetThatIsDown(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		fine string // the path that is answered without an error
		want [3]engine.State
	}{
		"down":        {"none", [3]engine.State{engine.Failed, engine.Failed, engine.Tested}},
		"one answers": {"/b", [3]engine.State{engine.Tested, engine.Tested, engine.Tested}},
	} {
		t.Run(name, func(t *testing.T) {
			target := serve(t, func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path == c.fine {
					return
				}
				http.Error(w, "back soon", http.StatusServiceUnavailable)
			})
			report, _, _ := run(t, newEngine(t, engine.Config{}), engine.Scan{Targets: []string{target}, Programs: []*program.Program{
				found(t, "a", "/a"), found(t, "b", "/b"),
				template(t, "c", "  - path: ['{{BaseURL}}/c']\n    matchers: [{type: status, status: [503]}]\n"),
			}})
			for i, want := range c.want {
				if state, reason := report.Targets[0].Cell(i); state != want || (reason != "") != (want == engine.Failed) {
					t.Errorf("%d is %s (%s), want %s", i, state, reason, want)
				}
			}
		})
	}
}
