// Package engine runs programs against targets and tells what it found, and what it
// could not test.
//
// An Engine holds the connections, limits and clocks; any number of scans may run in it
// at once and share nothing else. A scan sends equal requests of different programs
// once a target. It dials only through Config.Dial: scope is decided there.
package engine

import (
	"context"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/vedette-sec/vedette/internal/engine/dsl/functions"
	"github.com/vedette-sec/vedette/internal/engine/proto/rawurl"
	"github.com/vedette-sec/vedette/internal/engine/proto/web"
	"github.com/vedette-sec/vedette/internal/infra/errs"
)

// Header is one header line to send with every request.
type Header struct{ Name, Value string }

// Config says how an engine behaves towards the world. Zero fields get defaults.
type Config struct {
	// Dial opens every connection of the engine; the place to enforce scope. An error
	// that carries an *errs.Error of kind Forbidden means that the place is out of
	// scope: the cells it concerns are Denied. Default: net.Dialer.
	Dial func(ctx context.Context, network, addr string) (net.Conn, error)

	Timeout     time.Duration // for each of dial and TLS handshake; default 10 s. An exchange gets three of it
	Retries     int           // further attempts after a request had no answer; default 0
	RateLimit   int           // requests in a RateWindow over all scans, redirects included; 0 means no limit
	HostRate    int           // requests in a RateWindow to one host and port; 0 means no limit
	RateWindow  time.Duration // default 1 s
	Concurrency int           // requests in flight over all scans; default 50
	PerHost     int           // requests in flight at one host and port; default 10
	MaxBody     int64         // bytes kept of a response body; default 10 MiB
	BodyMemory  int64         // bytes of all large bodies that are held at a time; default 256 MiB
	UserAgent   string        // default web.DefaultUserAgent
	Headers     []Header      // sent with every request; they win over a template's own

	// Patience are the pauses before each attempt to reach a host that stopped answering
	// in the middle of a scan; after the last it is given up. Default 200 ms, 1 s and 3 s.
	Patience []time.Duration

	// Allow is asked before every request, and before a redirect is followed; nil allows
	// all that Dial allows. A request that it refuses leaves its cells Denied.
	Allow func(u *url.URL) bool
}

const (
	defaultConcurrency = 50
	progressEvery      = 250 * time.Millisecond
)

// Engine runs scans. It is safe for any number of goroutines.
type Engine struct {
	cfg     Config
	client  *web.Client
	limiter *rate.Limiter   // nil without a limit
	slots   chan struct{}   // requests in flight
	world   *functions.Host // what functions of the language may touch

	mu    sync.Mutex
	hosts map[string]*host // in use, by host and port
}

// New makes an engine. Close it when the last scan is over.
func New(cfg Config) *Engine {
	if cfg.Concurrency <= 0 {
		cfg.Concurrency = defaultConcurrency
	}
	if cfg.PerHost <= 0 {
		cfg.PerHost = web.DefaultPerHost
	}
	if cfg.Timeout <= 0 {
		cfg.Timeout = web.DefaultTimeout
	}
	if cfg.RateWindow <= 0 {
		cfg.RateWindow = time.Second
	}
	if len(cfg.Patience) == 0 {
		cfg.Patience = []time.Duration{200 * time.Millisecond, time.Second, 3 * time.Second}
	}
	headers := make([]web.Header, len(cfg.Headers))
	for i, h := range cfg.Headers {
		headers[i] = web.Header(h)
	}
	e := &Engine{
		cfg: cfg, slots: make(chan struct{}, cfg.Concurrency), hosts: map[string]*host{}, world: &functions.Host{Dial: cfg.Dial},
		client: web.New(web.Config{
			Dial: cfg.Dial, Timeout: cfg.Timeout, MaxBody: cfg.MaxBody, BodyMemory: cfg.BodyMemory, PerHost: cfg.PerHost,
			UserAgent: cfg.UserAgent, Headers: headers,
		}),
	}
	if cfg.RateLimit > 0 {
		e.limiter = cfg.limiter(cfg.RateLimit)
	}
	return e
}

// limiter spreads so many requests evenly over each window; a tenth of a second's share
// may go at once.
func (cfg *Config) limiter(requests int) *rate.Limiter {
	perSecond := float64(requests) / cfg.RateWindow.Seconds()
	return rate.NewLimiter(rate.Limit(perSecond), max(1, int(perSecond/10)))
}

// Close ends the connections that are kept. Scans that still run go on with new ones.
func (e *Engine) Close() { e.client.Close() }

// gate waits for the rate limit.
func (e *Engine) gate(ctx context.Context) error { return wait(ctx, e.limiter) }

// wait waits for one's turn in a rate limit; nil is no limit. A context that will end
// before is waited for, too: what then counts is that it ended.
func wait(ctx context.Context, l *rate.Limiter) error {
	if l == nil || ctx.Err() != nil {
		return ctx.Err()
	}
	turn := l.Reserve()
	if err := pause(ctx, turn.Delay()); err != nil {
		turn.Cancel()
		return err
	}
	return nil
}

// pause waits for d, or until ctx ends.
func pause(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// retryPause is the pause before the first retry; each further one is longer by as much.
const retryPause = 200 * time.Millisecond

// gateFunc is asked before each request goes out; its error stops it.
type gateFunc = func(ctx context.Context) error

// send sends one request within the limits of the engine and of its host. When it had no
// answer and may be repeated without harm, it is sent again, Retries times at most, and
// once more when its host was in doubt and came back. When the host says that there are
// too many requests, it is sent again after a pause.
func (e *Engine) send(ctx context.Context, h *host, req web.Request, gate gateFunc) (*web.Exchange, error) {
	if !e.allows(req.Address) {
		return nil, errExcluded
	}
	retries, complaints, revived := 0, 0, false
	for {
		x, err := e.attempt(ctx, h, req, gate)
		switch {
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case err == nil:
			asked, complaint := complains(x)
			if !complaint {
				h.answered()
				return x, nil
			}
			complaints++
			d, again := h.complained(req.Address.String(), asked, complaints)
			if !again {
				return x, nil
			}
			if err := pause(ctx, d); err != nil {
				return nil, err
			}
			continue
		case !isMiss(err):
			return nil, err
		}
		if h.missed(isReset(err)) {
			e.examine(ctx, h, req.Address, gate)
		}
		switch safe := req.RetrySafe(err); {
		case safe && retries < e.cfg.Retries:
			retries++
			if err := pause(ctx, time.Duration(retries)*retryPause); err != nil {
				return nil, err
			}
		case safe && !revived && h.doubted():
			revived = true
		default:
			return nil, err
		}
	}
}

// errExcluded is why a request was not sent that Config.Allow refused.
var errExcluded = errs.New(errs.Forbidden, "excluded", "it is not in scope, or excluded")

// allows asks Config.Allow.
func (e *Engine) allows(a rawurl.URL) bool { return e.cfg.Allow == nil || e.cfg.Allow(a.Parsed()) }

// attempt sends a request once, when it is its turn.
func (e *Engine) attempt(ctx context.Context, h *host, req web.Request, gate gateFunc) (*web.Exchange, error) {
	if err := h.enter(ctx); err != nil {
		return nil, err
	}
	defer h.leave()
	select {
	case e.slots <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	defer func() { <-e.slots }()
	if err := gate(ctx); err != nil {
		return nil, err
	}
	return e.client.Do(ctx, req)
}

// complains says whether an answer means that there are too many requests, and how long
// the host wants to be left alone; 0 when it does not say.
func complains(x *web.Exchange) (time.Duration, bool) {
	if x.Status != http.StatusTooManyRequests && x.Status != http.StatusServiceUnavailable {
		return 0, false
	}
	after := strings.TrimSpace(x.Header("Retry-After"))
	if n, err := strconv.Atoi(after); err == nil && n >= 0 {
		return time.Duration(min(n, 3600)) * time.Second, true
	}
	if at, err := http.ParseTime(after); err == nil {
		return max(0, time.Until(at)), true
	}
	return 0, x.Status == http.StatusTooManyRequests
}
