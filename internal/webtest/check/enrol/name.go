package enrol

import (
	"context"
	"slices"

	"github.com/vedette-sec/vedette/internal/webtest/check/kit"
	"github.com/vedette-sec/vedette/internal/webtest/client"
	"github.com/vedette-sec/vedette/internal/webtest/message"
	"github.com/vedette-sec/vedette/internal/webtest/registration"
)

// keptNames is the check for names that an application keeps at a registration and puts into a statement of another
// page. Beside a user of a plain name, users are registered whose names end that name with a quote and add a condition:
// one that holds, and one that does not. With the former, a page shows what it shows to the user of the plain name;
// with the latter it shows something else; both once more with other numbers. The condition only narrows what a
// statement finds, so that one which writes changes nothing of other users. At level active alone: up to nine users,
// and their pages.
func keptNames() kit.Check {
	c := kit.Check{ID: "sql-of-kept-name", Class: "sql-injection", Level: client.Active,
		Title: "A name that is kept is part of a statement"}.Describe()
	c.After = func(ctx context.Context, w *kit.World) error {
		return beside(ctx, w, func(form *message.Request, control *member, pages []*message.Request) (bool, error) {
			if nameOf(control).Name == "" {
				return false, nil
			}
			for _, quote := range []string{"'", `"`} {
				if found, err := kept(ctx, w, &c, form, control, pages, quote); err != nil || found {
					return true, err
				}
			}
			return true, nil
		})
	}
	return c
}

// kept tries one kind of quotes.
func kept(ctx context.Context, w *kit.World, c *kit.Check, form *message.Request, control *member,
	pages []*message.Request, quote string,
) (bool, error) {
	with := func(number, other string) (*member, error) {
		u := registration.NewUser()
		u.Name = control.name + quote + " AND " + quote + number + quote + "=" + quote + other
		return join(ctx, w, form, u, pages, nil)
	}
	holds, err := with("7", "7")
	if err != nil || holds == nil {
		return false, err
	}
	fails, err := with("7", "8")
	if err != nil || fails == nil {
		return false, err
	}
	at := differing(control, holds, fails)
	if len(at) == 0 {
		return false, nil
	}
	again, err := with("31", "31")
	if err != nil || again == nil {
		return false, err
	}
	failsAgain, err := with("31", "32")
	if err != nil || failsAgain == nil {
		return false, err
	}
	if err := control.read(ctx, w, pages); err != nil { // what differs by itself
		return false, err
	}
	for _, i := range differing(control, again, failsAgain) {
		if text(fails.shown[i], fails.name) != text(failsAgain.shown[i], failsAgain.name) || !slices.Contains(at, i) {
			continue
		}
		chain := pages[i].Clone() // the page after the registration, which has the place
		chain.After = fails.sent
		w.Found(c, kit.Finding{Request: chain, Place: nameOf(fails), Payload: fails.name,
			Detail: "the name is part of a statement of " + pages[i].URL.Path,
			Evidence: []kit.Evidence{
				{Request: pages[i], Response: control.shown[i], Note: "what " + control.name + " gets"},
				{Request: pages[i], Response: holds.shown[i], Note: "what " + holds.name + " gets: the same"},
				{Request: pages[i], Response: fails.shown[i], Note: "what " + fails.name + " gets"},
				{Request: pages[i], Response: failsAgain.shown[i], Note: "and " + failsAgain.name}}})
		return true, nil
	}
	return false, nil
}

// differing are the pages that show two users the same, and the third something else.
func differing(control, holds, fails *member) (at []int) {
	for i, page := range control.shown {
		want := text(page, control.name)
		if kit.Opened(page) && page.Status == holds.shown[i].Status && want == text(holds.shown[i], holds.name) &&
			want != text(fails.shown[i], fails.name) {
			at = append(at, i)
		}
	}
	return at
}

// nameOf is the place of a registration that has the name, as seen from a page behind it.
func nameOf(m *member) message.Place {
	for _, p := range message.Places(m.sent) {
		if p.Value == m.name {
			p.Step = 1
			return p
		}
	}
	return message.Place{}
}
