package web

import (
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"

	"golang.org/x/net/publicsuffix"

	"github.com/vedette-sec/vedette/internal/engine/proto/rawurl"
)

// Jar keeps cookies (RFC 6265). It is safe for any number of goroutines. A nil Jar keeps nothing.
type Jar struct {
	inner *cookiejar.Jar
	used  atomic.Bool // something was put in
}

// NewJar makes an empty jar.
func NewJar() *Jar {
	inner, _ := cookiejar.New(&cookiejar.Options{PublicSuffixList: publicsuffix.List}) // never fails
	return &Jar{inner: inner}
}

// Cookies implements http.CookieJar.
func (j *Jar) Cookies(u *url.URL) []*http.Cookie { return j.inner.Cookies(u) }

// SetCookies implements http.CookieJar.
func (j *Jar) SetCookies(u *url.URL, cookies []*http.Cookie) {
	if len(cookies) > 0 {
		j.inner.SetCookies(u, cookies)
		j.used.Store(true)
	}
}

// line is the value of the Cookie line for an address, or "".
func (j *Jar) line(a rawurl.URL) string {
	if j == nil || !j.used.Load() {
		return ""
	}
	var b strings.Builder
	for _, c := range j.inner.Cookies(a.Parsed()) {
		if b.Len() > 0 {
			b.WriteString("; ")
		}
		b.WriteString(c.Name + "=" + c.Value)
	}
	return b.String()
}

// Keep stores the cookies that a response sets.
func (j *Jar) Keep(x *Exchange) {
	if j == nil {
		return
	}
	if set := x.setCookies(); len(set) > 0 {
		j.inner.SetCookies(x.Request.Address.Parsed(), set)
		j.used.Store(true)
	}
}

// withoutCookies removes the cookies that a response sets from the Cookie line of its request: now the jar has them.
func withoutCookies(list []Header, x *Exchange) []Header {
	set := x.setCookies()
	i := indexHeader(list, "Cookie")
	if len(set) == 0 || i < 0 {
		return list
	}
	var kept []string
	for pair := range strings.SplitSeq(list[i].Value, ";") {
		name, _, _ := strings.Cut(strings.TrimSpace(pair), "=")
		if !slices.ContainsFunc(set, func(c *http.Cookie) bool { return c.Name == name }) {
			kept = append(kept, strings.TrimSpace(pair))
		}
	}
	if len(kept) == 0 {
		return without(list, "Cookie")
	}
	list = slices.Clone(list)
	list[i].Value = strings.Join(kept, "; ")
	return list
}
