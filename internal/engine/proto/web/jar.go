package web

import (
	"net/http/cookiejar"
	"strings"
	"sync/atomic"

	"golang.org/x/net/publicsuffix"
)

// Jar keeps the cookies that servers set and gives them back to whom they are for (RFC
// 6265). It is safe for any number of goroutines. A nil Jar keeps nothing.
type Jar struct {
	inner *cookiejar.Jar
	used  atomic.Bool // something was put in
}

// NewJar makes an empty jar.
func NewJar() *Jar {
	inner, _ := cookiejar.New(&cookiejar.Options{PublicSuffixList: publicsuffix.List}) // fails never
	return &Jar{inner: inner}
}

// line is the value of the Cookie line for an address; "" when there is no cookie for it.
func (j *Jar) line(a Address) string {
	if j == nil || !j.used.Load() {
		return ""
	}
	var b strings.Builder
	for _, c := range j.inner.Cookies(a.URL()) {
		if b.Len() > 0 {
			b.WriteString("; ")
		}
		b.WriteString(c.Name + "=" + c.Value)
	}
	return b.String()
}

// keep puts in what an answer sets.
func (j *Jar) keep(x *Exchange) {
	if j == nil {
		return
	}
	if set := x.setCookies(); len(set) > 0 {
		j.inner.SetCookies(x.Request.Address.URL(), set)
		j.used.Store(true)
	}
}

// joinCookies lays the cookies of a jar over a Cookie line; of two with one name the
// jar's counts.
func joinCookies(line, fromJar string) string {
	known := map[string]bool{}
	for pair := range strings.SplitSeq(fromJar, "; ") {
		name, _, _ := strings.Cut(pair, "=")
		known[name] = true
	}
	for pair := range strings.SplitSeq(line, ";") {
		pair = strings.TrimSpace(pair)
		if name, _, _ := strings.Cut(pair, "="); pair != "" && !known[name] {
			fromJar += "; " + pair
		}
	}
	return fromJar
}
