// Package sender sends requests within limits of the engine (concurrency, rate), of each host (concurrency, rate,
// pauses when it complains) and of a scan (Budget).
//
// A request without response is sent again where that is safe. A host that leaves several requests in a row
// unanswered is checked with growing pauses and given up if it stays silent. A host that answers 429 or 503 gets
// pauses and fewer requests at a time.
package sender

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/vedette-sec/vedette/internal/engine/proto/rawurl"
	"github.com/vedette-sec/vedette/internal/engine/proto/web"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/pause"
)

// Config are the limits. All but RateLimit, HostRate, Retries and Allow are required.
type Config struct {
	Timeout       time.Duration   // for the request that checks whether a host is back
	Retries       int             // further attempts after a request had no response
	RateLimit     int             // requests in a RateWindow, redirects included; 0 means no limit
	HostRate      int             // requests in a RateWindow to one host and port; 0 means no limit
	RateWindow    time.Duration   // default 1 s
	Concurrency   int             // requests in flight
	PerHost       int             // requests in flight at one host and port
	RecheckPauses []time.Duration // before each check of a host that stopped answering; default 200 ms, 1 s, 3 s

	// Allow reports whether a URL may be requested; nil allows all.
	Allow func(u *url.URL) bool
	// AllowName reports whether a request may give its server another name than that of its URL; nil allows all.
	AllowName func(name string) bool
}

// Sender sends requests. It is safe for any number of goroutines.
type Sender struct {
	cfg     Config
	client  *web.Client
	limiter *rate.Limiter // nil without a limit
	slots   chan struct{} // requests in flight

	mu    sync.Mutex
	hosts map[string]*Host // in use, by host and port
}

// Before runs before each attempt, within the limits of concurrency; its error cancels the attempt.
type Before = func(ctx context.Context) error

// New makes a sender for a client.
func New(client *web.Client, cfg Config) *Sender {
	if cfg.RateWindow <= 0 {
		cfg.RateWindow = time.Second
	}
	if len(cfg.RecheckPauses) == 0 {
		cfg.RecheckPauses = []time.Duration{200 * time.Millisecond, time.Second, 3 * time.Second}
	}
	s := &Sender{cfg: cfg, client: client, slots: make(chan struct{}, cfg.Concurrency), hosts: map[string]*Host{}}
	if cfg.RateLimit > 0 {
		s.limiter = cfg.limiter(cfg.RateLimit)
	}
	return s
}

// limiter spreads requests evenly over each window; a tenth of a second's share may be sent at once.
func (cfg *Config) limiter(requests int) *rate.Limiter {
	perSecond := float64(requests) / cfg.RateWindow.Seconds()
	return rate.NewLimiter(rate.Limit(perSecond), max(1, int(perSecond/10)))
}

// Wait waits for the rate limit of the engine.
func (s *Sender) Wait(ctx context.Context) error { return wait(ctx, s.limiter) }

// wait waits for a rate limit; nil is no limit. Unlike rate.Limiter.Wait it does not fail before ctx ends.
func wait(ctx context.Context, l *rate.Limiter) error {
	if l == nil || ctx.Err() != nil {
		return ctx.Err()
	}
	reservation := l.Reserve()
	if err := pause.For(ctx, reservation.Delay()); err != nil {
		reservation.Cancel()
		return err
	}
	return nil
}

// maxName is how much of a name an error shows.
const maxName = 100

// retryPause is the pause before the first retry; each further one is longer by as much.
const retryPause = 200 * time.Millisecond

// ErrExcluded is the error for requests that Config.Allow refuses.
var ErrExcluded = errs.New(errs.Forbidden, "excluded", "it is not in scope, or excluded")

// Allows asks Config.Allow.
func (s *Sender) Allows(u rawurl.URL) bool { return s.cfg.Allow == nil || s.cfg.Allow(u.Parsed()) }

// Check refuses a request whose URL or names are not allowed.
func (s *Sender) Check(req *web.Request) error {
	if !s.Allows(req.Address) {
		return ErrExcluded
	}
	if s.cfg.AllowName == nil {
		return nil
	}
	for _, name := range s.client.Names(req) {
		if !s.cfg.AllowName(name) {
			return errs.New(errs.Forbidden, "excluded", "it asks for %s, which is not in scope, or excluded",
				errs.Clip(name, maxName))
		}
	}
	return nil
}

// Send sends one request. Without response, it is sent again if that is safe, at most Retries times, and once more if
// its host was in doubt and recovered. If the host wants fewer requests, it is sent again after a pause.
func (s *Sender) Send(ctx context.Context, h *Host, req web.Request, before Before) (*web.Exchange, error) {
	return s.send(ctx, h, req, before, false)
}

// Probe is Send for the first requests to a host, which find out whether it is there. They have Config.Timeout each,
// and are not sent again when time runs out. A host that lets two of them wait without ever having answered is given
// up.
func (s *Sender) Probe(ctx context.Context, h *Host, req web.Request, before Before) (*web.Exchange, error) {
	req.Timeout = s.cfg.Timeout
	return s.send(ctx, h, req, before, true)
}

func (s *Sender) send(
	ctx context.Context, h *Host, req web.Request, before Before, probe bool,
) (*web.Exchange, error) {
	if err := s.Check(&req); err != nil {
		return nil, err
	}
	retries, complaints, revived := 0, 0, false
	for {
		x, err := s.attempt(ctx, h, req, before)
		switch {
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case err == nil:
			after, complaint := retryAfter(x)
			if !complaint {
				h.answered()
				return x, nil
			}
			complaints++
			d, again := h.complained(req.Address.String(), after, complaints)
			if !again {
				return x, nil
			}
			if err := pause.For(ctx, d); err != nil {
				return nil, err
			}
			continue
		case !Unanswered(err):
			return nil, err
		case probe && TimedOut(err):
			h.ignored(err)
			return nil, err
		}
		if h.missed(isReset(err)) {
			s.checkHost(ctx, h, req.Address, before)
		}
		switch safe := req.RetrySafe(err); {
		case safe && retries < s.cfg.Retries:
			retries++
			if err := pause.For(ctx, time.Duration(retries)*retryPause); err != nil {
				return nil, err
			}
		case safe && !revived && h.inDoubt():
			revived = true
		default:
			return nil, err
		}
	}
}

func (s *Sender) attempt(ctx context.Context, h *Host, req web.Request, before Before) (*web.Exchange, error) {
	end, err := s.Begin(ctx, h, before)
	if err != nil {
		return nil, err
	}
	defer end()
	return s.client.Do(ctx, req)
}

// Begin waits until one more request may be sent to a host; end must be called after it.
func (s *Sender) Begin(ctx context.Context, h *Host, before Before) (end func(), err error) {
	if err := h.enter(ctx); err != nil {
		return nil, err
	}
	select {
	case s.slots <- struct{}{}:
	case <-ctx.Done():
		h.leave()
		return nil, ctx.Err()
	}
	end = func() { <-s.slots; h.leave() }
	if err := before(ctx); err != nil {
		end()
		return nil, err
	}
	return end, nil
}

// Unanswered reports whether an error means that a host did not respond.
func Unanswered(err error) bool {
	sent, ok := errors.AsType[*web.Error](err)
	return ok && sent.Kind != web.KindRequest && !errs.Is(err, errs.Forbidden)
}

// TimedOut reports whether an error means that a host let a request wait in vain.
func TimedOut(err error) bool {
	sent, ok := errors.AsType[*web.Error](err)
	return ok && sent.Timeout()
}

// isReset reports whether an error means that a host broke off the connection.
func isReset(err error) bool {
	sent, ok := errors.AsType[*web.Error](err)
	return ok && (sent.Kind == web.KindReset || sent.Kind == web.KindClosed)
}

// retryAfter reports whether a response asks for fewer requests, and the pause that it asks for, or 0.
func retryAfter(x *web.Exchange) (time.Duration, bool) {
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
