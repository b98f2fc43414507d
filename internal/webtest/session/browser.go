package session

import (
	"context"
	"crypto/rand"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/vedette-sec/vedette/internal/browser"
	"golang.org/x/oauth2"
)

// loginScript is one step of a login in a page.
//
//go:embed login.js
var loginScript string

// The bounds of a login in the browser.
const (
	loginTime  = 90 * time.Second
	loginSteps = 10
	restTime   = 300 * time.Millisecond
	restWait   = 8 * time.Second
)

// byBrowser logs in as people do who are sent to an identity provider, such as by OpenID Connect: it opens the login,
// fills in what each page asks for, agrees, and takes the cookies and the tokens with which the application lets them
// in. It reports whether a password was asked for. The provider must be in scope.
func (s *Session) byBrowser(ctx context.Context) (tried bool, err error) {
	at := s.starts[0]
	switch {
	case s.Login != nil:
		at = s.Login
	case s.leaves != nil:
		at = s.leaves
	}
	page, err := s.client.LoginPage(ctx, s.Browser, s.User, at, loginTime, nil)
	if err != nil {
		return false, err
	}
	defer page.Close()
	if err := page.Navigate(at.String()); err != nil {
		return false, s.beyond(page, err)
	}
	tried, err = s.enterPages(ctx, page, func() bool { return false })
	if err != nil || !tried {
		return tried, s.beyond(page, err)
	}
	if u, err := url.Parse(page.URL()); err != nil || u.Host != s.starts[0].Host {
		return true, errors.Join(ErrRefused, errors.New("the login did not lead back to the application"))
	}
	s.how, s.at = "the browser at ", at.Path
	return true, s.takeFrom(page)
}

// beyond says which host of a login is not in scope.
func (s *Session) beyond(page *browser.Page, err error) error {
	for _, r := range page.Refused() {
		if s.away != nil && strings.HasPrefix(r.Host, s.away.Hostname()) {
			return fmt.Errorf("the login leads to %s: %w", s.away.Host, r.Err)
		}
	}
	return err
}

// enterPages goes through the pages of a login until there is nothing to do, or an end has come, and reports whether
// the password was sent.
func (s *Session) enterPages(ctx context.Context, page *browser.Page, ended func() bool) (tried bool, err error) {
	links, entered, last := 0, false, ""
	for range loginSteps {
		_ = page.Stable(restTime, restWait) // a page that never rests is filled in as well
		if ended() {
			return tried, nil
		}
		did, err := s.enterPage(page, entered)
		if err != nil {
			return tried, err
		}
		switch did {
		case "":
			return tried, ctx.Err()
		case "password":
			if last == "password" {
				return true, ErrRefused
			}
			tried, entered = true, true
		case "user":
			if last == "user" {
				return tried, ErrRefused
			}
		case "link":
			if links++; links > 2 {
				return tried, nil
			}
		}
		last = did
	}
	return tried, errors.Join(ErrRefused, errors.New("the login asks for ever more pages"))
}

// enterPage does what one page asks for.
func (s *Session) enterPage(page *browser.Page, entered bool) (did string, err error) {
	given := map[string]any{"user": s.Account.User, "password": s.Password, "host": s.starts[0].Host, "entered": entered}
	if s.TOTP != "" {
		if given["code"], err = oneTimeCode(s.TOTP, s.client.Now()); err != nil {
			return "", err
		}
	}
	text, err := json.Marshal(given)
	if err != nil {
		return "", err
	}
	value, err := page.Eval(strings.Replace(loginScript, "GIVEN", string(text), 1))
	did, _ = value.(string)
	return did, err
}

// takeFrom takes the cookies of a page, and a token that its application keeps.
func (s *Session) takeFrom(page *browser.Page) error {
	before := s.cookieValues()
	kept := map[string]string{}
	for _, u := range s.starts {
		cookies, err := page.Cookies(u.String())
		if err != nil {
			return err
		}
		for _, c := range cookies {
			s.Cookies[c.Name] = true
			if before[c.Name] == c.Value {
				kept[c.Name] = c.Value
			}
		}
		s.SetCookies(u, cookies)
	}
	s.Keep(kept)
	value, err := page.Eval(`() => Object.fromEntries([localStorage, sessionStorage].map((all, i) => [i, Object.fromEntries(Object.entries(all).map(([k, v]) => {
		try { return [k, JSON.parse(v)] } catch { return [k, v] } }))]))`)
	if err != nil {
		return nil //nolint:nilerr // a page may have no storage
	}
	if token := findToken(value, 0); token != "" {
		for _, u := range s.starts {
			s.SetHeader(u.Host, "Authorization", "Bearer "+token)
		}
	}
	return nil
}

// codeOf is an authorisation code of OAuth 2: the user agrees in the browser, which is not let go where it is sent with
// the code.
func (s *Session) codeOf(ctx context.Context, config *oauth2.Config, verifier string) (string, error) {
	if s.Browser == nil {
		return "", errors.New("the authorisation code of OAuth 2 needs a browser: install Chromium")
	}
	state := rand.Text()
	at, err := url.Parse(config.AuthCodeURL(state, oauth2.S256ChallengeOption(verifier)))
	if err != nil {
		return "", err
	}
	back := make(chan *url.URL, 1)
	page, err := s.client.LoginPage(ctx, s.Browser, nil, at, loginTime, func(u *url.URL) error {
		if u.Host != s.OAuth.Redirect.Host || u.Path != s.OAuth.Redirect.Path {
			return nil
		}
		select {
		case back <- u:
		default:
		}
		return errCode
	})
	if err != nil {
		return "", err
	}
	defer page.Close()
	if err := page.Navigate(at.String()); err != nil && len(back) == 0 {
		return "", err
	}
	if _, err := s.enterPages(ctx, page, func() bool { return len(back) > 0 }); err != nil && len(back) == 0 {
		return "", err
	}
	select {
	case u := <-back:
		q := u.Query()
		if q.Get("state") != state || q.Get("code") == "" {
			return "", errors.Join(ErrRefused, fmt.Errorf("OAuth 2: %.200s %.200s", q.Get("error"), q.Get("error_description")))
		}
		return q.Get("code"), nil
	default:
		return "", errors.Join(ErrRefused, errors.New("OAuth 2: the authorisation led to no code"))
	}
}

// errCode is why the browser is not let go where it is sent with a code.
var errCode = errors.New("the tester takes the code itself")

// byCode asks for a token with an authorisation code.
func (s *Session) byCode(ctx context.Context) (*oauth2.Token, error) {
	s.how = "a token of OAuth 2, for an authorisation code, of "
	config := &oauth2.Config{ClientID: s.OAuth.ClientID, ClientSecret: s.OAuth.ClientSecret, Scopes: s.OAuth.Scopes,
		RedirectURL: s.OAuth.Redirect.String(),
		Endpoint:    oauth2.Endpoint{AuthURL: s.OAuth.Authorize.String(), TokenURL: s.OAuth.Token.String()}}
	verifier := oauth2.GenerateVerifier()
	code, err := s.codeOf(ctx, config, verifier)
	if err != nil {
		return nil, err
	}
	return config.Exchange(ctx, code, oauth2.VerifierOption(verifier))
}
