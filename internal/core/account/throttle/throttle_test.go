package throttle

import (
	"context"
	"fmt"
	"testing"
	"time"

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

func TestGuessesAreBounded(t *testing.T) {
	g := NewGuesses("too_many", "guesses")
	now := time.Now()
	for i := range maxGuessers * 2 {
		now = now.Add(time.Millisecond)
		g.Wrong(fmt.Sprint(i), "ada", now)
		if len(g.seen) > maxGuessers+1 {
			t.Fatalf("%d are kept", len(g.seen))
		}
	}
	g.seen[guesser{"late", "ada"}] = guessed{9, now}
	for i := range maxGuessers / 2 {
		g.Wrong(fmt.Sprint("more", i), "", now.Add(time.Duration(i)))
	}
	if err := g.Check("late", "ada", now); err == nil {
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
		s := NewSlots(1)
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

// TestANetworkHasFewPlaces: whatever accounts it names, a network has a few places in the line; the rest of the line is
// for others.
func TestANetworkHasFewPlaces(t *testing.T) {
	for _, networks := range []int{1, 3} {
		s := NewSlots(1)
		release, err := s.Take(t.Context(), "home", "ada")
		if err != nil {
			t.Fatal(err)
		}
		refused := 0
		for i := range 30 * networks {
			err := s.join(newTicket(fmt.Sprint("flood", i%networks), fmt.Sprint(i)))
			if errs.Is(err, errs.RateLimited) {
				refused++
			} else if err != nil {
				t.Error(err)
			}
		}
		if want := networks * maxWaitingOfPeer; len(s.waiting) != want || refused != 30*networks-want {
			t.Errorf("%d networks: %d wait, %d were refused", networks, len(s.waiting), refused)
		}
		release()
	}
}

func newTicket(peer, account string) *ticket {
	return &ticket{peer: peer, account: account, turn: make(chan error, 1)}
}

// TestSlotsAreReturned: by those who finish, those who go away in the line, and those who are pushed out of it.
func TestSlotsAreReturned(t *testing.T) {
	s := NewSlots(1)
	release, err := s.Take(t.Context(), "a", "ada")
	if err != nil {
		t.Fatal(err)
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.Take(gone, "b", "bob"); err == nil {
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
