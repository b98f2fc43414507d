package weakkey_test

import (
	"context"
	"crypto/hmac"
	"crypto/sha1"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"strings"
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
		"s:j:{\"a.b\":1}." + base64.RawStdEncoding.EncodeToString(
			signature("keyboard cat", "j:{\"a.b\":1}")): {"keyboard cat", "Express", nil},
		"!" + base64.StdEncoding.EncodeToString(signature("secret", "gAJVA2Fi")) + "?gAJVA2Fi": {"secret", "Bottle", nil},
		"eyJyb2xlIjoiYWRtaW4ifQ.fEV4a6kXLl89zrkB-JFYcZ6A-SA":                                   {"secret", "itsdangerous", nil},
		"eyJ1c2VyIjogImJvYiIsICJyb2xlIjogImd1ZXN0In0=.awq69A.MljXwjbmCqmiBdzvDUt-1gmRMqo":      {"changeme", "Starlette", nil},
		"2|1:0|10:1700000000|4:user|4:Ym9i|3c92fc54559ebf47864d4a8ef7991dc56a41591b9c0de1026766768f9a4edf7e": {
			"secret", "Tornado", nil},
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

// What a cookie holds is read and written again, packed or not, and what is written is signed with the same key.
func TestContent(t *testing.T) {
	for cookie, want := range map[string]string{
		"eyJyb2xlIjoiYWRtaW4ifQ.fEV4a6kXLl89zrkB-JFYcZ6A-SA":                                  `{"role":"admin"}`,
		"eyJ1c2VyIjogImJvYiIsICJyb2xlIjogImd1ZXN0In0=.awq69A.MljXwjbmCqmiBdzvDUt-1gmRMqo":     `{"user": "bob", "role": "guest"}`,
		".eJyrViotTi1SslJKyk9S0lEqSa0oAXIqRgHRQKkWABVSlAA.awq69A.IiTp5MtYgV6qe6njJxbXLRobV9M": "",
		"session=eyJhIjoxfQ^" + base64.RawURLEncoding.EncodeToString(
			signature("changeme", "session=eyJhIjoxfQ")): `{"a":1}`,
		"s:j:{\"a.b\":1}." + base64.RawStdEncoding.EncodeToString(signature("secret", "j:{\"a.b\":1}")): `{"a.b":1}`,
	} {
		sealed, err := weakkey.Open(t.Context(), cookie)
		if err != nil {
			t.Errorf("%s: %v", cookie, err)
			continue
		}
		content, write := sealed.Content()
		if write == nil || want != "" && string(content) != want || !strings.HasPrefix(string(content), "{") {
			t.Errorf("%s: %q", cookie, content)
			continue
		}
		other, err := weakkey.Open(t.Context(), write([]byte(`{"role":"chief"}`)))
		if err != nil || other.Key != sealed.Key || other.By != sealed.By {
			t.Errorf("%s: %v, %v", cookie, other, err)
			continue
		}
		if again, _ := other.Content(); string(again) != `{"role":"chief"}` {
			t.Errorf("%s: %s", cookie, again)
		}
	}
	sealed, err := weakkey.Open(t.Context(), "BAh7BkkiD3Nl--"+hex.EncodeToString(signature("secret", "BAh7BkkiD3Nl")))
	if err != nil {
		t.Fatal(err)
	}
	if content, _ := sealed.Content(); content != nil {
		t.Errorf("%q", content)
	}
}
