package customagent

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/db/dbtest"
	"github.com/vedette-sec/vedette/internal/infra/errs"
)

func TestMain(m *testing.M) { dbtest.Main(m) }

func setUp(t *testing.T, d *db.DB) (cr *Agents, alice, bob context.Context) {
	t.Helper()
	accounts, err := account.Open(t.Context(), d, account.Config{})
	if err != nil {
		t.Fatal(err)
	}
	person := func(email string) context.Context {
		u, err := accounts.CreateUser(t.Context(), account.NewUser{Email: email, Team: "blue", Admin: true})
		if err != nil {
			t.Fatal(err)
		}
		return account.WithCaller(t.Context(), account.Caller{UserID: u.ID, TeamID: u.TeamID, Role: u.Role})
	}
	return New(d, []string{"crawl", "note"}), person("alice@example.com"), person("bob@example.com")
}

func TestAgentsAreTheirOwnersAlone(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		cr, alice, bob := setUp(t, d)
		made, err := cr.Create(alice, Update{Name: new(" Scout "), SystemContext: new("Look\nfirst."),
			NativeTools: &[]string{"crawl"}})
		if err != nil || made.Name != "Scout" || made.Version != 1 || made.Tags == nil {
			t.Fatalf("%+v, %v", made, err)
		}
		if _, err := cr.Create(alice, Update{Name: new("Scout")}); !errs.Is(err, errs.Conflict) {
			t.Errorf("a second one: %v", err)
		}
		if _, err := cr.Create(bob, Update{Name: new("Scout")}); err != nil {
			t.Errorf("another's: %v", err)
		}
		changed, err := cr.Update(alice, made.ID, Update{Tags: &[]string{"web"}})
		if err != nil || changed.Version != 2 || changed.Hash() != made.Hash() ||
			!slices.Equal(changed.NativeTools, []string{"crawl"}) {
			t.Errorf("%+v, %v", changed, err)
		}
		if changed, err = cr.Update(alice, made.ID, Update{WhenToUse: new("to look")}); err != nil ||
			changed.Hash() == made.Hash() {
			t.Errorf("%+v, %v", changed, err)
		}
		for name, err := range map[string]error{
			"find":   func() error { _, err := cr.Find(bob, made.ID); return err }(),
			"update": func() error { _, err := cr.Update(bob, made.ID, Update{}); return err }(),
			"delete": cr.Delete(bob, made.ID),
		} {
			if !errs.Is(err, errs.NotFound) {
				t.Errorf("another's agent, %s: %v", name, err)
			}
		}
		if e := errs.From(cr.Check(bob, "agent_ids", made.ID)); e == nil || e.Kind != errs.Invalid || e.Param != "agent_ids" {
			t.Errorf("another's id: %v", e)
		}
		c, err := account.From(alice)
		if err != nil {
			t.Fatal(err)
		}
		found, missing, err := cr.ForStream(
			t.Context(),
			Stream{TeamID: c.TeamID, UserID: c.UserID, TaskID: "t", ID: "s"},
			true,
			made.ID,
			"none",
			made.ID,
		)
		if err != nil || len(found) != 1 || found[0].WhenToUse != "to look" || !slices.Equal(missing, []string{"none"}) {
			t.Errorf("%+v, %v, %v", found, missing, err)
		}
		if list, err := cr.FindAll(bob); err != nil || len(list) != 1 || list[0].ID == made.ID {
			t.Errorf("%+v, %v", list, err)
		}
		if err := cr.Delete(alice, made.ID); err != nil {
			t.Error(err)
		}
	})
}

func TestBadFieldsAreNamed(t *testing.T) {
	cr, alice, _ := setUp(t, dbtest.Open(t, "sqlite"))
	for want, up := range map[string]Update{
		"name": {}, "description": {Name: new("a"), Description: new(strings.Repeat("x", 2001))},
		"when_to_use":    {Name: new("a"), WhenToUse: new(strings.Repeat("x", 2001))},
		"system_context": {Name: new("a"), SystemContext: new(strings.Repeat("x", 20_001))},
		"tags":           {Name: new("a"), Tags: &[]string{" "}},
		"native_tools":   {Name: new("a"), NativeTools: &[]string{"rm"}},
	} {
		_, err := cr.Create(alice, up)
		if e := errs.From(err); e == nil || e.Kind != errs.Invalid || e.Param != want {
			t.Errorf("%s: %v", want, err)
		}
	}
	if _, err := cr.Create(alice, Update{Name: new("two\nlines")}); !errs.Is(err, errs.Invalid) {
		t.Errorf("two lines are a name: %v", err)
	}
}

// TestAStreamKeepsItsVersion: what a stream began with does not change under it, and another stream has what is new.
func TestAStreamKeepsItsVersion(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		cr, alice, bob := setUp(t, d)
		made, err := cr.Create(alice, Update{Name: new("Scout"), SystemContext: new("first"), Shared: new(true)})
		if err != nil {
			t.Fatal(err)
		}
		c, err := account.From(bob)
		if err != nil {
			t.Fatal(err)
		}
		look := func(stream, want string) {
			t.Helper()
			found, missing, err := cr.ForStream(t.Context(), Stream{c.TeamID, c.UserID, "task", stream}, true, made.ID)
			if err != nil || len(missing) > 0 || found[0].SystemContext != want {
				t.Fatalf("%s: %+v, %v, %v", stream, found, missing, err)
			}
		}
		look("one", "first")
		if _, err := cr.Update(alice, made.ID, Update{SystemContext: new("second")}); err != nil {
			t.Fatal(err)
		}
		look("one", "first")
		look("two", "second")
		uses, err := cr.Uses(bob, "task")
		if err != nil || len(uses) != 2 || uses[0].Version != 1 || uses[1].Version != 2 || uses[0].Hash != made.Hash() {
			t.Errorf("%+v, %v", uses, err)
		}
		if a, err := cr.Find(alice, made.ID); err != nil || a.Uses != 1 || a.Version != 2 {
			t.Errorf("%+v, %v", a, err)
		}
		if _, err := cr.Update(alice, made.ID, Update{Shared: new(false)}); err != nil {
			t.Fatal(err)
		}
		if _, missing, err := cr.ForStream(
			t.Context(),
			Stream{c.TeamID, c.UserID, "task", "three"},
			true,
			made.ID,
		); err != nil ||
			len(missing) != 1 {
			t.Errorf("not shared any more: %v, %v", missing, err)
		}
	})
}
