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
	join      func(data string, signature []byte) string // the cookie of data and a signature
}

// ErrUnknown says that a text is not signed in a form that is known, ErrStrong that its key is not a public one.
var (
	ErrUnknown = errors.New("the cookie is not signed in a known way")
	ErrStrong  = errors.New("the key is not a weak one")
)

// Of finds the public secret of a cookie that Django, Flask, other users of itsdangerous such as Starlette, Rack,
// Tornado, Bottle or Express has signed, or of a JSON Web Token, and says by which of them it is. Those of Express are
// "s:data.signature" (cookie-parser, express-session) and "name=data^signature" (cookie-session, which keeps the two in
// two cookies). The error is ErrUnknown, ErrStrong, or the context's.
func Of(ctx context.Context, cookie string) (key, by string, err error) {
	s, err := Open(ctx, cookie)
	if err != nil {
		return "", "", err
	}
	return s.Key, s.By, nil
}

// Open is Of with what it takes to write another such cookie.
func Open(ctx context.Context, cookie string) (*Sealed, error) {
	forms := formsOf(cookie)
	if len(forms) == 0 {
		return nil, ErrUnknown
	}
	for key := range Keys() {
		for i := range forms {
			c := &forms[i]
			if hmac.Equal(c.signature, c.sign(key, c.data)) {
				return &Sealed{Key: key, By: c.by, form: c}, nil
			}
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
	}
	return nil, ErrStrong
}

func (c *signed) sign(key, data string) []byte {
	algorithm := hashes[len(c.signature)]
	return mac(algorithm, c.derive(algorithm, key), data)
}

// JWT is what Of says of JSON Web Tokens.
const JWT = "JWT"

// form is how a framework writes what it has signed.
type form struct {
	by, separator string
	parts         int
	before        string // what the cookie begins with, and is not signed
	decode        func(string) ([]byte, error)
	encode        func([]byte) string
	derive        func(algorithm func() hash.Hash, secret string) string
}

func plain(_ func() hash.Hash, secret string) string { return secret }

// salted is the derivation of itsdangerous and Django: a digest of the salt, a word and the secret.
func salted(salt string) func(func() hash.Hash, string) string {
	return func(algorithm func() hash.Hash, secret string) string {
		h := algorithm()
		h.Write([]byte(salt + "signer" + secret))
		return string(h.Sum(nil))
	}
}

var (
	bareURL = base64.RawURLEncoding
	bare    = base64.RawStdEncoding
)

// forms are those that are known. A form without a number of parts may have its separator in the data.
var forms = []form{
	{"Django", ":", 3, "", bareURL.DecodeString, bareURL.EncodeToString, salted("django.contrib.sessions.backends.signed_cookies")},
	{"Flask", ".", 3, "", bareURL.DecodeString, bareURL.EncodeToString, func(algorithm func() hash.Hash, secret string) string {
		return string(mac(algorithm, secret, "cookie-session"))
	}},
	{JWT, ".", 3, "", bareURL.DecodeString, bareURL.EncodeToString, plain},
	{"Starlette", ".", 3, "", bareURL.DecodeString, bareURL.EncodeToString, salted("itsdangerous.Signer")},
	{"itsdangerous", ".", 3, "", bareURL.DecodeString, bareURL.EncodeToString, salted("itsdangerous")},
	{"itsdangerous", ".", 2, "", bareURL.DecodeString, bareURL.EncodeToString, salted("itsdangerous")},
	{"Rack", "--", 2, "", hex.DecodeString, hex.EncodeToString, plain},
	{"Express", "^", 2, "", bareURL.DecodeString, bareURL.EncodeToString, plain},
	{"Express", ".", 0, "s:", bare.DecodeString, bare.EncodeToString, plain},
}

func formsOf(s string) (all []signed) {
	for _, f := range forms {
		text, begins := strings.CutPrefix(s, f.before)
		if !begins || f.parts > 0 && strings.Count(strings.TrimPrefix(text, "."), f.separator) != f.parts-1 {
			continue
		}
		at := strings.LastIndex(text, f.separator)
		if at < 1 {
			continue
		}
		signature, err := f.decode(text[at+len(f.separator):])
		if err == nil && hashes[len(signature)] != nil {
			all = append(all, signed{f.by, text[:at], signature, f.derive, func(data string, signature []byte) string {
				return f.before + data + f.separator + f.encode(signature)
			}})
		}
	}
	if at := strings.LastIndexByte(s, '|'); at > 0 && strings.HasPrefix(s, "2|") { // Tornado signs the separator, too
		if signature, err := hex.DecodeString(s[at+1:]); err == nil && len(signature) == sha256.Size {
			all = append(all, signed{"Tornado", s[:at+1], signature, plain, func(data string, signature []byte) string {
				return data + hex.EncodeToString(signature)
			}})
		}
	}
	if sum, data, ok := strings.Cut(s, "?"); ok && strings.HasPrefix(sum, "!") {
		if signature, err := base64.StdEncoding.DecodeString(sum[1:]); err == nil && hashes[len(signature)] != nil {
			all = append(all, signed{"Bottle", data, signature, plain, func(data string, signature []byte) string {
				return "!" + base64.StdEncoding.EncodeToString(signature) + "?" + data
			}})
		}
	}
	return all
}

func mac(algorithm func() hash.Hash, key, data string) []byte {
	h := hmac.New(algorithm, []byte(key))
	h.Write([]byte(data))
	return h.Sum(nil)
}
