package notice

import (
	"context"
	"testing"

	"github.com/vedette-sec/vedette/internal/account"
	"github.com/vedette-sec/vedette/internal/db"
	"github.com/vedette-sec/vedette/internal/db/dbtest"
	"github.com/vedette-sec/vedette/internal/queue"
)

func TestMain(m *testing.M) { dbtest.Main(m) }

func TestNoticeIsNotSentTwice(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		accounts, err := account.Open(t.Context(), d, account.Config{})
		if err != nil {
			t.Fatal(err)
		}
		caller := func(email string) context.Context {
			u, err := accounts.CreateUser(t.Context(), account.NewUser{Email: email, Admin: true})
			if err != nil {
				t.Fatal(err)
			}
			return account.WithCaller(t.Context(), account.Caller{UserID: u.ID, TeamID: u.TeamID, Role: u.Role})
		}
		alice, stranger := caller("alice@example.com"), caller("eve@example.com")
		q, err := queue.Open(t.Context(), d, queue.Config{})
		if err != nil {
			t.Fatal(err)
		}
		ns := New(d, q)
		of, _ := account.From(alice)
		n := Notice{TeamID: of.TeamID, Kind: "scan", Subject: "s", Run: 1, Event: "finished", ConfigID: "c", Provider: "slack", Body: []byte(`{"a":1}`)}
		if err := ns.Add(t.Context(), []Notice{n, n}); err != nil {
			t.Fatal(err)
		}
		all, err := ns.FindAll(alice, "scan", "s")
		if err != nil || len(all) != 1 || all[0].State != Waiting {
			t.Fatalf("%+v %v", all, err)
		}
		if seen, err := ns.FindAll(stranger, "scan", "s"); err != nil || len(seen) > 0 {
			t.Error("a stranger sees the notices")
		}
		start := func(want bool) {
			t.Helper()
			got, ok, err := ns.Start(t.Context(), all[0].ID)
			if err != nil || ok != want || ok && (got.TeamID != of.TeamID || got.Provider != "slack" || len(got.Body) == 0) {
				t.Errorf("%+v %v %v", got, ok, err)
			}
		}
		start(true)
		if err := ns.End(t.Context(), nil, all[0].ID, Waiting, "try again"); err != nil {
			t.Fatal(err)
		}
		start(true) // the process dies here, and another takes the job
		start(false)
		if all, err = ns.FindAll(alice, "scan", "s"); err != nil || all[0].State != Failed || all[0].Attempts != 2 || all[0].Note == "" {
			t.Errorf("%+v %v", all, err)
		}
	})
}
