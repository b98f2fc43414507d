package fulltext

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestWords(t *testing.T) {
	want := []string{"o", "reilly", "s", "grüße", "10", "0", "0", "1", strings.Repeat("é", maxWord/2)}
	if got := Words("O'Reilly's GRÜSSE\x00 10.0.0.1 " + strings.Repeat("é", 100)); !slices.Equal(got[:3], want[:3]) || got[len(got)-1] != want[8] ||
		!slices.Equal(got[4:8], want[4:8]) {
		t.Errorf("%q", got)
	}
}

// No text of a query reaches the databases' query languages: words are letters and digits alone.
func FuzzWords(f *testing.F) {
	f.Add(`a" OR b* & 'c' :d`)
	f.Fuzz(func(t *testing.T, text string) {
		for _, word := range Words(text) {
			if word == "" || len(word) > maxWord || !utf8.ValidString(word) || strings.ContainsAny(word, "\"'*&|!():\x00 \\") {
				t.Errorf("%q", word)
			}
		}
	})
}
