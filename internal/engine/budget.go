package engine

import (
	"context"
	"errors"
	"sync/atomic"
)

// errBudget is why cells are left over when a scan has sent all that it may send.
var errBudget = errors.New("the scan has sent as many requests as it may")

// budget is how many requests a scan may send. A nil one, and one without a most, has no limit.
type budget struct {
	most  int64
	spent atomic.Int64 // with what is reserved
}

// spend takes one request out of the budget, or the one that the context has reserved.
// The error is errBudget.
func (b *budget) spend(ctx context.Context) error {
	if b == nil || b.most <= 0 {
		return nil
	}
	if held, ok := ctx.Value(reserved{}).(*atomic.Bool); ok && held.CompareAndSwap(true, false) {
		return nil
	}
	return b.take()
}

func (b *budget) take() error {
	if b.spent.Add(1) > b.most {
		b.spent.Add(-1)
		return errBudget
	}
	return nil
}

// reserved is the key of a context for a request that was taken out of the budget and is
// not sent yet.
type reserved struct{}

// reserve takes one request out of the budget, for the first that is sent with the
// context it gives. What was not sent when giveBack is called returns to the budget.
func (b *budget) reserve(ctx context.Context) (_ context.Context, giveBack func(), err error) {
	if b == nil || b.most <= 0 {
		return ctx, func() {}, nil
	}
	if err := b.take(); err != nil {
		return ctx, nil, err
	}
	held := new(atomic.Bool)
	held.Store(true)
	giveBack = func() {
		if held.CompareAndSwap(true, false) {
			b.spent.Add(-1)
		}
	}
	return context.WithValue(ctx, reserved{}, held), giveBack, nil
}
