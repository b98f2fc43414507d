package kit

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/vedette-sec/vedette/internal/infra/pause"
	"github.com/vedette-sec/vedette/internal/oast"
)

// OOB makes addresses that wait for calls of the target.
type OOB struct {
	Client *oast.Client
	Wait   time.Duration // for calls, when all is sent; default 10 s

	mu      sync.Mutex
	waiting map[string]func(oast.Interaction)
	called  map[string][]oast.Interaction
}

// Address makes an address, HOST or HOST:PORT/PATH; then is called for each call of it, when Poll reads it.
func (o *OOB) Address(then func(oast.Interaction)) (id, address string) {
	id, address = o.Client.URL()
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.waiting == nil {
		o.waiting, o.called = map[string]func(oast.Interaction){}, map[string][]oast.Interaction{}
	}
	o.waiting[id] = then
	return id, address
}

// Poll reads the calls that came in and tells those who wait.
func (o *OOB) Poll(ctx context.Context) error {
	all, err := o.Client.Poll(ctx)
	if errors.Is(err, oast.ErrSession) {
		return errors.Join(err, o.Client.Register(ctx))
	}
	type call struct {
		then func(oast.Interaction)
		with oast.Interaction
	}
	var calls []call
	o.mu.Lock()
	for _, one := range all {
		if o.called == nil {
			continue
		}
		o.called[one.UniqueID] = append(o.called[one.UniqueID], one)
		if then := o.waiting[one.UniqueID]; then != nil {
			calls = append(calls, call{then, one})
		}
	}
	o.mu.Unlock()
	for _, c := range calls {
		c.then(c.with)
	}
	return err
}

// Called are the calls of an address that were read.
func (o *OOB) Called(id string) []oast.Interaction {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.called[id]
}

// Await polls until an address was called, or for as long as is waited.
func (o *OOB) Await(ctx context.Context, id string) (bool, error) {
	wait := o.Wait
	if wait <= 0 {
		wait = 10 * time.Second
	}
	const step = 500 * time.Millisecond
	for left := wait; ; left -= step {
		if err := o.Poll(ctx); err != nil {
			return false, err
		}
		if len(o.Called(id)) > 0 {
			return true, nil
		}
		if left <= 0 {
			return false, nil
		}
		if err := pause.For(ctx, min(step, left)); err != nil {
			return false, err
		}
	}
}
