package account

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/vedette-sec/vedette/internal/core/account/throttle"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/db/dbtest"
	"github.com/vedette-sec/vedette/internal/infra/errs"
)

// clock is a time that only the test moves.
type clock struct{ now time.Time }

func (c *clock) Now() time.Time { return c.now }

// TestWrongPasswordsBackOff: guesses are slowed by account and network, and by network; nobody else is.
func TestWrongPasswordsBackOff(t *testing.T) {
	c := &clock{now: time.Now()}
	a := open(t, dbtest.Open(t, "sqlite"), Config{Now: c.Now})
	for _, name := range []string{"ada", "bob"} {
		mustUser(t, a, NewUser{Email: name + "@example.com", Password: "correct-horse"})
	}
	const guesser, home = "2001:db8:1:2::1", "192.0.2.1"
	login := func(name, password, from string) error {
		_, err := a.Login(t.Context(), name+"@example.com", password, Client{Address: from})
		return err
	}
	for i := range throttle.OfPair.Free {
		if err := login("ada", "wrong", guesser); !errs.Is(err, errs.Unauthenticated) {
			t.Fatalf("guess %d: %v", i, err)
		}
	}
	for _, from := range []string{guesser, "2001:db8:1:2:ffff::9"} {
		if err := login("ada", "correct-horse", from); !errs.Is(err, errs.RateLimited) ||
			errs.From(err).Extra["retry_after"] != "1" {
			t.Errorf("a guess too many from %s: %v", from, err)
		}
	}
	if err := login("ADA", "correct-horse", guesser); !errs.Is(err, errs.RateLimited) {
		t.Errorf("the same account in other letters: %v", err)
	}
	for _, free := range [][2]string{{"ada", home}, {"ada", "2001:db8:1:3::1"}, {"bob", guesser}} {
		if err := login(free[0], "correct-horse", free[1]); err != nil {
			t.Errorf("%s from %s: %v", free[0], free[1], err)
		}
	}
	for want := time.Second; want <= throttle.OfPair.Most; want *= 2 {
		c.now = c.now.Add(want - time.Millisecond)
		if err := login("ada", "wrong", guesser); !errs.Is(err, errs.RateLimited) {
			t.Fatalf("before %v are over: %v", want, err)
		}
		c.now = c.now.Add(time.Millisecond)
		if err := login("ada", "wrong", guesser); !errs.Is(err, errs.Unauthenticated) {
			t.Fatalf("after %v: %v", want, err)
		}
	}
	c.now = c.now.Add(throttle.OfPair.Most)
	if err := login("ada", "correct-horse", guesser); err != nil {
		t.Fatalf("the right password after the wait: %v", err)
	}
	if err := login("ada", "wrong", guesser); !errs.Is(err, errs.Unauthenticated) {
		t.Errorf("a typing error after a login: %v", err)
	}
	if err := login("ada", "correct-horse", guesser); err != nil {
		t.Errorf("the first wrong password after a login costs a wait: %v", err)
	}
}

// TestManyAccountsFromOneNetworkBackOff: a list of accounts is slowed as one account is, whether they exist or not.
func TestManyAccountsFromOneNetworkBackOff(t *testing.T) {
	c := &clock{now: time.Now()}
	a := open(t, dbtest.Open(t, "sqlite"), Config{Now: c.Now})
	for i := range throttle.OfPeer.Free {
		email := fmt.Sprintf("user%d@example.com", i)
		if i%3 == 0 {
			email = strings.Repeat("x", 300+i) // not stored
		}
		if _, err := a.Login(t.Context(), email, "wrong", Client{Address: "192.0.2.9"}); !errs.Is(err, errs.Unauthenticated) {
			t.Fatalf("account %d: %v", i, err)
		}
	}
	if _, err := a.Login(t.Context(), "other@example.com", "wrong", Client{Address: "192.0.2.9"}); !errs.Is(err, errs.RateLimited) {
		t.Errorf("an account too many: %v", err)
	}
	if _, err := a.Login(t.Context(), "other@example.com", "wrong", Client{Address: "192.0.2.8"}); !errs.Is(err, errs.Unauthenticated) {
		t.Errorf("another network: %v", err)
	}
	c.now = c.now.Add(throttle.Kept)
	if _, err := a.Login(t.Context(), "other@example.com", "wrong", Client{Address: "192.0.2.9"}); !errs.Is(err, errs.Unauthenticated) {
		t.Errorf("after %v: %v", throttle.Kept, err)
	}
}

// TestSetupLooksAtItsTokenFirst: a wrong token costs no hash, guesses back off, and after setup it is closed.
func TestSetupLooksAtItsTokenFirst(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		c := &clock{now: time.Now()}
		a := open(t, d, Config{Now: c.Now})
		token, err := a.SetupToken(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		// Whoever hashes waits: the only slot is taken.
		busy, err := a.newPasswords.Take(t.Context(), "", "")
		if err != nil {
			t.Fatal(err)
		}
		for i := range throttle.OfPeer.Free {
			wrong := []string{"", "short", strings.Repeat("x", setupTokenLength)}[i%3]
			if _, err := a.Setup(t.Context(), wrong, "eve@example.com", "long-enough-1", "192.0.2.9"); !errs.Is(err,
				errs.Forbidden) {
				t.Fatalf("token %q: %v", wrong, err)
			}
		}
		if _, err := a.Setup(t.Context(), token, "eve@example.com", "long-enough-1", "192.0.2.9"); !errs.Is(err,
			errs.RateLimited) {
			t.Errorf("after many guesses: %v", err)
		}
		busy()
		if closed, err := a.SetupClosed(t.Context()); closed || err != nil {
			t.Errorf("closed before setup: %v", err)
		}
		if _, err := a.Setup(t.Context(), token, "ada@example.com", "long-enough-1", "192.0.2.1"); err != nil {
			t.Fatal(err)
		}
		if closed, err := a.SetupClosed(t.Context()); !closed || err != nil {
			t.Errorf("open after setup: %v", err)
		}
		d.Close() // what is closed does not ask the database
		if _, err := a.Setup(t.Context(), token, "eve@example.com", "long-enough-1", "192.0.2.1"); !errs.Is(err,
			errs.Forbidden) {
			t.Errorf("a closed setup: %v", err)
		}
	})
}
