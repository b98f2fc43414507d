package client

import (
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/vedette-sec/vedette/internal/webtest/message"
)

// User is one identity at the target with its cookies and headers; nil is nobody, who keeps no cookies. It is safe for
// any number of goroutines.
type User struct {
	Name string

	steps sync.RWMutex // written by requests that belong together, read by each other one

	mu      sync.Mutex
	jar     *cookiejar.Jar
	own     http.Header
	hosts   map[string]bool // that get the headers
	version int64

	credentials map[string]*credentials // by host
	kept        map[string]string
	flags       map[string]http.Cookie // what the cookies said of themselves when they were set, by name
	answered    map[string]bool        // names of those that answers have set

	guard *guard // nil: the user is not logged in again
}

// NewUser makes a user without cookies.
func NewUser(name string) *User {
	u := &User{Name: name}
	u.Reset()
	return u
}

// Reset forgets the cookies and headers.
func (u *User) Reset() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.jar, _ = cookiejar.New(nil) // it never fails
	u.own, u.hosts, u.credentials = http.Header{}, nil, nil
	u.version = versions.Add(1)
}

// Become puts the session of another user, as whom the same person has just logged in, in the place of this one's.
func (u *User) Become(fresh *User) {
	fresh.mu.Lock()
	defer fresh.mu.Unlock()
	u.mu.Lock()
	defer u.mu.Unlock()
	u.jar, u.own, u.hosts, u.credentials = fresh.jar, fresh.own, fresh.hosts, fresh.credentials
	u.kept, u.flags, u.answered = fresh.kept, fresh.flags, fresh.answered
	u.version = versions.Add(1)
}

// session is what changes when another session takes the place of the user's; 0 for nobody.
func (u *User) session() int64 {
	if u == nil {
		return 0
	}
	return u.Version()
}

// hold keeps requests that belong together from being sent until release.
func (u *User) hold() (release func()) {
	if u == nil {
		return func() {}
	}
	u.steps.RLock()
	return u.steps.RUnlock
}

// versions are of all users: one who logs in as another did is in another session.
var versions atomic.Int64

// Version changes whenever the session of the user is renewed, and no two users have the same.
func (u *User) Version() int64 {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.version
}

// Keep notes the cookies from before a login which the login has left as they were, by name.
func (u *User) Keep(cookies map[string]string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.kept = cookies
}

// Kept are the cookies that Keep has noted.
func (u *User) Kept() map[string]string {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.kept
}

// SetHeader has a header line sent with each request to a host (with its port), such as that of Authorization.
func (u *User) SetHeader(host, name, value string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.own.Set(name, value)
	if u.hosts == nil {
		u.hosts = map[string]bool{}
	}
	u.hosts[host] = true
	u.version = versions.Add(1)
}

// SetCookies gives the user cookies for a URL.
func (u *User) SetCookies(at *url.URL, cookies []*http.Cookie) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.setCookies(at, cookies)
}

// setCookies is SetCookies of a user who is locked.
func (u *User) setCookies(at *url.URL, cookies []*http.Cookie) {
	if u.flags == nil {
		u.flags = map[string]http.Cookie{}
	}
	for _, c := range cookies {
		u.flags[c.Name] = http.Cookie{Name: c.Name, HttpOnly: c.HttpOnly, Secure: c.Secure, SameSite: c.SameSite} //nolint:gosec // what the target said of it
	}
	u.jar.SetCookies(at, cookies)
}

// Origin says what makes a browser send a request, and so which cookies go with it, by what they say of sites
// (SameSite, RFC 6265bis, section 5.2).
type Origin int

// The origins of a request.
const (
	OwnPage     Origin = iota // a page of the application: all cookies
	ByLink                    // a link of another site that is followed: those that are not Strict
	Elsewhere                 // a page of another site, in some browsers: those that do not say, too
	AllBrowsers               // a page of another site, in all browsers: those that say None
)

// sends reports whether a browser sends a cookie with a request. One that says None without being Secure is not even
// kept (RFC 6265bis, section 5.7).
func (o Origin) sends(c http.Cookie) bool {
	if o != OwnPage && c.SameSite == http.SameSiteNoneMode && !c.Secure {
		return false
	}
	switch o {
	case ByLink:
		return c.SameSite != http.SameSiteStrictMode
	case Elsewhere:
		return c.SameSite != http.SameSiteStrictMode && c.SameSite != http.SameSiteLaxMode
	case AllBrowsers:
		return c.SameSite == http.SameSiteNoneMode
	}
	return true
}

// Sends reports whether a browser sends some cookie of the user for a URL with a request of an origin, and whether it
// sends all. Which of them carry the session is not known: a request with Options.From shows it.
func (u *User) Sends(at *url.URL, from Origin) (some, all bool) {
	sent := u.cookiesFrom(at, from)
	return len(sent) > 0, len(sent) > 0 && len(sent) == len(u.Cookies(at))
}

// cookiesFrom are the cookies of the user for a URL that a browser sends with a request of an origin.
func (u *User) cookiesFrom(at *url.URL, from Origin) []*http.Cookie {
	cookies := u.Cookies(at)
	if len(cookies) == 0 || from == OwnPage {
		return cookies
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	return slices.DeleteFunc(cookies, func(c *http.Cookie) bool { return !from.sends(u.flags[c.Name]) })
}

// ReadByScripts are the names of the user's cookies for a URL that were set by answers, for scripts to read.
func (u *User) ReadByScripts(at *url.URL) (names []string) {
	for _, c := range u.Cookies(at) {
		u.mu.Lock()
		open := u.answered[c.Name] && !u.flags[c.Name].HttpOnly
		u.mu.Unlock()
		if open {
			names = append(names, c.Name)
		}
	}
	return names
}

// Cookies are those of the user for a URL.
func (u *User) Cookies(at *url.URL) []*http.Cookie {
	if u == nil {
		return nil
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.jar.Cookies(at)
}

// Headers are the header lines that the user sends to a URL besides cookies.
func (u *User) Headers(at *url.URL) http.Header { return u.header(at) }

// header is Headers; nil for nobody.
func (u *User) header(at *url.URL) http.Header {
	if u == nil {
		return nil
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	if !u.hosts[at.Host] {
		return nil
	}
	return u.own.Clone()
}

// cookieLine is the line Cookie: the cookies of the request itself, then those of the user and of everybody that it
// does not name. Of the user's it has those that go with requests of an origin.
func (u *User) cookieLine(at *url.URL, from Origin, own, everybody string) string {
	named := map[string]bool{}
	var pairs []string
	add := func(line string) {
		fresh := map[string]bool{}
		for pair := range strings.SplitSeq(line, ";") {
			pair = strings.TrimSpace(pair)
			name, _, _ := strings.Cut(pair, "=")
			if pair != "" && !named[name] {
				fresh[name] = true
				pairs = append(pairs, pair)
			}
		}
		for name := range fresh {
			named[name] = true
		}
	}
	add(own)
	for _, c := range u.cookiesFrom(at, from) {
		add(c.Name + "=" + c.Value)
	}
	add(everybody)
	return strings.Join(pairs, "; ")
}

// store keeps the cookies of an answer, but not those that the request had set itself, which answer a test, nor those
// that an origin keeps back: the application has missed them, and would put a new session in the place of the user's.
// What an answer says of a session that is not the user's any more would end the new one.
func (u *User) store(r *message.Request, from Origin, response *message.Response, session int64) {
	if u == nil || len(response.Header["Set-Cookie"]) == 0 {
		return
	}
	own := map[string]bool{}
	for pair := range strings.SplitSeq(r.Header.Get("Cookie"), ";") {
		name, _, _ := strings.Cut(strings.TrimSpace(pair), "=")
		own[name] = true
	}
	known := u.Cookies(r.URL)
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.version != session {
		return
	}
	for _, c := range known {
		if !from.sends(u.flags[c.Name]) {
			own[c.Name] = true
		}
	}
	var kept []*http.Cookie
	for _, c := range (&http.Response{Header: response.Header}).Cookies() {
		if !own[c.Name] {
			kept = append(kept, c)
		}
	}
	u.setCookies(r.URL, kept)
	if u.answered == nil {
		u.answered = map[string]bool{}
	}
	for _, c := range kept {
		u.answered[c.Name] = true
	}
}
