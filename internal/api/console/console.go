// Package console serves what people see in a browser: the console, which is built from web/, and as pages without
// scripts the first-start setup, the form behind a link for a new password, the sign-in at an OpenID issuer,
// and what comes back from an authorization server of an MCP server.
package console

import (
	"embed"
	"errors"
	"html/template"
	"log/slog"
	"net/http"

	"github.com/vedette-sec/vedette/internal/api/rest"
	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/core/audit"
	"github.com/vedette-sec/vedette/internal/core/membership"
	"github.com/vedette-sec/vedette/internal/infra/errs"
)

//go:embed pages/*.html
var files embed.FS

var templates = template.Must(template.ParseFS(files, "pages/*.html"))

// view is what a page shows.
type view struct {
	Base    string // the server's address, as the browser knows it
	Token   string // of the setup link
	Email   string
	Problem string
	OIDC    bool   // people sign in at an OpenID issuer
	Server  string // an MCP server, and what its owner sends to finish an authorization
	Answer  string
	Finish  string // where the owner finishes it in the console
}

// maxForm is the largest setup form, in bytes.
const maxForm = 16 << 10

// pages are what the pages need.
type pages struct {
	accounts *account.Accounts
	audit    *audit.Log
	members  *membership.Members
	logger   *slog.Logger
}

// New serves the pages, and logs internal errors.
func New(
	accounts *account.Accounts, log *audit.Log, members *membership.Members, logger *slog.Logger,
) http.Handler {
	p := pages{accounts, log, members, logger}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /setup", func(w http.ResponseWriter, r *http.Request) {
		if closed, err := accounts.SetupClosed(r.Context()); err == nil && closed {
			show(w, http.StatusForbidden, "missing.html", view{Problem: "This server has been set up"})
			return
		}
		show(w, http.StatusOK, "setup.html", view{Token: repeat(r.URL.Query().Get("token"))})
	})
	mux.HandleFunc("POST /setup", func(w http.ResponseWriter, r *http.Request) {
		v, err := setUp(accounts, w, r)
		if p.failed(w, r, "setup.html", v, err) {
			return
		}
		show(w, http.StatusCreated, "done.html", v)
	})
	mux.HandleFunc("/setup", notAllowed)
	p.reset(mux)
	p.signIn(mux)
	p.authorized(mux)
	p.app(mux)
	return mux
}

func notAllowed(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Allow", "GET, HEAD, POST")
	show(w, http.StatusMethodNotAllowed, "missing.html", view{Problem: "This page does not take such a request"})
}

// failed shows a page again with what was wrong, if err is not nil.
func (p pages) failed(w http.ResponseWriter, r *http.Request, page string, v view, err error) bool {
	e := errs.From(err)
	if e == nil {
		return false
	}
	if e.Kind == errs.Internal {
		p.logger.ErrorContext(r.Context(), "a form failed", "path", r.URL.Path, "error", err)
	}
	v.Problem = e.Message
	if after := e.Extra["retry_after"]; after != "" {
		w.Header().Set("Retry-After", after)
	}
	show(w, e.Kind.Status(), page, v)
	return true
}

// readForm reads a form of at most maxForm bytes.
func readForm(w http.ResponseWriter, r *http.Request) error {
	r.Body = http.MaxBytesReader(w, r.Body, maxForm)
	if err := r.ParseForm(); err != nil {
		if _, over := errors.AsType[*http.MaxBytesError](err); over {
			return errs.New(errs.TooLarge, "form_too_large", "The form is larger than %d bytes.", maxForm)
		}
		return errs.New(errs.Invalid, "invalid_form", "The form could not be read.").Because(err)
	}
	return nil
}

// setUp creates the first user from the form.
func setUp(accounts *account.Accounts, w http.ResponseWriter, r *http.Request) (view, error) {
	if err := readForm(w, r); err != nil {
		return view{}, err
	}
	v := view{Base: base(r), Token: repeat(r.PostForm.Get("token")), Email: repeat(r.PostForm.Get("email"))}
	_, err := accounts.Setup(r.Context(), v.Token, v.Email, r.PostForm.Get("password"), rest.Address(r.RemoteAddr))
	return v, err
}

// repeat is what a form has sent, for the page that shows it again; nothing of what is too long to be right.
func repeat(sent string) string {
	if len(sent) > 300 {
		return ""
	}
	return sent
}

// base is the server's address as the browser knows it, for the examples on the page.
func base(r *http.Request) string {
	if rest.IsSecure(r) {
		return "https://" + r.Host
	}
	return "http://" + r.Host
}

func show(w http.ResponseWriter, status int, name string, v view) {
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Security-Policy",
		"default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer") // the setup link holds a token
	h.Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_ = templates.ExecuteTemplate(w, name, v) // it fails only if the client has disconnected
}
