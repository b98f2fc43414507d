package dsl

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// Looking for the rarest byte finds what looking for the whole text finds.
func TestLiteralAgrees(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringMatching(`[abX]{0,4}`).Draw(t, "text")
		s := rapid.StringMatching(`[abX]{0,40}`).Draw(t, "s")
		if rapid.Bool().Draw(t, "long") {
			s = strings.Repeat(s, 20) + text
		}
		if l := newLiteral(text); l.in(s) != strings.Contains(s, text) {
			t.Fatalf("%q in %q: %v", text, s, l.in(s))
		}
	})
}
