package engine

import (
	"context"

	"github.com/vedette-sec/vedette/internal/engine/canary"
	"github.com/vedette-sec/vedette/internal/engine/proto/rawurl"
	"github.com/vedette-sec/vedette/internal/engine/proto/web"
	"github.com/vedette-sec/vedette/internal/engine/targets"
)

// Canary requests three missing paths: a plain one, one with an extension, and a hidden file.
func (e *Engine) Canary(ctx context.Context, target string) (canary.Canary, error) {
	t, err := targets.Parse(target)
	if err != nil {
		return canary.Canary{}, err
	}
	_, found, err := e.locate(ctx, t, true, e.probeAlone)
	return found, err
}

// sendAlone sends a request outside of a scan.
func (e *Engine) sendAlone(ctx context.Context, req web.Request) (*web.Exchange, error) {
	at := req.Address.HostPort()
	defer e.sender.Release(at)
	return e.sender.Send(ctx, e.sender.Acquire(at), req, e.sender.Wait)
}

// beginAlone waits until a probe outside of a scan may send one request.
func (e *Engine) beginAlone(ctx context.Context, hostPort string) (end func(), err error) {
	over, err := e.sender.Begin(ctx, e.sender.Acquire(hostPort), e.sender.Wait)
	if err != nil {
		e.sender.Release(hostPort)
		return nil, err
	}
	return func() { over(); e.sender.Release(hostPort) }, nil
}

// probeAlone is sendAlone for the first requests to a target.
func (e *Engine) probeAlone(ctx context.Context, req web.Request) (*web.Exchange, error) {
	at := req.Address.HostPort()
	defer e.sender.Release(at)
	return e.sender.Probe(ctx, e.sender.Acquire(at), req, e.sender.Wait)
}

// locate finds the scheme that a target answers on by requesting a missing path; with all, also the other missing
// paths. A target that lets two requests wait in vain, on one scheme or on both, is not asked any more.
func (e *Engine) locate(
	ctx context.Context, t targets.Target, all bool, send sendFunc,
) (rawurl.URL, canary.Canary, error) {
	var firstErr error
	for i, scheme := range t.Schemes {
		address := t.With(scheme)
		found, err := canary.Request(ctx, address, all, i < len(t.Schemes)-1, len(t.Schemes) > 1, canary.Send(send))
		for i := range found.Answers {
			found.Answers[i].Type = Clean(found.Answers[i].Type)
		}
		if err == nil || ctx.Err() != nil {
			return address, found, ctx.Err()
		}
		if firstErr == nil {
			firstErr = err
		}
	}
	return t.Address, canary.Canary{}, firstErr
}
