package refusal

import (
	"context"
	"encoding/base64"
	"net/http"
	"strings"

	"github.com/vedette-sec/vedette/internal/webtest/check/kit"
	"github.com/vedette-sec/vedette/internal/webtest/client"
	"github.com/vedette-sec/vedette/internal/webtest/message"
	"github.com/vedette-sec/vedette/internal/webtest/proof"
)

// usual is the check for well-known passwords of pages that ask for a login of HTTP itself (Basic), as devices and
// consoles do. It is only run when that is allowed. Random names are refused before and after, and what is let in is
// let in again. One request for a page, two and one for each password where it asks; a realm of a host is tried once.
func usual() kit.Check {
	c := kit.Check{ID: "default-login-of-http", Class: "default-login", Level: client.Safe,
		Title: "A well-known password opens the login of HTTP"}.Describe()
	c.Request = func(ctx context.Context, w *kit.World, t *kit.Target) error {
		realm := asksFor(t.Response)
		if realm == "" || t.Request.Method != http.MethodGet || t.Request.Header.Get("Authorization") != "" ||
			!w.Once("basic "+t.Request.URL.Host+realm) {
			return nil
		}
		if !w.Defaults {
			w.Skip(t, c.Class, "default passwords are not tried unless it is allowed")
			return nil
		}
		refused, err := asWith(ctx, w, t.Request, kit.Word(), kit.Word())
		if err != nil || asksFor(refused) == "" {
			return err
		}
		for _, pair := range kit.UsualPasswords() {
			first, err := asWith(ctx, w, t.Request, pair[0], pair[1])
			if err != nil {
				return err
			}
			if first.Status != http.StatusOK {
				continue
			}
			again, err := asWith(ctx, w, t.Request, pair[0], pair[1])
			if err != nil || again.Status != http.StatusOK {
				return err
			}
			last, err := asWith(ctx, w, t.Request, pair[0], kit.Word())
			if err != nil || asksFor(last) == "" {
				return err
			}
			w.Found(&c, kit.Finding{Request: first.Request, Payload: pair[0] + " with a well-known password",
				Place: message.Place{Component: message.Header, Name: "Authorization"},
				Evidence: []kit.Evidence{{Request: first.Request, Response: first, Note: "it is let in, twice"},
					{Request: last.Request, Response: last, Note: "another password is not"}},
				Proof: &proof.Program{About: "A well-known password is let in.", Steps: []proof.Step{
					{ID: "wrong", Send: last.Request, Expect: []proof.Expect{{What: proof.Status, Value: "401"}}},
					{ID: "usual", Send: first.Request, Expect: []proof.Expect{{What: proof.Status, Value: "200"}}}}}})
			return nil
		}
		return nil
	}
	return c
}

// asksFor is the challenge of an answer that asks for a name and a password by HTTP; "" if it does not.
func asksFor(r *message.Response) string {
	if r == nil || r.Status != http.StatusUnauthorized {
		return ""
	}
	if challenge := r.Header.Get("WWW-Authenticate"); strings.HasPrefix(strings.ToLower(challenge), "basic") {
		return challenge
	}
	return ""
}

// asWith asks for a page as nobody, with a name and a password.
func asWith(ctx context.Context, w *kit.World, r *message.Request, name, password string) (*message.Response, error) {
	given := "Basic " + base64.StdEncoding.EncodeToString([]byte(name+":"+password))
	return w.Ask(ctx, r.With("Authorization", given), nil)
}
