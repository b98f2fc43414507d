// Package shot takes screenshots with the installed browser. The browser reaches everything through one proxy,
// in this process, which dials as the guard allows, and it resolves no names.
package shot

import (
	"context"
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/chromedp/chromedp"
)

const (
	width, height = 1280, 800 // pixels
	maxPicture    = 4 << 20   // bytes of PNG
	pageTime      = 20 * time.Second
	startTime     = 30 * time.Second
	settleTime    = 5 * time.Second // for a page to load; then it is taken as it is
)

// ErrNone is the error where no browser is installed.
var ErrNone = errors.New("no Chromium is installed")

// Browser is a running browser. Close it.
type Browser struct {
	proxy  *proxy
	ctx    context.Context
	cancel []func()
	home   string
	slots  chan struct{} // screenshots at a time
}

// names are those of the browser in PATH.
var names = []string{"chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "headless-shell"}

// Start starts the browser at path, or one of PATH when it is "". dial makes its
// connections. The error is ErrNone where there is none.
func Start(
	ctx context.Context, path string, dial func(ctx context.Context, addr string) (net.Conn, error),
) (*Browser, error) {
	if path == "" {
		for _, name := range names {
			if found, err := exec.LookPath(name); err == nil {
				path = found
				break
			}
		}
	}
	if path == "" {
		return nil, ErrNone
	}
	home, err := os.MkdirTemp("", "vedette-browser-")
	if err != nil {
		return nil, err
	}
	p, err := listen(dial)
	if err != nil {
		_ = os.RemoveAll(home)
		return nil, err
	}
	b := &Browser{proxy: p, home: home, slots: make(chan struct{}, 2)}
	allocated, stop := chromedp.NewExecAllocator(ctx, options(path, home, p.addr())...)
	main, end := chromedp.NewContext(allocated)
	b.ctx, b.cancel = main, []func(){end, stop}
	started := make(chan error, 1)
	go func() { started <- chromedp.Do(main) }()
	select {
	case err = <-started:
	case <-time.After(startTime):
		err = errors.New("the browser did not start in time")
	}
	if err != nil {
		b.Close()
		return nil, err
	}
	return b, nil
}

// options route everything through the proxy, also loopback: no look-ups, no UDP, no calls home.
func options(path, home, proxy string) []chromedp.ExecAllocatorOption {
	return append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(path),
		chromedp.UserDataDir(filepath.Join(home, "profile")),
		chromedp.Env("HOME="+home),
		chromedp.NoSandbox, // it runs in containers and as root as well
		chromedp.WindowSize(width, height),
		chromedp.ProxyServer("http://"+proxy),
		chromedp.Flag("proxy-bypass-list", "<-loopback>"),
		chromedp.Flag("host-resolver-rules", "MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"),
		chromedp.Flag("disable-quic", true),
		chromedp.Flag("force-webrtc-ip-handling-policy", "disable_non_proxied_udp"),
		chromedp.Flag("ignore-certificate-errors", true),
		chromedp.Flag("deny-permission-prompts", true),
		chromedp.Flag("disable-component-update", true),
		chromedp.Flag("disable-domain-reliability", true),
		chromedp.Flag("no-pings", true),
		chromedp.Flag("mute-audio", true),
	)
}

// Take gives a screenshot of the page at an http or https URL, as PNG.
func (b *Browser) Take(ctx context.Context, url string) ([]byte, error) {
	if !strings.HasPrefix(url, "http://") && !strings.HasPrefix(url, "https://") {
		return nil, errors.New("only web pages are shown")
	}
	select {
	case b.slots <- struct{}{}:
		defer func() { <-b.slots }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	tab, closeTab := chromedp.NewContext(b.ctx)
	defer closeTab()
	defer context.AfterFunc(ctx, closeTab)()
	if err := chromedp.Do(tab); err != nil { // opens it; under a time limit the tab would end with it
		return nil, plain(err)
	}
	timed, cancel := context.WithTimeout(tab, pageTime)
	defer cancel()
	loading, loaded := context.WithTimeout(timed, settleTime)
	defer loaded()
	// A page that loads for ever is taken as far as it has come.
	if err := chromedp.Do(loading, chromedp.Navigate(url)); err != nil && loading.Err() == nil {
		return nil, plain(err)
	}
	picture, err := chromedp.Run(timed, chromedp.CaptureScreenshot())
	if err != nil {
		return nil, plain(err)
	}
	if len(picture) > maxPicture {
		return nil, errors.New("the picture is larger than 4 MiB")
	}
	return picture, nil
}

// plain is the first line of the browser's error.
func plain(err error) error {
	if errors.Is(err, context.DeadlineExceeded) {
		return errors.New("the page took too long")
	}
	line, _, _ := strings.Cut(err.Error(), "\n")
	return errors.New(strings.TrimSpace(line))
}

// Close ends the browser and the proxy, and removes what the browser wrote.
func (b *Browser) Close() {
	for _, stop := range b.cancel {
		stop()
	}
	b.proxy.close()
	_ = os.RemoveAll(b.home)
}
