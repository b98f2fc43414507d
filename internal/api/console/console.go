// Package console is what a person's browser gets: the first-start setup, and a page
// that leads on.
package console

import (
	"embed"
	"html/template"
	"net/http"

	"github.com/vedette-sec/vedette/internal/account"
	"github.com/vedette-sec/vedette/internal/errs"
)

//go:embed pages/*.html
var files embed.FS

var pages = template.Must(template.ParseFS(files, "pages/*.html"))

// view is what a page shows.
type view struct {
	Token   string // of the setup link
	Email   string
	Problem string
}

// maxForm is the largest setup form, in bytes.
const maxForm = 16 << 10

// New makes the pages.
func New(accounts *account.Accounts) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) { show(w, http.StatusOK, "home.html", view{}) })
	mux.HandleFunc("GET /setup", func(w http.ResponseWriter, r *http.Request) {
		show(w, http.StatusOK, "setup.html", view{Token: r.URL.Query().Get("token")})
	})
	mux.HandleFunc("POST /setup", func(w http.ResponseWriter, r *http.Request) {
		r.Body = http.MaxBytesReader(w, r.Body, maxForm)
		v := view{Token: r.PostFormValue("token"), Email: r.PostFormValue("email")}
		_, err := accounts.Setup(r.Context(), v.Token, v.Email, r.PostFormValue("password"))
		if e := errs.From(err); e != nil {
			v.Problem = e.Message
			show(w, e.Kind.Status(), "setup.html", v)
			return
		}
		show(w, http.StatusCreated, "done.html", v)
	})
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) { show(w, http.StatusNotFound, "missing.html", view{}) })
	return mux
}

func show(w http.ResponseWriter, status int, name string, v view) {
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer") // the setup link holds a token
	h.Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_ = pages.ExecuteTemplate(w, name, v) // it fails only when the client has gone
}
