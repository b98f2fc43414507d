package access

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"github.com/vedette-sec/vedette/internal/webtest/check/kit"
	"github.com/vedette-sec/vedette/internal/webtest/client"
	"github.com/vedette-sec/vedette/internal/webtest/message"
	"github.com/vedette-sec/vedette/internal/webtest/proof"
)

// stated is a role that a page says its reader has.
type stated struct {
	page  *message.Request
	name  string // of the field, such as role
	value string
}

// maxStated are how many pages are read to find a role, and how many forms are tried.
const maxStated = 60

// assignForms adds the field of a role to forms that users send, where a page says which role they have. The form as it
// is must leave the role; with the field the page must say what we have sent. Then the role is put back. Four or six
// requests for a form of a user whose role is shown.
func assignForms(ctx context.Context, w *kit.World, c *kit.Check) error {
	for _, u := range w.Users[:min(len(w.Users), 2)] {
		shown, err := statedRole(ctx, w, u)
		if err != nil || shown == nil {
			return err
		}
		tried := 0
		for _, r := range w.Pages() {
			_, isLogin := kit.LoginOf(r)
			if r.Method == http.MethodGet || isLogin || !kit.Sendable(r) || tried >= maxStated ||
				!w.Once("assign form "+r.URL.Host+r.URL.Path+u.Name) {
				continue
			}
			tried++
			for _, value := range []string{strings.ToLower(kit.Word()), "admin"} {
				found, err := assignForm(ctx, w, c, r, u, shown, value)
				if err != nil {
					return err
				}
				if found {
					return nil
				}
			}
		}
	}
	return nil
}

// statedRole is the role that a page says a user has; nil if none does.
func statedRole(ctx context.Context, w *kit.World, u *client.User) (*stated, error) {
	read := 0
	for _, r := range w.Pages() {
		if r.Method != http.MethodGet || ofStaff(r) || read >= maxStated {
			continue
		}
		read++
		value, name, err := roleAt(ctx, w, r, u)
		if err != nil {
			return nil, err
		}
		if value != "" && roleValue.MatchString(value) && !ofAdmins.MatchString(value) {
			return &stated{r, name, value}, nil
		}
	}
	return nil, nil //nolint:nilnil // none is said
}

// roleAt is the first role that a page says, and the name of the field. After a form was taken the page is asked for
// anew, as World.Shown keeps nothing over a change.
func roleAt(ctx context.Context, w *kit.World, r *message.Request, u *client.User) (value, name string, err error) {
	answer, err := w.Shown(ctx, r, u)
	if err != nil || !answer.IsHTML() {
		return "", "", err
	}
	for _, m := range saidRole.FindAllSubmatch(answer.Body, 50) {
		field := strings.ToLower(string(m[0]))
		if strings.Contains(field, "type=") { // of an element
			continue
		}
		name = "role"
		for _, known := range []string{"group", "type", "level", "rank", "tier"} {
			if strings.HasPrefix(field, known) {
				name = known
			}
		}
		return string(m[1]), name, nil
	}
	return "", "", nil
}

// within is what the names of all fields of a form begin with, as those that are bound to one object do (user.mail,
// user.phone); "" for nothing.
func within(r *message.Request) string {
	prefix, fields := "", 0
	for _, p := range message.Places(r) {
		if p.Component != message.Body || p.Key || r.Token != nil && p.Same(r.Token.Place) {
			continue
		}
		at := strings.LastIndex(p.Name, ".") + 1
		if at == 0 || fields > 0 && p.Name[:at] != prefix {
			return ""
		}
		prefix = p.Name[:at]
		fields++
	}
	return prefix
}

// assignForm tries one form with one role.
func assignForm(ctx context.Context, w *kit.World, c *kit.Check, r *message.Request, u *client.User, shown *stated,
	value string) (
	bool, error,
) {
	place := message.Place{Component: message.Body, Format: message.Form, Name: within(r) + shown.name}
	for _, p := range message.Places(r) {
		if p.Name == place.Name {
			return false, nil // it is asked for
		}
	}
	send := func(made *message.Request) (string, *message.Response, error) {
		answer, err := w.Client.Send(ctx, made, client.Options{As: u, Writes: true})
		if errors.Is(err, client.ErrScope) {
			return "", nil, nil
		}
		if answer, err = kit.Broken(ctx, made, answer, err); err != nil || answer.Status == 0 || answer.Status >= 400 {
			return "", answer, err
		}
		role, _, err := roleAt(ctx, w, shown.page, u)
		return role, answer, err
	}
	before, plain, err := send(r)
	if err != nil || before != shown.value {
		return false, err
	}
	raised := r.Put(place, value)
	after, answer, err := send(raised)
	if err != nil || after != value {
		return false, err
	}
	restored, _, err := send(r.Put(place, shown.value))
	if err != nil {
		return false, err
	}
	detail := "the role was put back"
	if restored != shown.value {
		detail = u.Name + " has kept the role " + value
	}
	user, users := kit.Names(u)
	says := func(text string) []proof.Expect { return []proof.Expect{{What: proof.Contains, Value: text}} }
	w.Found(c, kit.Finding{Request: raised, Place: place, Payload: value, Detail: detail, Evidence: []kit.Evidence{
		{Request: raised, Response: answer,
			Note: "with the field " + shown.name + ", " + shown.page.URL.String() + " says " + value},
		{Request: r, Response: plain, Note: "without it, it says " + shown.value}},
		Proof: &proof.Program{About: "A form sets the role of who sends it.", Users: users, Steps: []proof.Step{
			{ID: "raise", As: user, Send: raised, Writes: true},
			{ID: "raised", As: user, Send: shown.page, Expect: says(value)},
			{ID: "restore", As: user, Send: r.Put(place, shown.value), Writes: true},
			{ID: "restored", As: user, Send: shown.page, Expect: says(shown.value)}}}})
	return true, nil
}
