package asset

import (
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// TestPart holds pages of large sets against sorting all of it, whatever the values are:
// few, periodic, bunched at one end, or all alike.
func TestPart(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		random := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		size := rapid.IntRange(fewEnough/2, 4*fewEnough).Draw(t, "size")
		value := rapid.SampledFrom([]func(no int) int64{
			func(int) int64 { return 7 },
			func(no int) int64 { return int64(no % 4) },
			func(no int) int64 { return int64(no / 1000) },
			func(int) int64 { return random.Int64() },
			func(no int) int64 { return min(1, int64(no)) << 60 },
			func(int) int64 { return random.Int64N(50) },
		})
		o := order{{desc: true}}
		for range rapid.IntRange(1, 2).Draw(t, "keys") {
			k, of := key{desc: rapid.Bool().Draw(t, "desc")}, value.Draw(t, "value")
			if rapid.IntRange(0, 4).Draw(t, "flag") == 0 {
				k.in = newSet(size)
				for no := range size {
					k.in.put(uint32(no), of(no)&1 == 0)
				}
			} else {
				k.facet = newFacet(words)
				for no := range size {
					k.facet.put(uint32(no), k.facet.number(of(no)), false)
				}
				k.facet.order()
			}
			o = append(order{k}, o...)
		}
		s, share := newSet(size), rapid.IntRange(1, 10).Draw(t, "share")
		for no := range size {
			s.put(uint32(no), no < size/8 || random.IntN(10) < share)
		}
		want := s.numbers()
		slices.SortFunc(want, o.compare)
		low := rapid.IntRange(0, len(want)-1).Draw(t, "low")
		high := rapid.IntRange(low+1, len(want)).Draw(t, "high")
		if got := o.part(s, len(want), low, high); !slices.Equal(got, want[low:high]) {
			t.Fatalf("%d to %d of %d: %v, want %v", low, high, len(want), got, want[low:high])
		}
	})
}

// TestHaving holds the two ways to find who has some values against each other.
func TestHaving(t *testing.T) {
	x := newIndex()
	for i := range 5000 {
		r, _, err := rowOf("e", many(i))
		if err != nil {
			t.Fatal(err)
		}
		r.no = uint32(i + 1)
		x.put(&r)
	}
	for no := range 5000 {
		if no%7 == 0 {
			x.drop(uint32(no))
		}
	}
	x.tidy()
	rapid.Check(t, func(t *rapid.T) {
		f := rapid.SampledFrom([]*facet{x.host, x.port, x.title, x.technology, x.status}).Draw(t, "facet")
		ids := rapid.SliceOf(rapid.Uint32Range(0, uint32(len(f.values)-1))).Draw(t, "values")
		if rapid.Bool().Draw(t, "nearly all") {
			ids = append(ids, f.sorted[len(f.sorted)/10:]...)
		}
		want := newSet(x.size)
		x.live.each(func(no uint32) bool {
			want.put(no, slices.Contains(ids, f.of[no]))
			return true
		})
		if got, _ := x.having(f, ids); !slices.Equal(got, want) {
			t.Fatalf("%d assets have one of %d values, want %d", got.count(), len(ids), want.count())
		}
	})
}
