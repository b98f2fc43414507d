package child

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"sync"
	"time"

	"github.com/vedette-sec/vedette/internal/browser"
	"github.com/vedette-sec/vedette/internal/infra/sandbox"
)

// Browsers are those that a pool lends its children, which may start no programs. A child speaks with its browser by
// itself, and holds its pages to the scope; this process reads nothing of what a page says.
type Browsers struct {
	AtOnce int           // 0: none
	Why    string        // there are none
	Memory int64         // bytes of each; 0: browser.DefaultMemory
	Path   string        // of Chromium; "": looked for in PATH
	Temp   string        // see browser.Config.Temp
	Lease  time.Duration // after which a child gives back its browser, and waits for another; default 30 s
	Wait   time.Duration // for a browser that others have; default 10 min
}

// Browsers are those of the configuration, for others in this process who drive one.
func (p *Pool) Browsers() Browsers { return p.config.Browsers }

// The kinds of questions about browsers, which are answered for every job.
const (
	askBrowser      = "browser"      // to be lent one that uses the proxy at an address of this machine
	tellBrowserOver = "browser over" // it is not used any more; the answer is a browser.Ended as JSON
)

const (
	defaultLease = 30 * time.Second
	defaultWait  = 10 * time.Minute
	idleTime     = 3 * time.Second // without a page, after which a child gives back its browser
)

// pages are what a job may do with browsers, as it is sent.
type pages struct {
	AtOnce  int // 0: there is no browser
	Message int // see browser.Config
	Lease   time.Duration
}

// pages are those of the pool's children: fewer where these have little memory, in which they keep what pages say.
func (p *Pool) pages() pages {
	const page, most = 64 << 20, 4
	return pages{
		AtOnce:  int(min(max(p.config.Memory/page-1, 1), most)),
		Message: int(min(max(p.config.Memory/8, 4<<20), browser.DefaultMessage)),
		Lease:   cmp.Or(p.config.Browsers.Lease, defaultLease),
	}
}

// offer says in a job what its templates may do with browsers.
func (p *Pool) offer(w *wire) {
	if p.config.Browsers.AtOnce > 0 {
		w.Pages = p.pages()
		return
	}
	w.Config.Pages.Without = cmp.Or(p.config.Browsers.Why, w.Config.Pages.Without)
}

// pool is the pool of a child's job.
func (p *pages) pool(lend func(ctx context.Context, proxy string) (*browser.Link, error)) *browser.Pool {
	return browser.New(browser.Config{
		Pages: p.AtOnce, Message: p.Message, Lease: p.Lease, Idle: idleTime, Launch: lend,
	})
}

// lend gets a browser from the parent.
func (c *conversation) lend(ctx context.Context, proxy string) (*browser.Link, error) {
	id, got, err := c.begin(Question{Kind: askBrowser, Text: proxy})
	if err != nil {
		return nil, err
	}
	select {
	case why := <-got:
		switch why {
		case "":
		case browser.ErrNone.Error():
			return nil, browser.ErrNone
		default:
			return nil, fmt.Errorf("%w: %s", browser.ErrRefused, why)
		}
	case <-ctx.Done():
		_, _, err := c.begin(Question{Kind: tellBrowserOver}) // nobody waits for the answer
		return nil, cmp.Or(ctx.Err(), err)
	}
	files, err := sandbox.ReceiveFiles(uint32(id))
	if err == nil && len(files) != 2 {
		err = errors.New("a browser has two files")
	}
	if err != nil {
		return nil, err
	}
	return &browser.Link{Commands: files[0], Messages: files[1], End: sync.OnceValue(func() (ended browser.Ended) {
		_ = json.Unmarshal([]byte(c.ask(Question{Kind: tellBrowserOver})), &ended) // it is over in any case
		return ended
	})}, nil
}

// lender lends the child of an attempt one browser at a time.
type lender struct {
	pool  *Pool
	child *process
	write func(kind byte, v any) error // to the child

	ctx     context.Context //nolint:containedctx // of the attempt
	stop    context.CancelFunc
	waiting context.CancelFunc // of the last question
	group   sync.WaitGroup

	mu   sync.Mutex // held while a question is answered
	link *browser.Link
}

func (t *attempt) lender() *lender {
	l := &lender{pool: t.pool, child: t.child, write: t.writeJSON, waiting: func() {}}
	l.ctx, l.stop = context.WithCancel(context.Background())
	return l
}

// question answers one in the background: a browser may be waited for. It ends the wait of the question before.
func (l *lender) question(q asked) {
	l.waiting()
	ctx, cancel := context.WithCancel(l.ctx)
	l.waiting = cancel
	l.group.Go(func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		answer := ""
		if q.Kind == askBrowser {
			if err := l.lend(ctx, q); err != nil {
				answer = err.Error()
			}
		} else {
			answer = string(textOf(l.end()))
		}
		_ = l.write(frameReply, replied{q.ID, answer}) // a child that has ended needs none
	})
}

// lend lends a browser. The caller holds mu.
func (l *lender) lend(ctx context.Context, q asked) error {
	l.end()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if proxy, err := netip.ParseAddrPort(q.Text); err != nil || !proxy.Addr().IsLoopback() {
		return errors.New("its proxy is not on this machine")
	}
	if _, err := browser.Find(l.pool.config.Browsers.Path); err != nil {
		return err
	}
	wait := cmp.Or(l.pool.config.Browsers.Wait, defaultWait)
	late := time.NewTimer(wait)
	defer late.Stop()
	select {
	case l.pool.browsers <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	case <-late.C:
		return fmt.Errorf("other work had all browsers for %v", wait)
	}
	link, err := l.pool.launcher.Launch(q.Text)
	if err != nil {
		<-l.pool.browsers
		return err
	}
	l.link = link
	err = l.child.SendFiles(uint32(q.ID), link.Commands, link.Messages)
	_, _ = link.Commands.Close(), link.Messages.Close()
	if err != nil {
		l.end()
	}
	return err
}

// end ends the browser that is lent. The caller holds mu.
func (l *lender) end() (ended browser.Ended) {
	if l.link != nil {
		ended = l.link.End()
		l.link = nil
		<-l.pool.browsers
	}
	return ended
}

// close takes back what is lent, at the end of the attempt.
func (l *lender) close() {
	l.stop()
	l.group.Wait()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.end()
}
