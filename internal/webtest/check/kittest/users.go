package kittest

import (
	"net/http"
	"net/url"
	"testing"

	"github.com/vedette-sec/vedette/internal/webtest/check/kit"
	"github.com/vedette-sec/vedette/internal/webtest/client"
	"github.com/vedette-sec/vedette/internal/webtest/proof"
)

// Named is the check of an id.
func Named(t testing.TB, all []kit.Check, id string) kit.Check {
	t.Helper()
	for _, c := range all {
		if c.ID == id {
			return c
		}
	}
	t.Fatalf("there is no check %s", id)
	return kit.Check{}
}

// As is a user who is known to the application by a cookie.
func (l *Lab) As(t testing.TB, name string) *client.User {
	t.Helper()
	u := client.NewUser(name)
	at, err := url.Parse(l.URL)
	if err != nil {
		t.Fatal(err)
	}
	u.SetCookies(at, []*http.Cookie{{Name: "user", Value: name}}) //nolint:gosec // it is sent, not set
	return u
}

// Holds fails the test when the proof of a finding, if it has one, does not hold for the users of the world.
func (l *Lab) Holds(t testing.TB, f kit.Finding) {
	t.Helper()
	if f.Proof == nil {
		return
	}
	runner := proof.Runner{Send: l.World.Client.Send, Users: func(name string) *client.User {
		for _, u := range l.World.Users {
			if u.Name == name {
				return u
			}
		}
		return nil
	}}
	if out, err := runner.Run(t.Context(), f.Proof); err != nil || !out.Holds {
		t.Errorf("the proof does not hold: %s, %v", out.Failed, err)
	}
}
