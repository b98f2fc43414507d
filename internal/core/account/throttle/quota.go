package throttle

import (
	"sync"
	"time"
)

const (
	maxQuotaKeys = 10_000      // bounds the memory
	sweepEvery   = time.Minute // and the work of a full table
)

// Quota allows each key so many uses in a window of time. Each process counts for itself.
type Quota struct {
	most   int
	window time.Duration
	mu     sync.Mutex
	used   map[string]use
	swept  time.Time // when a full table was last searched for old uses
}

type use struct {
	since time.Time
	times int
}

// NewQuota makes a quota of most uses in each window.
func NewQuota(most int, window time.Duration) *Quota {
	return &Quota{most: most, window: window, used: map[string]use{}}
}

// Take uses a key once, and reports whether it was allowed. When too many keys are in use it allows none that is new.
func (q *Quota) Take(key string, now time.Time) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	u, ok := q.used[key]
	if !ok && len(q.used) >= maxQuotaKeys && now.Sub(q.swept) >= sweepEvery {
		q.swept = now
		for k, old := range q.used {
			if now.Sub(old.since) >= q.window {
				delete(q.used, k)
			}
		}
	}
	if !ok && len(q.used) >= maxQuotaKeys {
		return false
	}
	if !ok || now.Sub(u.since) >= q.window {
		u = use{since: now}
	}
	if u.times >= q.most {
		return false
	}
	u.times++
	q.used[key] = u
	return true
}
