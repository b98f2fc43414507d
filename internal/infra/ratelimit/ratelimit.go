// Package ratelimit bounds how often each caller may call: a token bucket for each key, of which those are forgotten
// that are full, so that memory does not grow with callers.
package ratelimit

import (
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// maxBuckets bounds the memory.
const maxBuckets = 10_000

// Limiter is the rate of calls that each key has. The zero value and nil have no limit.
type Limiter struct {
	rate  rate.Limit
	burst int

	mu      sync.Mutex
	buckets map[string]*rate.Limiter
}

// New makes a limiter: perSecond calls on average for each key (0: no limit), and burst at once.
func New(perSecond float64, burst int) *Limiter {
	return &Limiter{rate: rate.Limit(perSecond), burst: max(burst, 1), buckets: map[string]*rate.Limiter{}}
}

// Take uses one token of the key's bucket, or returns the time until there is one.
func (l *Limiter) Take(key string, now time.Time) time.Duration {
	if l == nil || l.rate == 0 {
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
func (l *Limiter) dropFull(now time.Time) {
	for key, bucket := range l.buckets {
		if bucket.TokensAt(now) >= float64(l.burst) {
			delete(l.buckets, key)
		}
	}
	if len(l.buckets) >= maxBuckets {
		clear(l.buckets)
	}
}
