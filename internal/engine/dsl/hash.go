package dsl

import (
	"crypto/hmac"
	"crypto/md5"  //nolint:gosec // the language's function
	"crypto/sha1" //nolint:gosec // the language's function
	"crypto/sha256"
	"crypto/sha512"
	"encoding/hex"
	"fmt"
	"hash"
	"strconv"

	"github.com/spaolacci/murmur3"
)

func hashFunctions() []fn {
	return []fn{
		text1("md5", func(s string) string { h := md5.Sum([]byte(s)); return hex.EncodeToString(h[:]) }),   //nolint:gosec // see above
		text1("sha1", func(s string) string { h := sha1.Sum([]byte(s)); return hex.EncodeToString(h[:]) }), //nolint:gosec // see above
		text1("sha256", func(s string) string { h := sha256.Sum256([]byte(s)); return hex.EncodeToString(h[:]) }),
		text1("sha512", func(s string) string { h := sha512.Sum512([]byte(s)); return hex.EncodeToString(h[:]) }),
		{name: "mmh3", min: 1, max: 1, run: func(_ *Env, args []any) (any, error) {
			// In the form of %v, unlike all others.
			sum := murmur3.Sum32([]byte(fmt.Sprint(args[0])))
			return strconv.Itoa(int(int32(sum))), nil
		}},
		{name: "hmac", min: 3, max: 3, run: keyedHash},
	}
}

func keyedHash(_ *Env, args []any) (any, error) {
	var algorithm func() hash.Hash
	switch args[0] {
	case "sha1", "sha-1":
		algorithm = sha1.New
	case "sha256", "sha-256":
		algorithm = sha256.New
	case "sha512", "sha-512":
		algorithm = sha512.New
	default:
		return nil, fmt.Errorf("there is no algorithm %s here", shown(args[0]))
	}
	return hex.EncodeToString(mac(algorithm, String(args[2]), String(args[1]))), nil
}

func mac(algorithm func() hash.Hash, key, data string) []byte {
	h := hmac.New(algorithm, []byte(key))
	h.Write([]byte(data))
	return h.Sum(nil)
}
