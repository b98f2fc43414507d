package account

import (
	"math"
	"net/netip"
	"strconv"
	"sync"
	"time"

	"github.com/vedette-sec/vedette/internal/infra/errs"
)

// Peer is the network that a client's address stands for when it is limited: an IPv4 address, or the /64 of an
// IPv6 address, because one customer has a whole /64. What is not an address stands for itself.
func Peer(address string) string {
	a, err := netip.ParseAddr(address)
	if err != nil {
		return address
	}
	a = a.Unmap().WithZone("")
	if a.Is4() {
		return a.String()
	}
	p, _ := a.Prefix(64) // an IPv6 address has one
	return p.String()
}

// backoff is how long to wait after wrong passwords.
type backoff struct {
	free int           // wrong passwords without a wait
	most time.Duration // the longest wait; each further wrong password doubles it from 1 s
}

// One network may try one account a few times; all accounts together it may try more often, because many people
// may sit behind it.
var (
	pairBackoff = backoff{free: 5, most: 5 * time.Minute}
	peerBackoff = backoff{free: 30, most: time.Minute}
)

// after is the wait after so many wrong passwords.
func (b backoff) after(wrong int) time.Duration {
	if wrong < b.free {
		return 0
	}
	doublings := min(wrong-b.free, 30)
	return min(time.Second<<doublings, b.most)
}

const (
	guessesKept = 15 * time.Minute // wrong passwords are forgotten so long after the last one
	maxGuessers = 10_000           // bounds the memory
)

type guesser struct{ peer, account string } // account empty: the network as a whole

type guessed struct {
	wrong int
	last  time.Time
}

// guesses count wrong passwords by network, and by network and account. They are never counted by account alone:
// whoever guesses can delay only those in their own network. Each process counts for itself.
type guesses struct {
	mu   sync.Mutex
	seen map[guesser]guessed
}

// check fails with RateLimited while the network has to wait, for this account or (account empty too) in all.
func (g *guesses) check(peer, account string, now time.Time) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	wait := g.wait(guesser{peer: peer}, peerBackoff, now)
	if account != "" {
		wait = max(wait, g.wait(guesser{peer, account}, pairBackoff, now))
	}
	if wait <= 0 {
		return nil
	}
	seconds := strconv.Itoa(int(math.Ceil(wait.Seconds())))
	return errs.New(errs.RateLimited, "too_many_wrong_passwords", "Too many wrong passwords; try again in %s s.",
		seconds).With("retry_after", seconds)
}

func (g *guesses) wait(who guesser, b backoff, now time.Time) time.Duration {
	seen, ok := g.seen[who]
	if !ok || now.Sub(seen.last) >= guessesKept {
		return 0
	}
	return seen.last.Add(b.after(seen.wrong)).Sub(now)
}

// wrong counts a wrong password; with an empty account only for the network.
func (g *guesses) wrong(peer, account string, now time.Time) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, who := range []guesser{{peer: peer}, {peer, account}} {
		seen, ok := g.seen[who]
		if !ok {
			g.makeRoom(now)
		}
		if now.Sub(seen.last) >= guessesKept {
			seen.wrong = 0
		}
		g.seen[who] = guessed{seen.wrong + 1, now}
		if account == "" {
			return
		}
	}
}

// right forgets the wrong passwords for an account. Those of the network stay: a guesser with an account of
// their own could reset them.
func (g *guesses) right(peer, account string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.seen, guesser{peer, account})
}

// makeRoom forgets old entries of a full table, or all of one age if none is old.
func (g *guesses) makeRoom(now time.Time) {
	if len(g.seen) < maxGuessers {
		return
	}
	for age := guessesKept; len(g.seen) >= maxGuessers; age /= 2 {
		for who, seen := range g.seen {
			if now.Sub(seen.last) >= age {
				delete(g.seen, who)
			}
		}
	}
}
