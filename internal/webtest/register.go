package webtest

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/vedette-sec/vedette/internal/webtest/client"
	"github.com/vedette-sec/vedette/internal/webtest/message"
	"github.com/vedette-sec/vedette/internal/webtest/registration"
	"github.com/vedette-sec/vedette/internal/webtest/session"
	"github.com/vedette-sec/vedette/internal/webtest/sitemap"
)

// Where no user is given and anybody may register, the tester registers two users at level active, so that what is
// behind the login is tested, and what each of them may do with the objects of the other. Their names begin with
// vdt; they stay, and the report names them (package registration).
const (
	registered = 2 // users that are made
	maxForms   = 3 // that are tried
)

// enterRegistered registers users, or logs in those that an interrupted run has registered.
func (r *run) enterRegistered(ctx context.Context, m *sitemap.Map, isMapped bool) error {
	if r.Only || r.Client.Level < client.Active {
		return nil
	}
	if len(r.sessions) > 0 {
		return r.registerBeside(ctx, m, isMapped)
	}
	for _, u := range r.journal.users {
		if s, err := r.openMade(ctx, u, m); err == nil {
			r.enter(s)
		} else if ctx.Err() != nil {
			return err
		}
	}
	if isMapped {
		return nil
	}
	if len(r.sessions) > 0 {
		return r.mapAs(ctx, m, r.user())
	}
	forms := registration.Requests(m)
	for _, request := range forms[:min(len(forms), maxForms)] {
		for range registered {
			u := registration.NewUser()
			s, err := r.registerOne(ctx, request, u, m)
			if endsRun(err) || ctx.Err() != nil {
				return ctx.Err()
			}
			if err != nil {
				break
			}
			r.enter(s)
			r.note(fmt.Sprintf("Registered the user %s at %s, who stays. %s", u.Name, request.URL.Path, s.Describe()))
		}
		if len(r.sessions) > 0 {
			return r.mapAs(ctx, m, r.user())
		}
	}
	return nil
}

// enter makes a session one of the run.
func (r *run) enter(s *session.Session) {
	s.Guard()
	r.sessions = append(r.sessions, s)
	r.signedIn()
}

// registerOne registers a user and logs in.
func (r *run) registerOne(ctx context.Context, request *message.Request, u registration.User, m *sitemap.Map) (
	*session.Session, error,
) {
	answer, err := r.client.Send(ctx, registration.Filled(request, u),
		client.Options{As: client.NewUser(u.Name), Writes: true, Forced: true})
	if err != nil {
		return nil, err
	}
	if answer.Status >= http.StatusBadRequest {
		return nil, session.ErrRefused
	}
	s, err := r.openMade(ctx, u, m)
	if err != nil {
		return nil, err
	}
	return s, r.journal.note(record{User: &u})
}

// openMade logs in a user who was registered: by name or, where that is refused, by the address of e-mail. Checks know
// the password then.
func (r *run) openMade(ctx context.Context, u registration.User, m *sitemap.Map) (s *session.Session, err error) {
	var seeds []*message.Request // among them may be the login
	for _, e := range m.Entries {
		if e.Request.Method == http.MethodPost {
			seeds = append(seeds, e.Request)
		}
	}
	for _, name := range []string{u.Name, u.Mail} {
		s, err = session.Open(ctx, r.client, r.Starts, session.Account{Name: u.Name, User: name, Password: u.Password,
			Seeds: append(r.loginSeeds(), seeds...), Browser: r.Browser})
		if err == nil {
			r.world.Registered[u.Name] = u.Password
		}
		if !errors.Is(err, session.ErrRefused) {
			return s, err
		}
	}
	return nil, err
}

// registerBeside registers two users beside those that were given, where the map has a request that sets the password
// of a user whom it names: that of a given one is not changed.
func (r *run) registerBeside(ctx context.Context, m *sitemap.Map, isMapped bool) error {
	if !registration.SetsPasswords(m) {
		return nil
	}
	add := func(s *session.Session) {
		r.made = append(r.made, s)
		r.world.Made = append(r.world.Made, s.User)
	}
	for _, u := range r.journal.users {
		if s, err := r.openMade(ctx, u, m); err == nil {
			add(s)
		}
	}
	if isMapped || len(r.made) > 0 {
		return ctx.Err()
	}
	forms := registration.Requests(m)
	for _, request := range forms[:min(len(forms), maxForms)] {
		for range registered {
			u := registration.NewUser()
			s, err := r.registerOne(ctx, request, u, m)
			if err != nil {
				break
			}
			add(s)
			r.note(fmt.Sprintf("Registered the user %s at %s, who stays, to try whose password others can change.", u.Name,
				request.URL.Path))
		}
		if len(r.made) > 0 {
			break
		}
	}
	return ctx.Err()
}
