package lab

import (
	"encoding/base64"
	"math/bits"
	"math/rand/v2"
	"strconv"
	"strings"
)

// favicon makes a body whose mmh3(base64_py(body)) is the decimal text hash. The last four-byte block of MurmurHash3
// can be computed backwards; the search is for a start that makes this block base64, one in 256.
func favicon(hash string) ([]byte, bool) {
	signed, err := strconv.ParseInt(strings.TrimSpace(hash), 10, 64)
	if err != nil || signed < -1<<31 || signed >= 1<<32 {
		return nil, false
	}
	const blocks = 4
	random := rand.New(rand.NewPCG(uint64(signed), 1))
	wanted := unmixed(uint32(signed), 4*blocks+1, '\n')
	for range 1 << 16 {
		start := make([]byte, 3*(blocks-1))
		for i := range start {
			start[i] = byte(random.Uint32())
		}
		text := []byte(base64.StdEncoding.EncodeToString(start))
		h := uint32(0)
		for i := 0; i < len(text); i += 4 {
			h = round(h, uint32(text[i])|uint32(text[i+1])<<8|uint32(text[i+2])<<16|uint32(text[i+3])<<24)
		}
		// round is rotl13(h ^ scramble(k))*5 + 0xe6546b64; find k.
		k := unscramble(bits.RotateLeft32((wanted-0xe6546b64)*inverse(5), -13) ^ h)
		text = append(text, byte(k), byte(k>>8), byte(k>>16), byte(k>>24))
		if body, err := base64.StdEncoding.Strict().DecodeString(string(text)); err == nil &&
			!strings.ContainsAny(string(text), "\r\n=") {
			return body, true
		}
	}
	return nil, false
}

const c1, c2 = 0xcc9e2d51, 0x1b873593

func scramble(k uint32) uint32   { return bits.RotateLeft32(k*c1, 15) * c2 }
func unscramble(k uint32) uint32 { return bits.RotateLeft32(k*inverse(c2), -15) * inverse(c1) }
func round(h, k uint32) uint32   { return bits.RotateLeft32(h^scramble(k), 13)*5 + 0xe6546b64 }

// unmixed is the state after the full blocks, of a text of this length with this tail whose hash is known.
func unmixed(hash uint32, length int, tail byte) uint32 {
	hash ^= hash >> 16
	hash *= inverse(0xc2b2ae35)
	hash ^= hash>>13 ^ hash>>26
	hash *= inverse(0x85ebca6b)
	hash ^= hash >> 16
	return hash ^ uint32(length) ^ scramble(uint32(tail))
}

// inverse is the number that makes 1 with an odd a, modulo 2³².
func inverse(a uint32) uint32 {
	x := a
	for range 5 {
		x *= 2 - a*x
	}
	return x
}
