package rest

import (
	"math"
	"strconv"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/outage"
	"golang.org/x/time/rate"
)

const retryAfter = outage.RetryAfter

// limit applies the rate limit of the caller, or of an anonymous caller's network.
func (a *API) limit(ctx huma.Context, next func(huma.Context)) {
	key := recordOf(ctx.Context()).caller.UserID
	if key == "" {
		key = account.Peer(ClientIP(ctx))
	}
	if err := a.spend(key); err != nil {
		a.refuse(ctx, err)
		return
	}
	next(ctx)
}

// spend uses one call of the key's rate, or returns RateLimited.
func (a *API) spend(key string) error {
	wait := a.limiter.take(key, time.Now())
	if wait == 0 {
		return nil
	}
	seconds := strconv.Itoa(int(math.Ceil(wait.Seconds())))
	return errs.New(errs.RateLimited, "rate_limited", "Too many requests; try again in %s s.", seconds).With(retryAfter,
		seconds)
}

// maxBuckets bounds the memory.
const maxBuckets = 10_000

// limiter has a token bucket per key.
type limiter struct {
	rate  rate.Limit
	burst int

	mu      sync.Mutex
	buckets map[string]*rate.Limiter
}

func newLimiter(perSecond float64, burst int) *limiter {
	return &limiter{rate: rate.Limit(perSecond), burst: max(burst, 1), buckets: map[string]*rate.Limiter{}}
}

// take uses one token of the key's bucket, or returns the time until there is one.
func (l *limiter) take(key string, now time.Time) time.Duration {
	if l.rate == 0 {
		return 0
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	bucket := l.buckets[key]
	if bucket == nil {
		if len(l.buckets) >= maxBuckets {
			l.dropFull(now)
		}
		bucket = rate.NewLimiter(l.rate, l.burst)
		l.buckets[key] = bucket
	}
	if bucket.AllowN(now, 1) {
		return 0
	}
	return time.Duration((1 - bucket.TokensAt(now)) / float64(l.rate) * float64(time.Second))
}

// dropFull removes full buckets: a new one would be the same. If none is full it removes all, which lets some
// callers exceed their rate once rather than refusing new ones.
func (l *limiter) dropFull(now time.Time) {
	for key, bucket := range l.buckets {
		if bucket.TokensAt(now) >= float64(l.burst) {
			delete(l.buckets, key)
		}
	}
	if len(l.buckets) >= maxBuckets {
		clear(l.buckets)
	}
}
