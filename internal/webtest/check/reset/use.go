package reset

import (
	"context"
	"errors"
	"net/http"

	"github.com/vedette-sec/vedette/internal/webtest/check/kit"
	"github.com/vedette-sec/vedette/internal/webtest/client"
	"github.com/vedette-sec/vedette/internal/webtest/message"
	"github.com/vedette-sec/vedette/internal/webtest/sitemap"
)

// judge uses the last link, and reports what is wrong with the tokens.
func (a *asking) judge(ctx context.Context, got []link) error {
	l, how := got[len(got)-1], made(got)
	wrong := l.request.Put(l.token, kit.Word()+kit.Word())
	if how != nil {
		wrong = l.request.Put(l.token, how.write(kit.Word()))
	}
	var shown []kit.Evidence
	for _, g := range got {
		shown = append(shown, kit.Evidence{Request: g.page.Request, Response: g.page, Match: g.token.Value,
			Note: "the link of a message"})
	}
	opened, err := a.open(ctx, l.request)
	if err != nil || opened.Status != http.StatusOK {
		return err
	}
	refused, err := a.open(ctx, wrong)
	if err != nil {
		return err
	}
	isNeeded := refused.Status != http.StatusOK || !kit.SameText(opened, refused)
	shown = append(shown, kit.Evidence{Request: l.request, Response: opened, Note: "it opens"},
		kit.Evidence{Request: wrong, Response: refused, Note: "with another token"})

	set, err := a.set(ctx, opened, l.token.Value)
	if err != nil {
		return err
	}
	if set != nil {
		isNeeded = true
		shown = append(shown, set[0], set[2])
	}
	if how != nil && isNeeded {
		a.Found(a.computed, kit.Finding{Request: l.request, Place: l.token, Payload: l.token.Value, Severity: kit.High,
			Detail: "the token is " + how.about, Evidence: shown})
	}
	if set != nil && kit.Same(set[0].Response, set[1].Response) {
		a.Found(a.again, kit.Finding{Request: set[1].Request, Place: l.token, Payload: l.token.Value, Evidence: set,
			Detail: "the password that the user has was set with it, twice"})
	}
	return nil
}

// open asks for a link as nobody.
func (a *asking) open(ctx context.Context, r *message.Request) (*message.Response, error) {
	answer, err := a.Client.Send(ctx, r, client.Options{Forced: true})
	if errors.Is(err, client.ErrScope) {
		return &message.Response{}, nil
	}
	return kit.Broken(ctx, r, answer, err)
}

// set sets the password that the user has by the form of a page, with the token, once more, and with a wrong one; nil
// when there is no such form, when it refuses the token, or takes any.
func (a *asking) set(ctx context.Context, page *message.Response, token string) ([]kit.Evidence, error) {
	if a.Password == nil || a.Password(a.as) == "" {
		return nil, nil
	}
	form, place := setting(page, token, a.Password(a.as))
	if form == nil {
		return nil, nil
	}
	var all []kit.Evidence
	for _, try := range []struct{ value, note string }{{token, "the token sets a password"}, {token, "and once more"},
		{kit.Word() + kit.Word(), "an invented one is refused"}} {
		r := form.Put(place, try.value)
		answer, err := a.Client.Send(ctx, r, client.Options{Writes: true, Forced: true})
		if answer, err = kit.Broken(ctx, r, answer, err); err != nil {
			return nil, err
		}
		all = append(all, kit.Evidence{Request: r, Response: answer, Note: try.note})
	}
	if all[0].Response.Status >= http.StatusBadRequest || kit.Same(all[0].Response, all[2].Response) {
		return nil, nil
	}
	return all, nil
}

// setting is the form of a page that sets a password with a token, and the token's place; nil if there is none.
func setting(page *message.Response, token, password string) (*message.Request, message.Place) {
	for _, r := range sitemap.Forms(page) {
		var of message.Place
		hasPassword := false
		for _, p := range message.Places(r) {
			switch {
			case p.Component == message.Body && !p.Key && client.IsPassword(p.Name):
				r, hasPassword = r.Put(p, password), true
			case p.Value == token && !p.Key:
				of = p
			}
		}
		if hasPassword && of.Value != "" && r.Method == http.MethodPost {
			return r, of
		}
	}
	return nil, message.Place{}
}
