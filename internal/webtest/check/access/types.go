package access

import (
	"context"
	"net/http"
	"regexp"

	"github.com/vedette-sec/vedette/internal/webtest/check/kit"
	"github.com/vedette-sec/vedette/internal/webtest/client"
	"github.com/vedette-sec/vedette/internal/webtest/message"
	"github.com/vedette-sec/vedette/internal/webtest/proof"
)

// byType is the check for logins in JSON, and other requests with one secret such as a code, that compare without
// looking at types: as the password of a user, true logs in, and false and a wrong text do not, twice. A login needs a
// user, as whom nothing is done. Five requests for a login, or for a secret.
func byType() kit.Check {
	c := kit.Check{ID: "login-by-type", Class: "loose-comparison", Level: client.Safe}.Describe()
	c.Request = func(ctx context.Context, w *kit.World, t *kit.Target) error {
		l, ok := kit.LoginOf(t.Request)
		isLogin := ok && len(w.Users) > 0
		if !isLogin {
			l, ok = secretOf(t.Request)
		}
		if !ok || l.Password.Format != message.JSON || !w.Once("types "+t.Request.URL.Host+t.Request.URL.Path) {
			return nil
		}
		named := l.Request
		if isLogin {
			named = named.Put(l.Name, w.Users[0].Name)
		}
		ask := func(r *message.Request) (*message.Response, error) {
			answer, err := w.Client.Send(ctx, r, client.Options{Forced: true})
			return kit.Broken(ctx, r, answer, err)
		}
		wrong, err := ask(named.Put(l.Password, kit.Word()))
		if err != nil || wrong.Status == http.StatusTooManyRequests || !isLogin && wrong.Status/100 != 4 {
			return err
		}
		loose := named.PutRaw(l.Password, "true")
		for range 2 {
			answer, err := ask(loose)
			if err != nil || answer.Status != http.StatusOK || kit.Same(answer, wrong) ||
				isLogin && wrong.Status == http.StatusOK && !loggedIn(l.Request, answer, wrong) {
				return err
			}
		}
		refused, err := ask(named.PutRaw(l.Password, "false"))
		if err != nil || !kit.Same(refused, wrong) {
			return err
		}
		last, err := ask(loose)
		if err != nil || kit.Same(last, wrong) {
			return err
		}
		w.Found(&c, kit.Finding{Request: loose, Place: l.Password, Payload: "true",
			Detail: "what is secret is compared without types",
			Evidence: []kit.Evidence{{Request: loose, Response: last, Note: "true is taken for the secret"},
				{Request: refused.Request, Response: refused, Note: "false is not"},
				{Request: wrong.Request, Response: wrong, Note: "nor is a wrong text"}},
			Proof: &proof.Program{About: "true is taken for a password or a code.", Steps: []proof.Step{
				{ID: "wrong", Send: named.PutRaw(l.Password, "false")},
				{ID: "loose", Send: loose, Expect: []proof.Expect{{What: proof.Same, Of: "wrong", Not: true}}}}}})
		return nil
	}
	return c
}

var codeName = regexp.MustCompile(`(?i)^(?:(?:access|login|pin|invite|voucher|coupon|reset|unlock)_?)?code$|^otp$|^token$`)

// secretOf is the one secret of a request in JSON that only reads, such as the code of a door, as the password of a
// login.
func secretOf(r *message.Request) (l kit.Login, ok bool) {
	if r.Method != http.MethodPost || client.Writes(r) {
		return l, false
	}
	l.Request = r
	for _, p := range message.Places(r) {
		if p.Component == message.Body && !p.Key && (client.IsSecret(p.Name) || codeName.MatchString(p.Name)) {
			if ok {
				return l, false
			}
			l.Password, ok = p, true
		}
	}
	return l, ok
}
