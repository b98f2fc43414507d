package child_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/vedette-sec/vedette/internal/engine"
	"github.com/vedette-sec/vedette/internal/engine/child"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/netguard/sockstest"
	"github.com/vedette-sec/vedette/internal/infra/traffic"
	"github.com/vedette-sec/vedette/internal/oast"
)

func TestMain(m *testing.M) {
	switch command := append(os.Args, "")[1]; command {
	case child.CommandOfTests(0)[0]:
		os.Exit(child.MainWith(os.Args[2:], os.Stdin, os.Stdout, hostile))
	case parentCommand:
		parent()
	case lateCommand:
		late(os.Args[2], os.Args[3])
	case pagesCommand:
		parentWithPages(os.Args[2], os.Args[3])
	case siteCommand:
		s := httptest.NewServer(http.HandlerFunc(needles))
		fmt.Println(s.URL)
		select {}
	}
	os.Exit(m.Run())
}

const (
	parentCommand = "parent-of-tests"
	lateCommand   = "engine-that-starts-late" // ends some times before it greets
	siteCommand   = "site-of-tests"           // serves needles until it is killed
)

// hostile does what the path of a template says.
func hostile(path string) error {
	switch path {
	case "crash.yaml":
		go panic("the template makes the engine panic where nobody recovers")
		select {}
	case "compute.yaml":
		for n := 0; ; n++ {
			runtime.KeepAlive(n)
		}
	case "grow.yaml":
		var all [][]byte
		for {
			block := make([]byte, 1<<20)
			for i := range block {
				block[i] = 1
			}
			all = append(all, block)
			runtime.KeepAlive(all)
		}
	case "huge.yaml":
		runtime.KeepAlive(make([]byte, 1<<45))
	case "look.yaml":
		return look()
	}
	return nil
}

// look tells what a child sees of the machine.
func look() error {
	_, gone := os.Getwd()
	written := os.WriteFile("x", nil, 0o600)
	passwords := "not read"
	if _, err := os.ReadFile("/etc/passwd"); err == nil {
		passwords = "read"
	}
	_, denied := os.Stat("/etc/hosts")
	return errs.Field("x", "%d variables, folder %v, written %v, passwords %s, hosts %v", len(os.Environ()),
		gone != nil, written == nil, passwords, denied)
}

const testMemory = 256 << 20

func newPool(t testing.TB, c child.Config) *child.Pool {
	t.Helper()
	c.Memory = testMemory
	if c.Compute == 0 {
		c.Compute = time.Minute
	}
	c.Args = child.CommandOfTests(testMemory)
	p := child.New(c)
	t.Cleanup(func() {
		p.Close()
		if n := len(p.PIDs()); n != 0 {
			t.Errorf("%d children are left", n)
		}
	})
	return p
}

func template(name, rest string) child.Template {
	id := strings.TrimSuffix(name, ".yaml")
	text := fmt.Sprintf("id: %s\ninfo: {name: n, author: a, severity: low, metadata: {a: 1, b: [x, null]}}\n%s", id, rest)
	return child.Template{Path: name, Digest: text, Data: []byte(text)}
}

// plain is a template that finds the word needle.
func plain(name string) child.Template {
	return template(name, `http:
  - path: ["{{BaseURL}}/`+name+`"]
    matchers: [{type: word, words: [needle]}]
`)
}

func flowing(name, flow string) child.Template {
	return template(name, "flow: |\n  http(1); "+flow+`
http:
  - path: ["{{BaseURL}}/`+name+`"]
    matchers: [{type: word, words: [needle]}]
`)
}

func site(t testing.TB, answer http.HandlerFunc) string {
	t.Helper()
	s := httptest.NewServer(answer)
	t.Cleanup(s.Close)
	return s.URL
}

func needles(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "a needle \x00\xff & <b>") }

// seen are the events of a job.
type seen struct {
	mu   sync.Mutex
	all  []string
	then func(template int)
}

func (s *seen) event(template int, e engine.Event) {
	s.mu.Lock()
	s.all = append(s.all, fmt.Sprint(template, e.TemplateID, e.TemplatePath, e.Target, e.URL, e.Scheme, e.MatchedAt,
		e.Info.Severity, len(e.Info.Metadata), e.Response[strings.Index(e.Response, "\r\n\r\n"):]))
	s.mu.Unlock()
	if s.then != nil {
		s.then(template)
	}
}

func (s *seen) sorted() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Sorted(slices.Values(s.all))
}

func cells(job child.Job, r *child.Result) (all []string) {
	for i := range job.Targets {
		for j := range job.Templates {
			state, reason := r.Cell(i, j)
			all = append(all, fmt.Sprint(i, j, state, reason))
		}
	}
	return all
}

// A child finds and covers what the engine does in this process.
func TestAChildDoesWhatTheEngineDoes(t *testing.T) {
	base := site(t, needles)
	job := child.Job{
		Targets: []string{base, "127.0.0.1:1"},
		Templates: []child.Template{
			plain("a.yaml"), template("bad.yaml", "http: 3"), flowing("flow.yaml", "set('a', 1)"), plain("b.yaml"),
		},
		Config: engine.Config{Headers: []engine.Header{{Name: "X-Mine", Value: "1"}}}, Vars: map[string]string{"v": "1"},
	}
	pools := []*child.Pool{child.New(child.Config{InProcess: true}), newPool(t, child.Config{})}
	var want []string
	for round := range 3 { // the last time, the child knows the templates
		var got seen
		var last atomic.Int64
		job.OnEvent = got.event
		job.OnProgress = func(p engine.Progress) { last.Store(int64(p.Requests)) }
		result, err := pools[min(round, 1)].Run(t.Context(), job)
		if err != nil {
			t.Fatal(err)
		}
		now := append(got.sorted(), cells(job, result)...)
		if want == nil {
			want = now
		}
		if !slices.Equal(now, want) {
			t.Errorf("round %d: got\n%s\nwant\n%s", round, strings.Join(now, "\n"), strings.Join(want, "\n"))
		}
		if result.Requests < 3 || last.Load() != int64(result.Requests) || len(got.all) != 3 {
			t.Errorf("round %d: %d requests, progress %d, %d events", round, result.Requests, last.Load(), len(got.all))
		}
	}
	if n := len(pools[1].PIDs()); n != 1 {
		t.Errorf("%d children, want the same one again", n)
	}
}

// A child makes out-of-band names, and hands over what was sent with them; another one judges an interaction.
func TestAChildHandsRequestsOver(t *testing.T) {
	told := make(chan string, 10)
	base := site(t, func(_ http.ResponseWriter, r *http.Request) {
		if to := r.FormValue("url"); to != "" {
			told <- to
		}
	})
	blind := template("blind.yaml", `http:
  - path: ["{{BaseURL}}/?url={{interactsh-url}}"]
    matchers:
      - {type: word, part: interactsh_protocol, words: [dns]}
      - {type: status, status: [418]}
`)
	for name, pool := range map[string]*child.Pool{
		"in this process": child.New(child.Config{InProcess: true}), "in a child": newPool(t, child.Config{}),
	} {
		job := child.Job{
			Targets: []string{base}, Templates: []child.Template{plain("a.yaml"), blind},
			Names: &oast.Names{Correlation: "v2345678901234567890", Host: "oast.test"},
		}
		var got []*engine.Pending
		job.OnPending = func(template int, p *engine.Pending) {
			if template != 1 {
				t.Errorf("%s: the template is %d", name, template)
			}
			got = append(got, p)
		}
		if _, err := pool.Run(t.Context(), job); err != nil {
			t.Fatal(name, err)
		}
		if to := <-told; len(got) != 1 || len(got[0].IDs) != 1 || to != got[0].IDs[0]+".oast.test" ||
			!strings.HasPrefix(to, "v2345678901234567890") || got[0].Target != base {
			t.Fatalf("%s: %q and %+v", name, to, got)
		}
		for protocol, want := range map[string]int{"dns": 1, "http": 0} {
			var events []engine.Event
			result, err := pool.Run(t.Context(), child.Job{
				Templates: []child.Template{blind},
				Judge:     &child.Judge{Pending: got[0], Interaction: oast.Interaction{Protocol: protocol}},
				OnEvent:   func(_ int, e engine.Event) { events = append(events, e) },
			})
			if err != nil || len(result.Ended) != 0 || len(events) != want {
				t.Errorf("%s, %s: %v, %+v", name, protocol, err, events)
			}
			if want > 0 && (events[0].Target != base || events[0].URL == "" || events[0].Interaction.Protocol != protocol) {
				t.Errorf("%s: %+v", name, events[0])
			}
		}
		if len(told) != 0 {
			t.Errorf("%s: judging has sent a request", name)
		}
	}
}

// What a job sends is handed over, in this process and from a child; nobody who does not ask gets it.
func TestAChildHandsTrafficOver(t *testing.T) {
	base := site(t, needles)
	for name, pool := range map[string]*child.Pool{
		"in this process": child.New(child.Config{InProcess: true}), "in a child": newPool(t, child.Config{}),
	} {
		var mu sync.Mutex
		var got []traffic.Exchange
		job := child.Job{
			Targets: []string{base}, Templates: []child.Template{plain("a.yaml"), plain("b.yaml")},
			OnTraffic: func(x traffic.Exchange) {
				mu.Lock()
				got = append(got, x)
				mu.Unlock()
			},
			OnDropped: func(n int64) { t.Errorf("%s: %d are dropped", name, n) },
		}
		result, err := pool.Run(t.Context(), job)
		if err != nil {
			t.Fatal(name, err)
		}
		if len(got) != result.Requests || len(got) < 2 {
			t.Errorf("%s: %d of %d requests", name, len(got), result.Requests)
		}
		i := slices.IndexFunc(got, func(x traffic.Exchange) bool { return x.URL == base+"/b.yaml" })
		if i < 0 || got[i].Method != "GET" || got[i].Status != 200 || !strings.HasPrefix(string(got[i].Request), "GET /b.yaml HTTP/1.1\r\nHost: ") ||
			!strings.HasSuffix(string(got[i].Response), "\r\n\r\na needle \x00\xff & <b>") || got[i].IP == "" || got[i].At.IsZero() {
			t.Errorf("%s: %+v", name, got)
		}
		job.OnTraffic = nil
		if _, err := pool.Run(t.Context(), job); err != nil {
			t.Error(name, err)
		}
	}
}

// A template that ends the engine costs its own cells; all other templates and jobs go on.
func TestATemplateEndsOnlyItself(t *testing.T) {
	base := site(t, needles)
	for name, c := range map[string]struct {
		bad     child.Template
		why     string
		compute time.Duration // the limit
	}{
		"crash":          {bad: plain("crash.yaml"), why: "crashed"},
		"grows":          {bad: plain("grow.yaml"), why: "over memory"},
		"huge":           {bad: plain("huge.yaml"), why: "over memory"},
		"computes":       {bad: plain("compute.yaml"), why: "over time", compute: 300 * time.Millisecond},
		"a flow forever": {bad: flowing("flow.yaml", "while (true) {}"), why: "over time", compute: 300 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPool(t, child.Config{Compute: c.compute})
			job := child.Job{Targets: []string{base}, Templates: []child.Template{
				plain("a.yaml"), plain("b.yaml"), c.bad, plain("c.yaml"), plain("d.yaml"),
			}}
			var beside sync.WaitGroup
			beside.Go(func() {
				r, err := p.Run(t.Context(), child.Job{Targets: []string{base}, Templates: []child.Template{plain("e.yaml")}})
				if err != nil {
					t.Error(err)
				} else if state, why := r.Cell(0, 0); state != engine.Tested {
					t.Errorf("the job beside: %s %s", state, why)
				}
			})
			got, err := p.Run(t.Context(), job)
			beside.Wait()
			if err != nil {
				t.Fatal(err)
			}
			for n := range job.Templates {
				state, why := got.Cell(0, n)
				if n == 2 && (state != engine.Failed || why != child.Blamed+c.why) || n != 2 && state != engine.Tested {
					t.Errorf("template %d: %s %q", n, state, why)
				}
			}
			if len(got.Ended) != 1 || got.Ended[0] != (child.Ended{Template: 2, Why: c.why}) {
				t.Errorf("ended: %v", got.Ended)
			}
		})
	}
}

// Several templates of one job that end the engine are all found, and nobody else.
func TestEachCulpritIsFound(t *testing.T) {
	job := child.Job{Targets: []string{site(t, needles)}, Templates: []child.Template{
		plain("a.yaml"), plain("crash.yaml"), plain("b.yaml"), plain("huge.yaml"), flowing("f.yaml", "1"),
	}}
	got, err := newPool(t, child.Config{}).Run(t.Context(), job)
	if err != nil {
		t.Fatal(err)
	}
	for n := range job.Templates {
		if state, why := got.Cell(0, n); (state == engine.Failed) != (n == 1 || n == 3) {
			t.Errorf("template %d: %s %q", n, state, why)
		}
	}
}

// A template that only happens to run when a child is killed from outside is tested all the same.
func TestAKilledChildBlamesNobody(t *testing.T) {
	p := newPool(t, child.Config{})
	killed := false
	got := seen{then: func(int) {
		if !killed {
			killed = true
			for _, pid := range p.PIDs() {
				if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
					t.Error(err)
				}
			}
		}
	}}
	job := child.Job{Targets: []string{site(t, needles)}, OnEvent: got.event}
	for n := range 50 {
		job.Templates = append(job.Templates, flowing(fmt.Sprintf("f%d.yaml", n), "1"))
	}
	r, err := p.Run(t.Context(), job)
	if err != nil {
		t.Fatal(err)
	}
	for n := range job.Templates {
		if state, why := r.Cell(0, n); state != engine.Tested {
			t.Errorf("template %d: %s %q", n, state, why)
		}
	}
	if len(r.Ended) != 0 {
		t.Errorf("blamed: %v", r.Ended)
	}
}

// late is a child once it has been started as often as a folder has files, of which each start takes one away.
func late(folder, memory string) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		panic(err)
	}
	if len(entries) == 0 {
		os.Exit(child.MainWith([]string{memory}, os.Stdin, os.Stdout, hostile))
	}
	if err := os.Remove(filepath.Join(folder, entries[0].Name())); err != nil {
		panic(err)
	}
	_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
}

// A child that something outside ends before it greets is replaced, some times.
func TestAChildKilledAtItsStartCostsNothing(t *testing.T) {
	for ends, starts := range map[int]bool{2: true, 3: false} {
		folder := t.TempDir()
		for n := range ends {
			if err := os.WriteFile(filepath.Join(folder, strconv.Itoa(n)), nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		p := child.New(child.Config{Memory: testMemory, Args: []string{lateCommand, folder, strconv.Itoa(testMemory)}})
		_, err := p.Run(t.Context(), child.Job{Targets: []string{site(t, needles)},
			Templates: []child.Template{plain("a.yaml")}})
		if (err == nil) != starts || err != nil && !strings.Contains(err.Error(), "the engine does not start") {
			t.Errorf("after %d children that were killed: %v", ends, err)
		}
		p.Close()
	}
}

// A repetition, which is no template's work on the board, goes on with another child when one is killed, some times.
func TestARepetitionSurvivesItsChild(t *testing.T) {
	for kills, done := range map[int]bool{2: true, 3: false} {
		p := newPool(t, child.Config{})
		var left atomic.Int64
		base := site(t, func(w http.ResponseWriter, r *http.Request) {
			if left.Add(-1) >= 0 {
				for _, pid := range p.PIDs() {
					_ = syscall.Kill(pid, syscall.SIGKILL)
				}
				<-r.Context().Done()
			}
			needles(w, r)
		})
		job := child.Job{Targets: []string{base}, Templates: []child.Template{plain("a.yaml")}}
		var first engine.Event
		job.OnEvent = func(_ int, e engine.Event) { first = e }
		if _, err := p.Run(t.Context(), job); err != nil || first.TemplateID == "" {
			t.Fatal(err, first)
		}
		left.Store(int64(kills))
		job.Repeat = &child.Repeat{Event: first, URL: first.URL, Scheme: first.Scheme}
		r, err := p.Run(t.Context(), job)
		if _, died := errors.AsType[*child.Died](err); died == done || done && (err != nil || !r.Shown) {
			t.Errorf("after %d kills: %+v, %v", kills, r, err)
		}
	}
}

// A child that stands still is killed.
func TestAHungChildIsKilled(t *testing.T) {
	p := newPool(t, child.Config{Silence: time.Second})
	stopped := false
	got := seen{then: func(int) {
		if !stopped {
			stopped = true
			for _, pid := range p.PIDs() {
				if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
					t.Error(err)
				}
			}
		}
	}}
	job := child.Job{Targets: []string{site(t, needles)}, Templates: []child.Template{plain("a.yaml"), plain("b.yaml")},
		OnEvent: got.event}
	_, err := p.Run(t.Context(), job)
	var died *child.Died
	if err != nil && (!errors.As(err, &died) || died.Why != "over time") {
		t.Errorf("got %v", err)
	}
	for range 30 { // a busy machine, too, may leave a child without a sign of life for a second
		if _, err = p.Run(t.Context(), job); !errors.As(err, &died) || died.Why != "over time" {
			break
		}
	}
	if err != nil {
		t.Errorf("the next job: %v", err)
	}
}

// The end of the context ends a job at once, whatever its child does.
func TestAJobIsStopped(t *testing.T) {
	ctx, stop := context.WithCancelCause(t.Context())
	cause := errors.New("stopped by its owner")
	base := site(t, func(_ http.ResponseWriter, r *http.Request) {
		stop(cause)
		<-r.Context().Done()
	})
	_, err := newPool(t, child.Config{}).Run(ctx, child.Job{Targets: []string{base},
		Templates: []child.Template{plain("a.yaml")}})
	if !errors.Is(err, cause) {
		t.Errorf("got %v", err)
	}
}

// The child itself holds its dials to the scope: the hosts of its targets, with all their ports.
func TestAChildKeepsToTheScope(t *testing.T) {
	var asked atomic.Int64
	other := site(t, func(http.ResponseWriter, *http.Request) { asked.Add(1) })
	_, port, _ := net.SplitHostPort(strings.TrimPrefix(other, "http://"))
	base := site(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "http://localhost:"+port+"/", http.StatusFound)
	})
	p := newPool(t, child.Config{})
	follows := template("r.yaml", `http:
  - path: ["{{BaseURL}}/", "http://localhost:`+port+`/"]
    redirects: true
    matchers: [{type: word, words: [needle]}]
`)
	job := child.Job{Targets: []string{base}, Templates: []child.Template{follows}}
	if _, err := p.Run(t.Context(), job); err != nil {
		t.Fatal(err)
	}
	if n := asked.Load(); n != 0 {
		t.Errorf("%d requests out of scope", n)
	}
	beside := template("b.yaml", `http:
  - path: ["{{BaseURL}}:`+port+`/"]
    matchers: [{type: status, status: [200]}]
`)
	r, err := p.Run(t.Context(), child.Job{Targets: []string{base}, Templates: []child.Template{beside}})
	if err != nil {
		t.Fatal(err)
	}
	if state, why := r.Cell(0, 0); state != engine.Tested || asked.Load() != 1 {
		t.Errorf("another port of the target: %s %s, %d requests", state, why, asked.Load())
	}
	job.Deny = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}
	if r, err = p.Run(t.Context(), job); err != nil {
		t.Fatal(err)
	}
	if state, why := r.Cell(0, 0); state != engine.Denied {
		t.Errorf("a denied network: %s %s", state, why)
	}
}

// A template that asks for another site on the target's address is stopped where that site is excluded, whichever way it
// names it; names that nobody excluded are what checks of host headers send.
func TestAChildKeepsToTheNames(t *testing.T) {
	var asked atomic.Int64
	base := site(t, func(_ http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/" { // and not a path that the engine asks for to know the host
			asked.Add(1)
		}
	})
	p := newPool(t, child.Config{})
	for text, state := range map[string]engine.State{
		`  - path: ["{{BaseURL}}/"]
    headers: {Host: blog.example.se}`: engine.Denied,
		`  - raw: ["GET / HTTP/1.1\nHost: blog.example.se\n\n"]`: engine.Denied,
		`  - raw: ["POST / HTTP/1.1\nHost: {{Hostname}}\nContent-Length: 0\n\nGET / HTTP/1.1\nHost: blog.example.se\n\n"]
    unsafe: true`: engine.Denied,
		`  - raw: ["@tls-sni: blog.example.se\nGET / HTTP/1.1\nHost: {{Hostname}}\n\n"]`: engine.Denied,
		`  - raw: ["GET / HTTP/1.1\nHost: {{Hostname}}\nX-Forwarded-Host: {{name}}.example.se\n\n"]
    payloads: {name: [blog]}`: engine.Denied,
		`  - raw: ["GET / HTTP/1.1\nHost: {{randstr}}.example.org\n\n"]`: engine.Tested,
		`  - raw: ["GET / HTTP/1.1\nHost: 10.9.8.7\n\n"]`:                engine.Denied,
	} {
		asked.Store(0)
		job := child.Job{Targets: []string{base}, Excluded: []string{"*.example.se", "10.0.0.0/8"},
			Templates: []child.Template{template("n.yaml", "http:\n"+text+"\n    matchers: [{type: word, words: [needle]}]\n")}}
		r, err := p.Run(t.Context(), job)
		if err != nil {
			t.Fatal(err)
		}
		got, why := r.Cell(0, 0)
		if got != state || (asked.Load() > 0) != (state == engine.Tested) {
			t.Errorf("%s\nended %s %s, %d requests arrived", text, got, why, asked.Load())
		}
	}
}

// The child itself asks the proxy, which must be where the operator allows one.
func TestAChildAsksTheProxy(t *testing.T) {
	proxy := sockstest.Start(t, "ada", "secret")
	base := site(t, needles)
	job := child.Job{
		Targets: []string{base}, Templates: []child.Template{plain("a.yaml")},
		Proxy: "socks5://ada:secret@" + proxy.Addr, Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")},
	}
	p := newPool(t, child.Config{})
	r, err := p.Run(t.Context(), job)
	if err != nil {
		t.Fatal(err)
	}
	asked := proxy.Asked()
	if state, why := r.Cell(0, 0); state != engine.Tested || !slices.Equal(asked, []string{strings.TrimPrefix(base, "http://")}) {
		t.Errorf("%s %s; the proxy was asked for %v", state, why, asked)
	}
	job.Allow = nil
	if r, err = p.Run(t.Context(), job); err != nil {
		t.Fatal(err)
	}
	if state, _ := r.Cell(0, 0); state == engine.Tested || len(proxy.Asked()) != len(asked) {
		t.Errorf("a proxy that is not allowed: %s", state)
	}
}

// A child has no environment, an empty folder, and (where the kernel and the build allow) no files.
func TestAChildSeesNothing(t *testing.T) {
	t.Setenv("VEDETTE_SECRET", "x")
	r, err := newPool(t, child.Config{}).Run(t.Context(), child.Job{Targets: []string{"127.0.0.1:1"},
		Templates: []child.Template{plain("look.yaml")}})
	if err != nil {
		t.Fatal(err)
	}
	_, got := r.Cell(0, 0)
	if !strings.HasPrefix(got, "0 variables, folder true, written false, ") || !strings.HasSuffix(got, "hosts <nil>") {
		t.Error(got)
	}
	if !strings.Contains(got, "passwords not read") {
		t.Log("files can be read: the kernel has no Landlock, or the test binary uses C")
	}
}

// parent is a server that has an idle child and one at work, and says their numbers.
func parent() {
	p := child.New(child.Config{Args: child.CommandOfTests(testMemory), Compute: time.Hour})
	if err := p.Warm(); err != nil {
		panic(err)
	}
	go func() {
		_, err := p.Run(context.Background(), child.Job{Targets: []string{"127.0.0.1:1"},
			Templates: []child.Template{plain("compute.yaml")}})
		panic(err)
	}()
	for { // the job takes the warm child
		if _, err := p.Run(context.Background(), child.Job{Targets: []string{"127.0.0.1:1"},
			Templates: []child.Template{plain("a.yaml")}}); err != nil {
			panic(err)
		}
		if all := p.PIDs(); len(all) == 2 {
			fmt.Println(all[0], all[1])
			select {}
		}
	}
}

func TestChildrenEndWithTheirParent(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, parentCommand)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if killErr := cmd.Process.Kill(); killErr != nil || err != nil {
		t.Fatal(killErr, err)
	}
	cmd.Wait()
	for word := range strings.FieldsSeq(line) {
		pid, err := strconv.Atoi(word)
		if err != nil {
			t.Fatal(err)
		}
		deadline := time.Now().Add(20 * time.Second)
		for running(pid) {
			if time.Now().After(deadline) {
				t.Fatalf("the child %d is left", pid)
			}
			runtime.Gosched()
		}
	}
}

// running is false for a process that has ended, although nobody may have asked for its end yet.
func running(pid int) bool {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	_, after, _ := strings.Cut(string(text), ") ")
	return !strings.HasPrefix(after, "Z")
}

// A child is replaced after so many jobs.
func TestChildrenAreReplaced(t *testing.T) {
	p := newPool(t, child.Config{Jobs: 2})
	job := child.Job{Targets: []string{"127.0.0.1:1"}, Templates: []child.Template{plain("a.yaml")}}
	for n := range 4 {
		if _, err := p.Run(t.Context(), job); err != nil {
			t.Fatal(err)
		}
		if got, want := len(p.PIDs()), (n+1)%2; got != want {
			t.Errorf("after %d jobs: %d children, want %d", n+1, got, want)
		}
	}
}

// Of more jobs than children may run at once, the others wait, or end with their context; templates that are checked
// do not wait for jobs.
func TestJobsWaitForAChild(t *testing.T) {
	reached, answer := make(chan struct{}), make(chan struct{})
	var once sync.Once
	base := site(t, func(w http.ResponseWriter, r *http.Request) {
		once.Do(func() { close(reached) })
		<-answer
		needles(w, r)
	})
	p := newPool(t, child.Config{AtOnce: 1, Checks: 1})
	job := child.Job{Targets: []string{base}, Templates: []child.Template{plain("a.yaml")}}
	ended := make(chan error, 2)
	run := func() {
		_, err := p.Run(t.Context(), job)
		ended <- err
	}
	go run()
	<-reached
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := p.Run(ctx, job); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a job that waits: %v", err)
	}
	if n := len(p.PIDs()); n != 1 {
		t.Errorf("%d children for one job", n)
	}
	if err := p.Check(t.Context(), "b.yaml", plain("b.yaml").Data); err != nil {
		t.Errorf("a check: %v", err)
	}
	go run()
	close(answer)
	for range 2 {
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
}

// What a job cannot do is refused as the engine refuses it, and the child goes on.
func TestAJobIsRefused(t *testing.T) {
	p := newPool(t, child.Config{})
	_, err := p.Run(t.Context(), child.Job{Targets: []string{""}, Templates: []child.Template{plain("a.yaml")}})
	if !errs.Is(err, errs.Invalid) || len(p.PIDs()) != 1 {
		t.Errorf("got %v with %d children", err, len(p.PIDs()))
	}
}

func TestSplit(t *testing.T) {
	for _, c := range []struct {
		part, suspects []int
		want           string
	}{
		{[]int{0, 1, 2, 3}, []int{2}, "[[0 1 3] [2]]"},
		{[]int{0, 1}, []int{0, 1}, "[[0] [1]]"},
		{[]int{0, 1, 2, 3, 4, 5}, nil, "[[0 1 2] [3 4 5]]"},
		{[]int{0, 1, 2, 3, 4, 5, 6}, []int{0, 1, 2, 3, 4, 5}, "[[6] [0 1 2] [3 4 5]]"},
		{[]int{7}, []int{7}, "[[7]]"},
	} {
		if got := fmt.Sprint(child.Split(c.part, c.suspects)); got != c.want {
			t.Errorf("%v, suspects %v: %s, want %s", c.part, c.suspects, got, c.want)
		}
	}
}

// distantSite is a site in a process of its own.
func distantSite(t testing.TB) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, siteCommand)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(line)
}

// BenchmarkJob is the cost of a child: jobs of one and of 500 requests, beside the same in this process, with the
// time of the processor that both processes spend on a request.
func BenchmarkJob(b *testing.B) {
	base := distantSite(b)
	var many []child.Template
	for i := range 500 {
		many = append(many, template(fmt.Sprintf("t%d.yaml", i), `http:
  - path: ["{{BaseURL}}/`+strconv.Itoa(i)+`"]
    matchers: [{type: word, words: [straw]}]
`))
	}
	for name, p := range map[string]*child.Pool{
		"child": newPool(b, child.Config{Jobs: 1 << 30}), "in-process": child.New(child.Config{InProcess: true}),
	} {
		for _, templates := range [][]child.Template{many[:1], many} {
			b.Run(fmt.Sprintf("%s/%d", name, len(templates)), func(b *testing.B) {
				job := child.Job{Targets: []string{base}, Templates: templates}
				if _, err := p.Run(b.Context(), job); err != nil { // compiles
					b.Fatal(err)
				}
				before := p.CPU()
				for b.Loop() {
					if _, err := p.Run(b.Context(), job); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(float64((p.CPU()-before).Microseconds())/float64(b.N*len(templates)), "cpu-us/request")
			})
		}
	}
	b.Run("start", func(b *testing.B) {
		for b.Loop() {
			p := newPool(b, child.Config{})
			if err := p.Warm(); err != nil {
				b.Fatal(err)
			}
		}
	})
}
