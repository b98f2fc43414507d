package phc

import (
	"strings"
	"testing"
)

func TestHashMatchesItsPasswordOnly(t *testing.T) {
	hash := Hash("correct-horse")
	if !Matches("correct-horse", hash) || Hash("correct-horse") == hash {
		t.Errorf("%s does not match, or has no salt", hash)
	}
	for _, wrong := range []string{"", "correct-hors", "correct-horse ", strings.Repeat("x", 2000)} {
		if Matches(wrong, hash) || Matches(wrong, "") {
			t.Errorf("%.20q matches", wrong)
		}
	}
}
