package account

import (
	"strings"
	"testing"

	"github.com/vedette-sec/vedette/internal/core/account/throttle"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/db/dbtest"
	"github.com/vedette-sec/vedette/internal/infra/errs"
)

func TestAChangedPasswordEndsTheOtherSessions(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		a, other := open(t, d, Config{}), open(t, d, Config{})
		const from = "192.0.2.1"
		login := func(password string) (string, error) {
			token, err := a.Login(t.Context(), "ada@example.com", password, Client{Address: from})
			return token.AccessToken, err
		}
		mustUser(t, a, NewUser{Email: "ada@example.com", Password: "correct-horse"})
		mustUser(t, a, NewUser{Email: "bob@example.com", Password: "correct-horse"})
		bobs, asBob := mustSignIn(t, a, "bob@example.com")
		phone, _ := mustSignIn(t, a, "ada@example.com")
		desk, onDesk := mustSignIn(t, a, "ada@example.com")
		if err := a.ChangePassword(onDesk, "wrong-horse", "battery-staple", from); code(err) != "wrong_password" {
			t.Errorf("with a wrong password: %v", err)
		}
		if err := a.ChangePassword(onDesk, "correct-horse", "short", from); code(err) != "invalid_new_password" {
			t.Errorf("to a short one: %v", err)
		}
		wantToken(t, other, "after refusals", phone, true)
		if err := a.ChangePassword(onDesk, "correct-horse", "battery-staple", from); err != nil {
			t.Fatal(err)
		}
		wantToken(t, other, "the other session", phone, false)
		wantToken(t, other, "the own session", desk, true)
		wantToken(t, other, "another user's session", bobs, true)
		if _, err := login("correct-horse"); !errs.Is(err, errs.Unauthenticated) {
			t.Errorf("the old password: %v", err)
		}
		phone, err := login("battery-staple")
		if err != nil {
			t.Fatal(err)
		}
		if err := a.SetPassword(t.Context(), "ada@example.com", "operators-choice"); err != nil {
			t.Fatal(err)
		}
		wantToken(t, other, "after the operator's command", phone, false)
		wantToken(t, other, "after the operator's command, too", desk, false)
		if err := a.SetPassword(t.Context(), "eve@example.com", "operators-choice"); !errs.Is(err, errs.NotFound) {
			t.Errorf("nobody's password: %v", err)
		}
		// Guessing the present password by changing it is as slow as guessing it by logins.
		for range throttle.OfPair.Free {
			if err := a.ChangePassword(asBob, "wrong-horse", "battery-staple", from); code(err) != "wrong_password" {
				t.Fatal(err)
			}
		}
		if err := a.ChangePassword(asBob, "correct-horse", "battery-staple", from); !errs.Is(err, errs.RateLimited) {
			t.Errorf("after many guesses: %v", err)
		}
	})
}

// TestOfTwoPasswordsAtOnceOneIsSet: the loser has proved a password that is no longer the present one.
func TestOfTwoPasswordsAtOnceOneIsSet(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		a := open(t, d, Config{})
		mustUser(t, a, NewUser{Email: "ada@example.com", Password: "correct-horse"})
		_, ctx := mustSignIn(t, a, "ada@example.com")
		results := make(chan error, 2)
		for _, next := range []string{"battery-staple-1", "battery-staple-2"} {
			go func() { results <- a.ChangePassword(ctx, "correct-horse", next, "192.0.2.1") }()
		}
		if one, two := <-results, <-results; (one == nil) == (two == nil) {
			t.Errorf("%v and %v", one, two)
		}
	})
}

func TestADisabledUserIsOutOnEveryNode(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		a, other := open(t, d, Config{}), open(t, d, Config{})
		u, ctx := mustUser(t, a, NewUser{Email: "ada@example.com", Password: "correct-horse"})
		key, err := a.CreateKey(ctx)
		if err != nil {
			t.Fatal(err)
		}
		token, signedIn := mustSignIn(t, a, u.Email)
		out := func(name string, want bool) {
			t.Helper()
			_, keyErr := other.ByKey(t.Context(), key.Key)
			_, login := other.Login(t.Context(), u.Email, "correct-horse", Client{Address: "192.0.2.1"})
			_, issued := other.IssueToken(t.Context(), u.Email)
			_, team := other.InTeam(t.Context(), Caller{UserID: u.ID}, u.TeamID)
			for what, err := range map[string]error{"key": keyErr, "login": login, "token": issued, "team": team} {
				if (err != nil) != want {
					t.Errorf("%s: %s: %v", name, what, err)
				}
			}
			if want && code(login) != "invalid_credentials" {
				t.Errorf("the login tells more: %v", login)
			}
		}
		if err := a.SetDisabled(t.Context(), "Ada@example.com", true); err != nil {
			t.Fatal(err)
		}
		out("disabled", true)
		wantToken(t, other, "disabled", token, false)
		if err := a.ChangePassword(signedIn, "correct-horse", "battery-staple", "192.0.2.7"); code(err) != "wrong_password" {
			t.Errorf("a disabled user changes their password: %v", err)
		}
		if err := a.SetDisabled(t.Context(), u.Email, false); err != nil {
			t.Fatal(err)
		}
		out("enabled", false)
		wantToken(t, other, "enabled, from before", token, false)
		if err := a.SetDisabled(t.Context(), "eve@example.com", true); !errs.Is(err, errs.NotFound) {
			t.Errorf("nobody: %v", err)
		}
	})
}

func TestADeletedUserLeavesTheirTeams(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		a := open(t, d, Config{})
		ada, adas := mustUser(t, a, NewUser{Email: "ada@example.com", Team: "blue", Admin: true})
		_, bobs := mustUser(t, a, NewUser{Email: "bob@example.com", Team: "blue"})
		key, err := a.CreateKey(adas)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := a.CreateTeam(adas, "lonely"); err != nil {
			t.Fatal(err)
		}
		refused := func(want, team string, withTeams bool) {
			t.Helper()
			err := a.DeleteUser(t.Context(), ada.Email, withTeams)
			if code(err) != want || !strings.Contains(err.Error(), team) || !errs.Is(err, errs.Conflict) {
				t.Errorf("%v, want %s naming %s", err, want, team)
			}
			if _, err := a.ByKey(t.Context(), key.Key); err != nil {
				t.Errorf("a refused deletion changed something: %v", err)
			}
			wantMembers(t, a, bobs, "ada:admin:owner", "bob:member")
		}
		refused("only_admin", "blue", false)
		refused("only_admin", "blue", true)
		if err := a.SetRole(adas, "bob@example.com", Admin); err != nil {
			t.Fatal(err)
		}
		err = a.DeleteUser(t.Context(), ada.Email, false)
		if code(err) != "only_member" || !strings.Contains(err.Error(), "lonely") || strings.Contains(err.Error(), "blue") {
			t.Errorf("%v", err)
		}
		if err := a.DeleteUser(t.Context(), ada.Email, true); err != nil {
			t.Fatal(err)
		}
		wantMembers(t, a, bobs, "bob:admin:owner")
		if n, err := count(t.Context(), d, "team"); n != 1 || err != nil {
			t.Errorf("%d teams, %v", n, err)
		}
		if _, err := a.ByKey(t.Context(), key.Key); !errs.Is(err, errs.Unauthenticated) {
			t.Errorf("the key: %v", err)
		}
		if err := a.DeleteUser(t.Context(), ada.Email, true); !errs.Is(err, errs.NotFound) {
			t.Errorf("twice: %v", err)
		}
		name, err := db.Value[string](t.Context(), d, `SELECT email FROM user_account WHERE id = ?`, ada.ID)
		if err != nil || name != "deleted-"+ada.ID {
			t.Errorf("the name that stays: %s, %v", name, err)
		}
		// The address is free again, and its new owner has nothing of the old one.
		again, _ := mustUser(t, a, NewUser{Email: ada.Email})
		if again.ID == ada.ID || again.TeamID == ada.TeamID {
			t.Errorf("%+v", again)
		}
	})
}
