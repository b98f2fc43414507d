package token

import (
	"crypto/hmac"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/base64"
	"hash"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/vedette-sec/vedette/internal/webtest/check/kittest"
)

// A cookie that is signed with a public key is found, once; one with a key of its own is not.
func TestPublicSigningKey(t *testing.T) {
	for value, want := range map[string]int{
		"eyJsb2dnZWRfaW4iOmZhbHNlfQ.XDuWxQ.E2Pyb6x3w-NODuflHoGnZOEpbH8": 1,
		"eyJsb2dnZWRfaW4iOmZhbHNlfQ.XDuWxQ.E3Pyb6x3w-NODuflHoGnZOEpbH8": 0,
	} {
		lab := kittest.New(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			http.SetCookie(w, &http.Cookie{Name: "session", Value: value})
		}))
		found := lab.Run(t, kittest.Named(t, Checks(), "public-signing-key"), lab.Target(t, http.MethodGet, "/", ""))
		found = append(found, lab.Run(t, kittest.Named(t, Checks(), "public-signing-key"), lab.Target(t, http.MethodGet, "/other", ""))...)
		if len(found) != want {
			t.Errorf("%s: %d found", value, len(found))
		}
		for _, f := range found {
			if !strings.Contains(f.Detail, "Flask with the key CHANGEME") {
				t.Error(f.Detail)
			}
		}
	}
}

// The signature of a cookie may stand in a second one, as keygrip does, or behind a dot that an address escapes.
func TestPublicSigningKeyOfExpress(t *testing.T) {
	for name, cookies := range map[string][]http.Cookie{
		"keygrip": {{Name: "session", Value: "eyJ1c2VyIjoiYm9iIn0="}, {Name: "session.sig",
			Value: signature(sha1.New, base64.RawURLEncoding, "session=eyJ1c2VyIjoiYm9iIn0=")}},
		"cookie-parser": {{Name: "sid", Value: url.QueryEscape("s:0123456789." +
			signature(sha256.New, base64.RawStdEncoding, "0123456789"))}},
	} {
		for ending, want := range map[string]int{"": 1, "A": 0} {
			sent := slices.Clone(cookies)
			sent[len(sent)-1].Value += ending
			lab := kittest.New(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				for i := range sent {
					http.SetCookie(w, &sent[i])
				}
			}))
			found := lab.Run(t, kittest.Named(t, Checks(), "public-signing-key"), lab.Target(t, http.MethodGet, "/", ""))
			if len(found) != want || want > 0 && !strings.Contains(found[0].Detail, "Express with the key keyboard cat") {
				t.Errorf("%s, its signature followed by %q: found %s", name, ending, kittest.Titles(found))
			}
		}
	}
}

func signature(of func() hash.Hash, e *base64.Encoding, data string) string {
	mac := hmac.New(of, []byte("keyboard cat"))
	mac.Write([]byte(data))
	return e.EncodeToString(mac.Sum(nil))
}
