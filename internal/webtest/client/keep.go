package client

import (
	"context"
	"fmt"

	"github.com/vedette-sec/vedette/internal/webtest/message"
)

// progress is how far a chain of requests is.
type progress struct {
	at      int               // the index of the step that is next
	before  *message.Response // the answer to the step before it
	renewed bool              // since that answer
	tries   int               // in which the user was found not to be logged in
}

// keep sends a request as a guarded user.
func (c *Client) keep(ctx context.Context, g *guard, r *message.Request, o Options) (*message.Response, error) {
	p := &progress{}
	for {
		last, answer, sign, err := c.attempt(ctx, g, r, o, p)
		if err != nil {
			return nil, err
		}
		if sign == SignedIn {
			if last == r {
				return answer, nil
			}
			p.at, p.before = p.at+1, answer
			continue
		}
		writes := o.Writes || Writes(last)
		if p.tries++; p.tries >= maxTries || writes && (p.tries > 1 || sign == Missing) {
			return nil, fmt.Errorf("%s %s: %w", last.Method, last.URL.Redacted(), errLoop)
		}
		p.resume(r)
	}
}

// attempt sends a request once. The sign is SignedIn where the user was logged in, also where a test made the
// application answer otherwise; else they are logged in again now, or before the next try.
func (c *Client) attempt(ctx context.Context, g *guard, r *message.Request, o Options, p *progress) (
	last *message.Request, answer *message.Response, sign Sign, err error,
) {
	if p.tries >= withOthers || p.tries > 0 && (o.Writes || Writes(r)) { // what may write has one more try alone
		return c.first(ctx, g, r, o, p)
	}
	key, _ := ctx.Value(testing{}).(string)
	isCareful, err := g.enter(ctx, key)
	if err != nil {
		return nil, nil, SignedIn, err
	}
	if isCareful {
		g.single.Lock()
		defer g.single.Unlock()
	}
	g.flight.RLock()
	version := g.user.Version()
	last, answer, err = c.once(ctx, r, o, p)
	seen := g.looks.Load()
	g.flight.RUnlock()
	if err != nil {
		return nil, nil, SignedIn, err
	}
	g.count()
	if isCareful {
		if err := g.watch(ctx, key); err != nil {
			return nil, nil, SignedIn, err
		}
	}
	if sign = g.sign(last, answer, o); sign == SignedIn {
		return last, answer, sign, nil
	}
	wasOut, err := g.settle(ctx, version, seen)
	if !wasOut {
		sign = SignedIn
	}
	return last, answer, sign, err
}

// first is attempt in a session that is known to go on, while no other request of the user is in flight.
func (c *Client) first(ctx context.Context, g *guard, r *message.Request, o Options, p *progress) (
	last *message.Request, answer *message.Response, sign Sign, err error,
) {
	if err := g.take(ctx); err != nil {
		return nil, nil, SignedIn, err
	}
	defer func() { <-g.turn }()
	defer g.close()()
	g.flight.Lock()
	defer g.flight.Unlock()
	if err := g.user.Lost(); err != nil {
		return nil, nil, SignedIn, err
	}
	if _, err := g.restore(ctx); err != nil {
		return nil, nil, SignedIn, err
	}
	if last, answer, err = c.once(ctx, r, o, p); err != nil {
		return nil, nil, SignedIn, err
	}
	g.count()
	if sign = g.sign(last, answer, o); sign != SignedIn {
		if isAlive, err := g.look(ctx); err != nil || isAlive {
			return last, answer, SignedIn, err
		}
	}
	return last, answer, sign, nil
}

// sign is what an answer shows of the session of the user.
func (g *guard) sign(r *message.Request, answer *message.Response, o Options) Sign {
	sign := g.user.Shows(r, answer)
	if sign != SignedIn && !g.judges(r, o) {
		return SignedIn
	}
	return sign
}

// resume has a chain begin again in a new session. Steps that were taken and may have written are not sent again.
func (p *progress) resume(r *message.Request) {
	for i, s := range stepsOf(r) {
		if i < p.at && Writes(s) {
			p.renewed = true
			return
		}
	}
	*p = progress{tries: p.tries}
}
