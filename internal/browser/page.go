package browser

import (
	"context"
	"errors"
	"fmt"
	"net"
	"reflect"
	"strings"
	"sync"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/css"
	"github.com/chromedp/cdproto/dom"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/inspector"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	cdppage "github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/cdproto/target"
	"github.com/chromedp/chromedp"

	"github.com/chromedp/cdproto/fetch"
)

const (
	openTime   = 30 * time.Second
	maxDialogs = 50    // of a page; then its scripts are ended
	maxSent    = 2_000 // requests of a page
)

// Why a page has ended. Timeout is the error of what was being done when its time was over.
var (
	ErrTimeout = errors.New("the page took too long")
	errCrashed = errors.New("the page crashed")
	errDialogs = errors.New("the page opens dialogs without end")
	// ErrEnded is the error of a page whose browser has ended, of what this or another page did.
	ErrEnded = errors.New("the browser has ended")
)

// Dialog is what a script has shown: an alert, a question, a prompt. It is answered with yes, at once.
type Dialog struct{ Kind, Message string }

// Page is an open page. One goroutine uses it; its methods fail with ErrTimeout when its time is over, and with the
// error of the context that it was opened with.
type Page struct {
	process *process
	options Options
	name    string          // to the proxy
	parent  context.Context //nolint:containedctx // the caller's
	ctx     context.Context //nolint:containedctx // of the tab, until its time is over
	cancel  []func()
	release func()
	once    sync.Once
	rules   []Rule
	group   sync.WaitGroup

	mu      sync.Mutex
	changed chan struct{} // closed and made anew when something below changes
	closed  bool
	failed  error // the page has ended by itself
	frame   cdp.FrameID
	loader  cdp.LoaderID
	seen    map[string]bool // what the document has gone through
	pending bool            // another document is on its way
	acted   bool            // something may have made a script ask for another document
	url     string
	shows   cdp.LoaderID // the document that url is of

	dialogs   []Dialog
	shown     int             // dialogs
	armed     map[string]bool // events that are waited for, in lower case, and whether they have come
	sent      int
	proved    map[fetch.RequestID]bool // answered the proxy's question
	refused   []Refusal
	unreached map[string]error // by host:port
	exchanges []Exchange
	recorded  int // bytes
}

// Refusal is a request of a page that was not sent.
type Refusal struct {
	Host string // with its port
	Err  error
}

// open opens a page in a running browser.
func open(ctx context.Context, b *process, o Options) (*Page, error) {
	if o.Timeout <= 0 {
		o.Timeout = DefaultTimeout
	}
	p := &Page{process: b, options: o, parent: ctx, name: secret(), changed: make(chan struct{}), seen: map[string]bool{},
		armed: map[string]bool{}, proved: map[fetch.RequestID]bool{}, unreached: map[string]error{}, url: "about:blank"}
	tab, closeTab := chromedp.NewContext(b.ctx, chromedp.WithNewBrowserContext())
	p.cancel = append(p.cancel, closeTab)
	opened := make(chan error, 1)
	go func() { opened <- chromedp.Do(tab) }()
	timer := time.NewTimer(openTime)
	defer timer.Stop()
	var err error
	select {
	case err = <-opened:
	case <-timer.C:
		err = errors.New("the browser opened no page in time")
	case <-ctx.Done():
		err = ctx.Err()
	}
	if err != nil {
		p.Close()
		if why := b.reason(); why != "" {
			err = &endedError{why}
		}
		return nil, err
	}
	var stop func()
	p.ctx, stop = context.WithTimeout(tab, o.Timeout)
	release := context.AfterFunc(ctx, stop)
	p.cancel = append([]func(){func() { release(); stop() }}, p.cancel...)
	b.proxy.add(p.name, p.dial, p.notReachedAt)
	if err := p.prepare(); err != nil {
		err = p.why(err)
		p.Close()
		return nil, err
	}
	return p, nil
}

// call runs a command of the protocol on the page.
func call[P, R any](p *Page, command cdp.Command[P, R], params P) (R, error) {
	return chromedp.Call(p.ctx, command, params)
}

// prepare has the page tell what we need, and nothing that it could make large: what it logs, its style sheets, its
// nodes.
func (p *Page) prepare() error {
	if err := chromedp.Listen(p.ctx, p.event); err != nil {
		return err
	}
	agent := p.options.UserAgent
	if agent == "" && !p.options.Honest {
		agent = strings.Replace(p.process.agent, "HeadlessChrome", "Chrome", 1)
	}
	tree, err := call(p, cdppage.GetFrameTree, cdp.Empty{})
	if err != nil {
		return err
	}
	p.mu.Lock()
	p.frame = tree.FrameTree.Frame.ID
	p.mu.Unlock()
	handle := true
	for _, step := range []func() error{
		func() error { return p.off(log.Disable, runtime.Disable, css.Disable, dom.Disable, network.Disable) },
		func() error { return p.off(inspector.Enable) },
		func() error {
			_, err := call(p, target.SetAutoAttach, target.SetAutoAttachParams{})
			return err
		},
		func() error {
			_, err := call(p, fetch.Enable, fetch.EnableParams{HandleAuthRequests: &handle, Patterns: []*fetch.RequestPattern{
				{URLPattern: "*", RequestStage: fetch.RequestStageRequest},
				{URLPattern: "*", RequestStage: fetch.RequestStageResponse},
			}})
			return err
		},
		func() error {
			_, err := call(p, emulation.SetDeviceMetricsOverride,
				emulation.SetDeviceMetricsOverrideParams{Width: width, Height: height, DeviceScaleFactor: 1})
			return err
		},
		func() error {
			if agent == "" {
				return nil
			}
			_, err := call(p, emulation.SetUserAgentOverride, emulation.SetUserAgentOverrideParams{UserAgent: agent})
			return err
		},
	} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

func (p *Page) off(commands ...cdp.Command[cdp.Empty, cdp.Empty]) error {
	for _, c := range commands {
		if _, err := call(p, c, cdp.Empty{}); err != nil {
			return err
		}
	}
	return nil
}

// Close closes the page.
func (p *Page) Close() {
	p.once.Do(func() {
		p.mu.Lock()
		p.closed = true
		p.mu.Unlock()
		p.process.proxy.remove(p.name)
		for _, stop := range p.cancel {
			stop()
		}
		p.group.Wait()
		if p.release != nil {
			p.release()
		}
	})
}

// dial is how the proxy connects for this page.
func (p *Page) dial(ctx context.Context, addr string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, dialTime)
	defer cancel()
	conn, err := p.options.Dial(ctx, "tcp", addr)
	if err != nil {
		p.notReachedAt(addr, err)
	}
	return conn, err
}

// notReachedAt notes why an address gave no answer.
func (p *Page) notReachedAt(addr string, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.unreached) < maxSent && p.unreached[addr] == nil {
		p.unreached[addr] = err
	}
}

// spawn runs what an event asks for beside the page, as long as it is open.
func (p *Page) spawn(work func()) {
	if !p.closed {
		p.group.Go(work)
	}
}

// event takes note of what happens; it is called in order, and must not wait.
func (p *Page) event(happened any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch e := happened.(type) {
	case *fetch.EventRequestPaused:
		p.spawn(func() { p.paused(e) })
	case *fetch.EventAuthRequired:
		p.spawn(func() { p.prove(e) })
	case *cdppage.EventJavascriptDialogOpening:
		p.dialog(e)
	case *inspector.EventTargetCrashed:
		p.end(errCrashed)
	default:
		p.navigation(happened)
	}
	name := eventName(happened)
	if _, waited := p.armed[name]; waited {
		p.armed[name] = true
	}
	close(p.changed)
	p.changed = make(chan struct{})
}

// eventName is the name of an event in the protocol, in lower case.
func eventName(event any) string {
	domain, name, _ := strings.Cut(strings.TrimPrefix(reflect.TypeOf(event).String(), "*"), ".Event")
	return strings.ToLower(domain + "." + name)
}

// navigation takes note of how documents of the page come and go. The caller holds mu.
func (p *Page) navigation(event any) {
	switch e := event.(type) {
	case *cdppage.EventLifecycleEvent:
		if e.FrameID != p.frame {
			return
		}
		if e.Name == "init" || e.LoaderID != p.loader {
			p.loader, p.seen, p.pending = e.LoaderID, map[string]bool{}, false
		}
		p.seen[e.Name] = true
	case *cdppage.EventFrameRequestedNavigation:
		if e.FrameID == p.frame && e.Disposition == cdppage.ClientNavigationDispositionCurrentTab {
			p.pending = true
		}
	case *cdppage.EventFrameStartedNavigating:
		same := e.NavigationType == cdppage.FrameStartedNavigatingNavigationTypeSameDocument ||
			e.NavigationType == cdppage.FrameStartedNavigatingNavigationTypeHistorySameDocument
		if e.FrameID == p.frame {
			p.pending = !same
		}
	case *cdppage.EventFrameStoppedLoading:
		if e.FrameID == p.frame {
			p.pending = false
		}
	case *cdppage.EventFrameNavigated:
		if e.Frame.ID == p.frame {
			p.url, p.shows = e.Frame.URL+e.Frame.URLFragment, e.Frame.LoaderID
		}
	case *cdppage.EventNavigatedWithinDocument:
		if e.FrameID == p.frame {
			p.url, p.pending = e.URL, false
		}
	}
}

// dialog answers a dialog. One that shows them without end is stopped. The caller holds mu.
func (p *Page) dialog(e *cdppage.EventJavascriptDialogOpening) {
	p.shown++
	if len(p.dialogs) < maxDialogs {
		p.dialogs = append(p.dialogs, Dialog{string(e.Type), clip(e.Message, maxText)})
	}
	over := p.shown > maxDialogs
	if p.shown > 2*maxDialogs {
		p.end(errDialogs)
	}
	p.spawn(func() {
		if over { // takes effect when the dialog is answered
			p.spawnLocked(func() { _, _ = call(p, runtime.TerminateExecution, cdp.Empty{}) })
		}
		_, _ = call(p, cdppage.HandleJavaScriptDialog, cdppage.HandleJavaScriptDialogParams{Accept: true})
	})
}

func (p *Page) spawnLocked(work func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.spawn(work)
}

// end notes why the page has ended. The caller holds mu.
func (p *Page) end(err error) {
	if p.failed == nil {
		p.failed = err
	}
}

// why is what an error of a command means.
func (p *Page) why(err error) error {
	if err == nil {
		return nil
	}
	p.mu.Lock()
	failed := p.failed
	p.mu.Unlock()
	switch reason := p.process.reason(); {
	case p.parent.Err() != nil:
		return p.parent.Err()
	case failed != nil:
		return failed
	case reason != "":
		return &endedError{reason}
	case p.process.lost():
		return ErrEnded
	case p.ctx != nil && errors.Is(p.ctx.Err(), context.DeadlineExceeded):
		return fmt.Errorf("%w: %v are over", ErrTimeout, p.options.Timeout)
	}
	return err
}

// await waits until a condition holds; it is asked while mu is held. The error is that of the page, or
// context.DeadlineExceeded after the timeout.
func (p *Page) await(timeout time.Duration, holds func() bool) error {
	ctx, cancel := context.WithTimeout(p.ctx, timeout)
	defer cancel()
	for {
		p.mu.Lock()
		ok, changed, failed := holds(), p.changed, p.failed
		p.mu.Unlock()
		switch {
		case ok:
			return nil
		case failed != nil:
			return failed
		}
		select {
		case <-changed:
		case <-ctx.Done():
			if p.ctx.Err() != nil {
				return p.why(p.ctx.Err())
			}
			return context.DeadlineExceeded
		}
	}
}

// clip is the beginning of a text, in whole characters.
func clip(text string, size int) string {
	if len(text) > size {
		text = strings.ToValidUTF8(text[:size], "")
	}
	return text
}
