package coverage

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// Sealing changes no cell.
func TestSealKeepsEverything(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 300).Draw(t, "templates")
		c := NewCells(n)
		for range rapid.IntRange(0, 600).Draw(t, "settled") {
			state := rapid.SampledFrom(States[:]).Draw(t, "state")
			c.Set(rapid.IntRange(0, n-1).Draw(t, "template"), state, rapid.SampledFrom([]string{"", "a", "b"}).Draw(t, "why"))
		}
		want := make([]End, n)
		counts := map[State]int{}
		for i := range n {
			want[i] = c.Cell(i)
			counts[want[i].State]++
		}
		c.Seal()
		for i, w := range want {
			if end := c.Cell(i); end != w {
				t.Fatalf("%d: %+v, want %+v", i, end, w)
			}
		}
		total := 0
		for state, n := range c.Counts() {
			if in := slices.Collect(c.In(state)); len(in) != n || counts[state] != n || !slices.IsSorted(in) ||
				want[in[0]].State != state {
				t.Fatalf("%s: %d, and %v", state, n, in)
			}
			total += n
		}
		if total != n {
			t.Fatalf("%d cells of %d have a state", total, n)
		}
	})
}

// The worst state counts, with its first reason.
func TestSetKeepsTheWorst(t *testing.T) {
	c := NewCells(1)
	for _, step := range []struct {
		state State
		why   string
		want  string
	}{{Tested, "", "tested "}, {Skipped, "first", "skipped first"}, {Skipped, "second", "skipped first"},
		{Tested, "", "skipped first"}, {Failed, "", "failed "}, {Failed, "late", "failed late"}} {
		c.Set(0, step.state, step.why)
		if end := c.Cell(0); string(end.State)+" "+end.Reason != step.want {
			t.Errorf("%+v, want %s", end, step.want)
		}
	}
}

// A million cells are a few bytes.
func BenchmarkSeal(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		c := NewCells(10_000)
		for i := range c.states {
			c.Set(i, Tested, "")
		}
		c.Set(77, Failed, "no answer")
		c.Seal()
	}
}

// Only cells that are tested are doubted, and of them only those that are meant.
func TestDoubt(t *testing.T) {
	c := NewCells(4)
	c.Set(0, Tested, "")
	c.Set(1, Tested, "")
	c.Set(2, Denied, "no")
	c.Doubt("down", func(i int) bool { return i != 1 })
	for i, want := range []End{{Failed, "down"}, {Tested, ""}, {Denied, "no"}, {NotApplicable, ""}} {
		if got := c.Cell(i); got != want {
			t.Errorf("%d: %v, want %v", i, got, want)
		}
	}
}
