// Package session logs users in to a web application and knows whether they still are.
//
// A login by form is found by itself: the page is the one that is named, or the one to which the start leads, or one
// that is linked by words of logins, or at a usual address; the form is the one with a user and one password. Where
// there is no form, a call of an API that takes a user and a password is looked for in the same way, and the token of
// its answer is sent from then on. Whether a login has worked is known by a marker: a page that answers the user
// otherwise than nobody, by its status or by a text that only the user gets. Where an answer looks like one to nobody
// (guard.go), and the marker says so, too, the user is logged in again.
package session

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"syscall"

	"github.com/vedette-sec/vedette/internal/browser"
	"github.com/vedette-sec/vedette/internal/webtest/client"
	"github.com/vedette-sec/vedette/internal/webtest/message"
)

// Account is how a user is known at the application. With a Header, or a Cookie without a User, nothing is logged in
// to; else User and Password are for a form, an API or, where the application asks for that, HTTP authentication
// (basic, digest, NTLM), and the Cookie is sent besides.
// With OAuth a token is asked for, with the User and the Password where there are any.
type Account struct {
	Name           string // for people
	User, Password string
	TOTP           string // secret of one-time codes, in base32
	Login          *url.URL
	Header         http.Header        // such as Authorization
	Cookie         string             // a line, such as sid=1; lang=en
	Marker         string             // a text that only pages of a logged-in user have; "": learned
	Seeds          []*message.Request // requests that are known, among which may be the login
	OAuth          *OAuth             // how a token is got; nil: not by OAuth 2
	Browser        *browser.Pool      // for logins at an identity provider; nil: none

	Alter func(r *message.Request) *message.Request // changes the form before it is sent; nil: nothing
}

// Session is a user who is logged in.
type Session struct {
	Account
	*client.User
	Cookies map[string]bool // names of the cookies that the login has set

	client *client.Client
	starts []*url.URL
	how    string
	at     string   // where the login is
	page   *url.URL // with the form that has logged in; nil: it was another way
	marker *marker
	leaves *url.URL // a page of the application that led to another host
	away   *url.URL // to which

	// Landed is the page to which the login by a form has led; nil: it was another way, or has a query.
	Landed *url.URL

	// Call is the call of an API that has logged in, without the password; nil: it was another way.
	Call *message.Request

	scripted []*message.Response // pages with a login form that no address takes: a script sends it
}

// ErrRefused says that the application did not take the user and the password.
var ErrRefused = errors.New("the application did not accept the user and the password")

// ErrNoLogin says that no way to log in was found.
var ErrNoLogin = errors.New("no login was found: name its page")

// Open logs an account in. The error is ErrRefused, ErrNoLogin, or that of a request.
func Open(ctx context.Context, c *client.Client, starts []*url.URL, a Account) (*Session, error) {
	if a.Name == "" {
		a.Name = a.User
	}
	if a.Name == "" {
		a.Name = "the given session"
	}
	s := &Session{Account: a, client: c, starts: starts}
	if len(starts) == 0 {
		return nil, errors.New("there is no application to log in to")
	}
	for i := range maxLearns {
		s.User, s.Cookies = client.NewUser(a.Name), map[string]bool{}
		err := s.logIn(ctx)
		if i == 0 && errors.Is(err, errShort) { // once: a password that is wrong is not to lock the user out
			continue
		}
		if err != nil {
			return nil, err
		}
		if s.learn(ctx) {
			break
		}
	}
	return s, nil
}

// maxLearns is how often a user logs in, when the session was over before a marker was found.
const maxLearns = 3

// Leads logs an account in and says to which address of another host the application leads then; nil: to none.
func Leads(ctx context.Context, c *client.Client, starts []*url.URL, a Account) (*url.URL, error) {
	a.Browser = nil // that page is not opened
	s := &Session{Account: a, User: client.NewUser(a.Name), Cookies: map[string]bool{}, client: c, starts: starts}
	if err := s.logIn(ctx); err != nil && s.away == nil {
		return nil, err
	}
	return s.away, nil
}

// Describe says how the user was logged in, and how it is known.
func (s *Session) Describe() string {
	known := "whether the session lasts cannot be told: no page answers the user otherwise than nobody"
	if s.marker != nil {
		known = "known by " + s.marker.String()
	}
	return fmt.Sprintf("Logged in as %s by %s%s, %s.", s.Account.Name, s.how, s.at, known)
}

func (s *Session) logIn(ctx context.Context) error {
	if len(s.Header) > 0 || s.Cookie != "" && s.Account.User == "" {
		s.how = "the headers that were given"
		for _, u := range s.starts {
			for name, values := range s.Header {
				for _, value := range values {
					s.SetHeader(u.Host, name, value)
				}
			}
			s.given(u)
		}
		return nil
	}
	if err := s.enter(ctx); err != nil {
		return err
	}
	s.besides()
	return nil
}

// sessionName are names of cookies that keep a session.
var sessionName = regexp.MustCompile(`(?i)sess|sid$|^sid|token|auth|jwt`)

// besides gives the user who has logged in the cookies that were given as well, such as one that chooses a level. The
// identifier of the session is the login's.
func (s *Session) besides() {
	for _, c := range (&http.Request{Header: http.Header{"Cookie": {s.Cookie}}}).Cookies() {
		if sessionName.MatchString(c.Name) && s.Cookies[c.Name] {
			continue
		}
		c.Path = "/"
		for _, u := range s.starts {
			s.SetCookies(u, []*http.Cookie{c})
		}
	}
}

// enter logs in with the user and the password, in the way that the application asks for.
func (s *Session) enter(ctx context.Context) error {
	if s.OAuth != nil {
		return s.byOAuth(ctx)
	}
	start, err := s.get(ctx, s.starts[0], nil)
	if err != nil {
		return err
	}
	if scheme := asked(start); scheme != "" {
		return s.byHTTP(ctx, scheme)
	}
	tried, err := s.byForm(ctx, start)
	if err != nil || tried {
		return err
	}
	if s.Browser != nil && s.away != nil {
		if tried, err = s.byBrowser(ctx); err != nil || tried {
			return err
		}
	}
	tried, err = s.byAPI(ctx, start)
	if err == nil && !tried && len(s.scripted) > 0 && s.Browser == nil {
		return ErrRefused
	}
	// A script may make the form. An interface that refuses the calls that were tried may refuse all that bring no token.
	refused := errors.Is(err, ErrRefused)
	if (err == nil && !tried || refused) && s.Browser != nil && s.away == nil {
		byCall := err
		if tried, err = s.byBrowser(ctx); err != nil && !tried && ctx.Err() == nil {
			err = errors.Join(ErrNoLogin, err)
		}
		if refused && !tried && ctx.Err() == nil {
			return byCall // no page asks for a password
		}
	}
	if err == nil && !tried {
		err = ErrNoLogin
	}
	return err
}

// given takes the cookies that were given.
func (s *Session) given(at *url.URL) {
	cookies := (&http.Request{Header: http.Header{"Cookie": {s.Cookie}}}).Cookies()
	for _, c := range cookies {
		c.Path = "/"
		s.Cookies[c.Name] = true
	}
	if len(cookies) > 0 {
		s.how = "the cookies that were given"
		s.SetCookies(at, cookies)
	}
}

// get fetches an address and follows its redirects.
func (s *Session) get(ctx context.Context, u *url.URL, as *client.User) (*message.Response, error) {
	return s.follow(ctx, message.From(http.MethodGet, u), as)
}

// maxBreaks is how often a request is sent again whose connection broke off before its answer was whole.
const maxBreaks = 2

// send sends a request of a login. Small servers break off a connection at times, as while they start a process: that
// says nothing of the password, so that the request is sent again.
func (s *Session) send(ctx context.Context, r *message.Request, as *client.User) (answer *message.Response, err error) {
	for range 1 + maxBreaks {
		if answer, err = s.client.Send(ctx, r, client.Options{As: as, Forced: true}); !brokeOff(err) || ctx.Err() != nil {
			return answer, err
		}
	}
	return nil, err
}

// brokeOff reports whether an error is that of a connection which the other side ended.
func brokeOff(err error) bool {
	for _, end := range []error{io.EOF, io.ErrUnexpectedEOF, syscall.ECONNRESET, syscall.EPIPE} {
		if errors.Is(err, end) {
			return true
		}
	}
	return false
}

// maxRedirects are followed of one request.
const maxRedirects = 6

// follow sends a request, and goes where its answer leads.
func (s *Session) follow(ctx context.Context, r *message.Request, as *client.User) (*message.Response, error) {
	for range maxRedirects {
		answer, err := s.send(ctx, r, as)
		if err != nil {
			return nil, err
		}
		to := answer.Redirect()
		if to != nil && to.Host != r.URL.Host && s.away == nil {
			s.leaves, s.away = r.URL, to
		}
		if to == nil || to.Host != r.URL.Host {
			return answer, nil
		}
		next := message.From(http.MethodGet, to)
		if answer.Status == http.StatusTemporaryRedirect || answer.Status == http.StatusPermanentRedirect {
			next = r.Clone()
			next.URL = to
		}
		r = next
	}
	return nil, errors.New("the login redirects without end")
}
