package comment

import (
	"slices"
	"testing"
)

func TestMentioned(t *testing.T) {
	for text, want := range map[string][]string{
		"@Bob@example.com, please":              {"bob@example.com"},
		"ask (@a.b+c@x.example.org).":           {"a.b+c@x.example.org"},
		"mail bob@example.com":                  nil,
		"x@bob@example.com":                     nil,
		"@bob":                                  nil,
		"@a@example.com @a@example.com\n@c@d.e": {"a@example.com", "c@d.e"},
		"see @a@example.com.":                   {"a@example.com"},
		"@a@example.com@b@example.com":          {"a@example.com"},
	} {
		if got := mentioned(text); !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
