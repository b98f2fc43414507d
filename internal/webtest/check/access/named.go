package access

import (
	"context"
	"net/http"

	"github.com/vedette-sec/vedette/internal/webtest/check/kit"
	"github.com/vedette-sec/vedette/internal/webtest/client"
	"github.com/vedette-sec/vedette/internal/webtest/message"
	"github.com/vedette-sec/vedette/internal/webtest/proof"
)

// ofUsers is the check for sessions that whoever knows the name or the number of a user can write. The cookies of two
// users must be written from their names, or from numbers, in one way. The cookie of the second, with nothing else,
// must open a page as the second, and one that is written so from another name, or a number that is nobody's, must not.
// No requests where no such cookie is; otherwise those for a private page, and four for each cookie.
func ofUsers() kit.Check {
	c := kit.Check{ID: "session-of-user", Class: "predictable-token", Level: client.Safe,
		Title: "A session is written from the name or the number of its user"}.Describe()
	c.After = func(ctx context.Context, w *kit.World) error {
		if len(w.Users) < 2 {
			return nil
		}
		first, second := w.Users[0], w.Users[1]
		var private *message.Request
		for _, r := range w.Pages() {
			for _, k := range first.Cookies(r.URL) {
				of := message.PlaceOfCookie(k.Name, k.Value)
				write := writing(of.Value, valueOf(second, r, k.Name), first.Name, second.Name)
				if write == nil || !w.Once("session of user "+r.URL.Host+k.Name) {
					continue
				}
				var err error
				if private == nil {
					if private, _, err = privatePage(ctx, w, first); err != nil || private == nil {
						return err
					}
				}
				if err := openedBy(ctx, w, &c, private, of, write); err != nil {
					return err
				}
			}
		}
		return nil
	}
	return c
}

// valueOf is what a cookie of a user says; "" if the user has none of the name.
func valueOf(u *client.User, r *message.Request, name string) string {
	for _, k := range u.Cookies(r.URL) {
		if k.Name == name {
			return message.PlaceOfCookie(k.Name, k.Value).Value
		}
	}
	return ""
}

// forgedCookie are two values: the one of the second user, and one that is written in the same way and is nobody's.
type forgedCookie struct{ theirs, nobodys, about string }

// writing is how the values of two users were written; nil if they were not in one way.
func writing(first, second, firstName, secondName string) *forgedCookie {
	if first == "" || second == "" || first == second {
		return nil
	}
	for _, way := range kit.Writings {
		if firstName != "" && way.Write(firstName) == first && way.Write(secondName) == second {
			return &forgedCookie{second, way.Write(kit.Word()), "the name"}
		}
	}
	a, b := seriesOf(first), seriesOf(second)
	if a != nil && b != nil && a.write(b.number) == second {
		return &forgedCookie{second, a.write(b.number%1000 + 987_654_000), "a number"}
	}
	return nil
}

// openedBy reports a cookie that opens a page of the second user.
func openedBy(ctx context.Context, w *kit.World, c *kit.Check, private *message.Request, p message.Place,
	forged *forgedCookie,
) error {
	second := w.Users[1]
	view, err := w.Client.Send(ctx, private, client.Options{As: second})
	if view, err = kit.Broken(ctx, private, view, err); err != nil || view.Status != http.StatusOK {
		return err
	}
	opened, strange := private.Put(p, forged.theirs), private.Put(p, forged.nobodys)
	for range 2 {
		answer, err := w.Client.Send(ctx, opened, client.Options{})
		if answer, err = kit.Broken(ctx, opened, answer, err); err != nil || !kit.Same(answer, view) {
			return err
		}
	}
	control, err := w.Client.Send(ctx, strange, client.Options{})
	if control, err = kit.Broken(ctx, strange, control, err); err != nil || kit.Same(control, view) {
		return err
	}
	w.Found(c, kit.Finding{Request: opened, Place: p, Payload: forged.theirs,
		Detail: "the cookie " + p.Name + " is written from " + forged.about + " of its user alone",
		Evidence: []kit.Evidence{
			{Request: opened, Response: view, Note: "what " + second.Name + " gets; a cookie that anybody can write gets it, too"},
			{Request: strange, Response: control, Note: "one that is written so and is nobody's does not"},
		},
		Proof: &proof.Program{About: "A cookie that anybody can write opens a session.", Steps: []proof.Step{
			{ID: "written", Send: opened, Expect: []proof.Expect{{What: proof.Status, Value: "200"}}},
			{ID: "nobody's", Send: strange, Expect: []proof.Expect{{What: proof.Same, Of: "written", Not: true}}},
		}}})
	return nil
}
