package functions

import (
	"context"
	"errors"
	"strings"
	"testing"
)

// Long sets of characters mean what short ones mean.
func TestSetsOfCharactersAsInPackageStrings(t *testing.T) {
	long := "abcé\xff" + strings.Repeat("xyzñ", 30)
	for _, s := range []string{"", "abc words cba", "éé\xffwordsñ", "\xfe\xfda", "\uFFFDa\uFFFD", "none"} {
		got := []string{strings.TrimFunc(s, runeSet(long)), strings.TrimLeftFunc(s, runeSet(long)), removeChars(s, long)}
		want := []string{strings.Trim(s, long), strings.TrimLeft(s, long), strings.Map(func(c rune) rune {
			if strings.ContainsRune(long, c) {
				return -1
			}
			return c
		}, s)}
		for i := range got {
			if got[i] != want[i] {
				t.Errorf("%q: %q, want %q", s, got[i], want[i])
			}
		}
	}
}

func TestBudgets(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	var b Budget
	if err := b.Spend(ctx, checkEvery); err != nil {
		t.Error(err)
	}
	b.started = b.started.Earlier(2 * maxCompute) // as if it had computed for so long
	b.waited = 2 * maxCompute
	if err := b.Spend(ctx, checkEvery); err != nil {
		t.Errorf("a wait counts: %v", err)
	}
	b.waited = 0
	if err := b.Spend(ctx, checkEvery); !errors.Is(err, ErrTooLong) || !Limited(err) {
		t.Error(err)
	}
	cancel()
	if err := b.Spend(ctx, checkEvery); !errors.Is(err, context.Canceled) || Limited(err) {
		t.Error(err)
	}
	if err := b.Hold(maxHeld); err != nil {
		t.Error(err)
	}
	if err := b.Hold(1); !errors.Is(err, ErrTooLarge) {
		t.Error(err)
	}
}
