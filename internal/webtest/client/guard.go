package client

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/vedette-sec/vedette/internal/webtest/message"
)

// A user who has logged in may be logged out at any request: sessions end by time, by chance, or by a request that was
// not known to end them. So each answer to a guarded user is looked at. Where it looks as nobody is answered, one
// request for a page that only the user gets says whether that is so: a test may make an application answer so, too.
// If it is so, the user is logged in again, once for all requests that wait, and the request is sent again, before
// anybody sees an answer to it. An answer that looks as usual costs nothing.
//
// Some requests are answered as they are: those that bring a cookie or a header of the session of their own, those with
// which a browser would keep cookies back, and those of users who have no guard, as nobody and a second session of a
// user. One that may write is sent again only where it was refused, and once.
//
// A request that ends the session itself would have its user logged in each time it is sent. So when some sessions in
// a row were short, requests are sent one at a time for a while, with a look at the session after each. A target of
// tests whose requests ended it most of these times is tested no further.

// Sign is what an answer shows of the session of its user.
type Sign int

// The signs.
const (
	SignedIn  Sign = iota // nothing that says otherwise
	Missing               // it lacks what the page has for the user: it may have been done as nobody
	SignedOut             // it refuses, as it does everybody who is not logged in
)

// Guard is how a user is kept logged in (package session).
type Guard struct {
	Hosts   []string                                           // with their ports, at which the user is logged in
	Cookies map[string]bool                                    // names of those that the login has set
	Shows   func(r *message.Request, a *message.Response) Sign // what an answer looks like
	Alive   func(ctx context.Context) (bool, error)            // asks whether the user is logged in, with AsIs
	LogIn   func(ctx context.Context) (fresh *User, err error) // logs the same person in as another User
}

// The bounds of renewals.
const (
	maxTries    = 5  // how often a request is sent
	withOthers  = 2  // of them beside others of its user, which may end the session meanwhile
	maxLogins   = 5  // tries to log in, until it counts as impossible
	freeLogins  = 30 // renewals, beyond which there is one for so many answers:
	perLogin    = 6
	shortLife   = 10 // answers in a session that is short
	manyShort   = 3  // short sessions in a row, after which requests are sent one at a time
	carefulFor  = 24 // such requests
	perDeath    = 8  // more of them for each that ended a session
	maxCareful  = 80
	endsSession = 5 // so many of the requests of a target, and half of them, must have ended it
)

// NotSignedIn is a part of the reason why something was not sent for a user who cannot be logged in again.
const NotSignedIn = "is not logged in any more"

// ErrSignedOut says that a user is not logged in, and was not to be logged in again for a request.
var ErrSignedOut = errors.New("the user is not logged in any more")

var (
	errLoop error = &refusal{"the session ended each time when it was sent", ErrSignedOut}
	errEnds       = refused("testing it ends the session") // of a target that does
)

// guard is a Guard and what is known of the sessions of its user.
type guard struct {
	Guard
	user *User

	turn   chan struct{} // held while the session is looked at and renewed
	closed atomic.Bool
	looks  atomic.Int64 // at the session that were begun
	alive  atomic.Int64 // the number of the last that found the user logged in
	flight sync.RWMutex // read by requests that are in flight beside each other
	single sync.Mutex   // held by each request while they are sent one at a time

	mu       sync.Mutex
	answered int // in all, and in this session
	inThis   int
	renewals int
	short    int             // sessions in a row
	due      int             // how many of those make requests go one at a time
	careful  int             // requests that still do
	period   int             // of those since they do
	sent     map[string]int  // requests of targets that went so
	ended    map[string]int  // and those after which the session was over
	enders   map[string]bool // targets that end it
	lost     error
}

// Guard has the user logged in again whenever their session ends. It is set before anything is sent as the user.
func (u *User) Guard(g Guard) {
	made := &guard{Guard: g, user: u, turn: make(chan struct{}, 1), due: manyShort, sent: map[string]int{},
		ended: map[string]int{}, enders: map[string]bool{}}
	u.mu.Lock()
	defer u.mu.Unlock()
	u.guard = made
}

// guarded is the guard of a user; nil for none.
func (u *User) guarded() *guard {
	if u == nil {
		return nil
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.guard
}

// Shows is what an answer shows of the user's session; SignedIn without a guard.
func (u *User) Shows(r *message.Request, a *message.Response) Sign {
	g := u.guarded()
	if g == nil || a == nil || !slices.Contains(g.Hosts, r.URL.Host) {
		return SignedIn
	}
	return g.Shows(r, a)
}

// Renewals is how often the user was logged in again.
func (u *User) Renewals() int {
	g := u.guarded()
	if g == nil {
		return 0
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.renewals
}

// Lost is an ErrSignedOut that says why the user cannot be logged in again; nil while they can.
func (u *User) Lost() error {
	g := u.guarded()
	if g == nil {
		return nil
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.lost
}

// Restore asks whether the user is logged in, and logs them in again if they are not. The error is ErrSignedOut, or one
// of a request.
func (u *User) Restore(ctx context.Context) (wasOut bool, err error) {
	g := u.guarded()
	if g == nil {
		return false, nil
	}
	return g.settle(ctx, u.Version(), g.looks.Load())
}

type testing struct{}

// Testing is a context of requests that test a target, which are told apart by its key.
func Testing(ctx context.Context, key string) context.Context {
	return context.WithValue(ctx, testing{}, key)
}

// EndsSession reports whether testing a target, by its key, was given up as it ends the session of the user.
func (u *User) EndsSession(key string) bool {
	g := u.guarded()
	if g == nil {
		return false
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.enders[key]
}

// enter waits while the user is logged in again, and says whether requests go one at a time.
func (g *guard) enter(ctx context.Context, key string) (isCareful bool, err error) {
	if g.closed.Load() {
		if err := g.take(ctx); err != nil {
			return false, err
		}
		<-g.turn
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case g.lost != nil:
		return false, g.lost
	case g.enders[key]:
		return false, errEnds
	}
	return g.careful > 0, nil
}

// take waits for the turn to look at the session.
func (g *guard) take(ctx context.Context) error {
	select {
	case g.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (g *guard) count() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.answered++
	g.inThis++
}

// judges reports whether an answer to a request is one to the session of the user.
func (g *guard) judges(r *message.Request, o Options) bool {
	for name := range g.user.header(r.URL) {
		if len(r.Header[http.CanonicalHeaderKey(name)]) > 0 {
			return false
		}
	}
	for _, c := range (&http.Request{Header: http.Header{"Cookie": r.Header["Cookie"]}}).Cookies() {
		if g.Cookies[c.Name] {
			return false
		}
	}
	if o.From != OwnPage {
		if _, all := g.user.Sends(r.URL, o.From); !all {
			return false
		}
	}
	in := intentOf(r)
	return !in.any(logoutWords) && !in.page(logoutWords)
}

// settle looks at the session in which a request was sent, unless that was done since it was answered, and renews it
// where it is over. It reports whether it was.
func (g *guard) settle(ctx context.Context, version, seen int64) (wasOut bool, err error) {
	if err := g.take(ctx); err != nil {
		return false, err
	}
	defer func() { <-g.turn }()
	if err := g.user.Lost(); err != nil {
		return true, err
	}
	if g.user.Version() != version {
		return true, nil
	}
	if g.alive.Load() > seen {
		return false, nil
	}
	return g.restore(ctx)
}

// restore looks at the session, renews it where it is over, and reports whether it was; the turn is held.
func (g *guard) restore(ctx context.Context) (wasOut bool, err error) {
	isAlive, err := g.look(ctx)
	if err != nil || isAlive {
		return false, err
	}
	return true, g.renew(ctx)
}

// close has requests wait, until open.
func (g *guard) close() (open func()) {
	was := g.closed.Swap(true)
	return func() { g.closed.Store(was) }
}

// look asks whether the user is logged in. What fails by itself says nothing.
func (g *guard) look(ctx context.Context) (isAlive bool, err error) {
	number := g.looks.Add(1)
	isAlive, err = g.Alive(ctx)
	if err != nil && ctx.Err() == nil && !ends(err) {
		isAlive, err = true, nil
	}
	if isAlive {
		g.alive.Store(number)
	}
	return isAlive, err
}

// ends reports whether an error is one after which nothing is sent.
func ends(err error) bool { return errors.Is(err, ErrBudget) || errors.Is(err, ErrDown) }

// renew logs the user in again; the turn is held.
func (g *guard) renew(ctx context.Context) error {
	defer g.close()()
	if why := g.tooOften(); why != nil {
		return g.lose(why)
	}
	var last error
	for range maxLogins {
		fresh, err := g.LogIn(ctx)
		if err == nil {
			g.user.Become(fresh)
			g.begun()
			return nil
		}
		if ctx.Err() != nil || ends(err) {
			return err
		}
		last = err
	}
	return g.lose(last)
}

// tooOften says that the renewals are out of proportion; nil while they are not.
func (g *guard) tooOften() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.renewals < freeLogins+g.answered/perLogin {
		return nil
	}
	return fmt.Errorf("the sessions end as soon as they begin, %d for %d answers", g.renewals, g.answered)
}

func (g *guard) lose(why error) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.lost = &refusal{fmt.Sprintf("%s %s: %s", g.user.Name, NotSignedIn, why), ErrSignedOut}
	return g.lost
}

// begun notes a new session.
func (g *guard) begun() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.renewals++
	if g.short++; g.inThis >= shortLife {
		g.short = 0
	}
	g.inThis = 0
	if g.careful == 0 && g.short >= g.due {
		g.careful, g.period, g.due, g.short = carefulFor, 0, g.due*2, 0
		clear(g.sent)
		clear(g.ended)
	}
}

// watch looks at the session after a request that was sent alone, and learns whether its target ends it.
func (g *guard) watch(ctx context.Context, key string) error {
	if err := g.take(ctx); err != nil {
		return err
	}
	defer func() { <-g.turn }()
	alive, err := g.look(ctx)
	if err != nil {
		return err
	}
	g.mu.Lock()
	g.careful = max(0, g.careful-1)
	g.period++
	g.sent[key]++
	if !alive {
		g.ended[key]++
		g.careful = min(g.careful+perDeath, max(0, maxCareful-g.period))
		if n := g.ended[key]; key != "" && n >= endsSession && 2*n >= g.sent[key] {
			g.enders[key] = true
		}
	}
	g.mu.Unlock()
	if alive {
		return nil
	}
	return g.renew(ctx)
}
