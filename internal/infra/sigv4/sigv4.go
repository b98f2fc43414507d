// Package sigv4 signs HTTP requests with AWS Signature Version 4, for templates that ask for it and for
// inventories of AWS accounts. A canonical form of the request (method, path, sorted query, sorted headers,
// digest of the body) is signed with a key derived from the secret, the day, the region and the service.
package sigv4

import (
	"cmp"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"
)

// Keys are the credentials and what they are used for.
type Keys struct {
	ID, Secret string
	Token      string // of a session; may be empty
	Region     string // "" means us-east-2
	Service    string // "" means sts
}

// Request is what is signed. Path and Query are escaped as they are sent.
type Request struct {
	Method, Host, Path, Query string
	Headers                   [][2]string // name and value
	Body                      []byte
}

// Sign returns the headers to add: X-Amz-Date, Authorization and, where needed, X-Amz-Security-Token and
// X-Amz-Content-Sha256. The request must not be changed afterwards.
func (k Keys) Sign(r Request, at time.Time) (added [][2]string) {
	region, service := cmp.Or(k.Region, "us-east-2"), cmp.Or(k.Service, "sts")
	stamp := at.UTC().Format("20060102T150405Z")
	added = append(added, [2]string{"X-Amz-Date", stamp})
	if k.Token != "" {
		added = append(added, [2]string{"X-Amz-Security-Token", k.Token})
	}
	hasDigest := func(h [2]string) bool { return strings.EqualFold(h[0], "X-Amz-Content-Sha256") }
	if service == "s3" && !slices.ContainsFunc(r.Headers, hasDigest) {
		added = append(added, [2]string{"X-Amz-Content-Sha256", digest(r.Body)})
	}
	r.Headers = slices.Concat(r.Headers, added)
	if service != "s3" {
		r.Path = escape(r.Path, "/") // all services but S3 sign the path escaped twice
	}
	text, names := r.canonical()
	scope := stamp[:8] + "/" + region + "/" + service + "/aws4_request"
	key := []byte("AWS4" + k.Secret)
	for part := range strings.SplitSeq(scope, "/") {
		key = keyed(key, part)
	}
	signature := keyed(key, "AWS4-HMAC-SHA256\n"+stamp+"\n"+scope+"\n"+digest([]byte(text)))
	return append(added, [2]string{"Authorization", fmt.Sprintf(
		"AWS4-HMAC-SHA256 Credential=%s/%s, SignedHeaders=%s, Signature=%x", k.ID, scope, names, signature)})
}

func (r Request) canonical() (text, names string) {
	values := map[string][]string{"host": {r.Host}}
	for _, h := range r.Headers {
		name := strings.ToLower(h[0])
		if name == "content-type" || name == "content-md5" || strings.HasPrefix(name, "x-amz-") {
			values[name] = append(values[name], strings.Join(strings.Fields(h[1]), " "))
		}
	}
	sorted := slices.Sorted(maps.Keys(values))
	var lines strings.Builder
	for _, name := range sorted {
		lines.WriteString(name + ":" + strings.Join(values[name], ",") + "\n")
	}
	names = strings.Join(sorted, ";")
	parts := []string{r.Method, r.Path, canonicalQuery(r.Query), lines.String(), names, digest(r.Body)}
	return strings.Join(parts, "\n"), names
}

// canonicalQuery is a query with its parameters escaped in the one signed form, and sorted.
func canonicalQuery(query string) string {
	if query == "" {
		return ""
	}
	again := func(s string) string {
		if plain, err := url.QueryUnescape(s); err == nil {
			s = plain
		}
		return escape(s, "")
	}
	var params [][2]string
	for pair := range strings.SplitSeq(query, "&") {
		name, value, _ := strings.Cut(pair, "=")
		params = append(params, [2]string{again(name), again(value)})
	}
	slices.SortFunc(params, func(a, b [2]string) int { return slices.Compare(a[:], b[:]) })
	joined := make([]string, len(params))
	for i, p := range params {
		joined[i] = p[0] + "=" + p[1]
	}
	return strings.Join(joined, "&")
}

// escape escapes all bytes but unreserved ones (RFC 3986) and those of keep.
func escape(s, keep string) string {
	var b strings.Builder
	for i := range len(s) {
		c := s[i]
		letter := 'A' <= c && c <= 'Z' || 'a' <= c && c <= 'z' || '0' <= c && c <= '9'
		if letter || strings.IndexByte("-._~"+keep, c) >= 0 {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String()
}

func keyed(key []byte, text string) []byte {
	h := hmac.New(sha256.New, key)
	h.Write([]byte(text))
	return h.Sum(nil)
}

func digest(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}
