package billing

import (
	"bytes"
	"context"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/db/dbtest"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/ids"
	"pgregory.net/rapid"
)

func TestMain(m *testing.M) { dbtest.Main(m) }

var noon = time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)

type desk struct {
	*Credits
	t   *testing.T
	db  *db.DB
	now time.Time
}

func open(t *testing.T, d *db.DB) *desk {
	t.Helper()
	k := &desk{t: t, db: d, now: noon}
	k.Credits = New(d, func() time.Time { return k.now })
	return k
}

// person makes a member of a team and gives their context.
func (k *desk) person(email, team string) (context.Context, account.Caller) {
	k.t.Helper()
	accounts, err := account.Open(k.t.Context(), k.db, account.Config{})
	if err != nil {
		k.t.Fatal(err)
	}
	u, err := accounts.CreateUser(k.t.Context(), account.NewUser{Email: email, Team: team})
	if err != nil {
		k.t.Fatal(err)
	}
	c := account.Caller{UserID: u.ID, Email: u.Email, TeamID: u.TeamID, Role: u.Role}
	return account.WithCaller(k.t.Context(), c), c
}

func (k *desk) grant(team string, credits float64, expires time.Duration) Grant {
	k.t.Helper()
	n := NewGrant{Team: team, Micros: Micros(credits)}
	if expires > 0 {
		n.ExpiresAt = new(k.now.Add(expires))
	}
	g, err := k.Grant(k.t.Context(), n)
	if err != nil {
		k.t.Fatal(err)
	}
	return g
}

func (k *desk) spend(team string, micros int64) {
	k.t.Helper()
	if err := k.db.Tx(k.t.Context(), func(tx *db.Tx) error {
		return Spend(k.t.Context(), tx, team, micros, k.now)
	}); err != nil {
		k.t.Fatal(err)
	}
}

func (k *desk) check(team string, micros int64) string {
	k.t.Helper()
	err := k.db.Tx(k.t.Context(), func(tx *db.Tx) error { return Check(k.t.Context(), tx, team, micros, k.now) })
	if err == nil {
		return ""
	}
	return errs.From(err).Code
}

func TestCreditsAreUsedInTheOrderOfTheirExpiry(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		k := open(t, d)
		ctx, c := k.person("ada@example.com", "blue")
		_, other := k.person("eve@example.com", "red")
		if got := k.check(c.TeamID, math.MaxInt64); got != "" {
			t.Errorf("a team without grants is bounded: %s", got)
		}
		forever, late, soon := k.grant("blue", 10, 0), k.grant("blue", 5, 48*time.Hour), k.grant("blue", 2, time.Hour)
		k.grant("red", 1, 0)
		k.spend(c.TeamID, Micros(6))
		used := func() (out []int64) {
			grants, err := k.Grants(ctx)
			if err != nil {
				t.Fatal(err)
			}
			for _, id := range []string{soon.ID, late.ID, forever.ID} {
				i := slices.IndexFunc(grants, func(g Grant) bool { return g.ID == id })
				out = append(out, grants[i].Used/MicrosPerCredit)
			}
			return out
		}
		if got := used(); !slices.Equal(got, []int64{2, 4, 0}) {
			t.Errorf("used %v", got)
		}
		b, err := k.Balance(ctx)
		if err != nil || b.Issued != Micros(17) || b.Used != Micros(6) || b.Available != Micros(11) || !b.ExpiresAt.Equal(noon.Add(48*time.Hour)) {
			t.Errorf("%+v, %v", b, err)
		}
		if k.check(c.TeamID, Micros(11)) != "" || k.check(c.TeamID, Micros(11)+1) != CodeExhausted || k.check(other.TeamID, Micros(1)) != "" {
			t.Error("what is left does not bound calls, or another team's does")
		}
		k.now = noon.Add(48 * time.Hour) // then it has expired
		if k.check(c.TeamID, Micros(10)) != "" || k.check(c.TeamID, Micros(10)+1) != CodeExhausted {
			t.Error("expired credits count")
		}
		if g, err := k.Revoke(ctx, forever.ID); err != nil || g.RevokedAt == nil {
			t.Errorf("%+v, %v", g, err)
		}
		if got := k.check(c.TeamID, 0); got != CodeExhausted {
			t.Errorf("without credits a free call is made: %q", got)
		}
		k.spend(c.TeamID, Micros(3)) // of a call that was under way
		if b, err := k.Balance(ctx); err != nil || b.Available != 0 || b.Used != Micros(6) || b.Issued != Micros(7) || !b.Expired {
			t.Errorf("%+v, %v", b, err)
		}
	})
}

func TestGrantsAreRefused(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		k := open(t, d)
		k.person("ada@example.com", "blue")
		for _, n := range []NewGrant{
			{Team: "blue"}, {Team: "blue", Micros: -1}, {Team: "blue", Micros: Micros(math.NaN())}, {Team: "blue", Micros: Micros(math.Inf(1))},
			{Team: "blue", Micros: 1, Note: strings.Repeat("x", 201)}, {Team: "blue", Micros: 1, Note: "\x00"},
			{Team: "blue", Micros: 1, ExpiresAt: &noon},
		} {
			if _, err := k.Grant(t.Context(), n); !errs.Is(err, errs.Invalid) {
				t.Errorf("%+v: %v", n, err)
			}
		}
		for _, team := range []string{"", "nobody", "\x00"} {
			if _, err := k.Grant(t.Context(), NewGrant{Team: team, Micros: 1}); !errs.Is(err, errs.NotFound) {
				t.Errorf("%q: %v", team, err)
			}
		}
		if _, err := k.Revoke(t.Context(), ids.New()); !errs.Is(err, errs.NotFound) {
			t.Error(err)
		}
	})
}

// TestNoCreditIsUsedTwice: whatever is granted and spent, no grant gives more than it has, and together they give
// what was spent or all there was.
func TestNoCreditIsUsedTwice(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		k := open(t, d)
		n := 0
		rapid.Check(t, func(r *rapid.T) {
			n++
			team := "team" + ids.New()
			ctx, c := k.person(ids.New()+"@example.com", team)
			k.now = noon
			var issued, spent int64
			for range rapid.IntRange(0, 4).Draw(r, "grants") {
				amount := rapid.Int64Range(1, 50).Draw(r, "micros")
				if _, err := k.Grant(ctx, NewGrant{Team: c.TeamID, Micros: amount}); err != nil {
					r.Fatal(err)
				}
				issued += amount
			}
			for range rapid.IntRange(0, 5).Draw(r, "calls") {
				cost := rapid.Int64Range(0, 60).Draw(r, "cost")
				k.spend(c.TeamID, cost)
				spent += cost
			}
			b, err := k.Balance(ctx)
			if err != nil || b.Used != min(spent, issued) || b.Available != issued-b.Used {
				r.Fatalf("issued %d, spent %d: %+v, %v", issued, spent, b, err)
			}
		})
	})
}

func TestStatement(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		k := open(t, d)
		ctx, c := k.person("ada@example.com", "blue")
		_, eve := k.person("eve@example.com", "red")
		k.grant("blue", 3, 0)
		call := func(team, user, task, key string, byok bool, spent any, at time.Time) {
			if _, err := d.Exec(t.Context(), `INSERT INTO reservation (task_id, key, team_id, user_id, byok, reserved, spent, created_at, settled_at)
				VALUES (?, ?, ?, ?, ?, 1, ?, ?, ?)`, task, key, team, user, byok, spent, db.At(at), db.At(at)); err != nil {
				t.Fatal(err)
			}
		}
		call(c.TeamID, c.UserID, "one", "1", false, 1_500_000, noon)
		call(c.TeamID, c.UserID, "one", "2", false, 250_000, noon)
		call(c.TeamID, c.UserID, "two", "1", false, 2_000_000, noon)
		call(c.TeamID, c.UserID, "two", "2", true, 9_000_000, noon) // with a key of their own
		call(c.TeamID, c.UserID, "two", "3", false, nil, noon)      // under way
		call(c.TeamID, c.UserID, "two", "4", false, 7, noon.Add(24*time.Hour))
		call(eve.TeamID, eve.UserID, "three", "1", false, 5_000_000, noon)
		from, to := noon.Add(-time.Hour), noon.Add(time.Hour)
		st, err := k.Statement(ctx, from, to)
		if err != nil || st.Total != 3_750_000 || st.Team != "blue" || len(st.Grants) != 1 {
			t.Fatalf("%+v, %v", st, err)
		}
		want := []Part{{"two", "", 1, 2_000_000}, {"one", "", 2, 1_750_000}}
		if !slices.Equal(st.Parts[ByTask], want) {
			t.Errorf("%+v", st.Parts[ByTask])
		}
		if got := st.Parts[ByMember]; !slices.Equal(got, []Part{{c.UserID, "ada@example.com", 3, 3_750_000}}) {
			t.Errorf("%+v", got)
		}
		if got := st.Parts[ByProject]; !slices.Equal(got, []Part{{"", "", 3, 3_750_000}}) {
			t.Errorf("%+v", got)
		}
		var out bytes.Buffer
		if err := st.WriteCSV(&out); err != nil || !strings.Contains(out.String(), "task,one,,2,1.75,,\n") || strings.Contains(out.String(), "three") {
			t.Errorf("%s, %v", out.String(), err)
		}
		member := account.WithCaller(t.Context(), account.Caller{UserID: c.UserID, TeamID: eve.TeamID, Role: account.Member})
		for what, err := range map[string]error{"statement": second(k.Statement(member, from, to)), "grants": second(k.Grants(member)),
			"balance": second(k.Balance(member)), "parts": second(k.Consumption(member, ByTask, from, to))} {
			if !errs.Is(err, errs.Forbidden) {
				t.Errorf("a member of a larger team sees the %s: %v", what, err)
			}
		}
		if _, err := k.Consumption(ctx, ByTask, to, from); !errs.Is(err, errs.Invalid) {
			t.Error(err)
		}
	})
}

func second[T any](_ T, err error) error { return err }

func TestDisplay(t *testing.T) {
	for micros, want := range map[int64]string{0: "0.00", 1: "0.000001", 1_500_000: "1.50", 12_345_670: "12.34567"} {
		if got := Display(micros); got != want {
			t.Errorf("%d: %s", micros, got)
		}
	}
}
