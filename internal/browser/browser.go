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

	"github.com/vedette-sec/vedette/internal/infra/pause"
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
	DefaultPages   = 8
	DefaultMemory  = 2 << 30
	DefaultMessage = 64 << 20
)

// Config configures a pool. Zero fields get defaults.
type Config struct {
	Path   string // of the browser; "": looked for in PATH
	Pages  int    // at a time
	Memory int64  // bytes that a browser may use, with all its processes; beyond, it is ended
	Temp   string // folder in which the browser's own is made; default: the system's
	Nobody bool   // if we are root, the browser runs as the user nobody, who reads none of our files

	Message int           // bytes of one message of the browser; beyond, it is ended
	Idle    time.Duration // without a page, after which the browser is ended; 0: never
	Lease   time.Duration // after which the browser gets no new page, and is ended with its last; 0: none

	// Launch starts a browser that uses the proxy at an address; nil: a Launcher does.
	Launch func(ctx context.Context, proxy string) (*Link, error)
}

// Pool opens pages. It is safe for any number of goroutines.
type Pool struct {
	cfg   Config
	slots chan struct{}
	alone chan struct{} // held while all slots are taken, so that nobody waits for somebody who waits
	turn  chan struct{} // held while a browser is looked for, started or ended

	mu      sync.Mutex
	process *process      // nil: none runs
	pages   int           // of process
	emptied chan struct{} // closed and made anew when process has no page any more
	closed  bool
}

// New makes a pool; no browser is started yet. Close it.
func New(cfg Config) *Pool {
	if cfg.Pages <= 0 {
		cfg.Pages = DefaultPages
	}
	if cfg.Message <= 0 {
		cfg.Message = DefaultMessage
	}
	if cfg.Launch == nil {
		launcher := sync.OnceValue(func() *Launcher { return NewLauncher(cfg) })
		cfg.Launch = func(_ context.Context, proxy string) (*Link, error) { return launcher().Launch(proxy) }
	}
	return &Pool{cfg: cfg, slots: make(chan struct{}, cfg.Pages), alone: make(chan struct{}, 1),
		turn: make(chan struct{}, 1), emptied: make(chan struct{})}
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
	Alone     bool          // no other page of the pool is open meanwhile
	Bodies    bool          // those of responses are recorded, too
}

// DefaultTimeout is how long a page lives by default.
const DefaultTimeout = 20 * time.Second

// Open opens an empty page, when there is room for one more. The error is that of the context, ErrNone, ErrClosed, or
// says why there is no browser.
func (p *Pool) Open(ctx context.Context, o Options) (*Page, error) {
	places, err := p.enter(ctx, o.Alone)
	if err != nil {
		return nil, err
	}
	running, err := p.running(ctx)
	if err != nil {
		p.free(places)
		return nil, err
	}
	page, err := open(ctx, running, o)
	if err != nil {
		p.leave(running, places)
		return nil, err
	}
	page.release = func() { p.leave(running, places) }
	return page, nil
}

// enter takes one of the places of pages, or all.
func (p *Pool) enter(ctx context.Context, all bool) (places int, err error) {
	want := 1
	if all {
		if err := enter(ctx, p.alone); err != nil {
			return 0, err
		}
		defer func() { <-p.alone }()
		want = cap(p.slots)
	}
	for places < want {
		if err := enter(ctx, p.slots); err != nil {
			p.free(places)
			return 0, err
		}
		places++
	}
	return places, nil
}

func (p *Pool) free(places int) {
	for range places {
		<-p.slots
	}
}

// enter takes one of some places, when there is one.
func enter(ctx context.Context, places chan struct{}) error {
	select {
	case places <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// leave notes that a page has been closed, which had some places.
func (p *Pool) leave(from *process, places int) {
	p.mu.Lock()
	if from == p.process {
		p.pages--
		if p.pages == 0 {
			close(p.emptied)
			p.emptied = make(chan struct{})
			if p.cfg.Idle > 0 {
				time.AfterFunc(p.cfg.Idle, func() { p.endIdle(from) })
			}
		}
	}
	p.mu.Unlock()
	p.free(places)
}

// endIdle ends a browser that has had no page for a time.
func (p *Pool) endIdle(idle *process) {
	p.turn <- struct{}{}
	defer func() { <-p.turn }()
	p.mu.Lock()
	still := p.process == idle && p.pages == 0
	if still {
		p.process = nil
	}
	p.mu.Unlock()
	if still {
		idle.close()
	}
}

// running is the browser, with one more page, which is started if none runs.
func (p *Pool) running(ctx context.Context) (*process, error) {
	if err := enter(ctx, p.turn); err != nil {
		return nil, err
	}
	defer func() { <-p.turn }()
	for {
		old, emptied, err := p.take()
		if err != nil || old == nil && emptied == nil {
			return p.begin(ctx, err)
		}
		if emptied == nil {
			return old, nil
		}
		select {
		case <-emptied:
		case <-old.ctx.Done():
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// take is the browser that runs, with one more page, or nil; with emptied, its lease is over, and its pages are waited
// for.
func (p *Pool) take() (old *process, emptied chan struct{}, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	old = p.process
	switch {
	case p.closed:
		return nil, nil, ErrClosed
	case old == nil:
		return nil, nil, nil
	case !old.lost() && (p.cfg.Lease == 0 || time.Since(old.started) < p.cfg.Lease):
		p.pages++
		return old, nil, nil
	case !old.lost() && p.pages > 0:
		return old, p.emptied, nil
	}
	p.process = nil
	old.close()
	return nil, nil, nil
}

// begin starts a browser, unless there is an error.
func (p *Pool) begin(ctx context.Context, err error) (*process, error) {
	var begun *process
	for try := 1; err == nil; try++ {
		// On a machine that is very busy Chromium sometimes crashes while it starts, and not when it is tried again
		// a moment later.
		begun, err = start(ctx, p.cfg)
		if err == nil {
			break
		}
		again := !errors.Is(err, errSlow) && !errors.Is(err, ErrNone) && !errors.Is(err, ErrRefused)
		if again && try < startTries && pause.For(ctx, firstPause<<(try-1)) == nil {
			err = nil
		}
	}
	if err != nil {
		return nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		begun.close()
		return nil, ErrClosed
	}
	p.process, p.pages = begun, 1
	return begun, nil
}

const (
	startTries = 5
	firstPause = 100 * time.Millisecond // after the first try; each is twice as long as the one before
)

// ErrRefused is the error of a Config.Launch that would be the same again.
var ErrRefused = errors.New("no browser is lent")

// Close ends the browser; pages that are still open fail.
func (p *Pool) Close() {
	p.mu.Lock()
	p.closed = true
	old := p.process
	p.process = nil
	p.mu.Unlock()
	if old != nil {
		old.close()
	}
	p.turn <- struct{}{} // nobody is starting one any more
	<-p.turn
}

// secret is a word that nobody can guess.
func secret() string { return rand.Text() }
