package kit

import (
	"crypto/md5"  //nolint:gosec // applications make tokens and cookies with it
	"crypto/sha1" //nolint:gosec // as above
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
)

// Writings are the ways in which applications write a name or a number where nobody is to guess it, as in a cookie or
// the token of a link: first as it is, then encoded, then as a digest. About begins what is said of one, as in "the MD5
// of the name".
var Writings = []struct {
	About string
	Write func(string) string
}{
	{"", func(s string) string { return s }},
	{"base64 of ", func(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) }},
	{"base64 of ", func(s string) string { return base64.RawURLEncoding.EncodeToString([]byte(s)) }},
	{"hexadecimal digits of ", func(s string) string { return hex.EncodeToString([]byte(s)) }},
	{"the MD5 of ", func(s string) string { sum := md5.Sum([]byte(s)); return hex.EncodeToString(sum[:]) }},    //nolint:gosec // see above
	{"the SHA-1 of ", func(s string) string { sum := sha1.Sum([]byte(s)); return hex.EncodeToString(sum[:]) }}, //nolint:gosec // see above
	{"the SHA-256 of ", func(s string) string { sum := sha256.Sum256([]byte(s)); return hex.EncodeToString(sum[:]) }},
}
