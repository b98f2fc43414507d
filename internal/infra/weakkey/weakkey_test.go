package weakkey_test

import (
	"context"
	"crypto/hmac"
	"crypto/sha1"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"testing"

	"github.com/vedette-sec/vedette/internal/infra/weakkey"
)

func signature(key, data string) []byte {
	h := hmac.New(sha1.New, []byte(key))
	h.Write([]byte(data))
	return h.Sum(nil)
}

// Cookies of each framework tell their public key; those of Flask and the JSON Web Token are from public examples.
func TestOf(t *testing.T) {
	strong := "eyJhIjoxfQ^" + base64.RawURLEncoding.EncodeToString(signature("h5Gd81kvLwq9", "eyJhIjoxfQ"))
	for cookie, want := range map[string]struct {
		key, by string
		err     error
	}{
		"eyJsb2dnZWRfaW4iOmZhbHNlfQ.XDuWxQ.E2Pyb6x3w-NODuflHoGnZOEpbH8": {"CHANGEME", "Flask", nil},
		"eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiIxMjM0NTY3ODkwIiwibmFtZSI6IkpvaG4gRG9lIiwiaWF0IjoxNTE2MjM5MDIyfQ." +
			"SflKxwRJSMeKKF2QT4fwpMeJf36POk6yJV_adQssw5c": {"your-256-bit-secret", weakkey.JWT, nil},
		"BAh7BkkiD3Nl--" + hex.EncodeToString(signature("secret", "BAh7BkkiD3Nl")): {"secret", "Rack", nil},
		"session=eyJhIjoxfQ^" + base64.RawURLEncoding.EncodeToString(
			signature("changeme", "session=eyJhIjoxfQ")): {"changeme", "Express", nil},
		strong: {"", "", weakkey.ErrStrong}, "7": {"", "", weakkey.ErrUnknown}, "": {"", "", weakkey.ErrUnknown},
		"a.b.c": {"", "", weakkey.ErrUnknown},
	} {
		key, by, err := weakkey.Of(t.Context(), cookie)
		if key != want.key || by != want.by || !errors.Is(err, want.err) {
			t.Errorf("%s: %q by %q, %v; want %+v", cookie, key, by, err, want)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := weakkey.Of(ctx, strong); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// Each key is there once.
func TestKeys(t *testing.T) {
	seen := map[string]bool{}
	for key := range weakkey.Keys() {
		if seen[key] || key == "" {
			t.Errorf("%q", key)
		}
		seen[key] = true
	}
}
