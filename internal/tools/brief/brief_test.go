package brief

import (
	"errors"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestReasonsFitASentence(t *testing.T) {
	if got := Reason(errors.New("refused" + ".")); got != "refused" {
		t.Errorf("%q", got)
	}
	got := Reason(errors.New(strings.Repeat("ä", MaxReason)))
	if len(got) > MaxReason+len("…") || !utf8.ValidString(got) || !strings.HasSuffix(got, "…") {
		t.Errorf("%d bytes: %q", len(got), got)
	}
}

func TestFirstFew(t *testing.T) {
	six := []string{"1", "2", "3", "4", "5", "6"}
	if got := FirstFew(six, "wait"); len(got) != 6 || got[5] != "1 more wait." || six[5] != "6" {
		t.Errorf("%q of %q", got, six)
	}
	if got := FirstFew(six[:5], "wait"); len(got) != 5 || got[4] != "5" {
		t.Errorf("%q", got)
	}
}
