package browser

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/vedette-sec/vedette/internal/infra/sandbox"
)

const (
	watchEvery = 250 * time.Millisecond
	homePrefix = "vedette-browser-" // of the folder of a browser
	lockName   = "lock"
)

// Ended is how a browser has ended.
type Ended struct {
	Why    string // it was ended; "" for no reason of ours
	How    string // its exit status or the signal that ended it, as Go words them
	Output string // the beginning and the end of what it printed
}

// Link is a browser that was started: what it is told and what it says, in messages that each end with a zero byte.
// The files are the link's user's to close, which ends the browser, too.
type Link struct {
	Commands, Messages *os.File
	// End ends the browser unless it has ended, and returns when nothing is left of it. It may be called again.
	End func() Ended
}

// launched is a browser that runs on this machine.
type launched struct {
	cmd    *exec.Cmd
	home   string
	nobody bool // runs as nobody, not as root
	lock   io.Closer
	guard  *guard
	output output
	exited chan struct{}
	watch  sync.WaitGroup
	once   sync.Once
	how    string // Ended.How; set by end

	mu  sync.Mutex
	why string
}

// Launcher starts browsers on this machine.
type Launcher struct {
	cfg Config

	mu        sync.Mutex
	noSandbox bool // the system has none for Chromium
}

// NewLauncher makes a launcher, and removes what killed processes have left of theirs.
func NewLauncher(cfg Config) *Launcher {
	sweep(cfg.temp())
	return &Launcher{cfg: cfg}
}

// Launch starts a browser, which reaches nothing but the proxy at an address. The error is ErrNone, or the system's.
func (l *Launcher) Launch(proxy string) (*Link, error) {
	path, err := Find(l.cfg.Path)
	if err != nil {
		return nil, err
	}
	b := &launched{exited: make(chan struct{}), nobody: l.cfg.nobody() && sandbox.IsOpen(path)}
	if b.home, err = os.MkdirTemp(l.cfg.temp(), homePrefix+"*"); err != nil {
		return nil, err
	}
	l.mu.Lock()
	sandboxed := (b.nobody || os.Getuid() != 0) && !l.noSandbox // for root, Chromium has none
	l.mu.Unlock()
	link, err := b.start(commandLine(path, b.home, proxy, sandboxed), cmp.Or(l.cfg.Memory, DefaultMemory))
	if err != nil {
		b.clean()
		return nil, fmt.Errorf("the browser %s: %w", path, err)
	}
	if b.nobody && sandboxed {
		end := link.End
		link.End = func() Ended {
			ended := end()
			if strings.Contains(ended.Output, "No usable sandbox") { // the next is started without
				l.mu.Lock()
				l.noSandbox = true
				l.mu.Unlock()
			}
			return ended
		}
	}
	return link, nil
}

// nobody reports whether a browser that everybody may start runs as another user than we.
func (c Config) nobody() bool { return c.Nobody && os.Getuid() == 0 }

// temp is where folders of browsers are made.
func (c Config) temp() string {
	if c.Temp == "" && c.nobody() {
		return sandbox.Reachable()
	}
	return cmp.Or(c.Temp, os.TempDir())
}

// limits is a shell that bounds itself before it becomes the browser: no memory is written to files when it crashes,
// and no file is longer than 256 MiB.
const limits = `ulimit -c 0; ulimit -f 524288; exec "$@"`

func (b *launched) start(line []string, memory int64) (link *Link, err error) {
	if b.lock, err = lockFolder(b.home); err != nil {
		return nil, err
	}
	if b.guard, err = newGuard(b.home); err != nil {
		return nil, err
	}
	link = &Link{End: b.end}
	theirs := make([]*os.File, 2)
	defer func() {
		for _, file := range theirs {
			_ = file.Close()
		}
	}()
	if theirs[0], link.Commands, err = os.Pipe(); err != nil {
		return nil, err
	}
	if link.Messages, theirs[1], err = os.Pipe(); err != nil {
		return nil, errors.Join(err, link.Commands.Close())
	}
	//nolint:gosec,noctx // the operator's browser; end ends it
	b.cmd = exec.Command("/bin/sh", append([]string{"-c", limits, "sh"}, line...)...)
	if b.cmd.SysProcAttr, err = attributes(b.home, b.nobody); err != nil {
		return nil, errors.Join(err, link.Commands.Close(), link.Messages.Close())
	}
	// Chromium makes a socket below TMPDIR, whose path must have fewer than 108 bytes, or it aborts (SIGABRT).
	b.cmd.Dir = b.home
	b.cmd.Env = []string{"HOME=" + b.home, "TMPDIR=.", "PATH=" + os.Getenv("PATH"), "LANG=C.UTF-8"}
	b.cmd.ExtraFiles, b.cmd.Stdout, b.cmd.Stderr = theirs, &b.output, &b.output
	b.cmd.WaitDelay = time.Second // for what a process that it left behind still prints
	started := make(chan error, 1)
	go b.live(started)
	if err := <-started; err != nil {
		return nil, errors.Join(err, link.Commands.Close(), link.Messages.Close())
	}
	yield(b.cmd.Process.Pid)
	b.guard.protect(b.cmd.Process.Pid)
	b.watch.Go(func() { b.bound(memory) })
	return link, nil
}

// live starts the browser and waits for its end on one thread of the system: the browser is told to die with the thread
// that started it.
func (b *launched) live(started chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := b.cmd.Start(); err != nil {
		started <- err
		return
	}
	started <- nil
	_ = b.cmd.Wait() // end has the state
	close(b.exited)
}

// bound ends the browser when it uses more than its memory.
func (b *launched) bound(memory int64) {
	ticker := time.NewTicker(watchEvery)
	defer ticker.Stop()
	for {
		select {
		case <-b.exited:
			return
		case <-ticker.C:
		}
		if used := groupMemory(b.cmd.Process.Pid); used > memory {
			b.mu.Lock()
			b.why = fmt.Sprintf("the browser used %d MiB of memory, more than its %d", used>>20, memory>>20)
			b.mu.Unlock()
			killGroup(b.cmd.Process.Pid)
			return
		}
	}
}

// end is Link.End.
func (b *launched) end() Ended {
	b.once.Do(func() {
		killGroup(b.cmd.Process.Pid) // also what is left of a browser that has ended by itself
		<-b.exited
		b.how = b.cmd.ProcessState.String()
		b.watch.Wait()
		b.clean()
	})
	b.mu.Lock()
	defer b.mu.Unlock()
	return Ended{Why: b.why, How: b.how, Output: withoutShell(b.output.String())}
}

// shellComplaint is a line of the shell script that starts Chromium on Debian, such as "/usr/bin/chromium: 9: [: …".
// On a machine that mounts /dev/shm twice it is printed at each start, and the browser runs nevertheless.
var shellComplaint = regexp.MustCompile(`(?m)^\S*/chromium: \d+: .*(\n|$)`)

// withoutShell is the output of a browser alone.
func withoutShell(output string) string {
	return strings.TrimSpace(shellComplaint.ReplaceAllString(output, ""))
}

// clean removes what the browser wrote.
func (b *launched) clean() {
	if b.guard != nil {
		b.guard.end()
	}
	_ = removeAll(b.home)
	if b.lock != nil {
		_ = b.lock.Close()
	}
}

// cleanTime is how long we wait for processes that are about to end and still write into a browser's folder. On a busy
// machine, that takes some seconds.
const cleanTime = time.Minute

// removeAll removes a folder into which processes that are about to end may still write.
func removeAll(path string) error {
	for end := time.Now().Add(cleanTime); ; time.Sleep(20 * time.Millisecond) {
		err := os.RemoveAll(path)
		if err == nil || errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS) || time.Now().After(end) {
			return err
		}
	}
}

// commandLine locks the browser down: everything goes through the proxy, also loopback; it looks no names up, sends no
// UDP and calls nobody by itself. Frames of other sites share the process of their page: each page is a context of
// its own already, and requests in such frames are intercepted like all others.
func commandLine(path, home, proxy string, sandboxed bool) []string {
	all := []string{
		"headless", "remote-debugging-pipe", "user-data-dir=" + profile(home), "proxy-server=http://" + proxy,
		fmt.Sprintf("window-size=%d,%d", width, height),
		"proxy-bypass-list=<-loopback>", "host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1", "disable-quic",
		"force-webrtc-ip-handling-policy=disable_non_proxied_udp", "ignore-certificate-errors",
		"no-first-run", "no-default-browser-check", "no-pings", "no-service-autorun", "disable-background-networking",
		"disable-breakpad", "disable-crash-reporter", "disable-client-side-phishing-detection",
		"disable-component-update", "disable-component-extensions-with-background-pages", "disable-default-apps",
		"disable-domain-reliability", "disable-extensions", "disable-notifications", "disable-sync",
		"disable-print-preview", "disable-prompt-on-repost", "disable-hang-monitor", "disable-dev-shm-usage",
		"disable-background-timer-throttling", "disable-backgrounding-occluded-windows",
		"disable-renderer-backgrounding", "disable-ipc-flooding-protection", "disable-gpu", "hide-scrollbars",
		"mute-audio", "metrics-recording-only", "deny-permission-prompts", "block-new-web-contents",
		"force-color-profile=srgb", "password-store=basic", "use-mock-keychain", "safebrowsing-disable-auto-update",
		"disable-site-isolation-trials", "js-flags=--max-old-space-size=512",
		"disable-features=Translate,MediaRouter,OptimizationHints,InterestFeedContentSuggestions,AutofillServerCommunication," +
			"CertificateTransparencyComponentUpdater,IsolateOrigins,site-per-process,HttpsUpgrades,HttpsFirstBalancedModeAutoEnable",
	}
	if !sandboxed {
		all = append(all, "no-sandbox")
	}
	line := []string{path}
	for _, flag := range all {
		line = append(line, "--"+flag)
	}
	return append(line, "about:blank")
}

// profile is the folder of the browser's profile.
func profile(home string) string { return filepath.Join(home, "profile") }

// guard is a process that outlives this one by a moment: when it ends without a word, the guard kills the browser's
// group and removes its folder.
type guard struct {
	cmd *exec.Cmd
	in  io.WriteCloser
}

// script reads lines: the number of the browser's group, and "over" when all is cleaned up.
const script = `while read -r line; do
	case "$line" in over) exit 0;; *) group=$line;; esac
done
[ -n "$group" ] && kill -s KILL -- "-$group"
tries=0
while [ -e "$1" ] && [ $tries -lt 600 ]; do # a minute: cleanTime
	rm -rf -- "$1" 2>/dev/null
	[ -e "$1" ] && sleep 0.1
	tries=$((tries+1))
done`

func newGuard(home string) (*guard, error) {
	//nolint:gosec,noctx // the script is a constant; it ends by end, or with this process
	cmd := exec.Command("/bin/sh", "-c", script, "sh", home)
	cmd.SysProcAttr = alone()
	cmd.Env, cmd.Dir = []string{"PATH=" + os.Getenv("PATH")}, "/"
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("the process that cleans up: %w", err)
	}
	return &guard{cmd, in}, nil
}

func (g *guard) protect(group int) { _, _ = fmt.Fprintln(g.in, group) }

func (g *guard) end() {
	_, _ = io.WriteString(g.in, "over\n")
	_ = g.in.Close()
	_ = g.cmd.Wait()
}

// output is what a browser prints: its beginning and its end.
type output struct {
	mu          sync.Mutex
	first, last []byte
}

const maxOutput = 250 // bytes of each

// Write implements io.Writer.
func (o *output) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	n := min(len(b), maxOutput-len(o.first))
	o.first = append(o.first, b[:n]...)
	o.last = append(o.last, b[n:]...)
	o.last = o.last[max(0, len(o.last)-maxOutput):]
	return len(b), nil
}

// String is what was printed.
func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	text := strings.TrimSpace(string(o.first))
	if len(o.last) > 0 {
		text += " … " + strings.TrimSpace(string(o.last))
	}
	return strings.ToValidUTF8(text, "")
}
