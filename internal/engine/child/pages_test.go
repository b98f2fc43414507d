package child_test

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/vedette-sec/vedette/internal/browser"
	"github.com/vedette-sec/vedette/internal/engine"
	"github.com/vedette-sec/vedette/internal/engine/child"
	"github.com/vedette-sec/vedette/internal/infra/netguard"
)

// visiting is a template that finds what a script of a page writes.
func visiting(name string) child.Template {
	return template(name, `headless:
  - steps: [{action: navigate, args: {url: "{{BaseURL}}/`+name+`"}}, {action: waitidle}]
    matchers: [{type: word, words: [made by a script]}]
`)
}

const made = `<body><script>document.body.append("made " + "by a script")</script>`

// withBrowsers is a pool that lends browsers, and the folder in which their own are.
func withBrowsers(t *testing.T, b child.Browsers) (p *child.Pool, temp string) {
	t.Helper()
	if _, err := browser.Find(""); err != nil || runtime.GOOS != "linux" {
		t.Skip("children have pages on Linux, where Chromium is installed", err)
	}
	temp, err := os.MkdirTemp("", "lent") //nolint:usetesting // t.TempDir is closed to the user nobody, as whom browsers run
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(temp, 0o755); err != nil {
		t.Fatal(err)
	}
	b.Temp = temp
	p = newPool(t, child.Config{Browsers: b})
	t.Cleanup(func() {
		p.Close()
		nothingLeft(t, temp)
		_ = os.RemoveAll(temp)
	})
	return p, temp
}

// nothingLeft waits until no process uses a folder, and nothing is in it.
func nothingLeft(t *testing.T, temp string) {
	t.Helper()
	for end := time.Now().Add(time.Minute); ; runtime.Gosched() {
		left, _ := os.ReadDir(temp)
		pids := usersOf(temp)
		if len(left) == 0 && len(pids) == 0 {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("left: %v and the processes %v", left, pids)
		}
	}
}

// usersOf are the processes that name a folder.
func usersOf(temp string) (pids []string) {
	all, _ := filepath.Glob("/proc/[0-9]*")
	for _, process := range all {
		line, _ := os.ReadFile(process + "/cmdline")
		if stat, _ := os.ReadFile(process + "/stat"); strings.Contains(string(line), temp) && !strings.Contains(string(stat), ") Z ") {
			pids = append(pids, filepath.Base(process))
		}
	}
	return pids
}

func run(t *testing.T, p *child.Pool, targets []string, templates ...child.Template) (events, cell []string) {
	t.Helper()
	job := child.Job{Targets: targets, Templates: templates, OnEvent: func(_ int, e engine.Event) {
		events = append(events, e.TemplatePath)
	}}
	result, err := p.Run(t.Context(), job)
	if err != nil {
		t.Fatal(err)
	}
	return events, cells(job, result)
}

func TestAChildVisitsPages(t *testing.T) {
	p, _ := withBrowsers(t, child.Browsers{AtOnce: 1})
	base := site(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		if r.URL.Path != "/b.yaml" {
			fmt.Fprint(w, made)
		}
	})
	for range 2 { // the second job has the same child, and another browser
		events, cell := run(t, p, []string{base}, visiting("a.yaml"), visiting("b.yaml"), plain("c.yaml"))
		if want := []string{"0 0tested", "0 1tested", "0 2tested"}; !slices.Equal(cell, want) || len(events) != 1 ||
			!strings.Contains(events[0], "a.yaml") {
			t.Errorf("%q %q", events, cell)
		}
	}
	if n := len(p.PIDs()); n != 1 {
		t.Errorf("%d children, want the same one again", n)
	}
}

// What a page asks for is dialled by the child, which holds it to the targets of its job.
func TestPagesOfAChildKeepToTheScope(t *testing.T) {
	p, _ := withBrowsers(t, child.Browsers{AtOnce: 1})
	var asked atomic.Int64
	listener, err := net.Listen("tcp", "127.0.0.2:0")
	if err != nil {
		t.Fatal(err)
	}
	elsewhere := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked.Add(1) }))
	elsewhere.Listener.Close()
	elsewhere.Listener = listener
	elsewhere.Start()
	defer elsewhere.Close()
	other := elsewhere.URL
	base := site(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		if r.URL.Path == "/away.yaml" {
			http.Redirect(w, r, other, http.StatusFound)
			return
		}
		fmt.Fprintf(w, `%[1]s<img src="%[2]s/img"><iframe src="%[2]s/frame"></iframe><script src="%[2]s/x.js"></script><script>
			fetch("%[2]s/post", {method: "POST", mode: "no-cors"}).catch(() => 0); new WebSocket("ws" + "%[2]s".slice(4))
			navigator.sendBeacon("%[2]s/beacon"); open("%[2]s/window"); new EventSource("%[2]s/events")
			new RTCPeerConnection({iceServers: [{urls: "stun:" + "%[2]s".slice(7)}]}).createDataChannel("x")
			new Worker(URL.createObjectURL(new Blob(["fetch('%[2]s/worker', {mode: 'no-cors'}).catch(() => 0)"])))</script>`, made, other)
	})
	events, cell := run(t, p, []string{base}, visiting("a.yaml"), visiting("away.yaml"))
	address := strings.TrimPrefix(other, "http://")
	if len(events) != 1 || asked.Load() != 0 || len(cell) != 2 ||
		cell[0] != "0 0testedthe page was not let reach what is out of scope: "+address || !strings.HasPrefix(cell[1], "0 1denied"+address) {
		t.Errorf("%q %q; %d requests out of scope", events, cell, asked.Load())
	}
}

// In a task, each connection and each URL of a page is asked about.
func TestPagesOfAChildAreAskedAbout(t *testing.T) {
	p, _ := withBrowsers(t, child.Browsers{AtOnce: 1})
	base := site(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, made+`<img src="/secret">`)
		if r.URL.Path == "/secret" {
			t.Error("a URL out of scope was asked for")
		}
	})
	covers, err := netguard.ParseTarget(base)
	if err != nil {
		t.Fatal(err)
	}
	asked := map[string]int{}
	events := 0
	job := child.Job{Targets: []string{base}, Templates: []child.Template{visiting("a.yaml")},
		Covers: []netguard.Target{covers}, OnEvent: func(int, engine.Event) { events++ },
		Ask: func(q child.Question) string {
			asked[q.Kind]++
			if strings.HasSuffix(q.Text, "/secret") {
				return "it is not in scope"
			}
			return ""
		}}
	result, err := p.Run(t.Context(), job)
	if err != nil {
		t.Fatal(err)
	}
	if cell := cells(job, result); events != 1 || asked[child.AskDial] == 0 || asked[child.AskURL] < 2 {
		t.Errorf("%q, %d events, asked %v", cell, events, asked)
	}
}

// A page that fills memory ends its browser, and its cell says so; the others go on, in another browser.
func TestAHostilePageEndsOnlyItsBrowser(t *testing.T) {
	p, _ := withBrowsers(t, child.Browsers{AtOnce: 1, Memory: 500 << 20})
	base := site(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		if r.URL.Path == "/bad.yaml" {
			fmt.Fprint(w, `<script>a = []; for (;;) a.push(new Uint8Array(1 << 24).fill(1))</script>`)
			return
		}
		fmt.Fprint(w, made)
	})
	events, cell := run(t, p, []string{base}, visiting("bad.yaml"), plain("plain.yaml"), visiting("good.yaml"))
	if !slices.Equal(events, []string{"good.yaml"}) || !strings.Contains(cell[0], "0 0failedthe browser used ") || !strings.Contains(cell[0], "MiB of memory") ||
		cell[1] != "0 1tested" || cell[2] != "0 2tested" {
		t.Errorf("%q %q", events, cell)
	}
	if events, cell = run(t, p, []string{base}, visiting("a.yaml")); len(events) != 1 || cell[0] != "0 0tested" {
		t.Errorf("%q %q", events, cell)
	}
}

// Jobs that want a browser take turns: one that has many pages does not keep others from theirs.
func TestJobsTakeTurns(t *testing.T) {
	p, temp := withBrowsers(t, child.Browsers{AtOnce: 1, Lease: time.Second})
	served := make(chan struct{}, 1000)
	var most atomic.Int64
	base := site(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, made)
		homes, _ := os.ReadDir(temp)
		most.Store(max(most.Load(), int64(len(homes))))
		select {
		case served <- struct{}{}:
		default:
		}
	})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var many []child.Template
	for n := range 500 {
		many = append(many, visiting(fmt.Sprintf("many-%d.yaml", n)))
	}
	var group sync.WaitGroup
	group.Go(func() {
		if _, err := p.Run(ctx, child.Job{Targets: []string{base}, Templates: many}); ctx.Err() == nil {
			t.Errorf("500 pages were faster than one: %v", err)
		}
	})
	<-served
	events, cell := run(t, p, []string{base}, visiting("one.yaml"))
	if len(events) != 1 || cell[0] != "0 0tested" {
		t.Errorf("%q %q", events, cell)
	}
	cancel()
	group.Wait()
	if most.Load() != 1 {
		t.Errorf("%d browsers at once", most.Load())
	}
}

func TestACellSaysWhyThereIsNoBrowser(t *testing.T) {
	base := site(t, needles)
	for _, c := range []struct {
		b    child.Browsers
		want string
	}{
		{child.Browsers{}, "0 0skippedthere is no browser for templates that drive one"},
		{child.Browsers{Why: "this server has none"}, "0 0skippedthis server has none"},
		{child.Browsers{AtOnce: 1, Path: "/none"}, "0 0skipped" + browser.ErrNone.Error()},
		{child.Browsers{AtOnce: 1, Path: "/bin/false"}, "0 0failedthe browser: it has ended (exit status 1)"},
	} {
		if _, cell := run(t, newPool(t, child.Config{Browsers: c.b}), []string{base}, visiting("a.yaml")); cell[0] != c.want {
			t.Errorf("%+v: %q", c.b, cell)
		}
	}
}

// open tells when a page is open: its site has been asked.
func open(t *testing.T) (base string, asked chan struct{}) {
	t.Helper()
	asked = make(chan struct{}, 1)
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/a.yaml" {
			return
		}
		select {
		case asked <- struct{}{}:
		default:
		}
		<-r.Context().Done()
	}))
	t.Cleanup(s.Close)
	return s.URL, asked
}

// A child that is killed while a page is open takes its browser along, and the job goes on in another.
func TestNoBrowserIsLeftOfAKilledChild(t *testing.T) {
	p, temp := withBrowsers(t, child.Browsers{AtOnce: 1})
	base, asked := open(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ended := make(chan error, 1)
	go func() {
		_, err := p.Run(ctx, child.Job{Targets: []string{base}, Templates: []child.Template{visiting("a.yaml")}})
		ended <- err
	}()
	<-asked
	before := usersOf(temp)
	for _, pid := range p.PIDs() {
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			t.Error(err)
		}
	}
	<-asked // by the next child
	for _, pid := range usersOf(temp) {
		if slices.Contains(before, pid) {
			t.Errorf("process %s of the killed child's browser still runs", pid)
		}
	}
	cancel()
	if err := <-ended; err == nil || len(before) < 4 {
		t.Errorf("%v; %d processes", err, len(before))
	}
	nothingLeft(t, temp)
}

const pagesCommand = "parent-with-pages-of-tests"

// parentWithPages is a parent that visits a page until it is killed.
func parentWithPages(temp, base string) {
	p := child.New(child.Config{Args: child.CommandOfTests(testMemory), Memory: testMemory,
		Browsers: child.Browsers{AtOnce: 1, Temp: temp}})
	_, err := p.Run(context.Background(), child.Job{Targets: []string{base}, Templates: []child.Template{visiting("a.yaml")}})
	panic(err)
}

func TestNoBrowserIsLeftOfAKilledParent(t *testing.T) {
	_, temp := withBrowsers(t, child.Browsers{AtOnce: 1})
	base, asked := open(t)
	cmd := exec.Command(os.Args[0], pagesCommand, temp, base)
	cmd.Stderr = bufio.NewWriter(os.Stderr)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	<-asked
	if n := len(usersOf(temp)); n < 4 {
		t.Errorf("%d processes", n)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Error(err)
	}
	_ = cmd.Wait()
	nothingLeft(t, temp)
}
