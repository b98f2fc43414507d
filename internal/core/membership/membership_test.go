package membership

import (
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/core/audit"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/db/dbtest"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/ids"
)

func TestMain(m *testing.M) { dbtest.Main(m) }

type room struct {
	*Members
	t        *testing.T
	accounts *account.Accounts
}

func open(t *testing.T, d *db.DB) *room {
	t.Helper()
	accounts, err := account.Open(t.Context(), d, account.Config{})
	if err != nil {
		t.Fatal(err)
	}
	log := audit.New(d, nil, 0, time.Now, slog.New(slog.DiscardHandler))
	return &room{New(d, accounts, log, "https://vedette.example.com/"), t, accounts}
}

func (r *room) person(n account.NewUser) (context.Context, account.Caller) {
	r.t.Helper()
	u, err := r.accounts.CreateUser(r.t.Context(), n)
	if err != nil {
		r.t.Fatal(err)
	}
	c := account.Caller{UserID: u.ID, Email: u.Email, TeamID: u.TeamID, Role: u.Role, Plan: account.Enterprise}
	return account.WithCaller(r.t.Context(), c), c
}

func TestInvitations(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		r := open(t, d)
		ada, a := r.person(account.NewUser{Email: "ada@example.com"})
		bob, b := r.person(account.NewUser{Email: "bob@example.com"})
		eve, _ := r.person(account.NewUser{Email: "eve@example.com"})
		cents := int64(700)
		i, err := r.Invite(ada, Terms{Email: "Bob@example.com", Role: account.Viewer, CapCents: &cents, Restricted: true})
		if err != nil || i.Status != Pending || i.Link != "https://vedette.example.com/settings/account?invitation="+i.Token {
			t.Fatalf("%+v, %v", i, err)
		}
		if n, err := db.Value[int](ada, d, `SELECT count(*) FROM invitation WHERE token_hash LIKE ?`, "%"+i.Token+"%"); n != 0 || err != nil {
			t.Errorf("the token itself is stored: %d, %v", n, err)
		}
		for _, token := range []string{i.Token, "", strings.Repeat("x", tokenLength), i.Token + "x"} {
			if _, _, err := r.Accept(eve, token); !errs.Is(err, errs.NotFound) {
				t.Errorf("eve takes %q: %v", token, err)
			}
		}
		m, team, err := r.Accept(bob, i.Token)
		if err != nil || team != a.TeamID || m.Role != account.Viewer || *m.CapCents != 700 || !m.Restricted || m.Billable ||
			m.InvitedBy != "ada@example.com" || m.Status != Active {
			t.Errorf("%+v, %v", m, err)
		}
		if err := CheckBillable(ada, d, a.TeamID, b.UserID); errs.From(err) == nil || errs.From(err).Code != CodeNotBillable {
			t.Errorf("the server's models are paid for bob: %v", err)
		}
		if err := CheckBillable(ada, d, b.TeamID, b.UserID); err != nil {
			t.Errorf("in his own team: %v", err)
		}
		if m, err = r.SetAccess(ada, "bob@example.com", Access{Billable: new(true)}); err != nil || !m.Billable || !m.Restricted {
			t.Errorf("%+v, %v", m, err)
		}
		guest := account.WithCaller(t.Context(), account.Caller{UserID: b.UserID, Email: b.Email, TeamID: a.TeamID, Role: account.Guest})
		if _, err := r.FindAll(guest); !errs.Is(err, errs.Forbidden) {
			t.Error(err)
		}
		for what, call := range map[string]func(context.Context) error{
			"invite": func(ctx context.Context) error {
				_, err := r.Invite(ctx, Terms{Email: "x@example.com", Role: account.Viewer})
				return err
			},
			"role": func(ctx context.Context) error {
				_, err := r.SetRole(ctx, "ada@example.com", account.Viewer)
				return err
			},
			"access": func(ctx context.Context) error { _, err := r.SetAccess(ctx, "ada@example.com", Access{}); return err },
			"join":   func(ctx context.Context) error { return r.SetAutoJoin(ctx, false) },
		} {
			if err := call(guest); !errs.Is(err, errs.Forbidden) {
				t.Errorf("a guest may %s: %v", what, err)
			}
		}
		if _, err := r.SetAccess(eve, "bob@example.com", Access{}); !errs.Is(err, errs.NotFound) {
			t.Errorf("in another team: %v", err)
		}
	})
}

func TestJoiningByDomain(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		r := open(t, d)
		ada, a := r.person(account.NewUser{Email: "ada@corp.example"})
		if err := r.SetAutoJoin(ada, true); !errs.Is(err, errs.Conflict) {
			t.Errorf("without a domain: %v", err)
		}
		now := db.At(time.Now())
		add := func(team, domain, status string) {
			if _, err := d.Exec(ada, `INSERT INTO domain (id, team_id, domain, type, token, status, created_at, updated_at, next_look_at)
				VALUES (?, ?, ?, 'dns', 't', ?, ?, ?, ?)`, ids.New(), team, domain, status, now, now, now); err != nil {
				t.Fatal(err)
			}
		}
		add(a.TeamID, "corp.example", "verified")
		add(a.TeamID, "claimed.example", "pending")
		if err := r.SetAutoJoin(ada, true); err != nil {
			t.Fatal(err)
		}
		for email, want := range map[string]int{"bob@corp.example": 1, "eve@claimed.example": 0, "eve@sub.corp.example": 0, "eve@xcorp.example": 0} {
			ctx, c := r.person(account.NewUser{Email: email})
			for _, n := range []int{want, 0} { // and not twice
				if joined, err := r.JoinByDomain(ctx, c, "::1"); err != nil || len(joined) != n {
					t.Errorf("%s joins %q, %v", email, joined, err)
				}
			}
		}
		ctx, c := r.person(account.NewUser{Email: "robot@corp.example", Service: true})
		if joined, err := r.JoinByDomain(ctx, c, "::1"); err != nil || len(joined) != 0 {
			t.Errorf("a program joins %q, %v", joined, err)
		}
		if l, err := r.SetLimits(ada, a.TeamID, Change{Set: true, MaxMembers: new(2)}); err != nil || *l.MaxMembers != 2 {
			t.Errorf("%+v, %v", l, err)
		}
		ctx, c = r.person(account.NewUser{Email: "dan@corp.example"})
		if joined, err := r.JoinByDomain(ctx, c, "::1"); err != nil || len(joined) != 0 {
			t.Errorf("a full team takes %q, %v", joined, err)
		}
		if _, err := d.Exec(ada, `UPDATE domain SET status = 'expired' WHERE team_id = ?`, a.TeamID); err != nil {
			t.Fatal(err)
		}
		if _, err := r.SetLimits(ada, a.TeamID, Change{Set: true}); err != nil {
			t.Fatal(err)
		}
		if joined, err := r.JoinByDomain(ctx, c, "::1"); err != nil || len(joined) != 0 {
			t.Errorf("by a domain that is not proved any more: %q, %v", joined, err)
		}
		for _, change := range []Change{{Set: true, MaxMembers: new(0)}, {Set: true, MaxMembers: new(MostMembers + 1)}} {
			if _, err := r.SetLimits(ada, a.TeamID, change); !errs.Is(err, errs.Invalid) {
				t.Error(err)
			}
		}
	})
}
