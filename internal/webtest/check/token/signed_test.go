package token

import (
	"net/http"
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
