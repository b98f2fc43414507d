package web

import (
	"context"
	"encoding/base64"
	"encoding/binary"
	"math/bits"
	"net/url"
	"strconv"
	"strings"
)

// icon finds the favicon of a visited page, by its link or in the usual place, and hashes
// it. What is no image has no hash; an icon out of scope is not fetched.
func (k *keeper) icon(ctx context.Context, v *Visit) {
	if data, ok := dataURL(v.Page.Icon); ok {
		v.Asset.Favicon, v.Asset.FaviconURL = Hash(data), "data:"
		return
	}
	at := resolve(v.Last, "/favicon.ico")
	if v.Page.Icon != "" {
		at = v.Page.Resolve(v.Last, v.Page.Icon)
	}
	if at == nil {
		return
	}
	a, err := k.get(ctx, at)
	if err != nil || a.Status != 200 || len(a.Body) == 0 || a.Cut != "" || looksHTML(a.Body) {
		return
	}
	v.Asset.Favicon, v.Asset.FaviconURL = Hash(a.Body), shown(at)
}

// dataURL decodes an icon that is written into its link.
func dataURL(link string) ([]byte, bool) {
	head, body, ok := strings.Cut(link, ",")
	if !ok || !strings.HasPrefix(head, "data:") {
		return nil, false
	}
	if strings.HasSuffix(head, ";base64") {
		data, err := base64.StdEncoding.DecodeString(body)
		return data, err == nil && len(data) > 0
	}
	text, err := url.PathUnescape(body)
	return []byte(text), err == nil && text != ""
}

const base64Line = 76 // characters, as MIME has it

// Hash is the favicon hash that search engines know, in decimal: MurmurHash3 of the base64
// text in lines of 76 characters, as a signed number. Templates write it
// mmh3(base64_py(body)).
func Hash(icon []byte) string {
	flat := base64.StdEncoding.EncodeToString(icon)
	var lines strings.Builder
	for len(flat) > 0 {
		n := min(len(flat), base64Line)
		lines.WriteString(flat[:n])
		lines.WriteByte('\n')
		flat = flat[n:]
	}
	return strconv.Itoa(int(int32(murmur3([]byte(lines.String())))))
}

// murmur3 is Austin Appleby's MurmurHash3_x86_32 with the seed 0.
func murmur3(data []byte) uint32 {
	const c1, c2 = 0xcc9e2d51, 0x1b873593
	var h uint32
	n := uint32(len(data))
	for ; len(data) >= 4; data = data[4:] {
		h ^= bits.RotateLeft32(binary.LittleEndian.Uint32(data)*c1, 15) * c2
		h = bits.RotateLeft32(h, 13)*5 + 0xe6546b64
	}
	var tail [4]byte
	copy(tail[:], data)
	h ^= bits.RotateLeft32(binary.LittleEndian.Uint32(tail[:])*c1, 15) * c2
	h ^= n
	h = (h ^ h>>16) * 0x85ebca6b
	h = (h ^ h>>13) * 0xc2b2ae35
	return h ^ h>>16
}
