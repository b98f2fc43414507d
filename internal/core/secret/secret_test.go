package secret

import (
	"context"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/core/project"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/db/dbtest"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/seal"
)

func TestMain(m *testing.M) { dbtest.Main(m) }

func setUp(t *testing.T, d *db.DB) (s *Secrets, alice, bob context.Context) {
	t.Helper()
	box, err := seal.Open(filepath.Join(t.TempDir(), "key"))
	if err != nil {
		t.Fatal(err)
	}
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
	return New(d, box), person("alice@example.com"), person("bob@example.com")
}

func TestSecretReachesOnlyTasksThatMayUseIt(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		s, alice, bob := setUp(t, d)
		shop, err := project.New(d).Create(alice, project.NewProject{})
		if err != nil {
			t.Fatal(err)
		}
		var always Secret
		for _, n := range []NewSecret{
			{Name: "NAMED", Value: "value-of-named-\xe2\x82\xac-0123"}, {Name: "ALWAYS", Value: "x", DefaultAvailable: true},
			{Name: "OTHER", Value: "y"},
			{Name: "NAMED", Value: "of the project", ProjectID: shop.ID},
		} {
			made, err := s.Create(alice, n)
			if err != nil {
				t.Fatal(err)
			}
			if strings.Contains(made.MaskedValue, n.Value) {
				t.Errorf("%s is shown: %s", n.Name, made.MaskedValue)
			}
			if n.DefaultAvailable {
				always = made
			}
		}
		if _, err := s.Create(alice, NewSecret{Name: "NAMED", Value: "again"}); !errs.Is(err, errs.Conflict) {
			t.Errorf("a second one: %v", err)
		}
		var sealed []byte
		if err := d.QueryRow(t.Context(), `SELECT sealed FROM secret WHERE name = 'OTHER'`).Scan(&sealed); err != nil ||
			len(sealed) < 16 {
			t.Errorf("at rest it is %q, %v", sealed, err)
		}
		c, err := account.From(alice)
		if err != nil {
			t.Fatal(err)
		}
		values, missing, err := s.ForTask(t.Context(), c.TeamID, c.UserID, "", []string{"NAMED", "NONE", "NONE"})
		if err != nil || !maps.Equal(values, map[string]string{"NAMED": "value-of-named-€-0123", "ALWAYS": "x"}) ||
			!slices.Equal(missing, []string{"NONE"}) {
			t.Errorf("%v, %v, %v", values, missing, err)
		}
		if values, _, err = s.ForTask(t.Context(), c.TeamID, c.UserID, shop.ID, []string{"NAMED"}); err != nil ||
			values["NAMED"] != "of the project" {
			t.Errorf("in the project: %v, %v", values, err)
		}
		if list, err := s.FindAll(bob, ""); err != nil || len(list) != 0 {
			t.Errorf("bob sees %v, %v", list, err)
		}
		no := false
		if _, err := s.Update(bob, always.ID, &no); !errs.Is(err, errs.NotFound) {
			t.Errorf("bob changes it: %v", err)
		}
		if err := s.Delete(bob, always.ID); !errs.Is(err, errs.NotFound) {
			t.Errorf("bob deletes it: %v", err)
		}
		if got, err := s.Update(alice, always.ID, &no); err != nil || got.DefaultAvailable {
			t.Errorf("%+v, %v", got, err)
		}
		if values, _, err = s.ForTask(t.Context(), c.TeamID, c.UserID, "", nil); err != nil || len(values) != 0 {
			t.Errorf("a task that names none is given %v, %v", values, err)
		}
		if err := s.Delete(alice, always.ID); err != nil {
			t.Fatal(err)
		}
		list, err := s.FindAll(alice, "")
		if err != nil || len(list) != 2 || list[0].MaskedValue != "val••••••••0123" ||
			list[1].MaskedValue != "••••••••" {
			t.Errorf("%+v, %v", list, err)
		}
	})
}

func TestNamesAndValuesHaveTheirForm(t *testing.T) {
	s, alice, _ := setUp(t, dbtest.Open(t, "sqlite"))
	for _, n := range []NewSecret{
		{Name: "", Value: "x"}, {Name: "lower", Value: "x"}, {Name: "1A", Value: "x"}, {Name: "A B", Value: "x"},
		{Name: "A\n", Value: "x"}, {Name: strings.Repeat("A", 129), Value: "x"},
		{Name: "A", Value: ""}, {Name: "A", Value: strings.Repeat("€", 10_001)},
	} {
		if _, err := s.Create(alice, n); !errs.Is(err, errs.Invalid) {
			t.Errorf("%.40q is taken: %v", n.Name, err)
		}
	}
	if _, err := s.Create(alice, NewSecret{Name: strings.Repeat("A", 128),
		Value: strings.Repeat("€", 10_000)}); err != nil {
		t.Error(err)
	}
}

// TestValuesOfATeam: they are those of all its members, and of no other team.
func TestValuesOfATeam(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		s, alice, bob := setUp(t, d)
		for ctx, value := range map[context.Context]string{alice: "of alice", bob: "of bob"} {
			if _, err := s.Create(ctx, NewSecret{Name: "KEY", Value: value}); err != nil {
				t.Fatal(err)
			}
		}
		c, err := account.From(alice)
		if err != nil {
			t.Fatal(err)
		}
		values, err := s.OfTeam(t.Context(), c.TeamID)
		if slices.Sort(values); err != nil || !slices.Equal(values, []string{"of alice", "of bob"}) {
			t.Errorf("%q, %v", values, err)
		}
		if values, err := s.OfTeam(t.Context(), "another"); err != nil || len(values) > 0 {
			t.Errorf("%q, %v", values, err)
		}
	})
}
