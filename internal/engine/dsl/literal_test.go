package dsl

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// Looking for the rarest byte finds what looking for the whole text finds.
func TestLiteralAgrees(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringMatching(`[aX]{0,6}`).Draw(t, "text")
		s := rapid.StringMatching(`[aX]{0,40}`).Draw(t, "s")
		// Often there is one occurrence, after many of the rare byte.
		s = strings.Repeat(rapid.SampledFrom([]string{"X", "aX", "XXa"}).Draw(t, "before"), rapid.IntRange(0, 15).Draw(t, "times")) + s + text[:rapid.IntRange(0, len(text)).Draw(t, "end")]
		if l := newLiteral(text); l.in(s) != strings.Contains(s, text) {
			t.Fatalf("%q in %q: %v", text, s, l.in(s))
		}
	})
}
