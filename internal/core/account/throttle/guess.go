// Package throttle slows down who guesses passwords and tokens, and shares the few slots for costly work fairly between
// networks and accounts. It keeps everything in memory, and little of it.
package throttle

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

// Backoff is how long to wait after wrong guesses.
type Backoff struct {
	Free int           // wrong guesses without a wait
	Most time.Duration // the longest wait; each further wrong password doubles it from 1 s
}

// One network may try one account a few times; all accounts together it may try more often, because many people
// may sit behind it.
var (
	OfPair = Backoff{Free: 5, Most: 5 * time.Minute}
	OfPeer = Backoff{Free: 30, Most: time.Minute}
)

// after is the wait after so many wrong passwords.
func (b Backoff) after(wrong int) time.Duration {
	if wrong < b.Free {
		return 0
	}
	doublings := min(wrong-b.Free, 30)
	return min(time.Second<<doublings, b.Most)
}

// Kept is how long wrong guesses count, and maxGuessers how many networks and accounts are remembered.
const (
	Kept        = 15 * time.Minute // wrong guesses are forgotten so long after the last one
	maxGuessers = 10_000           // bounds the memory
)

type guesser struct{ peer, account string } // account empty: the network as a whole

type guessed struct {
	wrong int
	last  time.Time
}

// Guesses count wrong guesses by network, and by network and account. They are never counted by account alone:
// whoever guesses can delay only those in their own network. Each process counts for itself.
type Guesses struct {
	code, words string
	mu          sync.Mutex
	seen        map[guesser]guessed
}

// NewGuesses makes a counter. Its refusals have this code, and words such as "wrong passwords".
func NewGuesses(code, words string) *Guesses {
	return &Guesses{code: code, words: words, seen: map[guesser]guessed{}}
}

// Check fails with RateLimited while the network has to wait, for this account or (account empty too) in all.
func (g *Guesses) Check(peer, account string, now time.Time) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	wait := g.wait(guesser{peer: peer}, OfPeer, now)
	if account != "" {
		wait = max(wait, g.wait(guesser{peer, account}, OfPair, now))
	}
	if wait <= 0 {
		return nil
	}
	seconds := strconv.Itoa(int(math.Ceil(wait.Seconds())))
	return errs.New(errs.RateLimited, g.code, "Too many %s; try again in %s s.", g.words, seconds).
		With("retry_after", seconds)
}

func (g *Guesses) wait(who guesser, b Backoff, now time.Time) time.Duration {
	seen, ok := g.seen[who]
	if !ok || now.Sub(seen.last) >= Kept {
		return 0
	}
	return seen.last.Add(b.after(seen.wrong)).Sub(now)
}

// Wrong counts a wrong guess; with an empty account only for the network.
func (g *Guesses) Wrong(peer, account string, now time.Time) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, who := range []guesser{{peer: peer}, {peer, account}} {
		seen, ok := g.seen[who]
		if !ok {
			g.makeRoom(now)
		}
		if now.Sub(seen.last) >= Kept {
			seen.wrong = 0
		}
		g.seen[who] = guessed{seen.wrong + 1, now}
		if account == "" {
			return
		}
	}
}

// Right forgets the wrong guesses for an account. Those of the network stay: a guesser with an account of
// their own could reset them.
func (g *Guesses) Right(peer, account string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.seen, guesser{peer, account})
}

// makeRoom forgets old entries of a full table, or all of one age if none is old.
func (g *Guesses) makeRoom(now time.Time) {
	if len(g.seen) < maxGuessers {
		return
	}
	for age := Kept; len(g.seen) >= maxGuessers; age /= 2 {
		for who, seen := range g.seen {
			if now.Sub(seen.last) >= age {
				delete(g.seen, who)
			}
		}
	}
}
