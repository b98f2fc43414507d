package browser_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/vedette-sec/vedette/internal/browser"
)

// users are the processes that have their profile in a folder.
func users(t *testing.T, temp string) (pids []int) {
	t.Helper()
	all, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		t.Fatal(err)
	}
	for _, process := range all {
		line, _ := os.ReadFile(process + "/cmdline")
		state, _ := os.ReadFile(process + "/stat")
		if strings.Contains(string(line), temp) && !strings.Contains(string(state), ") Z ") {
			pid, _ := strconv.Atoi(filepath.Base(process))
			pids = append(pids, pid)
		}
	}
	return pids
}

// gone waits until no process uses a folder any more, and nothing is in it.
func gone(t *testing.T, temp string) {
	t.Helper()
	for end := time.Now().Add(long); ; {
		left, err := os.ReadDir(temp)
		pids := users(t, temp)
		if len(left) == 0 && len(pids) == 0 && err == nil {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("left: %v and the processes %v, %v", left, pids, err)
		}
		runtime.Gosched()
	}
}

// A server that runs as root has no browser that does.
func TestTheBrowserRunsAsNobody(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root can become another user")
	}
	l := newLab(t, browser.Config{Nobody: true})
	p := l.open(t, browser.Options{}, html("<p>hi"))
	must(t, p.Navigate("http://inside.test/"))
	if text, err := p.HTML(); err != nil || !strings.Contains(text, "<p>hi") {
		t.Errorf("%s %v", text, err)
	}
	seen := 0
	for _, pid := range users(t, l.temp) {
		status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
		line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		if err != nil || strings.HasPrefix(string(line), "/bin/sh\x00") { // the process that cleans up
			continue
		}
		if seen++; !strings.Contains(string(status), "\nUid:\t65534\t65534\t65534\t65534\n") {
			t.Errorf("%q is another user's: %s", line, status)
		}
	}
	if seen == 0 {
		t.Error("no process of the browser was found")
	}
}

// hostile are pages that take what they can get.
var hostile = map[string]string{
	"heap":    `a = []; for (;;) a.push(new Array(1e5).fill(Math.random()))`,
	"arrays":  `a = []; for (;;) a.push(new Uint8Array(1 << 24).fill(1))`,
	"blobs":   `a = []; for (let i = 0; i < 1e4; i++) a.push(new Blob([new Uint8Array(1 << 24).fill(i)]))`,
	"canvas":  `a = []; for (;;) { c = new OffscreenCanvas(8000, 8000).getContext("2d"); c.fillRect(0, 0, 9, 9); a.push(c.getImageData(0, 0, 8000, 8000)) }`,
	"nodes":   `for (;;) document.body.append(document.createElement("p"), "x".repeat(1e5))`,
	"workers": `for (let i = 0; i < 500; i++) new Worker(URL.createObjectURL(new Blob(["a = []; for (;;) a.push(new Array(1e5).fill(1))"])))`,
	"alerts":  `for (;;) alert("x".repeat(1e5))`,
	"windows": `setInterval(() => { for (let i = 0; i < 100; i++) open("/" + Math.random()) })`,
	"busy":    `for (;;);`,
	"endless": "",
}

// Whatever a page takes, it ends within its time, says why, and leaves nothing behind; then the next page has a browser.
func TestHostilePagesEnd(t *testing.T) {
	const memory, page = 400 << 20, 6 * time.Second
	for name, script := range hostile {
		t.Run(name, func(t *testing.T) {
			l := newLab(t, browser.Config{Memory: memory, Nobody: true})
			p := l.open(t, browser.Options{Timeout: page, Bodies: true}, func(w http.ResponseWriter, r *http.Request) {
				if script != "" {
					_, _ = fmt.Fprintf(w, "<!doctype html><body><script>%s</script>", script)
					return
				}
				for r.Context().Err() == nil {
					if _, err := w.Write([]byte(strings.Repeat("<b>more ", 1<<10))); err != nil {
						return
					}
				}
			})
			opened := time.Now()
			err := p.Navigate("http://inside.test/")
			if err == nil {
				err = p.Wait("networkIdle", long)
			}
			if err == nil {
				_, err = p.HTML()
			}
			p.Close()
			if name == "alerts" && err == nil { // its script was ended
				err = browser.ErrTimeout
			}
			if err == nil || !strings.Contains(err.Error(), "memory") && !strings.Contains(err.Error(), "dialogs") &&
				!errors.Is(err, browser.ErrTimeout) && !strings.Contains(err.Error(), "crashed") {
				t.Errorf("ended with %v", err)
			}
			if used := time.Since(opened); used > page+20*time.Second { // the machine may be busy
				t.Errorf("took %v", used)
			}
			next := l.open(t, browser.Options{}, html("<p>next"))
			must(t, next.Navigate("http://inside.test/"))
			if text, err := next.HTML(); err != nil || !strings.Contains(text, "<p>next") {
				t.Errorf("the next page: %s %v", text, err)
			}
			next.Close()
			l.pool.Close()
			gone(t, l.temp)
		})
	}
}

// A message of the browser that is too long ends it, and is not kept in memory.
func TestMessagesAreBounded(t *testing.T) {
	l := newLab(t, browser.Config{Message: 1 << 20})
	p := l.open(t, browser.Options{}, html("<p>"))
	must(t, p.Navigate("http://inside.test/"))
	if value, err := p.Eval(`() => "x".repeat(9e5)`); err != nil || len(fmt.Sprint(value)) != 9e5 {
		t.Errorf("%v", err)
	}
	if _, err := p.Eval(`() => "x".repeat(2e6)`); err == nil || err.Error() != "the browser sent more than 1 MiB in one message" {
		t.Errorf("%v", err)
	}
	p.Close()
}

// A browser whose lease is over gets no new page, and is ended with its last; one without pages is ended after a time.
func TestLeases(t *testing.T) {
	l := newLab(t, browser.Config{Lease: time.Millisecond})
	visit := func() *browser.Page {
		p := l.open(t, browser.Options{}, html("<p>"))
		must(t, p.Navigate("http://inside.test/"))
		return p
	}
	first := visit()
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, err := l.pool.Open(ctx, browser.Options{}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a page beyond the lease: %v", err)
	}
	before := users(t, l.temp)
	first.Close()
	visit().Close()
	for _, pid := range users(t, l.temp) {
		if slices.Contains(before, pid) {
			t.Errorf("process %d of the first browser still runs", pid)
		}
	}
	idle := newLab(t, browser.Config{Idle: time.Millisecond})
	idle.open(t, browser.Options{}, html("<p>")).Close()
	gone(t, idle.temp)
}

// killed is the part of TestNothingIsLeftOfAKilledProcess that is killed.
func TestMain(m *testing.M) {
	if len(os.Args) == 3 && os.Args[1] == "killed" {
		pool := browser.New(browser.Config{Temp: os.Args[2]})
		page, err := pool.Open(context.Background(), browser.Options{Timeout: long,
			Dial: func(context.Context, string, string) (net.Conn, error) { return nil, errors.New("nowhere") }})
		if err == nil {
			_, err = page.Eval("() => setInterval(() => 0, 1)")
		}
		fmt.Println("open", err)
		select {}
	}
	os.Exit(m.Run())
}

// With a kill of the process that has a page open, also together with the one that cleans up, nothing is left: at once,
// or when the next launcher is made.
func TestNothingIsLeftOfAKilledProcess(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("browsers end with us on Linux only")
	}
	for _, both := range []bool{false, true} {
		l := newLab(t, browser.Config{})
		cmd := exec.Command(os.Args[0], "killed", l.temp)
		out, err := cmd.StdoutPipe()
		must(t, err)
		must(t, cmd.Start())
		if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || line != "open <nil>\n" {
			t.Fatalf("%q %v", line, err)
		}
		pids := users(t, l.temp)
		if len(pids) < 4 {
			t.Errorf("the browser has the processes %v", pids)
		}
		if both {
			for _, pid := range pids {
				if line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid)); strings.HasPrefix(string(line), "/bin/sh\x00") {
					must(t, syscall.Kill(pid, syscall.SIGKILL))
				}
			}
		}
		must(t, cmd.Process.Kill())
		_ = cmd.Wait()
		if both {
			browser.NewLauncher(browser.Config{Temp: l.temp})
		}
		gone(t, l.temp)
	}
}

// A launcher leaves alone what others use, and what is not ours.
func TestALauncherSweepsOnlyWhatIsAbandoned(t *testing.T) {
	l := newLab(t, browser.Config{})
	p := l.open(t, browser.Options{}, html("<p>"))
	other := filepath.Join(l.temp, "vedette-browser-young")
	must(t, os.Mkdir(other, 0o700))
	must(t, os.Symlink("/etc", filepath.Join(l.temp, "vedette-browser-link")))
	browser.NewLauncher(browser.Config{Temp: l.temp})
	if left, err := os.ReadDir(l.temp); err != nil || len(left) != 3 {
		t.Errorf("%v %v", left, err)
	}
	must(t, p.Navigate("http://inside.test/"))
}

// Pages whose callers give up leave nothing: no goroutine, no descriptor, no process, no folder.
func TestNothingLeaks(t *testing.T) {
	count := func() (goroutines, files int) {
		open, err := os.ReadDir("/proc/self/fd")
		must(t, err)
		return runtime.NumGoroutine(), len(open)
	}
	warm := newLab(t, browser.Config{})
	warm.open(t, browser.Options{}, html("<p>")).Close()
	warm.pool.Close()
	l := newLab(t, browser.Config{Pages: 3})
	site := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))
	defer site.Close()
	goroutines, files := count()
	for range 3 {
		ctx, cancel := context.WithCancel(t.Context())
		var group sync.WaitGroup
		for range 5 {
			group.Go(func() {
				p, err := l.pool.Open(ctx, browser.Options{Timeout: long, Dial: (&net.Dialer{}).DialContext})
				if err == nil {
					cancel()
					err = p.Navigate(site.URL)
					p.Close()
				}
				if !errors.Is(err, context.Canceled) {
					t.Errorf("%v", err)
				}
			})
		}
		group.Wait()
		cancel()
	}
	l.pool.Close()
	gone(t, l.temp)
	for end := time.Now().Add(20 * time.Second); ; runtime.Gosched() {
		g, f := count()
		if g <= goroutines && f <= files {
			break
		}
		if time.Now().After(end) {
			var all [1 << 20]byte
			t.Fatalf("%d goroutines after %d, %d files after %d:\n%s", g, goroutines, f, files, all[:runtime.Stack(all[:], true)])
		}
	}
}
