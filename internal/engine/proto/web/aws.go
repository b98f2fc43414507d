package web

import (
	"cmp"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/vedette-sec/vedette/internal/engine/proto/rawurl"
)

// AWS signs requests as Amazon's services want them (Signature Version 4).
type AWS struct {
	ID, Secret string
	Token      string // of a session; may be empty
	Region     string // "" means us-east-2
	Service    string // "" means sts
}

// Sign adds the X-Amz-Date and Authorization lines to a request, and with a Token
// X-Amz-Security-Token. It signs the Host line, the X-Amz-… and Content-Type lines and
// the body as they are now: the request must not be changed afterwards.
func (a AWS) Sign(req *Request, at time.Time) {
	region, service := cmp.Or(a.Region, "us-east-2"), cmp.Or(a.Service, "sts")
	stamp := at.UTC().Format("20060102T150405Z")
	req.Headers = append(without(req.Headers, "Authorization", "X-Amz-Date", "X-Amz-Security-Token"), Header{"X-Amz-Date", stamp})
	if a.Token != "" {
		req.Headers = append(req.Headers, Header{"X-Amz-Security-Token", a.Token})
	}
	if service == "s3" && indexHeader(req.Headers, "X-Amz-Content-Sha256") < 0 {
		req.Headers = append(req.Headers, Header{"X-Amz-Content-Sha256", hexSum(req.Body)})
	}
	canonical, signed := awsCanonical(req, service)
	scope := stamp[:8] + "/" + region + "/" + service + "/aws4_request"
	key := []byte("AWS4" + a.Secret)
	for part := range strings.SplitSeq(scope, "/") {
		key = keyed(key, part)
	}
	signature := keyed(key, "AWS4-HMAC-SHA256\n"+stamp+"\n"+scope+"\n"+hexSum([]byte(canonical)))
	req.Headers = append(req.Headers, Header{"Authorization", "AWS4-HMAC-SHA256 Credential=" + a.ID + "/" + scope +
		", SignedHeaders=" + signed + ", Signature=" + hex.EncodeToString(signature)})
}

// awsCanonical is the form of a request that is signed, and the names of its headers.
func awsCanonical(req *Request, service string) (canonical, signed string) {
	values := map[string][]string{"host": {req.host()}}
	names := []string{"host"}
	for _, h := range req.Headers {
		name := strings.ToLower(h.Name)
		if name != "content-type" && !strings.HasPrefix(name, "x-amz-") && name != "content-md5" {
			continue
		}
		if values[name] == nil {
			names = append(names, name)
		}
		values[name] = append(values[name], strings.Join(strings.Fields(h.Value), " "))
	}
	slices.Sort(names)
	var lines strings.Builder
	for _, name := range names {
		lines.WriteString(name + ":" + strings.Join(values[name], ",") + "\n")
	}
	signed = strings.Join(names, ";")
	path, query, _ := strings.Cut(req.target(), "?")
	if service != "s3" {
		path = awsEscape(rawurl.RemoveDots(path), true) // all but S3 want what is escaped escaped again
	}
	return strings.Join([]string{req.method(), path, awsQuery(query), lines.String(), signed, hexSum(req.Body)}, "\n"), signed
}

// awsQuery is a query with its parameters escaped and sorted.
func awsQuery(query string) string {
	if query == "" {
		return ""
	}
	var params [][2]string
	for pair := range strings.SplitSeq(query, "&") {
		name, value, _ := strings.Cut(pair, "=")
		params = append(params, [2]string{awsAgain(name), awsAgain(value)})
	}
	slices.SortFunc(params, func(a, b [2]string) int { return cmp.Or(cmp.Compare(a[0], b[0]), cmp.Compare(a[1], b[1])) })
	for i, p := range params {
		if i == 0 {
			query = p[0] + "=" + p[1]
		} else {
			query += "&" + p[0] + "=" + p[1]
		}
	}
	return query
}

// awsAgain brings a part of a query into the one form that is signed.
func awsAgain(s string) string {
	if plain, err := url.QueryUnescape(s); err == nil {
		s = plain
	}
	return awsEscape(s, false)
}

func awsEscape(s string, slash bool) string {
	return rawurl.Escape(s, func(i int) bool {
		c := s[i]
		plain := 'A' <= c && c <= 'Z' || 'a' <= c && c <= 'z' || '0' <= c && c <= '9' || strings.IndexByte("-._~", c) >= 0
		return !plain && (!slash || c != '/')
	}, "%20")
}

func keyed(key []byte, text string) []byte {
	h := hmac.New(sha256.New, key)
	h.Write([]byte(text))
	return h.Sum(nil)
}

func hexSum(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}
