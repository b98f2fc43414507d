package console

import (
	"net/http"
	"time"

	"github.com/vedette-sec/vedette/internal/api/rest"
	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/core/account/openid"
	"github.com/vedette-sec/vedette/internal/core/audit"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/ids"
)

const (
	signOutPath = "/sign-out"
	maxUntrue   = 4096 // bytes of a query that the issuer is said to have sent
)

// signIn has the sign-in at the OpenID issuer, and the sign-out.
func (p pages) signIn(mux *http.ServeMux) {
	secure := rest.NewBrowsers(p.accounts.PublicURL)
	mux.HandleFunc("GET "+account.SignInPath, func(w http.ResponseWriter, r *http.Request) {
		address, kept, err := p.accounts.BeginSignIn(r.Context())
		if p.failed(w, r, "missing.html", view{}, err) {
			return
		}
		secure.Keep(w, rest.SignInCookie, kept, openid.SignInTTL)
		redirect(w, address)
	})
	mux.HandleFunc("GET "+account.CallbackPath, func(w http.ResponseWriter, r *http.Request) {
		secure.Keep(w, rest.SignInCookie, "", 0)
		t, err := p.finishSignIn(r, secure.Kept(r, rest.SignInCookie))
		if err != nil {
			p.logger.WarnContext(r.Context(), "a sign-in at the OpenID issuer failed", "error", err,
				"address", rest.Address(r.RemoteAddr))
		}
		if p.failed(w, r, "missing.html", view{OIDC: true}, err) {
			return
		}
		secure.Keep(w, rest.SessionCookie, t.AccessToken, time.Duration(t.ExpiresIn)*time.Second)
		redirect(w, "/")
	})
	mux.HandleFunc("POST "+signOutPath, func(w http.ResponseWriter, r *http.Request) {
		if p.failed(w, r, "missing.html", view{}, secure.CheckOrigin(r)) {
			return
		}
		err := p.signOut(r, secure.Session(r))
		secure.Keep(w, rest.SessionCookie, "", 0)
		if p.failed(w, r, "missing.html", view{}, err) {
			return
		}
		redirect(w, "/")
	})
	mux.HandleFunc(signOutPath, notAllowed)
}

// redirect sends the browser to an address with a GET. The answer is never stored: it sets cookies.
func redirect(w http.ResponseWriter, address string) {
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("Referrer-Policy", "no-referrer")
	w.Header().Set("Location", address)
	w.WriteHeader(http.StatusSeeOther)
}

// finishSignIn opens a session, with an audit entry as the API writes it.
func (p pages) finishSignIn(r *http.Request, kept string) (account.Token, error) {
	if len(r.URL.RawQuery) > maxUntrue {
		return account.Token{}, errs.New(errs.Invalid, "invalid_query", "The query is longer than %d bytes.", maxUntrue)
	}
	from := account.Client{Address: rest.Address(r.RemoteAddr), UserAgent: r.UserAgent()}
	t, c, err := p.accounts.FinishSignIn(r.Context(), kept, r.URL.Query(), from)
	if err != nil {
		return t, err
	}
	if _, err := p.members.JoinByDomain(r.Context(), c, from.Address); err != nil {
		return t, err
	}
	return t, p.note(r, c, "sign-in-oidc")
}

// signOut ends the session of a browser. One that has ended already is no error.
func (p pages) signOut(r *http.Request, session string) error {
	c, err := p.accounts.ByBearer(r.Context(), session)
	if errs.Is(err, errs.Unauthenticated) {
		return nil
	}
	if err != nil {
		return err
	}
	err = p.accounts.EndSession(account.WithCaller(r.Context(), c), account.CurrentSession)
	if err != nil && !errs.Is(err, errs.NotFound) {
		return err
	}
	return p.note(r, c, "sign-out")
}

// note adds an entry to the audit log of the caller's team.
func (p pages) note(r *http.Request, c account.Caller, action string) error {
	return p.audit.Add(r.Context(), audit.Entry{
		ID: ids.New(), TeamID: c.TeamID, UserID: c.UserID, Email: c.Email, Action: action, Method: r.Method,
		Path: r.URL.Path, Status: http.StatusOK, IP: rest.Address(r.RemoteAddr), Source: audit.Platform,
	})
}
