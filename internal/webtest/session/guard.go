package session

import (
	"bytes"
	"context"
	"net/http"
	"net/url"
	"sync"

	"github.com/vedette-sec/vedette/internal/webtest/client"
	"github.com/vedette-sec/vedette/internal/webtest/message"
	"github.com/vedette-sec/vedette/internal/webtest/sitemap"
)

// Guard has the user logged in again whenever the marker says that the session is over; without a marker that cannot
// be told. An answer looks like one to nobody where it has the status with which nobody is refused the page of the
// marker, sends the user to where nobody is sent or to the page of the login, or shows a login where the page of the
// marker shows the user none. Where the marker is a text, a page that had it and has it no more looks so, too, and so
// does a page that the user was shown and that sends them to the page of the marker now, if that shows nobody a login.
func (s *Session) Guard() {
	if s.marker == nil {
		return
	}
	g := client.Guard{Cookies: s.Cookies, LogIn: s.again, Alive: s.Alive, Shows: (&signs{marker: s.marker,
		login: s.page}).of}
	for _, u := range s.starts {
		g.Hosts = append(g.Hosts, u.Host)
	}
	s.User.Guard(g)
}

// again logs the same account in as another user.
func (s *Session) again(ctx context.Context) (*client.User, error) {
	fresh := &Session{Account: s.Account, User: client.NewUser(s.User.Name), Cookies: map[string]bool{}, client: s.client,
		starts: s.starts, marker: s.marker, page: s.page}
	if err := fresh.logIn(ctx); err != nil {
		return nil, err
	}
	alive, err := fresh.Alive(ctx)
	if err == nil && !alive {
		err = ErrRefused
	}
	return fresh.User, err
}

// maxShown are how many pages are remembered that have had the text of the marker.
const maxShown = 5000

// signs are what shows that nobody is logged in.
type signs struct {
	*marker

	login *url.URL // the page with the login; nil: not known

	mu    sync.Mutex
	shown map[string]bool // pages that have had the text, by host and path
	pages map[string]bool // that the user was shown, by host and path
}

// note keeps an address in a set, as long as that is not full.
func note(set map[string]bool, key string) map[string]bool {
	if set == nil {
		set = map[string]bool{}
	}
	if len(set) < maxShown {
		set[key] = true
	}
	return set
}

// isSentAway reports whether a page that the user was shown sends them to the page of the marker, as many send nobody.
func (s *signs) isSentAway(r *message.Request, a *message.Response) bool {
	if r.Method != http.MethodGet || s.nobody/100 != 2 {
		return false
	}
	key := r.URL.Host + r.URL.Path
	s.mu.Lock()
	defer s.mu.Unlock()
	if a.Status/100 == 2 {
		s.pages = note(s.pages, key)
	}
	to := a.Redirect()
	return to != nil && s.pages[key] && to.Host == s.request.URL.Host && to.Path == s.request.URL.Path &&
		to.Path != r.URL.Path
}

// of is what an answer shows.
func (s *signs) of(r *message.Request, a *message.Response) client.Sign {
	isForbidden := a.Status == http.StatusForbidden
	if a.Status == http.StatusUnauthorized || isForbidden && s.nobody == http.StatusForbidden {
		return client.SignedOut
	}
	if to := a.Redirect(); to != nil && to.Path != r.URL.Path && (s.target != "" && to.Path == s.target ||
		s.login != nil && to.Host == s.login.Host && to.Path == s.login.Path && to.Path != s.request.URL.Path) {
		return client.SignedOut
	}
	if s.isSentAway(r, a) {
		return client.Missing
	}
	if !a.IsHTML() {
		return client.SignedIn
	}
	if s.formless && bytes.Contains(bytes.ToLower(a.Body), []byte("password")) && len(sitemap.LoginForms(a)) > 0 {
		return client.SignedOut
	}
	if s.text == "" || a.Status/100 != 2 {
		return client.SignedIn
	}
	key, isThere := r.URL.Host+r.URL.Path, bytes.Contains(a.Body, []byte(s.text))
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case !isThere && s.shown[key]:
		return client.Missing
	case isThere:
		s.shown = note(s.shown, key)
	}
	return client.SignedIn
}
