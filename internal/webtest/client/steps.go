package client

import (
	"context"
	"net/url"
	"slices"
	"sync"

	"github.com/vedette-sec/vedette/internal/webtest/message"
)

// maxSteps is how many requests are sent before one that needs them.
const maxSteps = 6

// chain is what one chain at a time holds of those that begin with an address: what it brings may be the same for all
// users.
func (c *Client) chain(at *url.URL) *sync.Mutex {
	c.mu.Lock()
	defer c.mu.Unlock()
	key := at.Host + at.Path
	if c.chains[key] == nil {
		c.chains[key] = &sync.Mutex{}
	}
	return c.chains[key]
}

// led is the address of a step to which the answer before it leads; nil where it stays.
func led(step *message.Request, before *message.Response) *url.URL {
	if before == nil || !step.Led {
		return nil
	}
	to := before.Redirect()
	if to == nil || to.Host != step.URL.Host {
		return nil
	}
	return to
}

// stepsOf are the requests that a chain sends before its last, the first one first.
func stepsOf(r *message.Request) (steps []*message.Request) {
	for s := r.After; s != nil && len(steps) < maxSteps; s = s.After {
		steps = append(steps, s)
		for s.IsMessage() && s.After.IsMessage() { // it is sent with the message behind it
			s = s.After
		}
	}
	slices.Reverse(steps)
	return steps
}

// inOrder sends the requests that belong before a request, and then the request, one chain of a user at a time. A token
// against forged requests is taken from the answer of the step before. Nobody has a session of their own for it. See
// once for what it returns; p is how far it has come.
func (c *Client) inOrder(ctx context.Context, r *message.Request, o Options, p *progress) (
	*message.Request, *message.Response, error,
) {
	steps := stepsOf(r)
	guarded := o.As.guarded() != nil && !o.AsIs
	if o.As == nil {
		o.As = NewUser("")
	}
	first := c.chain(steps[0].URL)
	first.Lock()
	defer first.Unlock()
	o.As.steps.Lock()
	defer o.As.steps.Unlock()
	for _, step := range append(steps, r)[p.at:] {
		own := Options{As: o.As, Writes: o.Writes}
		if step == r {
			own = o
		}
		answer, err := c.step(ctx, step, own, step == r, p)
		if err != nil {
			return step, nil, err
		}
		if step == r || guarded && o.As.Shows(step, answer) != SignedIn {
			return step, answer, nil
		}
		p.at, p.before, p.renewed = p.at+1, answer, false
	}
	return r, p.before, nil
}

// step sends one request of a chain.
func (c *Client) step(ctx context.Context, step *message.Request, o Options, isLast bool, p *progress) (
	*message.Response, error,
) {
	if !isLast {
		if err := c.Permit(step, o); err != nil {
			return nil, err
		}
	}
	release := func() {}
	if p.before == nil || p.renewed {
		step, release = c.renew(ctx, step, o.As)
	} else if step.Token != nil && valueAt(step, step.Token.Place) == step.Token.Value {
		if fresh := fieldValue(p.before.Body, step.Token.Field); fresh != "" {
			step = step.Put(step.Token.Place, fresh)
		}
	}
	defer release()
	if to := led(step, p.before); to != nil {
		step = step.Clone()
		step.URL = to
		if err := c.Permit(step, o); err != nil {
			return nil, err
		}
	}
	return c.send(ctx, step, o)
}
