package session

import (
	"testing"
	"time"
)

// TestOneTimeCode has the vectors of RFC 6238, appendix B, in six digits.
func TestOneTimeCode(t *testing.T) {
	for at, want := range map[int64]string{59: "287082", 1111111109: "081804", 20000000000: "353130"} {
		if got, err := oneTimeCode("gezd gnbv GY3TQOJQGEZDGNBVGY3TQOJQ", time.Unix(at, 0)); err != nil || got != want {
			t.Errorf("%d: %s, %v, want %s", at, got, err, want)
		}
	}
	if _, err := oneTimeCode("1!", time.Unix(0, 0)); err == nil {
		t.Error("a secret that is none")
	}
}
