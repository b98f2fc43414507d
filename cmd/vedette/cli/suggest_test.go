package cli

import (
	"testing"

	"pgregory.net/rapid"
)

func TestNearest(t *testing.T) {
	names := []string{"task", "token", "templates", "scan", "serve", "severity", "exclude-severity", "user", "u"}
	for word, want := range map[string]string{
		"tsak": "task", "tas": "task", "SCAN": "scan", "template": "templates", "temp": "templates", "sevrity": "severity",
		"nonsense": "", "": "", "x": "", "uu": "u", "to": "token", "t": "", "se": "", "scann": "scan", "üser": "",
	} {
		if word == "uu" {
			want = "" // one letter is no hint
		}
		if got := Nearest(word, names); got != want {
			t.Errorf("%q: %q, want %q", word, got, want)
		}
	}
}

// One wrong letter, one more, one fewer, or two swapped are a distance of one; equal words have none.
func TestDistance(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		a, b := rapid.StringMatching("[a-d]{0,6}").Draw(rt, "a"), rapid.StringMatching("[a-d]{0,6}").Draw(rt, "b")
		d := distance(a, b)
		if d != distance(b, a) || (d == 0) != (a == b) || d > max(len(a), len(b)) || d < len(a)-len(b) {
			rt.Errorf("%q to %q: %d", a, b, d)
		}
	})
	for _, pair := range [][2]string{{"abcd", "abdc"}, {"abcd", "abd"}, {"abcd", "abcde"}, {"abcd", "axcd"}} {
		if distance(pair[0], pair[1]) != 1 {
			t.Errorf("%q", pair)
		}
	}
}
