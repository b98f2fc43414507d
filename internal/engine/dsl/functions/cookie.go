package functions

import (
	"crypto/hmac"
	"crypto/sha1" //nolint:gosec // what frameworks sign with
	"crypto/sha256"
	"crypto/sha512"
	_ "embed"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"hash"
	"strings"
)

// weakKeys are signing keys that examples and defaults have made public, one a line.
//
//go:embed weakkeys.txt
var weakKeys string

// signatureHashes are the hashes by the length of a signature.
var signatureHashes = map[int]func() hash.Hash{
	sha1.Size: sha1.New, sha256.Size: sha256.New, sha512.Size384: sha512.New384, sha512.Size: sha512.New,
}

// signedCookie is a cookie as one framework signs it: with a key that is derived from the secret.
type signedCookie struct {
	data      string
	signature []byte
	derive    func(algorithm func() hash.Hash, secret string) string
}

// cookieUnsign finds the weak key of a cookie signed by Django, Flask, Rack or Express (cookie-session,
// "data^signature"), or of a JWT.
func cookieUnsign(env *Env, args []any) (any, error) {
	forms := signedForms(String(args[0]))
	if len(forms) == 0 {
		return nil, errors.New("the cookie is not signed in a known way")
	}
	for key := range strings.Lines(weakKeys) {
		key = strings.TrimSuffix(key, "\n")
		for _, c := range forms {
			algorithm := signatureHashes[len(c.signature)]
			if hmac.Equal(c.signature, mac(algorithm, c.derive(algorithm, key), c.data)) {
				return key, nil
			}
		}
		if err := env.context().Err(); err != nil {
			return nil, err
		}
	}
	return nil, errors.New("the key is not a weak one")
}

func signedForms(s string) (forms []signedCookie) {
	add := func(
		separator string, parts int, decode func(string) ([]byte, error), derive func(func() hash.Hash, string) string,
	) {
		if strings.Count(strings.TrimPrefix(s, "."), separator) != parts-1 {
			return
		}
		at := strings.LastIndex(s, separator)
		signature, err := decode(s[at+len(separator):])
		if err == nil && signatureHashes[len(signature)] != nil {
			forms = append(forms, signedCookie{s[:at], signature, derive})
		}
	}
	plain := func(_ func() hash.Hash, secret string) string { return secret }
	base64URL := base64.RawURLEncoding.DecodeString
	add(":", 3, base64URL, func(algorithm func() hash.Hash, secret string) string { // Django
		h := algorithm()
		h.Write([]byte("django.contrib.sessions.backends.signed_cookies" + "signer" + secret))
		return string(h.Sum(nil))
	})
	add(".", 3, base64URL, func(algorithm func() hash.Hash, secret string) string { // Flask
		return string(mac(algorithm, secret, "cookie-session"))
	})
	add(".", 3, base64URL, plain) // JWT
	add("--", 2, hex.DecodeString, plain)
	add("^", 2, base64URL, plain)
	return forms
}
