package access

import (
	"context"
	"net/http"
	"strings"

	"github.com/vedette-sec/vedette/internal/webtest/check/kit"
	"github.com/vedette-sec/vedette/internal/webtest/client"
	"github.com/vedette-sec/vedette/internal/webtest/message"
)

// passwordForgery is the check for forms that set a new password and that other sites can send. The password is set to
// the one that the user has, so that nothing changes; without the one before, since who has to name it cannot be
// fooled. The request of another site, without a token, must be answered as the user's own, and both otherwise than
// one whose two passwords differ and one of nobody. Five requests for such a form; at level active alone. There is no
// proof to repeat, as it would have the password in it.
func passwordForgery() kit.Check {
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
		if formerName.MatchString(p.Name) {
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
	byLink, from := r.Method == http.MethodGet, client.Elsewhere
	if byLink {
		from = client.ByLink
	}
	sent, _ := u.Sends(r.URL, from)
	if same == nil || !sent || !byLink && (r.Method != http.MethodPost || !sendable(r)) ||
		u.Headers(r.URL).Get("Authorization") != "" || headerToken(r) {
		return nil
	}
	foreign := withoutToken(same).With("Referer", "https://example.org/").With("Sec-Fetch-Site", "cross-site")
	if !byLink {
		foreign = foreign.With("Origin", "https://"+kit.Word()+".example.org")
	}
	ask := func(r *message.Request, as *client.User, from client.Origin) (*message.Response, error) {
		answer, err := w.Client.Send(ctx, r, client.Options{As: as, From: from, Writes: true, Forced: true})
		return kit.Broken(ctx, r, answer, err)
	}
	own, err := ask(same, u, client.OwnPage)
	if err != nil || own.Status == 0 || own.Status >= 400 {
		return err
	}
	crossed, err := ask(foreign, u, from)
	if err != nil || !alikeTo(own, crossed) {
		return err
	}
	refused, err := ask(differing, u, client.OwnPage)
	if err != nil || alikeTo(own, refused) {
		return err
	}
	nobody, err := ask(withoutToken(same), nil, client.OwnPage)
	if err != nil || alikeTo(own, nobody) {
		return err
	}
	again, err := ask(foreign, u, from)
	if err != nil || !alikeTo(own, again) {
		return err
	}
	hidden := func(r *message.Request) *message.Request {
		for _, p := range message.Places(r) {
			if strings.HasPrefix(p.Value, known) {
				r = r.Put(p, "********")
			}
		}
		return r
	}
	shown := hidden(foreign)
	w.Found(c, kit.Finding{Request: shown, Severity: kit.High, Detail: "it was set to the one that " + u.Name + " has",
		Evidence: []kit.Evidence{{Request: shown, Response: again, Note: "a request of another site is answered as one's own"},
			{Request: hidden(differing), Response: refused, Note: "one with two passwords that differ is answered otherwise"},
			{Request: hidden(withoutToken(same)), Response: nobody, Note: "nobody is, too"}}})
	return nil
}
