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
