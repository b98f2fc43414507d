package web

import (
	"net/http"
	"net/http/cookiejar"
	"slices"
	"strings"
)

// trail follows one request from redirect to redirect.
type trail struct {
	client *Client
	first  Request
	jar    *cookiejar.Jar // made at the first redirect: cookies live as long as the trail
}

// next is the request that an answer asks for, and whether it is to be sent. hops is
// the number of answers so far.
func (t *trail) next(res *Response, hops int) (Request, bool) {
	limit := t.first.MaxRedirects
	if limit <= 0 {
		limit = DefaultMaxRedirects
	}
	if t.first.Redirects == NoRedirects || hops > limit {
		return Request{}, false
	}
	keepMethod := false
	switch res.Status {
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther:
	case http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
		keepMethod = true
	default:
		return Request{}, false
	}
	from := res.Request.Address.URL()
	to, err := from.Parse(res.Header.Get("Location"))
	if err != nil || res.Header.Get("Location") == "" || to.Host == "" || to.User != nil || to.Scheme != "http" && to.Scheme != "https" {
		return Request{}, false
	}
	address := AddressOf(to)
	if t.first.Redirects == HostRedirects && address.HostPort() != t.first.Address.HostPort() && !sameDefault(address, t.first.Address) {
		return Request{}, false
	}
	if t.client.cfg.Follow != nil && !t.client.cfg.Follow(from, to) {
		return Request{}, false
	}
	req := res.Request
	req.Address = address
	if method := req.method(); !keepMethod && method != http.MethodGet && method != http.MethodHead {
		req.Method, req.Body = http.MethodGet, ""
	}
	req.Headers = t.headers(res, req)
	return req, true
}

// headers are those of the request before, without what is not meant for the new
// place, and with the cookies that the trail has set. next is the request to come.
func (t *trail) headers(res *Response, next Request) []Header {
	to := next.Address
	elsewhere := to.Hostname() != res.Request.Address.Hostname()
	headers := slices.DeleteFunc(slices.Clone(res.Request.Headers), func(h Header) bool {
		private := strings.EqualFold(h.Name, "Authorization") || strings.EqualFold(h.Name, "Cookie")
		return strings.EqualFold(h.Name, "Host") && elsewhere || private && elsewhere ||
			strings.EqualFold(h.Name, "Content-Type") && next.Body == ""
	})
	set := (&http.Response{Header: res.Header}).Cookies()
	if t.jar == nil && len(set) == 0 {
		return headers
	}
	if t.jar == nil {
		t.jar, _ = cookiejar.New(nil) // fails never without options
	}
	t.jar.SetCookies(res.Request.Address.URL(), set)
	var pairs []string
	for _, c := range t.jar.Cookies(to.URL()) {
		pairs = append(pairs, c.Name+"="+c.Value)
	}
	if len(pairs) == 0 {
		return headers
	}
	i := slices.IndexFunc(headers, func(h Header) bool { return strings.EqualFold(h.Name, "Cookie") })
	if i < 0 {
		return append(headers, Header{"Cookie", strings.Join(pairs, "; ")})
	}
	headers[i].Value = merge(headers[i].Value, pairs)
	return headers
}

// merge lays new cookies over a Cookie line; a cookie of the same name is replaced.
func merge(line string, pairs []string) string {
	name := func(pair string) string { n, _, _ := strings.Cut(strings.TrimSpace(pair), "="); return n }
	for old := range strings.SplitSeq(line, ";") {
		if !slices.ContainsFunc(pairs, func(p string) bool { return name(p) == name(old) }) {
			pairs = append(pairs, strings.TrimSpace(old))
		}
	}
	return strings.Join(pairs, "; ")
}

// sameDefault says whether two addresses differ only in that one is http and the other
// https, each at its own default port.
func sameDefault(a, b Address) bool {
	standard := func(x Address) bool {
		return x.Scheme == "http" && x.Port() == "80" || x.Scheme == "https" && x.Port() == "443"
	}
	return a.Hostname() == b.Hostname() && standard(a) && standard(b)
}
