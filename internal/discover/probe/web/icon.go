package web

import (
	"context"
	"encoding/base64"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/spaolacci/murmur3"
)

// icon finds the favicon of a visited page, by its link or in the default place, and hashes it. What is no image
// has no hash; an icon out of scope is not fetched.
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
	if err != nil {
		return
	}
	defer a.Release()
	if a.Status != 200 || len(a.Body) == 0 || a.Cut != "" || looksHTML(a.Body) {
		return
	}
	v.Asset.Favicon, v.Asset.FaviconURL = Hash(a.Body), shown(at)
}

// dataURL decodes an icon that is in its link.
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

// Hash is the favicon hash of search engines: MurmurHash3 of the base64 text in lines of 76 characters, as a signed
// decimal number. Templates write it mmh3(base64_py(body)).
func Hash(icon []byte) string {
	h := murmur3.New32() // murmur3.Sum32 does arithmetic with pointers that the race detector refuses
	for line := range slices.Chunk(base64.StdEncoding.AppendEncode(nil, icon), base64Line) {
		_, _ = h.Write(append(line, '\n'))
	}
	return strconv.Itoa(int(int32(h.Sum32())))
}
