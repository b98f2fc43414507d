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
	"net/url"
	"time"

	"golang.org/x/time/rate"

	"github.com/vedette-sec/vedette/internal/engine/proto/web"
	"github.com/vedette-sec/vedette/internal/errs"
)

// Header is one header line to send with every request.
type Header struct{ Name, Value string }

// Config says how an engine behaves towards the world. Zero fields get defaults.
type Config struct {
	// Dial opens every connection of the engine; the place to enforce scope. An error
	// that carries an *errs.Error of kind Forbidden means that the place is out of
	// scope: the cells it concerns are Denied. Default: net.Dialer.
	Dial func(ctx context.Context, network, addr string) (net.Conn, error)

	Timeout     time.Duration // for each of dial, TLS handshake and response header; default 10 s. A whole exchange gets three of it
	Retries     int           // further attempts after a request had no answer; default 0
	RateLimit   int           // requests a second over all scans, redirects included; 0 means no limit
	Concurrency int           // requests in flight in one scan; default 50
	PerHost     int           // requests in flight at one host and port in one scan; default 10
	MaxBody     int64         // bytes kept of a response body; default 4 MiB
	UserAgent   string        // default web.DefaultUserAgent
	Headers     []Header      // sent with every request; they win over a template's own

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
	limiter *rate.Limiter // nil without a limit
}

// New makes an engine. Close it when the last scan is over.
func New(cfg Config) *Engine {
	if cfg.Concurrency <= 0 {
		cfg.Concurrency = defaultConcurrency
	}
	if cfg.PerHost <= 0 {
		cfg.PerHost = web.DefaultPerHost
	}
	headers := make([]web.Header, len(cfg.Headers))
	for i, h := range cfg.Headers {
		headers[i] = web.Header(h)
	}
	e := &Engine{cfg: cfg, client: web.New(web.Config{
		Dial: cfg.Dial, Timeout: cfg.Timeout, MaxBody: cfg.MaxBody, PerHost: cfg.PerHost,
		UserAgent: cfg.UserAgent, Headers: headers,
	})}
	if cfg.RateLimit > 0 {
		e.limiter = rate.NewLimiter(rate.Limit(cfg.RateLimit), max(1, cfg.RateLimit/10))
	}
	return e
}

// Close ends the connections that are kept. Scans that still run go on with new ones.
func (e *Engine) Close() { e.client.Close() }

// gate waits for the rate limit. A context that will end before its turn is waited for,
// too: what then counts is that it ended.
func (e *Engine) gate(ctx context.Context) error {
	if e.limiter == nil || ctx.Err() != nil {
		return ctx.Err()
	}
	turn := e.limiter.Reserve()
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

// gate is called before each request.
type gate func(ctx context.Context) error

// chain sends a request and follows its redirects as it says; see web.Client.Follow.
func (e *Engine) chain(ctx context.Context, req web.Request, before gate) ([]*web.Exchange, error) {
	if err := before(ctx); err != nil {
		return nil, err
	}
	first, err := e.client.Do(ctx, req)
	if err != nil {
		return nil, err
	}
	policy := req.Policy()
	policy.Gate = before
	policy.Allow = func(to web.Address) bool { return e.cfg.Allow == nil || e.cfg.Allow(to.URL()) }
	return e.client.Follow(ctx, first, policy)
}

// send sends a request and, when it had no answer and may be repeated without harm,
// sends it again, Retries times at most.
func (e *Engine) send(ctx context.Context, req web.Request, before gate) ([]*web.Exchange, error) {
	if e.cfg.Allow != nil && !e.cfg.Allow(req.Address.URL()) {
		return nil, errs.New(errs.Forbidden, "excluded", "it is excluded")
	}
	for attempt := 0; ; attempt++ {
		chain, err := e.chain(ctx, req, before)
		if len(chain) > 0 && errs.Is(err, errs.Forbidden) {
			return chain, nil // a redirect that leaves the scope is one that is not followed
		}
		if err == nil || attempt >= e.cfg.Retries || ctx.Err() != nil || errs.Is(err, errs.Forbidden) || !web.RetrySafe(req.Method, err) {
			return chain, err
		}
		if err := pause(ctx, time.Duration(attempt+1)*retryPause); err != nil {
			return nil, err
		}
	}
}
