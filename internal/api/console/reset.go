package console

import (
	"net/http"

	"github.com/vedette-sec/vedette/internal/api/rest"
	"github.com/vedette-sec/vedette/internal/core/account"
)

// reset has the pages behind the link in a mail for a new password.
func (p pages) reset(mux *http.ServeMux) {
	mux.HandleFunc("GET "+account.ResetPath, func(w http.ResponseWriter, r *http.Request) {
		show(w, http.StatusOK, "reset.html", view{Token: repeat(r.URL.Query().Get("token"))})
	})
	mux.HandleFunc("POST "+account.ResetPath, func(w http.ResponseWriter, r *http.Request) {
		v, err := p.setPassword(w, r)
		if p.failed(w, r, "reset.html", v, err) {
			return
		}
		show(w, http.StatusOK, "reset-done.html", v)
	})
	mux.HandleFunc(account.ResetPath, notAllowed)
}

// setPassword sets a new password from the form, with an audit entry as the API writes it.
func (p pages) setPassword(w http.ResponseWriter, r *http.Request) (view, error) {
	if err := readForm(w, r); err != nil {
		return view{}, err
	}
	v := view{Base: base(r), Token: repeat(r.PostForm.Get("token"))}
	c, err := p.accounts.FinishReset(r.Context(), v.Token, r.PostForm.Get("password"), rest.Address(r.RemoteAddr))
	if err != nil || c.TeamID == "" {
		return v, err
	}
	return v, p.note(r, c, "finish-password-reset")
}
