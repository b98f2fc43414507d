package team

import (
	"strings"
	"testing"

	"github.com/vedette-sec/vedette/internal/infra/ids"
)

// TestMaskIsNoKey: what stands in the place of a key has its length and cannot be one.
func TestMaskIsNoKey(t *testing.T) {
	if key := ids.NewKey(); len(maskedKey) != len(key) || ids.IsKey(maskedKey) ||
		!strings.HasPrefix(maskedKey, "svc_sk_") {
		t.Errorf("the mask is %q, a key %q", maskedKey, key)
	}
}
