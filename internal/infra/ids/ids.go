// Package ids creates and checks identifiers and secrets: UUIDs for rows, API keys for callers, and the keyed
// hashes under which secrets are stored.
package ids

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"regexp"

	"github.com/google/uuid"
)

const keyAlphabet = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

// keyShape is the published pattern of an API key (specification, Limits). By the prefix, secret scanners
// recognise leaked ones.
var keyShape = regexp.MustCompile(`^svc_sk_[0-9A-Za-z]{32}$`)

// New is a new UUID of version 7: later ids sort later, so that an index on them grows at its end.
func New() string {
	id, err := uuid.NewV7()
	if err != nil {
		panic("no randomness: " + err.Error()) // crypto/rand does not fail on the systems we run on
	}
	return id.String()
}

// IsUUID reports whether s is a UUID in its canonical, lower-case, 36-character form.
func IsUUID(s string) bool {
	id, err := uuid.Parse(s)
	return err == nil && id.String() == s
}

// NewKey is a new API key: svc_sk_ and 32 random characters.
func NewKey() string { return "svc_sk_" + Random(32) }

// IsKey reports whether s has the format of an API key.
func IsKey(s string) bool { return keyShape.MatchString(s) }

// Random is n uniformly random characters of [0-9A-Za-z] from a CSPRNG.
func Random(n int) string {
	out := make([]byte, 0, n)
	buf := make([]byte, n+n/4+1)
	for len(out) < n {
		rand.Read(buf) // never fails since Go 1.24
		for _, b := range buf {
			// 248 is the greatest multiple of 62 in a byte: larger values would favour the first letters.
			if b < 248 && len(out) < n {
				out = append(out, keyAlphabet[b%62])
			}
		}
	}
	return string(out)
}

// Secret is n random bytes.
func Secret(n int) []byte {
	b := make([]byte, n)
	rand.Read(b)
	return b
}

// Hash is the keyed hash (HMAC-SHA256, hex) under which a secret is stored and looked up.
func Hash(pepper []byte, secret string) string {
	mac := hmac.New(sha256.New, pepper)
	mac.Write([]byte(secret))
	return hex.EncodeToString(mac.Sum(nil))
}

// Equal compares two secrets in a time that depends neither on their content nor on their length.
func Equal(a, b string) bool {
	ha, hb := sha256.Sum256([]byte(a)), sha256.Sum256([]byte(b))
	return subtle.ConstantTimeCompare(ha[:], hb[:]) == 1
}
