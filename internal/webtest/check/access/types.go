package access

import (
	"context"
	"net/http"

	"github.com/vedette-sec/vedette/internal/webtest/check/kit"
	"github.com/vedette-sec/vedette/internal/webtest/client"
	"github.com/vedette-sec/vedette/internal/webtest/message"
	"github.com/vedette-sec/vedette/internal/webtest/proof"
)

// byType is the check for logins in JSON that compare without looking at types: as the password of a user, true logs
// in, and false and a wrong text do not, twice. It needs a user, as whom nothing is done. Five requests for a login.
func byType() kit.Check {
	c := kit.Check{ID: "login-by-type", Class: "loose-comparison", Level: client.Safe}.Describe()
	c.Request = func(ctx context.Context, w *kit.World, t *kit.Target) error {
		l, ok := kit.LoginOf(t.Request)
		if !ok || l.Password.Format != message.JSON || len(w.Users) == 0 ||
			!w.Once("types "+t.Request.URL.Host+t.Request.URL.Path) {
			return nil
		}
		named := l.Request.Put(l.Name, w.Users[0].Name)
		ask := func(r *message.Request) (*message.Response, error) {
			answer, err := w.Client.Send(ctx, r, client.Options{Forced: true})
			return kit.Broken(ctx, r, answer, err)
		}
		wrong, err := ask(named.Put(l.Password, kit.Word()))
		if err != nil || wrong.Status == http.StatusTooManyRequests {
			return err
		}
		loose := named.PutRaw(l.Password, "true")
		for range 2 {
			answer, err := ask(loose)
			if err != nil || answer.Status != http.StatusOK || kit.Same(answer, wrong) ||
				wrong.Status == http.StatusOK && !loggedIn(l.Request, answer, wrong) {
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
			Detail: "the login compares without types",
			Evidence: []kit.Evidence{{Request: loose, Response: last, Note: "true as the password logs in"},
				{Request: refused.Request, Response: refused, Note: "false does not"},
				{Request: wrong.Request, Response: wrong, Note: "nor does a wrong password"}},
			Proof: &proof.Program{About: "true is taken for the password of a user.", Steps: []proof.Step{
				{ID: "wrong", Send: named.PutRaw(l.Password, "false")},
				{ID: "loose", Send: loose, Expect: []proof.Expect{{What: proof.Same, Of: "wrong", Not: true}}}}}})
		return nil
	}
	return c
}
