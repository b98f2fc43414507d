package pipeline

import (
	"context"
	"errors"
	"net"
	"net/http"

	"github.com/vedette-sec/vedette/internal/infra/netguard"
)

// throughProxy connects through the proxy. A connection that failed because of the proxy is tried once more; the second
// failure ends all that is probed, since nothing is known of hosts behind a proxy that does not work.
func (p *Pipeline) throughProxy(ctx context.Context, network, addr string) (net.Conn, error) {
	dial := p.Guard.Through(p.Proxy)
	conn, err := dial(ctx, network, addr)
	if _, faulty := errors.AsType[*netguard.ProxyFault](err); !faulty || ctx.Err() != nil {
		return conn, err
	}
	conn, err = dial(ctx, network, addr)
	if _, faulty := errors.AsType[*netguard.ProxyFault](err); faulty && ctx.Err() == nil {
		p.mu.Lock()
		if p.fault == nil {
			p.fault = err
			close(p.faulty)
		}
		p.mu.Unlock()
	}
	return conn, err
}

// stopAtFault ends a context with the first fault of the proxy.
func (p *Pipeline) stopAtFault(ctx context.Context, stop context.CancelCauseFunc) {
	select {
	case <-p.faulty:
		stop(p.fault)
	case <-ctx.Done():
	}
}

// fetcher is the client for what certificates name; nil with a proxy: a certificate could name its own host, which
// would then be reached past the proxy.
func (p *Pipeline) fetcher() *http.Client {
	if p.Proxy != nil {
		return nil
	}
	return p.Client
}
