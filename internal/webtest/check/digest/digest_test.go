package digest

import (
	"crypto/md5"
	"crypto/sha1"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"testing"

	"github.com/vedette-sec/vedette/internal/webtest/check/kittest"
)

// loose is PHP's == of two texts, as far as digests need it.
func loose(a, b string) bool {
	zero := regexp.MustCompile(`^0e\d+$`)
	return a == b || zero.MatchString(a) && zero.MatchString(b)
}

func TestDigestsThatAreNumbers(t *testing.T) {
	sum5 := func(s string) string { d := md5.Sum([]byte(s)); return hex.EncodeToString(d[:]) }
	sum1 := func(s string) string { d := sha1.Sum([]byte(s)); return hex.EncodeToString(d[:]) }
	const kept5, kept1 = "0e462097431906509019562988736854", "0e07766915004133176347055865026311692244"
	for name, c := range map[string]struct {
		body    string
		accepts func(code string) bool
		found   bool
	}{
		"md5 of a voucher":      {"voucher=SPRING", func(v string) bool { return loose(sum5(v), kept5) }, true},
		"sha1 of a token, JSON": {`{"token":"abc"}`, func(v string) bool { return loose(sum1(v), kept1) }, true},
		"the text itself":       {"unlock_code=12", func(v string) bool { return loose(v, "0e99") }, true},
		"compared as texts":     {"voucher=SPRING", func(v string) bool { return sum5(v) == kept5 }, false},
		"another digest":        {"voucher=SPRING", func(v string) bool { return loose(sum5(v), sum5("x")) }, false},
		"takes every number":    {"code=12", func(v string) bool { return regexp.MustCompile(`^\d+$`).MatchString(v) }, false},
		"takes everything":      {"code=12", func(string) bool { return true }, false},
		"another field":         {"size=12", func(v string) bool { return loose(v, "0e99") }, false},
	} {
		lab := kittest.New(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			w.Header().Set("X-Powered-By", "PHP/8.2")
			code := r.FormValue("voucher") + r.FormValue("unlock_code") + r.FormValue("code") + r.FormValue("size")
			if m := tokenOf.FindStringSubmatch(bodyText(r)); m != nil {
				code = m[1]
			}
			if c.accepts(code) {
				fmt.Fprint(w, "<p>Welcome. Fifty are yours, and the way to the shop is open.</p>")
				return
			}
			w.WriteHeader(http.StatusForbidden)
			fmt.Fprint(w, "<p>That is not valid.</p>")
		}))
		found := lab.Run(t, byDigest(), lab.Target(t, http.MethodPost, "/redeem", c.body))
		if len(found) > 0 != c.found {
			t.Errorf("%s: %s", name, kittest.Titles(found))
		}
		for _, f := range found {
			lab.Holds(t, f)
		}
	}
}

var tokenOf = regexp.MustCompile(`"token":"([^"]*)"`)

func bodyText(r *http.Request) string {
	text, _ := io.ReadAll(r.Body)
	return string(text)
}
