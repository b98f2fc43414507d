// Package enrol finds what a registration sets that is not for a newcomer to set, and what an application does later
// with the name that it keeps.
//
// The tester registers users of its own: one as the form has it, which is the control, and others with one thing that
// differs. What the pages of the map show each of them is compared, with their names taken out. What differs counts
// when it does so again for two more users. The users stay, and the report names them.
package enrol

import (
	"context"
	"html"
	"net/http"
	"strings"

	"github.com/vedette-sec/vedette/internal/webtest/check/kit"
	"github.com/vedette-sec/vedette/internal/webtest/client"
	"github.com/vedette-sec/vedette/internal/webtest/message"
	"github.com/vedette-sec/vedette/internal/webtest/registration"
)

// Checks are those of the package.
func Checks() []kit.Check { return []kit.Check{roles(), keptNames(), templateOfNames()} }

const (
	maxForms = 2  // registrations that are tried
	maxPages = 40 // that are compared
)

// member is a user of the tester, and what the pages of the map show them, in the order of those.
type member struct {
	*client.User

	name  string
	sent  *message.Request // the registration
	shown []*message.Response
}

// join registers a user by a form that alter has changed, and reads pages as them; nil where the application refuses.
func join(ctx context.Context, w *kit.World, form *message.Request, u kit.Newcomer, pages []*message.Request,
	alter func(*message.Request) *message.Request,
) (*member, error) {
	m := &member{name: u.Name, sent: registration.Fill(form, u)}
	if alter != nil {
		m.sent = alter(m.sent)
	}
	var err error
	if m.User, err = w.Enrol(ctx, m.sent, u); err != nil || m.User == nil {
		return nil, err
	}
	return m, m.read(ctx, w, pages)
}

// plain is a user who registered by a form as it is, with what pages show them; nil where nobody is let in. It is one
// for all checks.
func plain(ctx context.Context, w *kit.World, form *message.Request, pages []*message.Request) (*member, error) {
	key := "newcomer " + form.Method + form.URL.String()
	if known, ok := w.Memo.Load(key); ok {
		m, _ := known.(*member)
		return m, nil
	}
	m, err := join(ctx, w, form, registration.NewUser(), pages, nil)
	if err == nil {
		w.Memo.Store(key, m)
	}
	return m, err
}

// read reads pages as the user.
func (m *member) read(ctx context.Context, w *kit.World, pages []*message.Request) error {
	m.shown = nil
	for _, r := range pages {
		answer, err := w.Ask(ctx, r, m.User)
		if err != nil {
			return err
		}
		m.shown = append(m.shown, answer)
	}
	return nil
}

// pagesOf are the pages of the map on the host of a form.
func pagesOf(w *kit.World, form *message.Request) (pages []*message.Request) {
	for _, r := range w.Pages() {
		if r.Method == http.MethodGet && r.After == nil && !r.IsMessage() && r.URL.Host == form.URL.Host &&
			len(pages) < maxPages {
			pages = append(pages, r)
		}
	}
	return pages
}

// text is what a page shows, without the name of its reader.
func text(r *message.Response, name string) string {
	shown := html.UnescapeString(kit.Text(r))
	return strings.Join(strings.Fields(strings.ReplaceAll(shown, name, "")), " ")
}

// beside calls try for the first form by which anybody is let in, with a user who registered as the form has it and
// what the pages of the map show them, and for the next where try has no use for that one.
func beside(ctx context.Context, w *kit.World,
	try func(form *message.Request, control *member, pages []*message.Request) (done bool, err error),
) error {
	if w.Enrol == nil {
		return nil
	}
	forms := w.Registrations()
	for _, form := range forms[:min(len(forms), maxForms)] {
		pages := pagesOf(w, form)
		control, err := plain(ctx, w, form, pages)
		if err != nil {
			return err
		}
		if control == nil {
			continue
		}
		if done, err := try(form, control, pages); err != nil || done {
			return err
		}
	}
	return nil
}
