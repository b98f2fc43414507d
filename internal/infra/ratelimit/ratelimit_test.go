package ratelimit

import (
	"strconv"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// TestLimiterGivesNoMore: in any window of time a key gets at most its burst and what
// has grown since, and a key that waits as long as it was told gets its token.
func TestLimiterGivesNoMore(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		perSecond := rapid.Float64Range(0.01, 1000).Draw(t, "rate")
		burst := rapid.IntRange(1, 50).Draw(t, "burst")
		l := New(perSecond, burst)
		began := time.Unix(0, 0)
		now, given := began, map[string]int{}
		for range rapid.IntRange(1, 200).Draw(t, "calls") {
			now = now.Add(time.Duration(rapid.IntRange(0, 1000).Draw(t, "ms")) * time.Millisecond)
			key := rapid.SampledFrom([]string{"a", "b"}).Draw(t, "key")
			wait := l.Take(key, now)
			if wait < 0 {
				t.Fatalf("a wait of %v", wait)
			}
			if wait > 0 {
				now = now.Add(wait + time.Microsecond)
				if again := l.Take(key, now); again > 0 {
					t.Fatalf("told to wait %v, and then %v", wait, again)
				}
			}
			given[key]++
			if most := float64(burst) + perSecond*now.Sub(began).Seconds() + 1e-6; float64(given[key]) > most {
				t.Fatalf("%d given to %s, at most %.2f were due", given[key], key, most)
			}
		}
	})
}

func TestLimiterKeepsBucketsApart(t *testing.T) {
	l := New(1, 3)
	now := time.Now()
	for range 3 {
		l.Take("a", now)
	}
	if l.Take("a", now) == 0 {
		t.Error("a has a fourth")
	}
	if wait := l.Take("b", now); wait != 0 {
		t.Errorf("b waits %v for what a took", wait)
	}
}

func TestLimiterForgetsTheIdleFirst(t *testing.T) {
	l := New(1, 1)
	now := time.Now()
	for i := range maxBuckets * 3 {
		l.Take(strconv.Itoa(i), now)
		if len(l.buckets) > maxBuckets {
			t.Fatalf("%d buckets are kept", len(l.buckets))
		}
	}
	l = New(1, 1)
	for i := range maxBuckets - 1 {
		l.Take(strconv.Itoa(i), now)
	}
	later := now.Add(time.Hour)
	l.Take("busy", later)
	l.Take("new", later)
	if len(l.buckets) > 2 {
		t.Errorf("%d buckets are kept, all but two of them full", len(l.buckets))
	}
	if l.Take("busy", later) == 0 {
		t.Error("the busy one was forgotten with the idle")
	}
}

func TestNoLimit(t *testing.T) {
	l := New(0, 0)
	for range 1000 {
		if l.Take("a", time.Now()) > 0 {
			t.Fatal("held up without a limit")
		}
	}
	if len(l.buckets) > 0 {
		t.Error("buckets are kept for nothing")
	}
	if (*Limiter)(nil).Take("a", time.Now()) > 0 {
		t.Error("held up without a limiter")
	}
}
