package engine

import (
	"context"

	"github.com/vedette-sec/vedette/internal/engine/fuzz"
	"github.com/vedette-sec/vedette/internal/engine/match"
	"github.com/vedette-sec/vedette/internal/engine/prober"
	"github.com/vedette-sec/vedette/internal/engine/program"
	"github.com/vedette-sec/vedette/internal/engine/proto/rawurl"
	"github.com/vedette-sec/vedette/internal/engine/proto/web"
	"github.com/vedette-sec/vedette/internal/engine/sender"
	"github.com/vedette-sec/vedette/internal/engine/targets"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/recorded"
)

// sendFunc sends one request within the limits that apply.
type sendFunc func(ctx context.Context, req web.Request) (*web.Exchange, error)

// requester makes the requests to one target and shows the responses to operators.
type requester struct {
	engine     *Engine
	target     targets.Target
	address    rawurl.URL        // where the target answers
	recorded   *recorded.Request // that the target stands for; nil for none
	send       sendFunc
	beforeSend sender.Before // for the requests that follow redirects
	tupleSlots chan struct{} // one for each payload tuple in progress

	begin func(ctx context.Context, hostPort string) (end func(), err error) // for one request of a probe
	dials *prober.Dials

	budget    *sender.Budget  // of the scan; nil outside of one
	frequency *fuzz.Frequency // of the scan; nil outside of one

	newConnection bool                   // on new connections
	change        func(req *web.Request) // changes the repeated request; may be nil
}

// tupleSlots are slots for as many payload tuples of a target as requests may be in flight.
func (e *Engine) tupleSlots() chan struct{} { return make(chan struct{}, e.cfg.PerHost) }

// input is what requests to the target are made from.
func (r *requester) input(ctx context.Context) program.Input {
	return program.Input{Ctx: ctx, Target: r.address, Recorded: r.recorded, Host: r.engine.host, Names: r.engine.cfg.Names}
}

// follow follows redirects as a program wants, with the cookies of a jar (nil: of the chain alone), as far as the
// scope goes.
func (r *requester) follow(
	ctx context.Context, first *web.Exchange, how program.Follow, jar *web.Jar,
) ([]*web.Exchange, error) {
	if how.Mode == web.NoRedirects || !first.Redirects() {
		return []*web.Exchange{first}, nil
	}
	chain, err := r.engine.client.Follow(ctx, first, web.Policy{
		Mode: how.Mode, SameScheme: how.SameScheme, Max: how.Max, Jar: jar,
		Before: r.beforeSend, Allow: r.engine.sender.Allows,
	})
	if err != nil && errs.Is(err, errs.Forbidden) {
		err = nil
	}
	return chain, err
}

// view is a response as operators see it; body is nil for one whose redirect was followed.
func (r *requester) view(ctx context.Context, x *web.Exchange, body []byte) *match.Response {
	return &match.Response{
		Status: x.Status, Body: body, Head: x.Head, Raw: x.Sent,
		Named: func(name string) (any, bool) {
			if name == "host" {
				return r.target.Input, true
			}
			return x.Named(name)
		},
		Ctx: ctx, Host: r.engine.host,
	}
}

// views are the responses of a chain as operators see them: only the last has a body.
func (r *requester) views(ctx context.Context, chain []*web.Exchange) []*match.Response {
	all := make([]*match.Response, len(chain))
	for i, x := range chain {
		all[i] = r.view(ctx, x, nil)
	}
	last := len(chain) - 1
	all[last].Body = chain[last].Body
	return all
}
