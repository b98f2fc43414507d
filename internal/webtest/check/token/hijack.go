package token

import (
	"context"
	"net/http"

	"github.com/vedette-sec/vedette/internal/webtest/check/kit"
	"github.com/vedette-sec/vedette/internal/webtest/client"
	"github.com/vedette-sec/vedette/internal/webtest/proof"
)

// hijacking is the check for WebSockets that answer pages of other sites as the user: the handshake has the cookies of
// the user that browsers send from other sites and the Origin of another site, and the answer is what the user gets,
// and nobody without the cookies does. Four requests for each kind of message.
func hijacking() kit.Check {
	c := kit.Check{ID: "websocket-hijacking", Class: "websocket-hijacking", Level: client.Safe}.Describe()
	c.Message = func(ctx context.Context, w *kit.World, t *kit.Target) error {
		if !kit.Known(t.User) {
			return nil
		}
		if some, _ := t.User.Sends(t.Request.URL, client.Elsewhere); !some {
			return nil // a browser would not send who the user is
		}
		foreign := t.Request.With("Origin", "https://"+kit.Word()+".example")
		var evidence []kit.Evidence
		for _, ask := range []struct {
			as    *client.User
			again string
			wants bool
		}{{t.User, "the user's own page is answered so", true}, {t.User, "a page of another site is answered the same", true},
			{nil, "nobody is answered otherwise", false}, {t.User, "the other site again", true}} {
			r, from := foreign, client.Elsewhere
			if len(evidence) == 0 {
				r, from = t.Request, client.OwnPage
			}
			answer, err := w.Client.Send(ctx, r, client.Options{As: ask.as, From: from})
			if answer, err = kit.Broken(ctx, r, answer, err); err != nil {
				return err
			}
			if len(evidence) == 0 {
				if answer.Status != http.StatusSwitchingProtocols || len(answer.Body) == 0 {
					return nil
				}
			} else if kit.Same(evidence[0].Response, answer) != ask.wants {
				return nil
			}
			evidence = append(evidence, kit.Evidence{Request: r, Response: answer, Note: ask.again})
		}
		w.Found(&c, kit.Finding{Request: foreign, Evidence: evidence, Proof: &proof.Program{
			About: "A page of another site talks to the WebSocket as the user.", Users: []string{t.User.Name},
			Steps: []proof.Step{
				{ID: "own", As: t.User.Name, Send: t.Request},
				{ID: "foreign", As: t.User.Name, Send: foreign, Expect: []proof.Expect{{What: proof.Same, Of: "own"}}},
				{ID: "nobody", Send: foreign, Expect: []proof.Expect{{What: proof.Same, Of: "own", Not: true}}},
			}}})
		return nil
	}
	return c
}
