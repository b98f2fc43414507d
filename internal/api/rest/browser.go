package rest

import (
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/infra/errs"
)

// The cookies of browsers. Where the server's public address is https, their names begin with hostPrefix.
const (
	SessionCookie = "vedette-session" // a bearer token of ours
	SignInCookie  = "vedette-sign-in" // a sign-in that has begun; see account.BeginSignIn
	GitHubCookie  = "vedette-github"  // the state of a connection to GitHub that has begun; see review.Connect
	SlackCookie   = "vedette-slack"   // that of one to Slack; see chat.Connect
)

// hostPrefix makes browsers take a cookie only from this host over TLS, and for all of its paths
// (RFC 6265bis, 4.1.3.2): no neighbour in the domain sets it.
const hostPrefix = "__Host-"

// Browsers keeps what browsers hold for the server, in cookies that no script sees, and refuses what other sites have
// them send.
type Browsers struct {
	tls   bool
	cross *http.CrossOriginProtection
}

// NewBrowsers is for a server with this public address; empty: none is known, and cookies go over plain HTTP too.
func NewBrowsers(publicURL string) *Browsers {
	b := &Browsers{tls: strings.HasPrefix(publicURL, "https://"), cross: http.NewCrossOriginProtection()}
	if u, err := url.Parse(publicURL); err == nil && u.Host != "" {
		// An origin has a scheme and a host, which this has: it is taken.
		_ = b.cross.AddTrustedOrigin(u.Scheme + "://" + u.Host)
	}
	return b
}

func (b *Browsers) name(cookie string) string {
	if b.tls {
		return hostPrefix + cookie
	}
	return cookie
}

// Keep has the browser keep a value for a while, or forget it when the value is empty.
func (b *Browsers) Keep(w http.ResponseWriter, cookie, value string, ttl time.Duration) {
	http.SetCookie(w, b.cookie(cookie, value, ttl))
}

// cookie is what Keep sends. No request that another site begins carries a session; a sign-in or a connection that has
// begun comes back from another site, with the link that the browser follows.
func (b *Browsers) cookie(name, value string, ttl time.Duration) *http.Cookie {
	c := &http.Cookie{ //nolint:gosec // not Secure only where the public address is plain HTTP
		Name: b.name(name), Value: value, Path: "/", HttpOnly: true, Secure: b.tls, SameSite: http.SameSiteStrictMode,
		MaxAge: int(ttl.Seconds()),
	}
	if name == SignInCookie || name == GitHubCookie || name == SlackCookie {
		c.SameSite = http.SameSiteLaxMode
	}
	if value == "" {
		c.MaxAge = -1
	}
	return c
}

// Kept is what the browser has kept; empty: nothing, or more than one value.
func (b *Browsers) Kept(r *http.Request, cookie string) string {
	found := r.CookiesNamed(b.name(cookie))
	if len(found) != 1 {
		return ""
	}
	return found[0].Value
}

// Session is the bearer token that the browser has kept.
func (b *Browsers) Session(r *http.Request) string { return b.Kept(r, SessionCookie) }

// BrowserHeader is what a page of ours sends with each request that may change something: a browser lets no other site
// send it without asking the server first, which allows nobody.
const BrowserHeader = "X-Requested-With"

// CheckWrite fails with Forbidden when a request that may change something comes with a session of a browser, and not
// from a page of this server: by what the browser says of its origin, and by a header that only such a page can send,
// for browsers that say nothing.
func (b *Browsers) CheckWrite(r *http.Request) error {
	if err := b.CheckOrigin(r); err != nil {
		return err
	}
	if r.Method != http.MethodGet && r.Method != http.MethodHead && r.Header.Get(BrowserHeader) == "" {
		return errs.New(errs.Forbidden, "browser_header_required",
			"Send the header %s with requests that a browser's session is to authorise.", BrowserHeader)
	}
	return nil
}

// CheckOrigin fails with Forbidden when another site has had the browser send a request that may change something.
func (b *Browsers) CheckOrigin(r *http.Request) error {
	if err := b.cross.Check(r); err != nil {
		return errs.New(errs.Forbidden, "cross_origin", "Another site has sent this request with your session.").Because(err)
	}
	return nil
}

// SessionAnswer is the answer to a sign-in: a token in the body, or a session in a cookie.
type SessionAnswer struct {
	SetCookie string `header:"Set-Cookie" doc:"With cookie in the request: the session, for this host only and out of reach of scripts."`
	Body      account.Token
}

// Cookie is the header that has the browser keep a value for a while, or forget it when the value is empty.
func (a *API) Cookie(name, value string, ttl time.Duration) string {
	return a.browsers.cookie(name, value, ttl).String()
}

// Kept is what the browser has kept; empty: nothing, or more than one value.
func (a *API) Kept(r *http.Request, cookie string) string { return a.browsers.Kept(r, cookie) }

// CheckSignIn fails with Forbidden when another site has had the browser sign in with a session in a cookie.
func (a *API) CheckSignIn(r *http.Request, cookie bool) error {
	if !cookie {
		return nil
	}
	return a.browsers.CheckWrite(r)
}

// AnswerSession moves a token from the body of an answer into a cookie, if that is wanted.
func (a *API) AnswerSession(cookie bool, t account.Token) *SessionAnswer {
	if !cookie {
		return &SessionAnswer{Body: t}
	}
	c := a.browsers.cookie(SessionCookie, t.AccessToken, time.Duration(t.ExpiresIn)*time.Second)
	t.AccessToken = ""
	return &SessionAnswer{c.String(), t}
}
