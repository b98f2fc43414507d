package account

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/db/dbtest"
)

// TestInvitationsKeepNoLinkBack: somebody who invites an address often, or very many addresses, does not keep its owner
// from getting a link for a new password.
func TestInvitationsKeepNoLinkBack(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		a, _ := openWithMail(t, d, Config{})
		_, eve := mustUser(t, a, NewUser{Email: "eve@example.com", Team: "red", Admin: true})
		for range mailsPerAddress + 1 {
			if err := a.Invite(eve, "ada@example.com", Member); err != nil {
				t.Fatal(err)
			}
		}
		link := func(email string) {
			t.Helper()
			u, _ := mustUser(t, a, NewUser{Email: email, Password: "correct-horse"})
			if err := a.sendReset(t.Context(), email); err != nil {
				t.Fatal(err)
			}
			if n, err := count(t.Context(), d, `password_reset WHERE user_id = ?`, u.ID); n != 1 || err != nil {
				t.Errorf("%s got %d links, %v", email, n, err)
			}
		}
		link("ada@example.com")
		for i := range 10_001 { // as many as a quota knows
			a.invitesTo.Take(fmt.Sprintf("p%d@example.com", i), time.Now())
		}
		link("bob@example.com")
	})
}

// TestNewTeamsSendNoMoreMail: what one person's teams mail is bounded, however many teams they make: by inviting in
// each of them, or by default members that each new team invites.
func TestNewTeamsSendNoMoreMail(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		a, mails := openWithMail(t, d, Config{})
		_, eve := mustUser(t, a, NewUser{Email: "eve@example.com", Team: "red", Admin: true})
		var defaults []DefaultMember
		for i := range mailsPerPerson - 10 {
			defaults = append(defaults, DefaultMember{fmt.Sprintf("p%d@example.com", i), Member})
		}
		if err := a.SetDefaultMembers(eve, defaults); err != nil {
			t.Fatal(err)
		}
		var last string
		for i := range 3 {
			id, err := a.CreateTeam(eve, fmt.Sprint("more ", i))
			if err != nil {
				t.Fatal(err)
			}
			last = id
		}
		c, err := From(eve)
		if err != nil {
			t.Fatal(err)
		}
		c.TeamID = last
		if err := a.Invite(WithCaller(t.Context(), c), "one-more@example.com", Member); err != nil {
			t.Fatal(err)
		}
		resetOf := "ada@example.com" // the mail that is sent last
		mustUser(t, a, NewUser{Email: resetOf, Password: "correct-horse"})
		if err := a.sendReset(t.Context(), resetOf); err != nil {
			t.Fatal(err)
		}
		sent := 0
		for m := range mails {
			if m.To[0] == resetOf {
				break
			}
			sent++
		}
		if sent != mailsPerPerson {
			t.Errorf("%d mails were sent, want %d", sent, mailsPerPerson)
		}
	})
}

// TestOfTeamsAtOnceNoMoreThanAllowed: teams that one person makes at once are no more than one after the other.
func TestOfTeamsAtOnceNoMoreThanAllowed(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		a := open(t, d, Config{})
		u, ctx := mustUser(t, a, NewUser{Email: "ada@example.com"})
		for range maxOwned - 2 {
			if _, err := a.CreateTeam(ctx, "more"); err != nil {
				t.Fatal(err)
			}
		}
		var made atomic.Int32
		var group sync.WaitGroup
		for range 16 {
			group.Go(func() {
				if _, err := a.CreateTeam(ctx, "at once"); err == nil {
					made.Add(1)
				} else if code(err) != "too_many_teams" {
					t.Error(err)
				}
			})
		}
		group.Wait()
		owned, err := count(t.Context(), d, `team WHERE owner_id = ?`, u.ID)
		if err != nil || owned != maxOwned || made.Load() != 1 {
			t.Errorf("%d made at once, %d owned, %v", made.Load(), owned, err)
		}
	})
}

// TestLeavingLiftsNoCap: a member's cap, and what they have spent of it, hold while they are out of the team, for work
// that still runs, and when they are in it again, in whatever way they come back.
func TestLeavingLiftsNoCap(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		a := open(t, d, Config{})
		blue, ada := mustUser(t, a, NewUser{Email: "ada@example.com", Team: "blue", Admin: true})
		back := map[string]func(string) error{
			"invited": func(email string) error {
				if err := a.Invite(ada, email, Member); err != nil {
					return err
				}
				id, err := a.userID(t.Context(), email)
				if err != nil {
					return err
				}
				return a.AcceptInvitation(WithCaller(t.Context(), Caller{UserID: id, Email: email}), blue.TeamID)
			},
			"by the operator": func(email string) error {
				_, err := a.AssignRole(t.Context(), email, "blue", "member")
				return err
			},
		}
		for how, join := range back {
			email := fmt.Sprintf("carol%d@example.com", len(how))
			u, _ := mustUser(t, a, NewUser{Email: email, Team: "blue"})
			cents := int64(70)
			if _, err := a.SetCap(ada, email, &cents); err != nil {
				t.Fatal(err)
			}
			if err := d.Tx(t.Context(), func(tx *db.Tx) error {
				return a.Spent(t.Context(), tx, blue.TeamID, u.ID, 60, 60)
			}); err != nil {
				t.Fatal(err)
			}
			held := func(when string) {
				t.Helper()
				caps, err := a.SpendingCaps(context.Background(), d, blue.TeamID, u.ID)
				if err != nil || caps.Team == nil || *caps.Team != cents {
					t.Errorf("%s, %s: %+v, %v", how, when, caps.Team, err)
				}
			}
			if err := a.RemoveMember(ada, email); err != nil {
				t.Fatal(err)
			}
			held("while out")
			if err := join(email); err != nil {
				t.Fatal(err)
			}
			held("back")
			spent, err := db.Value[int64](t.Context(), d, `SELECT spent_cents FROM member WHERE user_id = ?`, u.ID)
			if err != nil || spent != 60 {
				t.Errorf("%s: back with %d spent, %v", how, spent, err)
			}
			if err := a.RemoveMember(ada, email); err != nil {
				t.Fatal(err)
			}
			if err := a.SetDefaultCap(ada, nil, true); err != nil {
				t.Fatal(err)
			}
			caps, err := a.SpendingCaps(t.Context(), d, blue.TeamID, u.ID)
			if err != nil || caps.Team != nil {
				t.Errorf("%s: after an admin has removed all caps: %+v, %v", how, caps, err)
			}
		}
	})
}
