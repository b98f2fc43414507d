package throttle

import (
	"fmt"
	"testing"
	"time"
)

func TestQuota(t *testing.T) {
	q, now := NewQuota(2, time.Hour), time.Now()
	for i, want := range []bool{true, true, false, false} {
		if got := q.Take("ada", now.Add(time.Duration(i)*time.Minute)); got != want {
			t.Errorf("use %d: %v", i, got)
		}
	}
	if !q.Take("bob", now) || !q.Take("ada", now.Add(time.Hour)) {
		t.Error("another key, or the next hour, is refused")
	}
	for i := range maxQuotaKeys * 2 {
		q.Take(fmt.Sprint(i), now.Add(time.Hour))
	}
	if len(q.used) > maxQuotaKeys {
		t.Errorf("%d keys are kept", len(q.used))
	}
	if q.Take("late", now.Add(90*time.Minute)) || !q.Take("late", now.Add(3*time.Hour)) {
		t.Error("a full table lets new keys in, or never recovers")
	}
}
