package access

import (
	"context"
	"net/http"

	"github.com/vedette-sec/vedette/internal/webtest/check/kit"
	"github.com/vedette-sec/vedette/internal/webtest/client"
	"github.com/vedette-sec/vedette/internal/webtest/diff"
)

// wrongLogins are how many wrong passwords are sent in a row.
const wrongLogins = 12

// limits is the check for logins that may be tried without end. It is only run when guessing is allowed. The name is a
// random one, so that nobody's account is locked; with an account whose password is known, that account is tried and
// must still be able to log in afterwards. Twelve requests for each login, and one login.
func limits() kit.Check {
	c := kit.Check{ID: "login-limit", Class: "login-limit", Level: client.Safe}.Describe()
	c.Request = func(ctx context.Context, w *kit.World, t *kit.Target) error {
		l, ok := kit.LoginOf(t.Request)
		if !ok || !w.Once("limits "+t.Request.URL.Host+t.Request.URL.Path) {
			return nil
		}
		if !w.Defaults {
			w.Skip(t, c.Class, "wrong passwords are not tried in a row unless it is allowed")
			return nil
		}
		name, confidence := kit.Word(), kit.Probable
		known := len(w.Users) > 0 && w.Login != nil
		if known {
			name, confidence = w.Users[0].Name, kit.Proved
		}
		var first *diff.Page
		var noise diff.Noise // such as the token of the form that is shown again
		var evidence []kit.Evidence
		for i := range wrongLogins {
			answer, page, err := try(ctx, w, &l, name, kit.Word())
			if err != nil {
				return err
			}
			if answer.Status == http.StatusTooManyRequests || answer.Status >= 500 ||
				i > 1 && !diff.Same(first, page, noise) {
				return nil
			}
			switch i {
			case 0:
				first = page
			case 1:
				noise = diff.Learn(first, page)
			}
			if i == 0 || i == wrongLogins-1 {
				evidence = append(evidence, kit.Evidence{Request: answer.Request, Response: answer,
					Note: "a wrong password; of twelve in a row, all were answered alike"})
			}
		}
		if known {
			if _, err := w.Login(ctx, w.Users[0]); err != nil {
				return nil //nolint:nilerr // the account is locked, as it should be
			}
		}
		w.Found(&c, kit.Finding{Request: l.Request, Place: l.Password, Confidence: confidence, Evidence: evidence,
			Detail: "after twelve wrong passwords the next is taken like the first"})
		return nil
	}
	return c
}
