package functions

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

func hashFunctions() []Function {
	return []Function{
		hasher("md5", md5.New),
		hasher("sha1", sha1.New),
		hasher("sha256", sha256.New),
		hasher("sha512", sha512.New),
		{Name: "mmh3", Min: 1, Max: 1, Run: func(_ *Env, args []any) (any, error) {
			h := murmur3.New32() // murmur3.Sum32 does arithmetic with pointers that the race detector refuses
			fmt.Fprint(h, args[0])
			return strconv.Itoa(int(int32(h.Sum32()))), nil
		}},
		function("hmac", 3, 3, keyedHash),
	}
}

// hasher makes a function of the hash of a text, in hexadecimal.
func hasher(name string, algorithm func() hash.Hash) Function {
	return text1(name, func(s string) string {
		h := algorithm()
		h.Write([]byte(s))
		return hex.EncodeToString(h.Sum(nil))
	})
}

var hmacAlgorithms = map[string]func() hash.Hash{
	"sha1": sha1.New, "sha-1": sha1.New, "sha256": sha256.New, "sha-256": sha256.New,
	"sha512": sha512.New, "sha-512": sha512.New,
}

func keyedHash(_ *Env, args []any) (any, error) {
	algorithm := hmacAlgorithms[String(args[0])]
	if algorithm == nil {
		return nil, fmt.Errorf("there is no algorithm %s here", Quote(args[0]))
	}
	return hex.EncodeToString(mac(algorithm, String(args[2]), String(args[1]))), nil
}

func mac(algorithm func() hash.Hash, key, data string) []byte {
	h := hmac.New(algorithm, []byte(key))
	h.Write([]byte(data))
	return h.Sum(nil)
}
