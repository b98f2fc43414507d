package names

import (
	"testing"
	"time"
)

func TestPoolChooses(t *testing.T) {
	a, b := &server{address: "a", limit: 10}, &server{address: "b", limit: 10, used: 9}
	p := pool{servers: []*server{a, b}, maxWindow: 100}
	for _, c := range []struct {
		what       string
		tried      []*server
		restA      bool
		usedA, usB int
		want       *server
	}{
		{"the one with most room", nil, false, 0, 9, a},
		{"the one that was not tried", []*server{a}, false, 0, 9, b},
		{"the one that was tried less", []*server{a, b, a}, false, 0, 9, b},
		{"the one that was tried, when the other is full", []*server{a}, false, 0, 10, a},
		{"the one that does not rest", nil, true, 0, 9, b},
		{"none, when all that are awake are full", nil, true, 0, 10, nil},
	} {
		a.used, b.used, a.restUntil = c.usedA, c.usB, time.Time{}
		if c.restA {
			a.restUntil = time.Now().Add(time.Hour)
		}
		if got := p.choose(c.tried); got != c.want {
			t.Errorf("%s: %+v", c.what, got)
		}
	}
	a.restUntil, b.restUntil, b.used = time.Now().Add(time.Hour), time.Now().Add(time.Hour), 10
	if p.choose(nil) != a {
		t.Error("when all rest, none serves")
	}
}

func TestPoolRestsWhoFails(t *testing.T) {
	s := &server{limit: 1000, since: time.Now()}
	p := pool{servers: []*server{s}, maxWindow: 1000}
	for i := range failuresBeforeRest {
		if !s.restUntil.IsZero() {
			t.Fatalf("it rests after %d failures", i)
		}
		s.used++
		p.release(s, false)
	}
	if rest := time.Until(s.restUntil); rest <= 0 || rest > firstRest {
		t.Errorf("after %d failures it rests for %s", failuresBeforeRest, rest)
	}
	s.used++
	if p.release(s, true); s.failures != 0 {
		t.Error("an answer does not make up for failures")
	}
}

func TestWindowFollowsTheAnswers(t *testing.T) {
	s := &server{limit: 100}
	p := pool{servers: []*server{s}, maxWindow: 150}
	now := time.Now()
	window := func(done, lost int, full bool, took time.Duration) int {
		s.since, s.done, s.lost, s.full = now, done, lost, full
		now = now.Add(took)
		p.adapt(s, now)
		return s.limit
	}
	for _, c := range []struct {
		what       string
		done, lost int
		full       bool
		took       time.Duration
		want       int
	}{
		{"used up: wider", 100, 0, true, time.Second, 126},
		{"too soon to tell", 500, 0, true, time.Millisecond, 126},
		{"no faster than before: narrower", 100, 0, true, time.Second, 111},
		{"not used up: as it was", 500, 0, false, time.Second, 111},
		{"faster, and few lost: wider", 1000, 10, true, time.Second, 139},
		{"faster: as wide as may be", 2000, 0, true, time.Second, 150},
		{"many lost: narrower", 9000, 900, true, time.Second, 105},
	} {
		if got := window(c.done, c.lost, c.full, c.took); got != c.want {
			t.Fatalf("%s: %d, want %d", c.what, got, c.want)
		}
	}
}
