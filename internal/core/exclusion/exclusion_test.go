package exclusion_test

import (
	"context"
	"testing"

	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/core/exclusion"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/db/dbtest"
	"github.com/vedette-sec/vedette/internal/infra/errs"
)

func TestMain(m *testing.M) { dbtest.Main(m) }

func TestRulesAreTheTeams(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		accounts, err := account.Open(t.Context(), d, account.Config{})
		if err != nil {
			t.Fatal(err)
		}
		as := func(email string) context.Context {
			u, err := accounts.CreateUser(t.Context(), account.NewUser{Email: email, Password: "correct horse battery"})
			if err != nil {
				t.Fatal(err)
			}
			return account.WithCaller(t.Context(), account.Caller{UserID: u.ID, TeamID: u.TeamID, Role: account.Admin})
		}
		es, ada, bob := exclusion.New(d), as("ada@a.example"), as("bob@b.example")
		for range 2 { // the second time nothing is added
			if err := es.Add(ada, exclusion.Target, []string{" *.a.example", "10.0.0.0/8"}, nil, nil); err != nil {
				t.Fatal(err)
			}
		}
		rules, err := es.FindAll(ada)
		if err != nil || len(rules) != 2 || rules[0].Value != "*.a.example" {
			t.Fatalf("%+v, %v", rules, err)
		}
		if foreign, err := es.FindAll(bob); err != nil || len(foreign) != 0 {
			t.Errorf("another team sees %+v, %v", foreign, err)
		}
		if err := es.Delete(bob, []int64{rules[0].ID}); !errs.Is(err, errs.NotFound) {
			t.Errorf("another team deletes a rule: %v", err)
		}
		for kind, wrong := range map[exclusion.Type]string{exclusion.Target: "a b", exclusion.EnumerationTarget: "http://x/y", exclusion.Template: " "} {
			if err := es.Add(ada, kind, []string{"fine", wrong}, nil, nil); errs.From(err) == nil || errs.From(err).Param != "values" {
				t.Errorf("%s %q: %v", kind, wrong, err)
			}
		}
		if err := es.Delete(ada, []int64{rules[0].ID, 99}); !errs.Is(err, errs.NotFound) {
			t.Errorf("a rule that is not there: %v", err)
		}
		if rules, err := es.FindAll(ada); err != nil || len(rules) != 2 {
			t.Errorf("what was refused changed something: %+v, %v", rules, err)
		}
	})
}
