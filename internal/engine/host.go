package engine

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/vedette-sec/vedette/internal/engine/proto/web"
	"github.com/vedette-sec/vedette/internal/errs"
)

// host is what the visits of one host and port share.
type host struct {
	slots chan struct{} // requests in flight

	mu     sync.Mutex
	misses int   // requests in a row without an answer
	dead   error // why it was given up; nil while it was not
}

// hostOf is the shared state of a host and port.
func (r *run) hostOf(hostPort string) *host {
	r.mu.Lock()
	defer r.mu.Unlock()
	h := r.hosts[hostPort]
	if h == nil {
		h = &host{slots: make(chan struct{}, r.engine.cfg.PerHost)}
		r.hosts[hostPort] = h
	}
	return h
}

// acquire takes a place in a line, unless ctx ends first.
func acquire(ctx context.Context, line chan struct{}) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	select {
	case line <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// maxMisses is how many requests in a row may stay unanswered before a host is asked
// whether it is there at all.
const maxMisses = 8

// errSilent is why a host was given up in the middle of a scan.
var errSilent = errors.New("the host stopped answering")

// send sends a request within the limits of the scan and of the host it goes to, again
// when it had no answer and may be repeated. A host that leaves too many in a row
// unanswered is asked once more, gently, and then given up.
func (r *run) send(ctx context.Context, req web.Request) ([]*web.Exchange, error) {
	h := r.hostOf(req.Address.HostPort())
	if err := acquire(ctx, h.slots); err != nil {
		return nil, err
	}
	defer func() { <-h.slots }()
	if err := acquire(ctx, r.slots); err != nil {
		return nil, err
	}
	defer func() { <-r.slots }()
	h.mu.Lock()
	dead := h.dead
	h.mu.Unlock()
	if dead != nil {
		return nil, dead
	}
	chain, err := r.engine.send(ctx, req, r.sent)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil {
		r.count(func(p *Progress) { p.Errors++ })
	}
	r.remember(ctx, h, req, len(chain) > 0, err)
	return chain, err
}

// remember keeps count of a host's silence. answered is true when the host itself
// answered, whatever came of a redirect.
func (r *run) remember(ctx context.Context, h *host, req web.Request, answered bool, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case answered:
		h.misses = 0
	case !errs.Is(err, errs.Forbidden):
		h.misses++
	}
	if h.misses < maxMisses || h.dead != nil {
		return
	}
	h.misses = 0
	root := web.Request{Address: web.Address{Scheme: req.Address.Scheme, Host: req.Address.Host, Path: "/"}, Fresh: true}
	if _, again := r.engine.chain(ctx, root, r.sent); again != nil && ctx.Err() == nil {
		h.dead = fmt.Errorf("%w (%s)", errSilent, web.Reason(again))
	}
}

// sent is the gate of a scan: the engine's, and a count.
func (r *run) sent(ctx context.Context) error {
	if err := r.engine.gate(ctx); err != nil {
		return err
	}
	r.count(func(p *Progress) { p.Requests++ })
	return nil
}
