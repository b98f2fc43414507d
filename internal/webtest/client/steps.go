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

// inOrder sends the requests that belong before a request, and then the request, one chain of a user at a time. A token
// against forged requests is taken from the answer of the step before. Nobody has a session of their own for it.
func (c *Client) inOrder(ctx context.Context, r *message.Request, o Options) (*message.Response, error) {
	var steps []*message.Request
	for s := r.After; s != nil && len(steps) < maxSteps; s = s.After {
		steps = append(steps, s)
		for s.IsMessage() && s.After.IsMessage() { // it is sent with the message behind it
			s = s.After
		}
	}
	slices.Reverse(steps)
	if o.As == nil {
		o.As = NewUser("")
	}
	first := c.chain(steps[0].URL)
	first.Lock()
	defer first.Unlock()
	o.As.steps.Lock()
	defer o.As.steps.Unlock()
	var before *message.Response
	for _, step := range append(steps, r) {
		own := Options{As: o.As, Writes: o.Writes}
		if step == r {
			own = o
		} else if err := c.Permit(step, own); err != nil {
			return nil, err
		}
		release := func() {}
		if before != nil && step.Token != nil && valueAt(step, step.Token.Place) == step.Token.Value {
			if fresh := fieldValue(before.Body, step.Token.Field); fresh != "" {
				step = step.Put(step.Token.Place, fresh)
			}
		} else if before == nil {
			step, release = c.renew(ctx, step, o.As)
		}
		if to := led(step, before); to != nil {
			step = step.Clone()
			step.URL = to
			if err := c.Permit(step, own); err != nil {
				release()
				return nil, err
			}
		}
		answer, err := c.send(ctx, step, own)
		release()
		if err != nil {
			return nil, err
		}
		before = answer
	}
	return before, nil
}
