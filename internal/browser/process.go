package browser

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/chromedp/cdproto/browser"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/target"
	"github.com/chromedp/chromedp"
)

const (
	startTime     = 30 * time.Second
	watchEvery    = 250 * time.Millisecond
	width, height = 1920, 1080 // pixels of a page
)

var errSlow = errors.New("it did not start in time")

// process is a running browser with its proxy and its folder.
type process struct {
	proxy *proxy
	agent string          // its user agent
	ctx   context.Context //nolint:containedctx // of the browser: ends with it
	home  string

	cancel []func()
	guard  *guard
	group  sync.WaitGroup
	once   sync.Once
	over   chan struct{} // close was called

	mu  sync.Mutex
	why string // it was ended; "" for no reason of ours
}

// start starts the browser at path.
func start(path string, cfg Config) (*process, error) {
	home, err := os.MkdirTemp(cfg.Temp, "vedette-browser-")
	if err != nil {
		return nil, err
	}
	b := &process{home: home, over: make(chan struct{})}
	if b.guard, err = newGuard(home); err != nil {
		b.close()
		return nil, err
	}
	if b.proxy, err = newProxy(); err != nil {
		b.close()
		return nil, err
	}
	allocated, stop := chromedp.NewExecAllocator(context.Background(), options(path, home, b.proxy.addr())...)
	main, end := chromedp.NewContext(allocated)
	b.ctx, b.cancel = main, []func(){end, stop}
	started := make(chan error, 1)
	go func() { started <- chromedp.Do(main) }()
	select {
	case err = <-started:
	case <-time.After(startTime):
		err = errSlow
	}
	if err == nil {
		err = b.watch(cfg.Memory)
	}
	if err != nil {
		b.close()
		return nil, fmt.Errorf("the browser %s: %w", path, plain(err))
	}
	return b, nil
}

// watch learns about the browser that has started, and looks after it.
func (b *process) watch(memory int64) error {
	version, err := chromedp.CallBrowser(b.ctx, browser.GetVersion, cdp.Empty{})
	if err != nil {
		return err
	}
	b.agent = version.UserAgent
	number := chromedp.FromContext(b.ctx).Browser.Process().Pid
	b.guard.protect(number)
	if err := chromedp.ListenBrowser(b.ctx, b.closeWindows); err != nil {
		return err
	}
	b.group.Go(func() {
		ticker := time.NewTicker(watchEvery)
		defer ticker.Stop()
		for {
			select {
			case <-b.over:
				return
			case <-b.ctx.Done():
				return
			case <-ticker.C:
			}
			if used := groupMemory(number); used > memory {
				b.mu.Lock()
				b.why = fmt.Sprintf("the browser used %d MiB of memory, more than its %d", used>>20, memory>>20)
				b.mu.Unlock()
				killGroup(number)
				return
			}
		}
	})
	return nil
}

// closeWindows closes each window that a page opens.
func (b *process) closeWindows(event any) {
	created, ok := event.(*target.EventTargetCreated)
	if !ok || created.TargetInfo.OpenerID == "" {
		return
	}
	go func() {
		ctx, cancel := context.WithTimeout(b.ctx, openTime)
		defer cancel()
		_, _ = chromedp.CallBrowser(ctx, target.CloseTarget, target.CloseTargetParams{TargetID: created.TargetInfo.TargetID})
	}()
}

// reason is why the browser was ended; "" when it was not, or we do not know.
func (b *process) reason() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.why
}

// close ends the browser and removes what it wrote.
func (b *process) close() {
	b.once.Do(func() {
		close(b.over)
		for _, stop := range b.cancel {
			stop()
		}
		if b.proxy != nil {
			b.proxy.close()
		}
		b.group.Wait()
		if b.guard != nil {
			b.guard.end()
		}
		_ = removeAll(b.home)
	})
}

// removeAll removes a folder into which processes that are about to end may still write.
func removeAll(path string) (err error) {
	for range 50 {
		if err = os.RemoveAll(path); err == nil {
			return nil
		}
		time.Sleep(20 * time.Millisecond)
	}
	return err
}

// options lock the browser down: everything goes through the proxy, also loopback; it looks no names up, sends no
// UDP and calls nobody by itself. Frames of other sites share the process of their page: each page is a context of
// its own already, and requests in such frames are intercepted like all others.
func options(path, home, proxy string) []chromedp.ExecAllocatorOption {
	all := []chromedp.ExecAllocatorOption{
		chromedp.ExecPath(path),
		chromedp.UserDataDir(filepath.Join(home, "profile")),
		chromedp.NoInheritEnv,
		chromedp.Env("HOME="+home, "TMPDIR="+home, "PATH="+os.Getenv("PATH"), "LANG=C.UTF-8"),
		chromedp.ModifyCmdFunc(func(cmd *exec.Cmd) { cmd.SysProcAttr = attributes() }),
		chromedp.Headless,
		chromedp.ProxyServer("http://" + proxy),
		chromedp.WindowSize(width, height),
	}
	for _, flag := range []string{
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
	} {
		if name, value, ok := strings.Cut(flag, "="); ok {
			all = append(all, chromedp.Flag(name, value))
		} else {
			all = append(all, chromedp.Flag(name, true))
		}
	}
	if os.Getuid() == 0 {
		all = append(all, chromedp.NoSandbox) // Chromium has no sandbox for root, and refuses to start with one
	}
	return all
}

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
[ -n "$group" ] && kill -9 -- "-$group"
tries=0
while [ -e "$1" ] && [ $tries -lt 50 ]; do
	rm -rf -- "$1" 2>/dev/null || sleep 0.1
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

// plain is an error of the browser with the beginning and the end of what it printed.
func plain(err error) error {
	text := strings.TrimSpace(err.Error())
	if len(text) > maxReason {
		const half = maxReason / 2
		text = strings.ToValidUTF8(text[:half], "") + " … " + strings.ToValidUTF8(text[len(text)-half:], "")
	}
	if text == err.Error() {
		return err
	}
	return errors.New(text)
}

const maxReason = 500 // bytes
