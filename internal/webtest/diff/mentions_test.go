package diff

import (
	"bytes"
	"testing"

	"pgregory.net/rapid"
)

// What the expression of a text matches, mentions does not leave out.
func TestMentions(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringMatching(`[a-cA-C0-1'"<>&=%+ -]{1,12}`).Draw(t, "text")
		page := rapid.StringMatching(`[a-cA-C0-1'"<>&=%+;# -]{0,40}`).Draw(t, "before") +
			rapid.SampledFrom([]string{text, "", "x"}).Draw(t, "shown") +
			rapid.StringMatching(`[a-cA-C0-1'"<>&=%+;# -]{0,40}`).Draw(t, "after")
		if pattern := tolerant(text); pattern != nil && pattern.MatchString(page) && !mentions(bytes.ToLower([]byte(page)), text) {
			t.Errorf("%q is matched in %q", text, page)
		}
	})
}
