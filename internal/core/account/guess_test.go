package account

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/db/dbtest"
	"github.com/vedette-sec/vedette/internal/infra/errs"
)

func TestPeerIsTheNetworkOfAClient(t *testing.T) {
	for address, want := range map[string]string{
		"192.0.2.7": "192.0.2.7", "::ffff:192.0.2.7": "192.0.2.7", "2001:db8:1:2:3:4:5:6": "2001:db8:1:2::/64",
		"2001:db8:1:2::1": "2001:db8:1:2::/64", "2001:db8:1:3::1": "2001:db8:1:3::/64", "fe80::1%eth0": "fe80::/64",
		"": "", "pipe": "pipe",
	} {
		if got := Peer(address); got != want {
			t.Errorf("%q: %q, not %q", address, got, want)
		}
	}
}

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
	for i := range pairBackoff.free {
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
	for want := time.Second; want <= pairBackoff.most; want *= 2 {
		c.now = c.now.Add(want - time.Millisecond)
		if err := login("ada", "wrong", guesser); !errs.Is(err, errs.RateLimited) {
			t.Fatalf("before %v are over: %v", want, err)
		}
		c.now = c.now.Add(time.Millisecond)
		if err := login("ada", "wrong", guesser); !errs.Is(err, errs.Unauthenticated) {
			t.Fatalf("after %v: %v", want, err)
		}
	}
	c.now = c.now.Add(pairBackoff.most)
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
	for i := range peerBackoff.free {
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
	c.now = c.now.Add(guessesKept)
	if _, err := a.Login(t.Context(), "other@example.com", "wrong", Client{Address: "192.0.2.9"}); !errs.Is(err, errs.Unauthenticated) {
		t.Errorf("after %v: %v", guessesKept, err)
	}
}

func TestGuessesAreBounded(t *testing.T) {
	g := guesses{seen: map[guesser]guessed{}}
	now := time.Now()
	for i := range maxGuessers * 2 {
		now = now.Add(time.Millisecond)
		g.wrong(fmt.Sprint(i), "ada", now)
		if len(g.seen) > maxGuessers+1 {
			t.Fatalf("%d are kept", len(g.seen))
		}
	}
	g.seen[guesser{"late", "ada"}] = guessed{9, now}
	for i := range maxGuessers / 2 {
		g.wrong(fmt.Sprint("more", i), "", now.Add(time.Duration(i)))
	}
	if err := g.check("late", "ada", now); err == nil {
		t.Error("the newest was forgotten with the old")
	}
}

// TestSlotsAreFair: floods from one network and at one account let others go first.
func TestSlotsAreFair(t *testing.T) {
	for name, flood := range map[string]func(i int) *ticket{
		"one network, one account":   func(int) *ticket { return newTicket("flood", "ada") },
		"one network, many accounts": func(i int) *ticket { return newTicket("flood", fmt.Sprint(i)) },
		"many networks, one account": func(i int) *ticket { return newTicket(fmt.Sprint(i), "bob") },
	} {
		s := newSlots(1)
		refused := 0
		for i := range 300 {
			if s.join(flood(i)) != nil {
				refused++
			}
		}
		honest := newTicket("home", "ada")
		if err := s.join(honest); err != nil {
			t.Fatalf("%s: refused: %v", name, err)
		}
		s.leave(s.running[0])
		if len(honest.turn) == 0 {
			if s.leave(s.running[0]); len(honest.turn) == 0 {
				t.Errorf("%s: not among the first two", name)
			}
		}
		if refused == 0 || len(s.waiting) > maxWaiting {
			t.Errorf("%s: %d wait, %d were refused", name, len(s.waiting), refused)
		}
	}
}

func newTicket(peer, account string) *ticket {
	return &ticket{peer: peer, account: account, turn: make(chan error, 1)}
}

// TestSlotsAreReturned: by those who finish, those who go away in the line, and those who are pushed out of it.
func TestSlotsAreReturned(t *testing.T) {
	s := newSlots(1)
	release, err := s.take(t.Context(), "a", "ada")
	if err != nil {
		t.Fatal(err)
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.take(gone, "b", "bob"); err == nil {
		t.Error("a slot for a client that has gone")
	}
	if len(s.waiting) != 0 || len(s.running) != 1 {
		t.Errorf("%d wait, %d run", len(s.waiting), len(s.running))
	}
	release()
	release()
	if len(s.running) != 0 {
		t.Error("the slot is not returned")
	}
	var line []*ticket
	for i := range maxWaiting + 1 {
		line = append(line, newTicket(fmt.Sprint(i/2), "ada"))
		if err := s.join(line[i]); err != nil {
			t.Fatalf("ticket %d: %v", i, err)
		}
	}
	if err := s.join(newTicket("other", "eve")); err != nil {
		t.Errorf("a full line has no room for a new network: %v", err)
	}
	pushed := 0
	for _, w := range line[1:] {
		if len(w.turn) > 0 {
			pushed++
			if err := <-w.turn; !errs.Is(err, errs.RateLimited) {
				t.Errorf("pushed out with %v", err)
			}
		}
	}
	if pushed != 1 || len(s.waiting) != maxWaiting {
		t.Errorf("%d were pushed out, %d wait", pushed, len(s.waiting))
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
		busy, err := a.newPasswords.take(t.Context(), "", "")
		if err != nil {
			t.Fatal(err)
		}
		for i := range peerBackoff.free {
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
