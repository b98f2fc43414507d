package rest

import (
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/vedette-sec/vedette/internal/infra/errs"
)

// The cookies of browsers. Where the server's public address is https, their names begin with hostPrefix.
const (
	SessionCookie = "vedette-session" // a bearer token of ours
	SignInCookie  = "vedette-sign-in" // a sign-in that has begun; see account.BeginSignIn
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

// Keep has the browser keep a value for a while, or forget it when the value is empty. Other sites' requests carry it
// only when a person follows a link.
func (b *Browsers) Keep(w http.ResponseWriter, cookie, value string, ttl time.Duration) {
	c := &http.Cookie{ //nolint:gosec // not Secure only where the public address is plain HTTP
		Name: b.name(cookie), Value: value, Path: "/", HttpOnly: true, Secure: b.tls, SameSite: http.SameSiteLaxMode,
		MaxAge: int(ttl.Seconds()),
	}
	if value == "" {
		c.MaxAge = -1
	}
	http.SetCookie(w, c)
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

// CheckOrigin fails with Forbidden when another site has had the browser send a request that may change something.
func (b *Browsers) CheckOrigin(r *http.Request) error {
	if err := b.cross.Check(r); err != nil {
		return errs.New(errs.Forbidden, "cross_origin", "Another site has sent this request with your session.").Because(err)
	}
	return nil
}
