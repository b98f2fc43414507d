package kit

import (
	"net/http"
	"net/url"
)

// Signed are the texts of a cookie that a framework may have signed, as package weakkey reads them: its value, also as
// it stands in an address, and with its name and the signature that a second cookie of the same user has (keygrip of
// Express).
func Signed(k *http.Cookie, all []*http.Cookie) []string {
	texts := []string{k.Value, k.Name + "=" + k.Value}
	if plain, err := url.PathUnescape(k.Value); err == nil && plain != k.Value {
		texts = append(texts, plain)
	}
	for _, other := range all {
		if other.Name == k.Name+".sig" {
			texts = append(texts, k.Name+"="+k.Value+"^"+other.Value)
		}
	}
	return texts
}
