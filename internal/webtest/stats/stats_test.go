package stats_test

import (
	"math/rand/v2"
	"slices"
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
	for i, asked := range b.Levels() {
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

// inTenths are answers that take so many tenths of 400 ms.
func inTenths(took ...int) func(time.Duration, int) time.Duration {
	return func(_ time.Duration, i int) time.Duration { return time.Duration(took[i])*40*ms + 50*ms }
}

// Of all orders of nine answers three are taken for work.
func TestWorkByLuck(t *testing.T) {
	b := base()
	b.Work, b.Delay = true, b.WorkDelay()
	var orders, taken int
	var fill func(left [3]int, so []stats.Sample)
	fill = func(left [3]int, so []stats.Sample) {
		if len(so) == 9 {
			if orders++; b.Delayed(so) {
				taken++
			}
			return
		}
		for i, asked := range b.Levels()[:3] {
			if left[i] > 0 {
				rest := left
				rest[i]--
				fill(rest, append(slices.Clip(so), stats.Sample{Asked: asked, Took: time.Duration(len(so)+1) * 200 * ms}))
			}
		}
	}
	fill([3]int{3, 3, 3}, nil)
	if orders != 1680 || taken != 3 {
		t.Errorf("%d of %d orders are taken for work", taken, orders)
	}
}

// Work that takes about as long as it should is told from answers that are late for another reason.
func TestWorked(t *testing.T) {
	b := base()
	b.Work, b.Delay = true, b.WorkDelay()
	if b.Delay != 400*ms {
		t.Fatalf("base %+v", b)
	}
	for name, c := range map[string]struct {
		took func(asked time.Duration, i int) time.Duration
		want bool
	}{
		"as long": {func(asked time.Duration, _ int) time.Duration { return asked + 50*ms }, true},
		"on a busy machine": {func(asked time.Duration, i int) time.Duration {
			return asked*time.Duration([]int{1, 3, 1, 1, 2, 2, 1, 1, 3}[i]) + 60*ms
		}, true},
		"one pair in the wrong order": {inTenths(0, 10, 40, 0, 45, 50, 0, 10, 60), true},
		"two pairs":                   {inTenths(0, 10, 40, 0, 55, 50, 0, 10, 60), false},
		"never":                       {func(time.Duration, int) time.Duration { return 50 * ms }, false},
		"slow for every such word":    {func(time.Duration, int) time.Duration { return 600 * ms }, false},
		"slow when it is asked for more": {func(asked time.Duration, _ int) time.Duration {
			return min(asked, b.Delay) + 50*ms
		}, false},
		"a hiccup": {func(asked time.Duration, i int) time.Duration {
			if i == 4 {
				return 3 * time.Second
			}
			return asked + 50*ms
		}, false},
		"a tenth of it": {func(asked time.Duration, i int) time.Duration { return asked/10 + 50*ms }, false},
		"much too long": {func(asked time.Duration, _ int) time.Duration { return 10*asked + 50*ms }, false},
	} {
		if got := b.Delayed(series(b, c.took)); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
	for took, want := range map[*[9]int]bool{{0, 55, 50, 0, 10, 40, 0, 10, 60}: false, {50, 10, 30, 0, 40, 20, 60, 5, 10}: true} {
		if got := b.Hopeless(series(b, inTenths(took[:]...))); got != want {
			t.Errorf("%v is hopeless: %v", *took, got)
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
