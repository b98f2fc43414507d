package notification

import (
	"context"
	"testing"
	"time"

	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/db/dbtest"
	"github.com/vedette-sec/vedette/internal/infra/page"
	"github.com/vedette-sec/vedette/internal/infra/queue"
)

func TestMain(m *testing.M) { dbtest.Main(m) }

// open makes the service with a clock that a test moves, and people of two teams.
func open(t *testing.T, d *db.DB) (ns *Notifications, clock *time.Time, alice, stranger context.Context) {
	t.Helper()
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
	q, err := queue.Open(t.Context(), d, queue.Config{})
	if err != nil {
		t.Fatal(err)
	}
	ns, at := New(d, q), time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	ns.now = func() time.Time { return at }
	return ns, &at, caller("alice@example.com"), caller("eve@example.com")
}

func (ns *Notifications) list(t *testing.T, ctx context.Context, f Filter) []Notification {
	t.Helper()
	found, total, err := ns.Find(ctx, f, page.Window{Limit: 100})
	if err != nil || total != len(found) {
		t.Fatalf("%d of %d: %v", len(found), total, err)
	}
	return found
}

// What is sent is sent once, and again where nobody knows whether it arrived.
func TestNoticeIsSentAgainOnlyAfterAKill(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		ns, _, alice, _ := open(t, d)
		of, _ := account.From(alice)
		n := Notification{TeamID: of.TeamID, Kind: OfScan, Subject: "s", Run: 1, Event: "finished", ConfigID: "c",
			Provider: "slack", Body: []byte(`{"a":1}`)}
		if err := ns.Add(t.Context(), []Notification{n, n}); err != nil {
			t.Fatal(err)
		}
		all := ns.list(t, alice, Filter{})
		if len(all) != 1 || all[0].State != Waiting {
			t.Fatalf("%+v", all)
		}
		start := func(want, twice bool) {
			t.Helper()
			got, ok, err := ns.Start(t.Context(), all[0].ID)
			if err != nil || ok != want || ok &&
				(got.TeamID != of.TeamID || got.Provider != "slack" || len(got.Body) == 0 || got.MaybeTwice != twice) {
				t.Errorf("%+v %v %v", got, ok, err)
			}
		}
		end := func(state State, note string) {
			t.Helper()
			if err := ns.End(t.Context(), nil, all[0].ID, state, note); err != nil {
				t.Fatal(err)
			}
		}
		start(true, false)
		end(Waiting, "try again")
		start(true, false) // the process dies here, and another takes the job
		start(true, true)
		end(Waiting, "try again")
		start(true, true) // still, nobody knows
		end(Sent, "")
		start(false, false)
		if got := ns.list(t, alice, Filter{})[0]; got.State != Sent || got.Attempts != 4 || !got.MaybeTwice ||
			got.Note != "" {
			t.Errorf("%+v", got)
		}
	})
}

func TestLogPicksAndPages(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		ns, clock, alice, stranger := open(t, d)
		of, _ := account.From(alice)
		began := *clock
		for i, n := range []Notification{
			{Kind: OfScan, Subject: "s", Event: "running", ConfigID: "c"},
			{Kind: OfScan, Subject: "s", Event: "finished", ConfigID: "d"},
			{Kind: OfEnumeration, Subject: "e", Event: "finished", ConfigID: "c"},
			{Kind: OfPolicy, Subject: "event", PolicyID: "p", Event: "new_asset", ConfigID: "c"},
		} {
			n.TeamID, n.Run, n.Provider, n.Body = of.TeamID, 1, "slack", []byte("{}")
			*clock = began.Add(time.Duration(i) * time.Hour)
			if err := ns.Add(t.Context(), []Notification{n}); err != nil {
				t.Fatal(err)
			}
		}
		if err := ns.End(t.Context(), nil, ns.list(t, alice, Filter{Subject: "e"})[0].ID, Failed, "no"); err != nil {
			t.Fatal(err)
		}
		for name, c := range map[string]struct {
			f    Filter
			want string // subjects, the newest first
		}{
			"all":        {Filter{}, "event e s s "},
			"a config":   {Filter{ConfigID: "d"}, "s "},
			"an event":   {Filter{Event: "finished"}, "e s "},
			"a scan":     {Filter{Subject: "s"}, "s s "},
			"a policy":   {Filter{Subject: "p"}, "event "},
			"no subject": {Filter{Subject: "event"}, ""},
			"states":     {Filter{States: []State{Failed, Dropped}}, "e "},
			"a time":     {Filter{Since: began.Add(time.Hour), Until: began.Add(3 * time.Hour)}, "e s "},
			"both":       {Filter{ConfigID: "c", Event: "finished"}, "e "},
		} {
			got := ""
			for _, n := range ns.list(t, alice, c.f) {
				got += n.Subject + " "
			}
			if got != c.want {
				t.Errorf("%s: %q, want %q", name, got, c.want)
			}
		}
		found, total, err := ns.Find(alice, Filter{}, page.Window{Offset: 1, Limit: 2})
		if err != nil || total != 4 || len(found) != 2 || found[0].Subject != "e" ||
			!found[0].CreatedAt.Equal(began.Add(2*time.Hour)) || found[0].Note != "no" {
			t.Errorf("%+v of %d: %v", found, total, err)
		}
		if len(ns.list(t, stranger, Filter{})) > 0 {
			t.Error("a stranger sees the notices")
		}
	})
}
