package sender

import (
	"context"
	"errors"
	"sync/atomic"
)

// ErrBudget is why nothing is sent after the requests of a scan are used up.
var ErrBudget = errors.New("the scan has sent as many requests as it may")

// Budget limits the requests of a scan. A nil Budget, and one without a Limit, has no limit.
type Budget struct {
	Limit int64
	spent atomic.Int64 // with what is reserved
}

// Spend takes one request out of the budget, or uses the one that the context has reserved. The error is ErrBudget.
func (b *Budget) Spend(ctx context.Context) error {
	if b == nil || b.Limit <= 0 {
		return nil
	}
	if held, ok := ctx.Value(reserved{}).(*atomic.Bool); ok && held.CompareAndSwap(true, false) {
		return nil
	}
	return b.take()
}

func (b *Budget) take() error {
	if b.spent.Add(1) > b.Limit {
		b.spent.Add(-1)
		return ErrBudget
	}
	return nil
}

// reserved is the context key of a reserved request.
type reserved struct{}

// Reserve reserves a request for the first one that is sent with the returned context. release returns it to the
// budget if it was not sent.
func (b *Budget) Reserve(ctx context.Context) (_ context.Context, release func(), err error) {
	if b == nil || b.Limit <= 0 {
		return ctx, func() {}, nil
	}
	if err := b.take(); err != nil {
		return ctx, nil, err
	}
	held := new(atomic.Bool)
	held.Store(true)
	release = func() {
		if held.CompareAndSwap(true, false) {
			b.spent.Add(-1)
		}
	}
	return context.WithValue(ctx, reserved{}, held), release, nil
}
