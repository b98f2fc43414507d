package inbox

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/core/account/roster"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/db/dbtest"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/page"
)

func TestMain(m *testing.M) { dbtest.Main(m) }

// Messages are for one person: not for who did it, not for others, and not for longer than 90 days.
func TestMessages(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		accounts, err := account.Open(t.Context(), d, account.Config{DefaultPlan: account.Enterprise})
		if err != nil {
			t.Fatal(err)
		}
		var people []roster.Member
		var ctxs []context.Context
		team := ""
		for _, email := range []string{"alice@example.com", "bob@example.com"} {
			u, err := accounts.CreateUser(t.Context(), account.NewUser{Email: email, Team: "blue"})
			if err != nil {
				t.Fatal(err)
			}
			team = u.TeamID
			people = append(people, roster.Member{UserID: u.ID, Email: email})
			ctxs = append(ctxs, account.WithCaller(t.Context(), account.Caller{UserID: u.ID, Email: email, TeamID: u.TeamID}))
		}
		in, now := New(d, nil, ""), time.Now()
		in.now = func() time.Time { return now }
		post := func(text string) {
			t.Helper()
			if err := d.Tx(t.Context(), func(tx *db.Tx) error {
				return in.Post(t.Context(), tx, team, people, Message{Kind: Assigned, Text: text, Actor: "alice@example.com"})
			}); err != nil {
				t.Fatal(err)
			}
		}
		post("first")
		now = now.Add(89 * 24 * time.Hour)
		post("second")
		all := page.Window{Limit: 10}
		if _, total, _, err := in.Find(ctxs[0], false, all); err != nil || total != 0 {
			t.Errorf("who did it was told: %d, %v", total, err)
		}
		found, total, unread, err := in.Find(ctxs[1], false, all)
		if err != nil || total != 2 || unread != 2 || found[0].Text != "second" {
			t.Fatalf("%+v %d %d, %v", found, total, unread, err)
		}
		if _, err := in.Read(ctxs[0], []string{found[0].ID}); !errs.Is(err, errs.NotFound) {
			t.Errorf("another's: %v", err)
		}
		if n, err := in.Read(ctxs[1], []string{found[0].ID, found[0].ID}); err != nil || n != 1 {
			t.Errorf("%d, %v", n, err)
		}
		if found, _, unread, err = in.Find(ctxs[1], true, all); err != nil || unread != 1 || found[0].Text != "first" {
			t.Errorf("%+v %d, %v", found, unread, err)
		}
		now = now.Add(2 * 24 * time.Hour)
		post("third")
		if _, total, _, err = in.Find(ctxs[1], false, all); err != nil || total != 2 {
			t.Errorf("the first is still there: %d, %v", total, err)
		}
		failed := errors.New("the change failed")
		if err := d.Tx(t.Context(), func(tx *db.Tx) error {
			return errors.Join(failed, in.Post(t.Context(), tx, team, people, Message{Kind: Assigned}))
		}); !errors.Is(err, failed) {
			t.Fatal(err)
		}
		if _, total, _, _ = in.Find(ctxs[1], false, all); total != 2 {
			t.Errorf("a change that failed was told: %d", total)
		}
	})
}
