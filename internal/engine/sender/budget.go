package sender

import (
	"context"
	"errors"
	"sync/atomic"
)

// ErrBudget is why nothing is sent any more when a scan has sent all that it may.
var ErrBudget = errors.New("the scan has sent as many requests as it may")

// Budget limits the requests of a scan. A nil Budget, and one without a Limit, has no limit.
type Budget struct {
	Limit int64
	spent atomic.Int64 // with what is reserved
}

// Spend takes one request out of the budget, or the one that the context has reserved. The error
// is ErrBudget.
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

// reserved is the context key of a request that was taken out of the budget and not sent yet.
type reserved struct{}

// Reserve takes one request out of the budget for the first request that is sent with the
// context it returns. What was not sent when release is called returns to the budget.
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
