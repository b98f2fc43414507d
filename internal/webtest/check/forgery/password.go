package forgery

import (
	"context"
	"net/http"
	"strings"

	"github.com/vedette-sec/vedette/internal/webtest/check/kit"
	"github.com/vedette-sec/vedette/internal/webtest/client"
	"github.com/vedette-sec/vedette/internal/webtest/message"
)

// passwords is the check for forms that set a new password and that other sites can send. The password is set to
// the one that the user has, so that nothing changes; without the one before, since who has to name it cannot be
// fooled. The request of another site, without a token, must be answered as the user's own, and both otherwise than
// one whose two passwords differ and one of nobody. A form that is sent by POST is tried as a link, too. Two to sixteen
// requests for such a form, five where it is found; at level active alone. There is no
// proof to repeat, as it would have the password in it.
func passwords() kit.Check {
	c := kit.Check{ID: "csrf-of-password", Class: "csrf", Level: client.Active,
		Title: "Another site can set a user's password"}.Describe()
	c.After = func(ctx context.Context, w *kit.World) error {
		if len(w.Users) == 0 || w.Password == nil {
			return nil
		}
		u := w.Users[0]
		known := w.Password(u)
		for _, r := range w.Pages() {
			if same, _ := setting(r, known); known == "" || same == nil ||
				!w.Once("password forgery "+r.Method+r.URL.Host+r.URL.Path) {
				continue
			}
			if err := forgePassword(ctx, w, &c, r, u, known); err != nil {
				return err
			}
		}
		return nil
	}
	return c
}

// setting is a form of a new password: with the password that the user has, and with two that differ.
func setting(r *message.Request, known string) (same, differing *message.Request) {
	same, differing = r, r
	count := 0
	for _, p := range message.Places(r) {
		isField := p.Component == message.Body || p.Component == message.Query && r.Method == http.MethodGet
		if !isField || p.Key || !client.IsPassword(p.Name) && (r.Passwords != 2 || !newName(p.Name)) {
			continue
		}
		if kit.FormerName.MatchString(p.Name) {
			return nil, nil
		}
		same = same.Put(p, known)
		if count++; count == 1 {
			differing = differing.Put(p, known)
		} else {
			differing = differing.Put(p, known+"x")
		}
	}
	if count != 2 {
		return nil, nil
	}
	return same, differing
}

// newName reports whether a field is one of those of a new password and its repetition, by short names of them.
func newName(name string) bool {
	switch strings.ToLower(name) {
	case "new", "again", "repeat", "confirm", "new1", "new2", "confirmation", "verify":
		return true
	}
	return false
}

func forgePassword(ctx context.Context, w *kit.World, c *kit.Check, r *message.Request, u *client.User,
	known string) error {
	same, differing := setting(r, known)
	if same == nil || u.Headers(r.URL).Get("Authorization") != "" || headerToken(r) {
		return nil
	}
	o := &passwordForm{w: w, c: c, u: u, known: known, same: same, differing: differing}
	ways := []*message.Request{withoutToken(same)}
	if link := kit.AsLink(withoutToken(same)); link != nil {
		ways = append(ways, link)
	}
	for _, bare := range ways {
		from := client.Elsewhere
		if bare.Method == http.MethodGet {
			from = client.ByLink
		}
		if sent, _ := u.Sends(bare.URL, from); !sent || bare.Method != http.MethodGet &&
			(bare.Method != http.MethodPost || !kit.Sendable(bare)) {
			continue
		}
		for _, foreign := range foreigns(bare) {
			if found, err := o.forge(ctx, bare, foreign, from); err != nil || found {
				return err
			}
		}
	}
	return nil
}

// passwordForm is a form of a new password that is tested: as it is sent with the password of its user, and with two
// that differ.
type passwordForm struct {
	w               *kit.World
	c               *kit.Check
	u               *client.User
	known           string
	same, differing *message.Request
}

func (o *passwordForm) ask(ctx context.Context, r *message.Request, as *client.User, from client.Origin) (
	*message.Response, error,
) {
	answer, err := o.w.Client.Send(ctx, r, client.Options{As: as, From: from, Writes: true, Forced: true})
	return kit.Broken(ctx, r, answer, err)
}

// forge sends the form as another site does.
func (o *passwordForm) forge(ctx context.Context, bare, foreign *message.Request, from client.Origin) (bool, error) {
	own, err := o.ask(ctx, o.same, o.u, client.OwnPage)
	if err != nil || own.Status == 0 || own.Status >= 400 {
		return false, err
	}
	crossed, err := o.ask(ctx, foreign, o.u, from)
	if err != nil || !kit.SameText(own, crossed) {
		return false, err
	}
	refused, err := o.ask(ctx, o.differing, o.u, client.OwnPage)
	if err != nil || kit.SameText(own, refused) {
		return false, err
	}
	nobody, err := o.ask(ctx, bare, nil, client.OwnPage)
	if err != nil || kit.SameText(own, nobody) {
		return false, err
	}
	again, err := o.ask(ctx, foreign, o.u, from)
	if err != nil || !kit.SameText(own, again) {
		return false, err
	}
	hidden := func(r *message.Request) *message.Request {
		for _, p := range message.Places(r) {
			if strings.HasPrefix(p.Value, o.known) {
				r = r.Put(p, "********")
			}
		}
		return r
	}
	shown := hidden(foreign)
	o.w.Found(o.c, kit.Finding{Request: shown, Severity: kit.High,
		Detail: "it was set to the one that " + o.u.Name + " has",
		Evidence: []kit.Evidence{{Request: shown, Response: again, Note: "a request of another site is answered as one's own"},
			{Request: hidden(o.differing), Response: refused, Note: "one with two passwords that differ is answered otherwise"},
			{Request: hidden(bare), Response: nobody, Note: "nobody is, too"}}})
	return true, nil
}
