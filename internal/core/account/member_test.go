package account

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/db/dbtest"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"pgregory.net/rapid"
)

// in is a user's context in a team, as a door would make it; it fails as the door would.
func in(t testing.TB, a *Accounts, u User, teamID string) context.Context {
	t.Helper()
	c, err := a.InTeam(t.Context(), Caller{UserID: u.ID}, teamID)
	if err != nil {
		t.Fatal(err)
	}
	return WithCaller(t.Context(), c)
}

// who are the members of a team as words, such as ada:admin.
func who(t testing.TB, a *Accounts, ctx context.Context) []string {
	t.Helper()
	found, err := a.FindMembers(ctx)
	if err != nil {
		t.Fatal(err)
	}
	out := []string{}
	for _, m := range found {
		word := m.Email[:3] + ":" + string(m.Role)
		if m.Owner {
			word += ":owner"
		}
		if m.Pending {
			word += ":pending"
		}
		out = append(out, word)
	}
	return out
}

func wantMembers(t testing.TB, a *Accounts, ctx context.Context, want ...string) {
	t.Helper()
	if got := who(t, a, ctx); !slices.Equal(got, want) {
		t.Errorf("members %q, want %q", got, want)
	}
}

func code(err error) string {
	if err == nil {
		return ""
	}
	return errs.From(err).Code
}

func TestInvitedAreMembersOnceTheyAccept(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		a := open(t, d, Config{})
		ada, ctx := mustUser(t, a, NewUser{Email: "ada@example.com", Team: "blue", Admin: true})
		_, red := mustUser(t, a, NewUser{Email: "eve@example.com", Team: "red", Admin: true})
		for _, c := range []context.Context{ctx, red} {
			if err := a.Invite(c, "New@example.com", Viewer); err != nil {
				t.Fatal(err)
			}
		}
		if err := a.Invite(ctx, "new@example.com", Guest); err != nil {
			t.Errorf("a second invitation: %v", err)
		}
		wantMembers(t, a, ctx, "ada:admin:owner", "new:guest:pending")
		fresh, news := mustUser(t, a, NewUser{Email: "new@example.com"})
		wantMembers(t, a, ctx, "ada:admin:owner", "new:guest:pending")
		found, err := a.FindInvitations(news)
		if err != nil || len(found) != 2 || found[0].TeamID != ada.TeamID || found[0].Role != Guest {
			t.Errorf("the invitations: %+v, %v", found, err)
		}
		for i, want := range []string{"", "invitation_not_found"} {
			if err := a.AcceptInvitation(news, ada.TeamID); code(err) != want {
				t.Errorf("acceptance %d: %v", i+1, err)
			}
			eves, err := From(red)
			if err != nil {
				t.Fatal(err)
			}
			if err := a.DeclineInvitation(news, eves.TeamID); code(err) != want {
				t.Errorf("refusal %d: %v", i+1, err)
			}
		}
		wantMembers(t, a, ctx, "ada:admin:owner", "new:guest")
		wantMembers(t, a, red, "eve:admin:owner")
		c, err := a.caller(t.Context(), "u.id = ?", fresh.ID)
		if err != nil || c.TeamID != fresh.TeamID || c.TeamID == ada.TeamID {
			t.Errorf("they act in %+v, %v; not in the team they came with", c, err)
		}
		// Who joins a team in which they are invited is in it once, as what they joined as.
		if err := a.Invite(ctx, "may@example.com", Viewer); err != nil {
			t.Fatal(err)
		}
		mustUser(t, a, NewUser{Email: "may@example.com", Team: "blue"})
		wantMembers(t, a, ctx, "ada:admin:owner", "new:guest", "may:member")
		// Who has an account is no member before they accept, either.
		mustUser(t, a, NewUser{Email: "old@example.com"})
		if err := a.Invite(ctx, "old@example.com", Member); err != nil {
			t.Fatal(err)
		}
		wantMembers(t, a, ctx, "ada:admin:owner", "new:guest", "may:member", "old:member:pending")
	})
}

func TestPlanBoundsATeam(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		a := open(t, d, Config{})
		u, _ := mustUser(t, a, NewUser{Email: "ada@example.com", Admin: true})
		if _, err := d.Exec(t.Context(), `UPDATE team SET plan = ?`, Free); err != nil {
			t.Fatal(err)
		}
		ctx := in(t, a, u, u.TeamID)
		ctx = WithCaller(ctx, Caller{UserID: u.ID, Email: u.Email, TeamID: u.TeamID, Role: Admin, Plan: Free})
		for i, want := range []string{"", "", "team_full"} {
			if err := a.Invite(ctx, fmt.Sprintf("m%d@example.com", i), Member); code(err) != want {
				t.Errorf("member %d: %v, want %q", i+2, err, want)
			}
		}
		wantMembers(t, a, ctx, "ada:admin:owner", "m0@:member:pending", "m1@:member:pending")
		list := []DefaultMember{{"a@example.com", Member}, {"A@example.com", Viewer}, {"b@example.com", Viewer}}
		if err := a.SetDefaultMembers(ctx, list); err != nil {
			t.Errorf("two default members besides the owner: %v", err)
		}
		if err := a.SetDefaultMembers(ctx, append(list, DefaultMember{"c@example.com", Member})); !errs.Is(err,
			errs.Invalid) {
			t.Errorf("three: %v", err)
		}
		if got, err := a.FindDefaultMembers(ctx); err != nil || !slices.Equal(got, []DefaultMember{list[0], list[2]}) {
			t.Errorf("the list is %+v, %v", got, err)
		}
	})
}

// TestTeamOfAPlainMember: a team that an earlier release made for somebody who is no admin has no owner in effect until
// an admin is in it.
func TestTeamOfAPlainMember(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		a := open(t, d, Config{})
		bob, bobs := mustUser(t, a, NewUser{Email: "bob@example.com", Team: "blue"})
		wantMembers(t, a, bobs, "bob:admin:owner") // as they are made now
		if _, err := d.Exec(t.Context(), `UPDATE member SET role = ? WHERE user_id = ?`, Member, bob.ID); err != nil {
			t.Fatal(err)
		}
		wantMembers(t, a, bobs, "bob:member")
		ada, adas := mustUser(t, a, NewUser{Email: "ada@example.com", Team: "blue", Admin: true})
		wantMembers(t, a, adas, "bob:member", "ada:admin")
		if err := a.SetRole(adas, "ada@example.com", Member); code(err) != "last_admin" {
			t.Errorf("the last admin is demoted: %v", err)
		}
		if err := a.RemoveMember(adas, "ada@example.com"); code(err) != "last_team" {
			t.Errorf("ada leaves her only team: %v", err)
		}
		if _, err := a.CreateTeam(adas, "other"); err != nil {
			t.Fatal(err)
		}
		if err := a.RemoveMember(adas, "ada@example.com"); code(err) != "last_admin" {
			t.Errorf("the last admin leaves: %v", err)
		}
		if err := a.RemoveMember(adas, "bob@example.com"); err != nil {
			t.Fatal(err)
		}
		wantMembers(t, a, adas, "ada:admin:owner")
		if _, err := a.InTeam(t.Context(), Caller{UserID: bob.ID}, ada.TeamID); !errs.Is(err, errs.Forbidden) {
			t.Errorf("bob is in still: %v", err)
		}
	})
}

func TestRemovedMemberIsOutOnEveryNode(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		a, other := open(t, d, Config{}), open(t, d, Config{})
		_, adas := mustUser(t, a, NewUser{Email: "ada@example.com", Team: "blue", Admin: true})
		bob, bobs := mustUser(t, a, NewUser{Email: "bob@example.com", Team: "blue"})
		key, err := a.CreateKey(bobs)
		if err != nil {
			t.Fatal(err)
		}
		token, err := a.IssueToken(t.Context(), bob.Email)
		if err != nil {
			t.Fatal(err)
		}
		for _, step := range []struct {
			do   func() error
			role Role // afterwards; empty: none
		}{
			{func() error { return nil }, Member},
			{func() error { return a.SetRole(adas, bob.Email, Viewer) }, Viewer},
			{func() error { return a.RemoveMember(adas, bob.Email) }, ""},
			{func() error { _, err := a.AssignRole(t.Context(), bob.Email, bob.TeamID, "guest"); return err }, Guest},
		} {
			if err := step.do(); err != nil {
				t.Fatal(err)
			}
			for name, by := range map[string]func() (Caller, error){
				"key":   func() (Caller, error) { return other.ByKey(t.Context(), key.Key) },
				"token": func() (Caller, error) { return other.ByBearer(t.Context(), token.AccessToken) },
			} {
				c, err := by()
				if c.Role != step.role || (err != nil) != (step.role == "") || err != nil && !errs.Is(err, errs.Unauthenticated) {
					t.Errorf("by %s: %+v, %v, want the role %q", name, c, err, step.role)
				}
			}
		}
	})
}

// TestOneAdminStays: however admins remove and demote one another at once, one is left.
func TestOneAdminStays(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		a := open(t, d, Config{})
		mustUser(t, a, NewUser{Email: "bob@example.com", Team: "blue"}) // in whose name the team was made
		var contexts []context.Context
		for i := range 4 {
			_, ctx := mustUser(t, a, NewUser{Email: fmt.Sprintf("ad%d@example.com", i), Team: "blue", Admin: true})
			contexts = append(contexts, ctx)
		}
		var wg sync.WaitGroup
		for i, ctx := range contexts {
			email := fmt.Sprintf("ad%d@example.com", (i+1)%len(contexts))
			wg.Go(func() {
				err := a.SetRole(ctx, email, Member)
				if i%2 == 1 {
					err = a.RemoveMember(ctx, email)
				}
				if err != nil && !errs.Is(err, errs.Forbidden) && !errs.Is(err, errs.NotFound) {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		var admins int
		if err := d.QueryRow(t.Context(), `SELECT count(*) FROM member WHERE role = ?`, Admin).Scan(&admins); err != nil ||
			admins == 0 {
			t.Errorf("%d admins, %v", admins, err)
		}
	})
}

// TestTeamsStayWhole does whatever the operations allow, in any order: every team has an
// admin, its owner is in it, and nobody is in it twice.
func TestTeamsStayWhole(t *testing.T) {
	a := open(t, dbtest.Open(t, "sqlite"), Config{})
	n := 0
	rapid.Check(t, func(r *rapid.T) {
		n++
		names := []string{"ada", "bob", "eve", "new"}
		email := func(name string) string { return fmt.Sprintf("%s-%d@example.com", name, n) }
		users := map[string]User{}
		for i, name := range names[:3] {
			users[name], _ = mustUser(t, a, NewUser{Email: email(name), Team: fmt.Sprint("team ", n), Admin: i == 0})
		}
		team := users["ada"].TeamID
		for range rapid.IntRange(1, 12).Draw(r, "steps") {
			actor, object := rapid.SampledFrom(names[:3]).Draw(r, "actor"), email(rapid.SampledFrom(names).Draw(r, "object"))
			role := rapid.SampledFrom([]Role{Admin, Member, Viewer, Guest, "king"}).Draw(r, "role")
			c, err := a.InTeam(t.Context(), Caller{UserID: users[actor].ID}, team)
			if err != nil {
				continue // they are out
			}
			ctx := WithCaller(t.Context(), c)
			switch rapid.IntRange(0, 3).Draw(r, "what") {
			case 0:
				invited, known := users[strings.Split(object, "-")[0]]
				if err = a.Invite(ctx, object, role); err == nil && known {
					err = a.AcceptInvitation(WithCaller(t.Context(), Caller{UserID: invited.ID, Email: object}), team)
				}
			case 1:
				err = a.SetRole(ctx, object, role)
			case 2:
				err = a.RemoveMember(ctx, object)
			case 3:
				_, err = a.AssignRole(t.Context(), object, team, string(role))
			}
			if err != nil && errs.From(err).Kind == errs.Internal {
				r.Fatal(err)
			}
			var admins, owners int
			if err := a.db.QueryRow(t.Context(), `SELECT count(*), sum(CASE WHEN m.user_id = t.owner_id THEN 1 ELSE 0 END)
				FROM member m JOIN team t ON t.id = m.team_id WHERE t.id = ? AND m.role = ?`, team, Admin).Scan(&admins,
				&owners); err != nil || admins == 0 || owners != 1 {
				r.Fatalf("%d admins, %d owners, %v", admins, owners, err)
			}
		}
	})
}

func TestOperatorSeesAndAssigns(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		a := open(t, d, Config{})
		ada, adas := mustUser(t, a, NewUser{Email: "ada@example.com", Team: "blue", Admin: true})
		bob, _ := mustUser(t, a, NewUser{Email: "bob@example.com", Team: "blue"})
		red, err := a.CreateTeam(in(t, a, bob, bob.TeamID), "red")
		if err != nil {
			t.Fatal(err)
		}
		all, err := a.FindUsers(t.Context(), "")
		if err != nil || len(all) != 3 || all[0].Email != ada.Email || all[1].Team != "blue" || all[2].TeamID != red ||
			all[2].Role != Admin {
			t.Errorf("%+v, %v", all, err)
		}
		for _, team := range []string{"red", red} {
			if of, err := a.FindUsers(t.Context(), team); err != nil || len(of) != 1 || of[0].Email != bob.Email {
				t.Errorf("of %s: %+v, %v", team, of, err)
			}
		}
		for _, c := range []struct{ email, team, role, code string }{
			{"bob@example.com", "", "viewer", "invalid_team"},
			{"bob@example.com", "blue", "king", "invalid_role"},
			{"bob@example.com", "green", "viewer", "member_not_found"},
			{"nobody@example.com", "", "viewer", "member_not_found"},
			{"bob@example.com", "red", "viewer", "last_admin"},
			{"ada@example.com", "", "member", "last_admin"},
			{"bob@example.com", "blue", "owner", ""},
			{"ada@example.com", "", "member", ""},
		} {
			if _, err := a.AssignRole(t.Context(), c.email, c.team, c.role); code(err) != c.code {
				t.Errorf("%+v: %v", c, err)
			}
		}
		wantMembers(t, a, adas, "ada:member", "bob:admin:owner")
	})
}

func TestOnePersonOwnsSoManyTeams(t *testing.T) {
	a := open(t, dbtest.Open(t, "sqlite"), Config{})
	_, ctx := mustUser(t, a, NewUser{Email: "ada@example.com", Admin: true})
	for i := range maxOwned {
		_, err := a.CreateTeam(ctx, "more")
		if last := i == maxOwned-1; (err != nil) != last || last && code(err) != "too_many_teams" {
			t.Fatalf("team %d: %v", i+2, err)
		}
	}
	for _, name := range []string{"", "\x00", "a\nb\xff"} {
		if _, err := a.CreateTeam(ctx, name); !errs.Is(err, errs.Invalid) || code(err) != "invalid_name" {
			t.Errorf("a team named %q: %v", name, err)
		}
	}
}

func TestNoCallerNoTeam(t *testing.T) {
	a := open(t, dbtest.Open(t, "sqlite"), Config{})
	ctx := t.Context()
	for name, err := range map[string]error{
		"FindMembers": second(a.FindMembers(ctx)), "Invite": a.Invite(ctx, "a@example.com", Member),
		"SetRole":      a.SetRole(ctx, "a@example.com", Member),
		"RemoveMember": a.RemoveMember(ctx, "a@example.com"), "FindWorkspaces": second(a.FindWorkspaces(ctx)),
		"CreateTeam": second(a.CreateTeam(ctx, "x")),
		"DeleteTeam": a.DeleteTeam(ctx, "x"), "FindDefaultMembers": second(a.FindDefaultMembers(ctx)),
		"SetDefaultMembers":   a.SetDefaultMembers(ctx, nil),
		"RemoveDefaultMember": a.RemoveDefaultMember(ctx, ""),
	} {
		if !errs.Is(err, errs.Unauthenticated) {
			t.Errorf("%s without a caller: %v", name, err)
		}
	}
}

// TestLastSignInIsOfTheOwnTeam: a team that adds somebody does not learn when they sign in elsewhere.
func TestLastSignInIsOfTheOwnTeam(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		a := open(t, d, Config{})
		_, ada := mustUser(t, a, NewUser{Email: "ada@example.com", Team: "blue", Password: "correct-horse", Admin: true})
		_, eve := mustUser(t, a, NewUser{Email: "eve@example.com", Team: "red", Admin: true})
		if err := a.Invite(eve, "ada@example.com", Member); err != nil {
			t.Fatal(err)
		}
		eves, err := From(eve)
		if err != nil {
			t.Fatal(err)
		}
		if err := a.AcceptInvitation(ada, eves.TeamID); err != nil {
			t.Fatal(err)
		}
		if _, err := a.Login(t.Context(), "ada@example.com", "correct-horse", Client{Address: "192.0.2.1"}); err != nil {
			t.Fatal(err)
		}
		for team, ctx := range map[string]context.Context{"blue": ada, "red": eve} {
			members, err := a.FindMembers(ctx)
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range members {
				if seen := m.LastSignIn != nil; m.Email == "ada@example.com" && seen != (team == "blue") {
					t.Errorf("%s sees ada's last sign-in: %t", team, seen)
				}
			}
		}
	})
}
