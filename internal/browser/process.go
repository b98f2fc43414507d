package browser

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/chromedp/cdproto/browser"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/target"
	"github.com/chromedp/chromedp"
)

const (
	startTime     = 30 * time.Second
	width, height = 1920, 1080 // pixels of a page
)

var errSlow = errors.New("it did not start in time")

// process is a running browser with the proxy that it uses.
type process struct {
	proxy   *proxy
	link    *Link
	wire    *bounded
	agent   string          // its user agent
	ctx     context.Context //nolint:containedctx // of the browser: ends with it
	started time.Time

	cancel []func()
	once   sync.Once
	ended  sync.Once
	last   Ended
}

// start starts a browser.
func start(ctx context.Context, cfg Config) (*process, error) {
	b := &process{}
	var err error
	if b.proxy, err = newProxy(); err != nil {
		return nil, err
	}
	if b.link, err = cfg.Launch(ctx, b.proxy.addr()); err != nil {
		b.close()
		return nil, err
	}
	b.started = time.Now()
	b.wire = &bounded{file: b.link.Messages, most: cfg.Message}
	// The context of the messages outlives that of the pages, which say goodbye.
	messages, stop := context.WithCancel(context.Background())
	allocated, free := chromedp.NewAllocatorContext(context.Background(), &allocator{b, messages})
	discard := func(string, ...any) {} // what is wrong with a message is of no interest to who scans
	main, end := chromedp.NewContext(allocated, chromedp.WithLogf(discard), chromedp.WithErrorf(discard))
	b.ctx, b.cancel = main, []func(){end, free, stop}
	started := make(chan error, 1)
	go func() { started <- b.greet() }()
	timer := time.NewTimer(startTime)
	defer timer.Stop()
	select {
	case err = <-started:
	case <-timer.C:
		err = errSlow
	case <-ctx.Done():
		err = ctx.Err()
	}
	if err != nil {
		b.close()
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, fmt.Errorf("the browser: %w", b.startError(err))
	}
	return b, nil
}

// startError is why a browser that has been closed did not start.
func (b *process) startError(err error) error {
	if b.last.Why != "" {
		return errors.New(b.last.Why)
	}
	if b.ctx != nil && b.ctx.Err() != nil && !errors.Is(err, errSlow) {
		err = fmt.Errorf("it has ended (%s)", b.last.How)
	}
	if b.last.Output != "" {
		return fmt.Errorf("%w: %s", err, b.last.Output)
	}
	return err
}

// greet learns about the browser, and has it tell of windows.
func (b *process) greet() error {
	version, err := chromedp.CallBrowser(b.ctx, browser.GetVersion, cdp.Empty{})
	if err != nil {
		return err
	}
	b.agent = version.UserAgent
	if err := chromedp.ListenBrowser(b.ctx, b.closeWindows); err != nil {
		return err
	}
	_, err = chromedp.CallBrowser(b.ctx, target.SetDiscoverTargets, target.SetDiscoverTargetsParams{Discover: true})
	return err
}

// allocator has chromedp use a browser that was started.
type allocator struct {
	*process
	messages context.Context //nolint:containedctx // of the connection
}

// Allocate implements chromedp.Allocator.
func (a *allocator) Allocate(_ context.Context, opts ...chromedp.BrowserOption) (*chromedp.Browser, error) {
	return chromedp.NewBrowserTransport(a.messages, chromedp.NewPipeConn(a.wire, a.link.Commands), opts...)
}

// Wait implements chromedp.Allocator.
func (a *allocator) Wait() {}

// Attaches implements chromedp.Attacher.
func (a *allocator) Attaches() bool { return true }

// bounded reads what a browser says, as long as no message is too long.
type bounded struct {
	file *os.File
	most int
	size int // of the message that is being read

	mu   sync.Mutex
	over bool // a message was too long
	gone bool // nothing more comes
}

// Read implements io.Reader.
func (r *bounded) Read(b []byte) (int, error) {
	n, err := r.file.Read(b)
	if i := bytes.LastIndexByte(b[:max(0, n)], 0); i >= 0 {
		r.size = n - i - 1
	} else {
		r.size += n
	}
	over := r.size > r.most
	if over {
		n, err = 0, io.ErrUnexpectedEOF
	}
	if err != nil {
		r.mu.Lock()
		r.over, r.gone = over, true
		r.mu.Unlock()
	}
	return n, err
}

// Close implements io.Closer.
func (r *bounded) Close() error { return r.file.Close() }

// why is why nothing more is read; "" for no reason of ours.
func (r *bounded) why() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.over {
		return ""
	}
	return fmt.Sprintf("the browser sent more than %d MiB in one message", r.most>>20)
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

// lost reports whether the browser has ended, or says nothing more.
func (b *process) lost() bool {
	b.wire.mu.Lock()
	defer b.wire.mu.Unlock()
	return b.wire.gone || b.ctx.Err() != nil
}

// reason is why the browser has ended; "" while it runs, or when we do not know.
func (b *process) reason() string {
	if !b.lost() {
		return ""
	}
	b.end()
	return b.last.Why
}

// end ends the browser itself.
func (b *process) end() {
	b.ended.Do(func() {
		b.last = b.link.End()
		b.last.Why = cmp.Or(b.wire.why(), b.last.Why)
	})
}

// close ends the browser and its proxy, and removes what it wrote.
func (b *process) close() {
	b.once.Do(func() {
		if b.link != nil {
			b.end()
		}
		for _, stop := range b.cancel {
			stop()
		}
		if b.link != nil {
			_, _ = b.link.Commands.Close(), b.link.Messages.Close()
		}
		b.proxy.close()
	})
}

// endedError is an ErrEnded that says why.
type endedError struct{ why string }

// Error implements error.
func (e *endedError) Error() string { return e.why }

// Is implements the interface of errors.Is.
func (e *endedError) Is(target error) bool { return target == ErrEnded }
