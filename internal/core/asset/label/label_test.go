package label

import (
	"slices"
	"testing"

	"github.com/vedette-sec/vedette/internal/discover"
	"github.com/vedette-sec/vedette/internal/infra/errs"
)

func TestApply(t *testing.T) {
	old := []string{"a", "b"}
	for mode, want := range map[Mode][]string{Append: {"a", "b", "b", "c"}, Replace: {"b", "c"}, Delete: {"a"}} {
		if got := mode.Apply(old, []string{"b", "c"}); !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", mode, got, want)
		}
	}
}

func TestCheck(t *testing.T) {
	if got, err := Check([]string{" a b "}); err != nil || !slices.Equal(got, []string{"a b"}) {
		t.Errorf("%q, %v", got, err)
	}
	if _, err := Check([]string{"a,b"}); errs.From(err).Param != "labels" {
		t.Errorf("a comma: %v", err)
	}
}

func TestGuess(t *testing.T) {
	a := discover.Asset{Host: "vpn2.dev.example.com", Title: "Sign in", Technologies: []string{"Jenkins:2.4"},
		Headers: map[string]string{"content-type": "application/json"}}
	if got := Guess(a); !slices.Equal(got, []string{"api", "ci tool", "login page", "staging", "vpn"}) {
		t.Errorf("%q", got)
	}
}
