package sender_test

import (
	"errors"
	"testing"

	"github.com/vedette-sec/vedette/internal/engine/sender"
)

// TestBudget: what was reserved and not sent returns, and nothing is sent beyond the limit.
func TestBudget(t *testing.T) {
	b := &sender.Budget{Limit: 2}
	ctx, release, err := b.Reserve(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Spend(t.Context()); err != nil {
		t.Errorf("the second request: %v", err)
	}
	if err := b.Spend(t.Context()); !errors.Is(err, sender.ErrBudget) {
		t.Errorf("beside a reserved request a third one is sent: %v", err)
	}
	release()
	release() // returns nothing more
	if err := b.Spend(t.Context()); err != nil {
		t.Errorf("what was released is not there: %v", err)
	}
	if err := b.Spend(ctx); !errors.Is(err, sender.ErrBudget) {
		t.Errorf("a released reservation is spent: %v", err)
	}
	for _, unlimited := range []*sender.Budget{nil, {}} {
		for range 3 {
			if err := unlimited.Spend(t.Context()); err != nil {
				t.Errorf("without a limit: %v", err)
			}
		}
	}
}
