package functions

import (
	"crypto/hmac"
	"crypto/md5"  //nolint:gosec // the language's function
	"crypto/sha1" //nolint:gosec // the language's function
	"crypto/sha256"
	"crypto/sha512"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"hash"
	"math/bits"
	"strconv"
)

func hashFunctions() []Function {
	return []Function{
		text1("md5", func(s string) string { h := md5.Sum([]byte(s)); return hex.EncodeToString(h[:]) }),   //nolint:gosec // see above
		text1("sha1", func(s string) string { h := sha1.Sum([]byte(s)); return hex.EncodeToString(h[:]) }), //nolint:gosec // see above
		text1("sha256", func(s string) string { h := sha256.Sum256([]byte(s)); return hex.EncodeToString(h[:]) }),
		text1("sha512", func(s string) string { h := sha512.Sum512([]byte(s)); return hex.EncodeToString(h[:]) }),
		{Name: "mmh3", Min: 1, Max: 1, Run: func(_ *Env, args []any) (any, error) {
			// Unlike others, this function formats its argument with %v.
			return strconv.Itoa(int(int32(murmur3([]byte(fmt.Sprint(args[0])))))), nil
		}},
		function("hmac", 3, 3, keyedHash),
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
		return nil, fmt.Errorf("there is no algorithm %s here", Quote(args[0]))
	}
	return hex.EncodeToString(mac(algorithm, String(args[2]), String(args[1]))), nil
}

func mac(algorithm func() hash.Hash, key, data string) []byte {
	h := hmac.New(algorithm, []byte(key))
	h.Write([]byte(data))
	return h.Sum(nil)
}

// murmur3 is MurmurHash3_x86_32 with seed 0, the hash by which search engines know favicons.
func murmur3(data []byte) uint32 {
	const c1, c2 = 0xcc9e2d51, 0x1b873593
	mixed := func(k uint32) uint32 { return bits.RotateLeft32(k*c1, 15) * c2 }
	var h uint32
	rest := data
	for ; len(rest) >= 4; rest = rest[4:] {
		h = bits.RotateLeft32(h^mixed(binary.LittleEndian.Uint32(rest)), 13)*5 + 0xe6546b64
	}
	var tail uint32
	for i, x := range rest {
		tail |= uint32(x) << (8 * i)
	}
	h ^= mixed(tail) ^ uint32(len(data))
	h = (h ^ h>>16) * 0x85ebca6b
	h = (h ^ h>>13) * 0xc2b2ae35
	return h ^ h>>16
}
