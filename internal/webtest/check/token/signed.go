package token

import (
	"context"
	"net/http"

	"github.com/vedette-sec/vedette/internal/infra/weakkey"
	"github.com/vedette-sec/vedette/internal/webtest/check/kit"
	"github.com/vedette-sec/vedette/internal/webtest/message"
)

// signed is the check for cookies of frameworks that are signed with a key from an example or a default: whoever knows
// it writes any session. It looks at answers and at the user's cookies, and sends nothing; that the signature is right
// with the key is the proof.
func signed() kit.Check {
	c := kit.Check{ID: "public-signing-key", Class: "public-signing-key"}.Describe()
	c.Passive = func(w *kit.World, t *kit.Target) {
		if kit.Known(t.User) && tokenIn(carriedBy(t)) != "" {
			w.Memo.LoadOrStore(carriedKey(t), carriedBy(t)) // for the check of tokens
		}
		cookies := (&http.Response{Header: t.Response.Header}).Cookies()
		if t.User != nil {
			cookies = append(cookies, t.User.Cookies(t.Request.URL)...)
		}
		for _, k := range cookies {
			if len(k.Value) < 20 || len(k.Value) > 4096 {
				continue
			}
			for _, text := range kit.Signed(k, cookies) {
				key, by, err := weakkey.Of(context.Background(), text) // a moment
				if err != nil || by == weakkey.JWT || !w.Once("signed "+t.Request.URL.Host+k.Name) {
					continue
				}
				w.Found(&c, kit.Finding{Request: t.Request, Place: message.Place{Component: message.Cookie, Name: k.Name},
					Detail: "signed by " + by + " with the key " + key, Evidence: []kit.Evidence{{Request: t.Request, Response: t.Response,
						Match: k.Name + "=" + k.Value,
						Note:  "its signature is right with the key " + key}}})
			}
		}
	}
	return c
}
