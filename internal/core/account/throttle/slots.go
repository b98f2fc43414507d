package throttle

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"sync"

	"github.com/vedette-sec/vedette/internal/infra/errs"
)

// The lengths of the line of logins that wait for a slot.
const (
	maxWaiting       = 256 // logins in all
	maxWaitingOfPeer = 8   // logins from one network
)

// errBusy refuses a login that would wait too long.
var errBusy = errs.New(errs.RateLimited, "login_busy", "Too many logins at once; try again in 1 s.").
	With("retry_after", "1")

// Slots limit how many passwords are hashed at once, and decide who is next. Of those who wait, the one goes first
// whose network has the fewest logins before it in the line, and of these the one whose network had its turn longest
// ago; of equals the account decides in the same way. So a flood from one network, or at one account, delays others by
// about one hash.
type Slots struct {
	mu      sync.Mutex
	most    int
	running []*ticket
	waiting []*ticket // in the order of arrival

	// When networks and accounts in the line had their last turn: numbers of turns, which only grow.
	turns                 int
	peerTurn, accountTurn map[string]int
}

// ticket is a login that hashes or waits. turn gets nil when it may hash, or the reason why it may not.
type ticket struct {
	peer, account string
	turn          chan error
}

// Take waits for a slot. peer is the caller's network and account the address they claim. It fails with
// RateLimited when the line is full. The caller calls release once.
func (s *Slots) Take(ctx context.Context, peer, account string) (release func(), err error) {
	t := &ticket{peer: peer, account: account, turn: make(chan error, 1)}
	if err := s.join(t); err != nil {
		return nil, err
	}
	release = sync.OnceFunc(func() { s.leave(t) })
	select {
	case err := <-t.turn:
		if err != nil {
			return nil, err
		}
		return release, nil
	case <-ctx.Done():
		release()
		return nil, ctx.Err()
	}
}

// join puts a ticket into the line. In a full line it takes the place of the one that would be last.
func (s *Slots) join(t *ticket) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	ofPeer := 0
	for _, w := range s.waiting {
		if w.peer == t.peer {
			ofPeer++
		}
	}
	if ofPeer >= maxWaitingOfPeer {
		return errBusy
	}
	s.waiting = append(s.waiting, t)
	s.fill()
	if len(s.waiting) <= maxWaiting {
		return nil
	}
	last := s.order()[len(s.waiting)-1]
	s.waiting = slices.DeleteFunc(s.waiting, func(w *ticket) bool { return w == last })
	if last == t {
		return errBusy
	}
	last.turn <- errBusy
	return nil
}

func (s *Slots) leave(t *ticket) {
	s.mu.Lock()
	defer s.mu.Unlock()
	same := func(other *ticket) bool { return other == t }
	s.running = slices.DeleteFunc(s.running, same)
	s.waiting = slices.DeleteFunc(s.waiting, same)
	s.fill()
}

// fill gives free slots to those who are next.
func (s *Slots) fill() {
	for len(s.running) < s.most && len(s.waiting) > 0 {
		next := s.order()[0]
		s.waiting = slices.DeleteFunc(s.waiting, func(w *ticket) bool { return w == next })
		s.running = append(s.running, next)
		next.turn <- nil
		s.turns++
		s.peerTurn[next.peer], s.accountTurn[next.account] = s.turns, s.turns
	}
	// Who is not in the line is as one who never was.
	maps.DeleteFunc(s.peerTurn, func(peer string, _ int) bool {
		return !slices.ContainsFunc(s.waiting, func(w *ticket) bool { return w.peer == peer })
	})
	maps.DeleteFunc(s.accountTurn, func(account string, _ int) bool {
		return !slices.ContainsFunc(s.waiting, func(w *ticket) bool { return w.account == account })
	})
}

// order is the line as it will be served.
func (s *Slots) order() []*ticket {
	type place struct{ peer, account int } // how many of the same network and account are before it
	peers, accounts := map[string]int{}, map[string]int{}
	places := map[*ticket]place{}
	for _, t := range slices.Concat(s.running, s.waiting) {
		places[t] = place{peers[t.peer], accounts[t.account]}
		peers[t.peer]++
		accounts[t.account]++
	}
	line := slices.Clone(s.waiting)
	slices.SortStableFunc(line, func(a, b *ticket) int {
		return cmp.Or(cmp.Compare(places[a].peer, places[b].peer), cmp.Compare(s.peerTurn[a.peer], s.peerTurn[b.peer]),
			cmp.Compare(places[a].account, places[b].account),
			cmp.Compare(s.accountTurn[a.account], s.accountTurn[b.account]))
	})
	return line
}

// NewSlots makes so many slots.
func NewSlots(most int) *Slots {
	return &Slots{most: most, peerTurn: map[string]int{}, accountTurn: map[string]int{}}
}
