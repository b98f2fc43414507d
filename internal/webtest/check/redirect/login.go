package redirect

import (
	"context"
	"regexp"
	"slices"
	"strings"

	"github.com/vedette-sec/vedette/internal/webtest/check/kit"
	"github.com/vedette-sec/vedette/internal/webtest/client"
	"github.com/vedette-sec/vedette/internal/webtest/message"
)

var (
	loginPage = regexp.MustCompile(`(?i)log-?_?[io]n|sign-?_?in|auth|session`)
	afterName = regexp.MustCompile(`(?i)next|redir|return|goto|continue|forward|back|dest|target|ur[il]|^to$|^ref|from|path`)
)

// pathOnly leads to another host where only a path is allowed, and two slashes are no path.
const pathOnly = `/\{h}/`

// maxNames are how many parameters of a login are tried.
const maxNames = 4

// afterLogin is the check for logins that lead to a host of the request when they have worked: a link to them is a link
// of the application, and what follows looks like it. It needs a user. Four logins for a parameter of a login page
// that may say where it leads, one more where it does.
func afterLogin() kit.Check {
	c := kit.Check{ID: "redirect-after-login", Class: "open-redirect", Level: client.Safe,
		Title: "The login leads to any host"}.Describe()
	c.After = func(ctx context.Context, w *kit.World) error {
		if len(w.Users) == 0 || w.LoginLeads == nil {
			return nil
		}
		for _, name := range namesOf(w.Pages()) {
			for _, payload := range append(payloads()[:always:always], pathOnly) {
				found, err := leadsAway(ctx, w, &c, name, payload)
				if err != nil || found {
					return err
				}
			}
		}
		return nil
	}
	return c
}

// namesOf are the parameters of pages and forms of logins that may say where they lead.
func namesOf(pages []*message.Request) (names []string) {
	seen, logins := map[string]bool{}, map[string]bool{}
	takesPassword := func(r *message.Request) bool {
		return r.Login[1] != "" ||
			slices.ContainsFunc(message.Places(r), func(p message.Place) bool { return client.IsPassword(p.Name) })
	}
	for _, r := range pages {
		logins[r.URL.Path] = logins[r.URL.Path] || takesPassword(r)
	}
	for _, r := range pages {
		places := message.Places(r)
		isLogin := loginPage.MatchString(r.URL.Path) || logins[r.URL.Path]
		for _, p := range places {
			if isLogin && (p.Component == message.Query || p.Component == message.Body) && !p.Key &&
				afterName.MatchString(p.Name) && !seen[p.Name] && len(names) < maxNames {
				seen[p.Name] = true
				names = append(names, p.Name)
			}
		}
	}
	return names
}

// leadsAway logs in with a host of ours, twice.
func leadsAway(ctx context.Context, w *kit.World, c *kit.Check, name, payload string) (bool, error) {
	var shown *message.Request
	text := ""
	for range 2 {
		host := strings.ToLower(kit.Word()) + ".example.org"
		sent, to, err := w.LoginLeads(ctx, w.Users[0], func(r *message.Request) *message.Request {
			text = strings.NewReplacer("{h}", host, "{own}", r.URL.Host, "{v}", "/").Replace(payload)
			return with(r, name, text)
		})
		if ctx.Err() != nil {
			return false, ctx.Err()
		}
		if err != nil || to == nil || !strings.EqualFold(to.Hostname(), host) {
			return false, nil //nolint:nilerr // that login leads nowhere
		}
		shown = sent
	}
	w.Found(c, kit.Finding{Request: shown, Payload: text, Variant: payload,
		Place:    message.Place{Component: message.Query, Name: name},
		Detail:   "by header, when the login has worked",
		Evidence: []kit.Evidence{{Request: shown, Note: "the login leads to our host, and again to another one"}}})
	return true, nil
}

// with is a login with a parameter: in the form that has it, otherwise in its address.
func with(r *message.Request, name, text string) *message.Request {
	for _, p := range message.Places(r) {
		if p.Name == name && (p.Component == message.Body || p.Component == message.Query) {
			return r.Put(p, text)
		}
	}
	out := r.Clone()
	query := out.URL.Query()
	query.Set(name, text)
	out.URL.RawQuery = query.Encode()
	return out
}
