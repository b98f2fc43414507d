// Package weakkey finds the keys of signed cookies that examples and defaults have made public.
//
// Each framework signs in a form of its own, with a key that it derives from the secret. The form is told by the
// separator, the number of parts and the length of the signature; each public secret is then tried, which costs one
// HMAC.
package weakkey

import (
	"context"
	"crypto/hmac"
	"crypto/sha1" //nolint:gosec // what frameworks sign with
	"crypto/sha256"
	"crypto/sha512"
	_ "embed"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"hash"
	"iter"
	"strings"
)

//go:embed keys.txt
var keys string

// Keys are the public secrets.
func Keys() iter.Seq[string] {
	return func(yield func(string) bool) {
		for line := range strings.Lines(keys) {
			if !yield(strings.TrimSuffix(line, "\n")) {
				return
			}
		}
	}
}

// hashes are those of signatures, by their length.
var hashes = map[int]func() hash.Hash{
	sha1.Size: sha1.New, sha256.Size: sha256.New, sha512.Size384: sha512.New384, sha512.Size: sha512.New,
}

// signed is a cookie as one framework signs it: with a key that is derived from the secret.
type signed struct {
	by, data  string
	signature []byte
	derive    func(algorithm func() hash.Hash, secret string) string
}

// ErrUnknown says that a text is not signed in a form that is known, ErrStrong that its key is not a public one.
var (
	ErrUnknown = errors.New("the cookie is not signed in a known way")
	ErrStrong  = errors.New("the key is not a weak one")
)

// Of finds the public secret of a cookie that Django, Flask, Rack or Express (cookie-session, "data^signature") has
// signed, or of a JSON Web Token, and says by which of them it is. The error is ErrUnknown, ErrStrong, or the
// context's.
func Of(ctx context.Context, cookie string) (key, by string, err error) {
	forms := formsOf(cookie)
	if len(forms) == 0 {
		return "", "", ErrUnknown
	}
	for key := range Keys() {
		for _, c := range forms {
			algorithm := hashes[len(c.signature)]
			if hmac.Equal(c.signature, mac(algorithm, c.derive(algorithm, key), c.data)) {
				return key, c.by, nil
			}
		}
		if err := ctx.Err(); err != nil {
			return "", "", err
		}
	}
	return "", "", ErrStrong
}

// JWT is what Of says of JSON Web Tokens.
const JWT = "JWT"

func formsOf(s string) (forms []signed) {
	add := func(by, separator string, parts int, decode func(string) ([]byte, error),
		derive func(func() hash.Hash, string) string,
	) {
		if strings.Count(strings.TrimPrefix(s, "."), separator) != parts-1 {
			return
		}
		at := strings.LastIndex(s, separator)
		signature, err := decode(s[at+len(separator):])
		if err == nil && hashes[len(signature)] != nil {
			forms = append(forms, signed{by, s[:at], signature, derive})
		}
	}
	plain := func(_ func() hash.Hash, secret string) string { return secret }
	base64URL := base64.RawURLEncoding.DecodeString
	add("Django", ":", 3, base64URL, func(algorithm func() hash.Hash, secret string) string {
		h := algorithm()
		h.Write([]byte("django.contrib.sessions.backends.signed_cookies" + "signer" + secret))
		return string(h.Sum(nil))
	})
	add("Flask", ".", 3, base64URL, func(algorithm func() hash.Hash, secret string) string {
		return string(mac(algorithm, secret, "cookie-session"))
	})
	add(JWT, ".", 3, base64URL, plain)
	add("Rack", "--", 2, hex.DecodeString, plain)
	add("Express", "^", 2, base64URL, plain)
	return forms
}

func mac(algorithm func() hash.Hash, key, data string) []byte {
	h := hmac.New(algorithm, []byte(key))
	h.Write([]byte(data))
	return h.Sum(nil)
}
