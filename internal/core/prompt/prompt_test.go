package prompt

import (
	"context"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/db/dbtest"
	"github.com/vedette-sec/vedette/internal/infra/errs"
)

func TestMain(m *testing.M) { dbtest.Main(m) }

// TestValuesArePutInOnceAndAsTheyAre: a value is in the text as it was given, whatever it looks like, and nothing else of
// the text changes.
func TestValuesArePutInOnceAndAsTheyAre(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := rapid.StringMatching(`[ -~]{0,20}(\{\{b\}\}|\{\{\$S\}\}|\$1)?`).Draw(t, "a")
		b := rapid.StringMatching(`[a-z{}$]{1,20}`).Draw(t, "b")
		p := Text{Name: "n", Text: "x {{a}} y {{ b }} z {{$SECRET}} {{a}}"}
		if err := p.check(); err != nil {
			t.Fatal(err)
		}
		if strings.TrimSpace(a) == "" {
			a = "v"
		}
		got, err := p.Fill(map[string]string{"a": a, "b": b})
		if want := "x " + a + " y " + b + " z {{$SECRET}} " + a; err != nil || got != want {
			t.Fatalf("%q, %v, want %q", got, err, want)
		}
	})
}

func TestBadPromptsAreNamed(t *testing.T) {
	for want, text := range map[string]Text{
		"name": {Text: "x"}, "text": {Name: "n"}, "description": {Name: "n", Text: "x", Description: strings.Repeat("d", maxText+1)},
		"tags":      {Name: "n", Text: "x", Tags: []string{" "}},
		"variables": {Name: "n", Text: "x {{a}}", Variables: []Variable{{Name: "a", Default: "z", Choices: []string{"y"}}}},
	} {
		if e := errs.From(text.check()); e == nil || e.Kind != errs.Invalid || e.Param != want {
			t.Errorf("%s: %v", want, e)
		}
	}
}

func TestPromptsStayInTheirTeam(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		accounts, err := account.Open(t.Context(), d, account.Config{})
		if err != nil {
			t.Fatal(err)
		}
		person := func(email, team string) context.Context {
			u, err := accounts.CreateUser(t.Context(), account.NewUser{Email: email, Team: team, Admin: true})
			if err != nil {
				t.Fatal(err)
			}
			return account.WithCaller(t.Context(), account.Caller{UserID: u.ID, TeamID: u.TeamID, Role: u.Role})
		}
		ps := New(d)
		alice, bob, eve := person("a@example.com", "blue"), person("b@example.com", "blue"), person("e@example.com", "red")
		made, err := ps.Create(alice, Change{Name: new("P"), Text: new("canary-7261 {{x}}"), Shared: new(true)})
		if err != nil {
			t.Fatal(err)
		}
		for name, ctx := range map[string]context.Context{"blue": bob, "red": eve} {
			all, err := ps.FindAll(ctx, Filter{})
			seen := slices.ContainsFunc(all, func(p Prompt) bool { return strings.Contains(p.Text.Text, "canary") })
			if err != nil || seen != (name == "blue") {
				t.Errorf("%s: %v, %v", name, seen, err)
			}
			_, err = ps.Fill(ctx, Call{ID: made.ID, Values: map[string]string{"x": "y"}})
			if errs.Is(err, errs.NotFound) != (name == "red") {
				t.Errorf("%s: %v", name, err)
			}
		}
		for _, p := range ps.shipped {
			if len(p.Variables) == 0 || p.Description == "" {
				t.Errorf("%+v", p)
			}
		}
	})
}
