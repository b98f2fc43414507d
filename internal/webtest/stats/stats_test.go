package stats_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/vedette-sec/vedette/internal/webtest/stats"
	"pgregory.net/rapid"
)

const ms = time.Millisecond

func base() stats.Base {
	return stats.Learn([]time.Duration{50 * ms, 52 * ms, 49 * ms, 55 * ms, 51 * ms})
}

func series(b stats.Base, took func(asked time.Duration, i int) time.Duration) (all []stats.Sample) {
	for i := range 9 {
		asked := time.Duration(i%3) * b.Delay
		all = append(all, stats.Sample{Asked: asked, Took: took(asked, i)})
	}
	return all
}

func TestDelayed(t *testing.T) {
	b := base()
	if b.Delay != time.Second || b.Median != 51*ms {
		t.Fatalf("base %+v", b)
	}
	for name, c := range map[string]struct {
		took func(asked time.Duration, i int) time.Duration
		want bool
	}{
		"sleeps":                        {func(asked time.Duration, i int) time.Duration { return asked + 50*ms + time.Duration(i)*ms }, true},
		"sleeps for each of three rows": {func(asked time.Duration, _ int) time.Duration { return 3*asked + 50*ms }, true},
		"never sleeps":                  {func(time.Duration, int) time.Duration { return 50 * ms }, false},
		"slow for every such word":      {func(time.Duration, int) time.Duration { return 5 * time.Second }, false},
		"one hiccup": {func(_ time.Duration, i int) time.Duration {
			if i == 4 {
				return 4 * time.Second
			}
			return 50 * ms
		}, false},
		"slow when it is asked for more, by a filter": {func(asked time.Duration, _ int) time.Duration {
			if asked > 0 {
				return 2 * time.Second
			}
			return 50 * ms
		}, false},
		"half of it": {func(asked time.Duration, _ int) time.Duration { return asked/2 + 50*ms }, false},
	} {
		if got := b.Delayed(series(b, c.took)); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

// Work that takes about as long as it should is told from answers that are late for another reason.
func TestWorked(t *testing.T) {
	b := base()
	b.Work, b.Delay = true, b.WorkDelay()
	if b.Delay != 500*ms {
		t.Fatalf("base %+v", b)
	}
	for name, c := range map[string]struct {
		took func(asked time.Duration, i int) time.Duration
		want bool
	}{
		"as long":                  {func(asked time.Duration, _ int) time.Duration { return asked + 50*ms }, true},
		"unsteadily":               {func(asked time.Duration, i int) time.Duration { return asked*time.Duration(80+i*5)/100 + 60*ms }, true},
		"never":                    {func(time.Duration, int) time.Duration { return 50 * ms }, false},
		"slow for every such word": {func(time.Duration, int) time.Duration { return 600 * ms }, false},
		"slow when it is asked for more": {func(asked time.Duration, _ int) time.Duration {
			return min(asked, b.Delay) + 50*ms
		}, false},
		"a hiccup": {func(asked time.Duration, i int) time.Duration {
			if i == 4 {
				return 3 * time.Second
			}
			return asked + 50*ms
		}, false},
		"a third of it": {func(asked time.Duration, _ int) time.Duration { return asked/3 + 50*ms }, false},
		"much too long": {func(asked time.Duration, _ int) time.Duration { return 4*asked + 50*ms }, false},
	} {
		if got := b.Delayed(series(b, c.took)); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
	if b.Spread = time.Second; b.WorkDelay() != 0 {
		t.Error("work is asked for though answers differ by seconds")
	}
}

func TestUnsteadyIsNotTested(t *testing.T) {
	b := stats.Learn([]time.Duration{50 * ms, 9 * time.Second, 12 * time.Second, 100 * ms, 20 * time.Second})
	if b.Delay != 0 || b.Screened(time.Hour) {
		t.Errorf("base %+v", b)
	}
}

// Answers that have nothing to do with what was asked are not taken for delays.
func TestNoiseIsNoDelay(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		scale := float64(rapid.IntRange(1, 3000).Draw(t, "scale"))
		draw := func() time.Duration { return time.Duration(r.ExpFloat64()*scale) * ms }
		b := stats.Learn([]time.Duration{draw(), draw(), draw(), draw(), draw()})
		false1 := 0
		for range 50 {
			if y := draw(); b.Screened(y) && b.Delayed(series(b, func(time.Duration, int) time.Duration { return draw() })) {
				false1++
			}
		}
		if false1 > 1 {
			t.Fatalf("%d of 50 by luck", false1)
		}
	})
}
