package kit_test

import (
	"errors"
	"fmt"
	"net/http"
	"testing"

	"github.com/vedette-sec/vedette/internal/webtest/check/kit"
	"github.com/vedette-sec/vedette/internal/webtest/check/kittest"
	"github.com/vedette-sec/vedette/internal/webtest/client"
	"github.com/vedette-sec/vedette/internal/webtest/message"
)

// What a user is shown is asked for once, until something may have changed or the user has another session.
func TestShown(t *testing.T) {
	lab := kittest.New(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/broken":
			w.WriteHeader(http.StatusBadGateway)
		case "/busy":
			w.WriteHeader(http.StatusTooManyRequests)
		case "/refused":
			w.WriteHeader(http.StatusForbidden)
		}
		fmt.Fprint(w, r.Header.Get("Cookie"))
	}))
	alice, bob := lab.As(t, "alice"), lab.As(t, "bob")
	request := func(method, path string) *message.Request {
		r, err := message.New(method, lab.URL+path)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	page := request(http.MethodGet, "/notes")
	send := func(r *message.Request) func() {
		return func() {
			if _, err := lab.World.Client.Send(t.Context(), r, client.Options{As: bob}); err != nil {
				t.Fatal(err)
			}
		}
	}
	chained := request(http.MethodGet, "/step2")
	chained.After = request(http.MethodGet, "/step1")
	if _, err := lab.World.Shown(t.Context(), page, alice); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name    string
		page    *message.Request
		as      *client.User
		between func()
		asked   int64 // beside what is sent in between
	}{
		{"the same", page, alice, func() {}, 0},
		{"another user", page, bob, func() {}, 1},
		{"nobody", page, nil, func() {}, 1},
		{"nobody again", page, nil, func() {}, 0},
		{"another page", request(http.MethodGet, "/notes?page=2"), alice, func() {}, 1},
		{"another header", page.With("X-Card", "7"), alice, func() {}, 1},
		{"what only reads in between", page, alice, send(request(http.MethodGet, "/search?q=x")), 0},
		{"what is refused in between", page, alice, send(request(http.MethodPost, "/refused")), 0},
		{"a form in between", page, alice, send(request(http.MethodPost, "/notes")), 1},
		{"nothing since", page, alice, func() {}, 0},
		{"a renewed session", page, alice, func() { alice.Become(lab.As(t, "alice")) }, 1},
		{"Forget", page, alice, lab.World.Forget, 1},
		{"a fault", request(http.MethodGet, "/broken"), alice, func() {}, 1},
		{"a fault again", request(http.MethodGet, "/broken"), alice, func() {}, 1},
		{"too often", request(http.MethodGet, "/busy"), bob, func() {}, 1},
		{"too often again", request(http.MethodGet, "/busy"), bob, func() {}, 1},
		{"a refusal", request(http.MethodGet, "/refused"), alice, func() {}, 1},
		{"a refusal again", request(http.MethodGet, "/refused"), alice, func() {}, 0},
		{"with a step before it", chained, alice, func() {}, 2},
		{"with a step before it again", chained, alice, func() {}, 2},
		{"what would end the session", request(http.MethodGet, "/logout"), alice, func() {}, 0},
	} {
		c.between()
		before := lab.Sent.Load()
		answer, err := lab.World.Shown(t.Context(), c.page, c.as)
		if err != nil || lab.Sent.Load()-before != c.asked {
			t.Errorf("%s: asked %d times, want %d; %v", c.name, lab.Sent.Load()-before, c.asked, err)
			continue
		}
		want := ""
		if c.as != nil {
			want = "user=" + c.as.Name
		}
		if answer.Status != 0 && string(answer.Body) != want {
			t.Errorf("%s: the answer is %q, want %q", c.name, answer.Body, want)
		}
	}
}

// What is known stops with the budget as what is asked for does.
func TestShownWithinTheBudget(t *testing.T) {
	lab := kittest.New(t, http.NotFoundHandler())
	page, err := message.New(http.MethodGet, lab.URL+"/notes")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := lab.World.Shown(t.Context(), page, nil); err != nil {
		t.Fatal(err)
	}
	lab.World.Client.Bound(1, lab.World.Client.Until)
	if _, err := lab.World.Shown(t.Context(), page, nil); !errors.Is(err, client.ErrBudget) {
		t.Errorf("the budget is used up, and the error is %v", err)
	}
}

// An answer during which something changed is not kept.
func TestShownWhileSomethingChanges(t *testing.T) {
	var world *kit.World
	lab := kittest.New(t, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/slow" {
			return
		}
		write, err := message.New(http.MethodPost, "http://"+r.Host+"/notes")
		if err == nil {
			_, err = world.Client.Send(r.Context(), write, client.Options{})
		}
		if err != nil {
			t.Error(err)
		}
	}))
	world = lab.World
	page, err := message.New(http.MethodGet, lab.URL+"/slow")
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		before := lab.Sent.Load()
		if _, err := world.Shown(t.Context(), page, nil); err != nil || lab.Sent.Load()-before != 2 {
			t.Errorf("%d requests, want the page and what it changes; %v", lab.Sent.Load()-before, err)
		}
	}
}
