package program

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestTuples(t *testing.T) {
	sets := []payloadSet{{"a", []string{"1", "2", "3"}}, {"b", []string{"x", "y"}}}
	for attack, want := range map[string]string{
		pitchfork:   "1x 2y",
		clusterbomb: "1x 2x 3x 1y 2y 3y",
	} {
		p := payloads{sets: sets, attack: attack}
		var got []string
		for i := range p.count() {
			got = append(got, strings.Join(p.tuple(i), ""))
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: %s, want %s", attack, got, want)
		}
	}
	if p := (payloads{sets: sets, attack: batteringram}); p.problem() == "" {
		t.Error("batteringram takes two sets")
	}
	many := payloadSet{"m", make([]string, 1<<16)}
	if p := (payloads{sets: []payloadSet{many, many, many}, attack: clusterbomb}); p.count() != math.MaxInt32 ||
		p.problem() == "" {
		t.Errorf("%d tuples", p.count())
	}
	if p := (payloads{}); p.count() != 1 || len(p.tuple(0)) != 0 {
		t.Error("no payloads are one empty tuple")
	}
	if p := (payloads{sets: []payloadSet{{"a", nil}}, attack: batteringram}); p.count() != 0 {
		t.Error("an empty set has tuples")
	}
}

// A clusterbomb gives every combination once.
func TestClusterbombIsComplete(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := payloads{attack: clusterbomb}
		want := 1
		for k := range rapid.IntRange(1, 4).Draw(t, "sets") {
			n := rapid.IntRange(0, 5).Draw(t, "values")
			s := payloadSet{name: fmt.Sprint(k)}
			for i := range n {
				s.values = append(s.values, fmt.Sprint(i))
			}
			p.sets, want = append(p.sets, s), want*n
		}
		seen := map[string]bool{}
		for i := range p.count() {
			seen[strings.Join(p.tuple(i), " ")] = true
		}
		if p.count() != want || len(seen) != want {
			t.Errorf("%d tuples, %d different; want %d", p.count(), len(seen), want)
		}
	})
}

func TestPayloadsOfAScan(t *testing.T) {
	own := payloads{sets: []payloadSet{{"a", []string{"1"}}}, attack: batteringram}
	if p := own.with("a", []string{"x", "y"}); p.count() != 2 || own.count() != 1 {
		t.Errorf("%d and %d", p.count(), own.count())
	}
	if p := own.with("b", []string{"x"}); !slices.Equal([]string{p.sets[0].name, p.sets[1].name}, []string{"a", "b"}) ||
		p.problem() == "" {
		t.Errorf("%+v", p)
	}
}
