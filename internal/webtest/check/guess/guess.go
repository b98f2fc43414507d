// Package guess finds forms beside the login that check a password without a limit: by GET, and inside the application,
// such as an area with a door of its own.
//
// That a form checks passwords is known from the first given user, whose password gets another answer than two wrong
// ones. After twelve wrong ones in a row, which are answered alike, the right one must still be taken. It is only run
// when guessing is allowed.
//
// Requests: three for such a form, and fourteen for one that checks passwords.
package guess

import (
	"context"
	"net/http"

	"github.com/vedette-sec/vedette/internal/webtest/check/kit"
	"github.com/vedette-sec/vedette/internal/webtest/client"
	"github.com/vedette-sec/vedette/internal/webtest/diff"
	"github.com/vedette-sec/vedette/internal/webtest/message"
)

// Checks are those of the package.
func Checks() []kit.Check { return []kit.Check{doors()} }

// wrongTries are how many wrong passwords are sent in a row.
const wrongTries = 12

// doors is the check.
func doors() kit.Check {
	c := kit.Check{ID: "login-limit-of-form", Class: "login-limit", Level: client.Safe}.Describe()
	c.Request = func(ctx context.Context, w *kit.World, t *kit.Target) error {
		l, ok := doorOf(t.Request)
		if !ok || len(w.Users) == 0 || w.Password == nil || !w.Once("guess "+t.Request.URL.Host+t.Request.URL.Path) {
			return nil
		}
		if !w.Defaults {
			w.Skip(t, c.Class, "wrong passwords are not tried in a row unless it is allowed")
			return nil
		}
		d := &door{World: w, Target: t, Login: l, name: w.Users[0].Name, password: w.Password(w.Users[0])}
		if d.password == "" {
			return nil
		}
		return d.test(ctx, &c)
	}
	return c
}

// doorOf is a form by GET with a name and one password, as a login; false for another request.
func doorOf(r *message.Request) (l kit.Login, ok bool) {
	l.Request = r
	names, passwords := 0, 0
	for _, p := range message.Places(r) {
		switch {
		case p.Component != message.Query || p.Key:
		case client.IsSecret(p.Name):
			l.Password = p
			passwords++
		case kit.UserName.MatchString(p.Name) && !kit.TokenName.MatchString(p.Name) && names == 0:
			l.Name = p
			names++
		}
	}
	return l, r.Method == http.MethodGet && !r.IsMessage() && names == 1 && passwords == 1
}

// door is a form that is tested with the password of a user.
type door struct {
	*kit.World
	*kit.Target
	kit.Login

	name, password string
}

// ask sends a password, as who has found the form. What is compared has neither the name nor the password in it.
func (d *door) ask(ctx context.Context, password string) (*message.Response, *diff.Page, error) {
	answer, err := d.Ask(ctx, d.With(d.name, password), d.User)
	if err != nil {
		return nil, nil, err
	}
	return answer, diff.New(answer, d.name, password), nil
}

func (d *door) test(ctx context.Context, c *kit.Check) error {
	_, first, err := d.ask(ctx, kit.Word())
	if err != nil || first.Status == 0 {
		return err
	}
	_, second, err := d.ask(ctx, kit.Word())
	if err != nil {
		return err
	}
	noise := diff.Learn(first, second)
	isWrong := func(p *diff.Page) bool { return diff.Same(first, p, noise) }
	_, right, err := d.ask(ctx, d.password)
	if err != nil || isWrong(right) || right.Status == 0 || right.Status >= http.StatusBadRequest {
		return err
	}
	var evidence []kit.Evidence
	for i := range wrongTries {
		answer, page, err := d.ask(ctx, kit.Word())
		if err != nil || !isWrong(page) || answer.Status == http.StatusTooManyRequests {
			return err
		}
		if i == 0 || i == wrongTries-1 {
			evidence = append(evidence, kit.Evidence{Request: answer.Request, Response: answer,
				Note: "a wrong password; of twelve in a row, all were answered alike"})
		}
	}
	_, again, err := d.ask(ctx, d.password)
	if err != nil || !diff.Same(right, again, noise) {
		return err
	}
	evidence = append(evidence, kit.Evidence{Request: d.With(d.name, "********"),
		Note: "then the password of " + d.name + " is taken, as it was before"})
	d.Found(c, kit.Finding{Request: evidence[0].Request, Place: d.Login.Password, Evidence: evidence,
		Detail: "after twelve wrong passwords the right one is taken as before"})
	return nil
}
