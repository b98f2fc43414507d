// Package browser runs pages in the installed Chromium: for templates that drive a browser, and for screenshots.
//
// A Pool starts one browser when the first page is opened, and again when one has died; each page has a browser
// context of its own, so that pages share neither cookies nor caches. All that a browser sends goes through one
// forwarding proxy in this process (proxy.go), which dials with the function of the page that asks: redirects,
// scripts, frames, WebSockets and the resolution of names obey the caller's scope. Requests are also intercepted
// (intercept.go), to limit, change and record them. The browser talks to us over a pipe, not over a port.
//
// What a page may use is bounded: time, windows, dialogs, requests, bytes and, for the whole browser, memory. A browser
// and its folder go with this process, also when it is killed (process.go).
package browser

import (
	"context"
	"crypto/rand"
	"errors"
	"net"
	"net/url"
	"os/exec"
	"sync"
	"time"
)

// ErrNone is the error where no browser is installed.
var ErrNone = errors.New("no Chromium is installed (on Debian: apt install chromium)")

// ErrClosed is the error of a pool that was closed.
var ErrClosed = errors.New("the browsers were closed")

// names are those of the browser in PATH.
var names = []string{"chromium-headless-shell", "headless-shell", "chromium", "chromium-browser", "google-chrome",
	"google-chrome-stable"}

// Find is the path of the browser: path itself, or the first of PATH when it is "". The error is ErrNone.
func Find(path string) (string, error) {
	if path != "" {
		names := []string{path}
		return find(names)
	}
	return find(names)
}

func find(names []string) (string, error) {
	for _, name := range names {
		if found, err := exec.LookPath(name); err == nil {
			return found, nil
		}
	}
	return "", ErrNone
}

// The defaults of Config.
const (
	DefaultPages  = 8
	DefaultMemory = 2 << 30
)

// Config configures a pool. Zero fields get defaults.
type Config struct {
	Path   string // of the browser; "": looked for in PATH
	Pages  int    // at a time
	Memory int64  // bytes that a browser may use, with all its processes; beyond, it is ended
	Temp   string // folder in which the browser's own is made; default: the system's
}

// Pool opens pages. It is safe for any number of goroutines.
type Pool struct {
	cfg   Config
	slots chan struct{}

	mu      sync.Mutex
	process *process // nil: none runs
	closed  bool
}

// New makes a pool; no browser is started yet. Close it.
func New(cfg Config) *Pool {
	if cfg.Pages <= 0 {
		cfg.Pages = DefaultPages
	}
	if cfg.Memory <= 0 {
		cfg.Memory = DefaultMemory
	}
	return &Pool{cfg: cfg, slots: make(chan struct{}, cfg.Pages)}
}

// Header is a header line.
type Header struct{ Name, Value string }

// Options are those of one page.
type Options struct {
	// Dial makes the connections of the page, to host:port; its error refuses one.
	Dial func(ctx context.Context, network, addr string) (net.Conn, error)
	// Before is called before each request; its error refuses it. It may wait. nil allows all.
	Before func(ctx context.Context, u *url.URL) error

	Timeout   time.Duration // for all that the page does; default DefaultTimeout
	Headers   []Header      // sent with every request
	UserAgent string        // "": the browser's own, without the word Headless
	Honest    bool          // the browser's own user agent, as it is
	ReadOnly  bool          // requests that are neither GET nor HEAD are refused
	Bodies    bool          // those of responses are recorded, too
}

// DefaultTimeout is how long a page lives by default.
const DefaultTimeout = 20 * time.Second

// Open opens an empty page, when there is room for one more. The error is that of the context, ErrNone, ErrClosed, or
// says why there is no browser.
func (p *Pool) Open(ctx context.Context, o Options) (*Page, error) {
	select {
	case p.slots <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	release := func() { <-p.slots }
	running, err := p.running()
	if err != nil {
		release()
		return nil, err
	}
	page, err := open(ctx, running, o)
	if err != nil {
		release()
		return nil, err
	}
	page.release = release
	return page, nil
}

// running is the browser, which is started if none runs.
func (p *Pool) running() (*process, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, ErrClosed
	}
	if p.process != nil && p.process.ctx.Err() == nil {
		return p.process, nil
	}
	if p.process != nil {
		p.process.close()
		p.process = nil
	}
	path, err := Find(p.cfg.Path)
	if err != nil {
		return nil, err
	}
	for try := 1; ; try++ {
		// On a machine that is very busy Chromium sometimes crashes while it starts, and not when it is tried again.
		if p.process, err = start(path, p.cfg); err == nil || try == startTries || errors.Is(err, errSlow) {
			return p.process, err
		}
	}
}

const startTries = 3

// Close ends the browser; pages that are still open fail.
func (p *Pool) Close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	if p.process != nil {
		p.process.close()
		p.process = nil
	}
}

// secret is a word that nobody can guess.
func secret() string { return rand.Text() }
