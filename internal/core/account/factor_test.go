package account

import (
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pquerna/otp/totp"
	"github.com/vedette-sec/vedette/internal/core/account/factor"
	"github.com/vedette-sec/vedette/internal/core/account/throttle"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/db/dbtest"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/seal"
)

// withFactors is open with a key that seals secrets, and a clock.
func withFactors(t *testing.T, d *db.DB) (*Accounts, *clock) {
	t.Helper()
	box, err := seal.Open(filepath.Join(t.TempDir(), "secret.key"))
	if err != nil {
		t.Fatal(err)
	}
	c := &clock{now: time.Now()}
	return open(t, d, Config{Box: box, Now: c.Now}), c
}

func appCode(t *testing.T, secret string, at time.Time) string {
	t.Helper()
	c, err := totp.GenerateCode(secret, at)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// enrolled is a user with a second factor: its secret and recovery codes.
func enrolled(t *testing.T, a *Accounts, c *clock, name string) (secret string, codes []string) {
	t.Helper()
	mustUser(t, a, NewUser{Email: name + "@example.com", Team: name, Admin: true, Password: "correct-horse"})
	_, ctx := mustSignIn(t, a, name+"@example.com")
	made, err := a.BeginFactor(ctx, "correct-horse", "192.0.2.1")
	if err != nil {
		t.Fatal(err)
	}
	codes, err = a.ConfirmFactor(ctx, appCode(t, made.Secret, c.now))
	if err != nil || len(codes) != 10 {
		t.Fatalf("%q, %v", codes, err)
	}
	return made.Secret, codes
}

// ticket is the answer to a right password.
func ticket(t *testing.T, a *Accounts, name string) string {
	t.Helper()
	_, err := a.Login(t.Context(), name+"@example.com", "correct-horse", Client{Address: "192.0.2.1"})
	wantCode(t, "the first step", err, "second_factor_required")
	return errs.From(err).Extra["ticket"]
}

func TestSignInAsksForACode(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		a, c := withFactors(t, d)
		secret, recovery := enrolled(t, a, c, "ada")
		first := ticket(t, a, "ada")
		finish := func(ticket, code string) error {
			_, _, err := a.FinishLogin(t.Context(), ticket, factor.Proof{Code: code}, Client{Address: "192.0.2.1"})
			return err
		}
		wantCode(t, "the code that confirmed it", finish(first, appCode(t, secret, c.now)), "wrong_code")
		c.now = c.now.Add(30 * time.Second)
		right := appCode(t, secret, c.now)
		wantCode(t, "no ticket", finish(strings.Repeat("x", ticketLength), right), "invalid_ticket")
		wantCode(t, "a code from before", finish(first, appCode(t, secret, c.now.Add(-2*time.Minute))), "wrong_code")
		var done atomic.Int32
		var group sync.WaitGroup
		second := ticket(t, a, "ada")
		for _, one := range []string{first, second, first, second} { // one code, at once: it signs in once
			group.Go(func() {
				if err := finish(one, right); err == nil {
					done.Add(1)
				}
			})
		}
		group.Wait()
		if done.Load() != 1 {
			t.Errorf("a code signed in %d times", done.Load())
		}
		c.now = c.now.Add(6 * time.Minute) // the wrong ones are waited for
		third := ticket(t, a, "ada")
		if err := finish(third, recovery[0]); err != nil {
			t.Errorf("a recovery code: %v", err)
		}
		wantCode(t, "a used ticket", finish(third, recovery[1]), "invalid_ticket")
		wantCode(t, "a used recovery code", finish(ticket(t, a, "ada"), recovery[0]), "wrong_code")
		late := ticket(t, a, "ada")
		c.now = c.now.Add(ticketTTL)
		wantCode(t, "a late ticket", finish(late, recovery[1]), "invalid_ticket")
		begun := ticket(t, a, "ada")
		if err := a.SetPassword(t.Context(), "ada@example.com", "correct-horse"); err != nil {
			t.Fatal(err)
		}
		wantCode(t, "a ticket from before the password", finish(begun, recovery[1]), "invalid_ticket")
		if err := a.RemoveFactor(t.Context(), "ada@example.com"); err != nil {
			t.Fatal(err)
		}
		if _, err := a.Login(t.Context(), "ada@example.com", "correct-horse", Client{Address: "192.0.2.1"}); err != nil {
			t.Errorf("without the factor: %v", err)
		}
	})
}

func TestWrongCodesBackOff(t *testing.T) {
	a, c := withFactors(t, dbtest.Open(t, "sqlite"))
	secret, _ := enrolled(t, a, c, "ada")
	c.now = c.now.Add(30 * time.Second)
	var err error
	for i := 0; i < 20 && !errs.Is(err, errs.RateLimited); i++ {
		_, _, err = a.FinishLogin(t.Context(), ticket(t, a, "ada"), factor.Proof{Code: "000000"}, Client{Address: "192.0.2.1"})
	}
	wantCode(t, "many wrong codes", err, "too_many_wrong_codes")
	_, _, err = a.FinishLogin(t.Context(), ticket(t, a, "ada"), factor.Proof{Code: appCode(t, secret, c.now)},
		Client{Address: "198.51.100.1"})
	wantCode(t, "the right one from elsewhere", err, "too_many_wrong_codes")
}

func TestEnrolling(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		a, c := withFactors(t, d)
		mustUser(t, a, NewUser{Email: "ada@example.com", Team: "blue", Password: "correct-horse"})
		_, ctx := mustSignIn(t, a, "ada@example.com")
		other, _ := mustSignIn(t, a, "ada@example.com")
		_, err := a.BeginFactor(ctx, "wrong", "192.0.2.1")
		wantCode(t, "a wrong password", err, "wrong_password")
		_, err = a.ConfirmFactor(ctx, "000000")
		wantCode(t, "nothing begun", err, "second_factor_not_found")
		if _, err := a.BeginFactor(ctx, "correct-horse", "192.0.2.1"); err != nil {
			t.Fatal(err)
		}
		made, err := a.BeginFactor(ctx, "correct-horse", "192.0.2.1") // replaces it
		if err != nil {
			t.Fatal(err)
		}
		stored, err := db.Value[[]byte](t.Context(), d, `SELECT secret FROM second_factor`)
		if err != nil || strings.Contains(string(stored), made.Secret) {
			t.Errorf("stored as %q, %v", stored, err)
		}
		if _, err := a.Login(t.Context(), "ada@example.com", "correct-horse", Client{Address: "192.0.2.1"}); err != nil {
			t.Errorf("before it is confirmed: %v", err)
		}
		codes, err := a.ConfirmFactor(ctx, appCode(t, made.Secret, c.now))
		if err != nil {
			t.Fatal(err)
		}
		wantToken(t, a, "another session", other, false)
		_, err = a.BeginFactor(ctx, "correct-horse", "192.0.2.1")
		wantCode(t, "a second one", err, "second_factor_exists")
		own, err := a.OwnFactors(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if f, err := own.Find(ctx); err != nil || f != (factor.SecondFactor{Enabled: true, App: true, RecoveryCodes: 10}) {
			t.Errorf("%+v, %v", f, err)
		}
		wantCode(t, "removed with a wrong code", own.DeleteApp(ctx, factor.Proof{Code: "000000"}), "wrong_code")
		if err := own.DeleteApp(ctx, factor.Proof{Code: codes[3]}); err != nil {
			t.Error(err)
		}
		if f, err := own.Find(ctx); err != nil || f != (factor.SecondFactor{}) {
			t.Errorf("%+v, %v", f, err)
		}
	})
}

// TestTeamsMayRequireASecondFactor: who has none is marked in that team, by session and by key, and in no other.
func TestTeamsMayRequireASecondFactor(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		a, c := withFactors(t, d)
		enrolled(t, a, c, "ada")
		mustUser(t, a, NewUser{Email: "bob@example.com", Team: "ada"})
		mustUser(t, a, NewUser{Email: "ci@example.com", Team: "ada", Service: true})
		mustUser(t, a, NewUser{Email: "eve@example.com", Team: "red", Admin: true})
		_, asEve := mustSignIn(t, a, "eve@example.com")
		yes := true
		_, err := a.UpdateTeam(asEve, TeamUpdate{SecondFactor: &yes})
		wantCode(t, "an admin without one", err, "second_factor_missing")
		_, asAda := mustSignIn(t, a, "ada@example.com")
		if team, err := a.UpdateTeam(asAda, TeamUpdate{SecondFactor: &yes}); err != nil || !team.SecondFactor {
			t.Fatalf("%+v, %v", team, err)
		}
		for email, want := range map[string]bool{"ada@example.com": false, "bob@example.com": true, "ci@example.com": false,
			"eve@example.com": false} {
			k, _, err := a.CreateKeyOf(t.Context(), email, KeyOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if caller, err := a.ByKey(t.Context(), k.Key); err != nil || caller.MustEnrol != want ||
				(caller.CheckFactor() != nil) != want {
				t.Errorf("%s: %+v, %v", email, caller, err)
			}
		}
		_, asBob := mustSignIn(t, a, "bob@example.com")
		bob, err := From(asBob)
		if err != nil || !bob.MustEnrol {
			t.Errorf("%+v, %v", bob, err)
		}
	})
}

// TestWrongTicketsBackOff: who guesses tickets waits, as who guesses passwords does; other networks do not.
func TestWrongTicketsBackOff(t *testing.T) {
	a, c := withFactors(t, dbtest.Open(t, "sqlite"))
	secret, _ := enrolled(t, a, c, "ada")
	c.now = c.now.Add(time.Minute)
	right := ticket(t, a, "ada")
	finish := func(ticket, from string) error {
		_, _, err := a.FinishLogin(t.Context(), ticket, factor.Proof{Code: appCode(t, secret, c.now)}, Client{Address: from})
		return err
	}
	for i := range throttle.OfPeer.Free {
		wantCode(t, "a wrong ticket", finish([]string{"", "short", strings.Repeat("x", ticketLength)}[i%3], "2001:db8::9"),
			"invalid_ticket")
	}
	wantCode(t, "after many", finish(right, "2001:db8::8"), "too_many_wrong_passwords")
	if err := finish(right, "192.0.2.1"); err != nil {
		t.Errorf("from elsewhere: %v", err)
	}
}

// TestADisabledUserFinishesNoSignIn, also when they were disabled after their ticket was looked up: here it is still there.
func TestADisabledUserFinishesNoSignIn(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		a, c := withFactors(t, d)
		secret, _ := enrolled(t, a, c, "ada")
		c.now = c.now.Add(time.Minute)
		begun := ticket(t, a, "ada")
		if _, err := d.Exec(t.Context(), `UPDATE user_account SET disabled_at = 1`); err != nil {
			t.Fatal(err)
		}
		_, _, err := a.FinishLogin(t.Context(), begun, factor.Proof{Code: appCode(t, secret, c.now)},
			Client{Address: "192.0.2.1"})
		wantCode(t, "disabled", err, "invalid_ticket")
	})
}
