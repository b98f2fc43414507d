// Package pause waits, unless a context ends first.
package pause

import (
	"context"
	"time"
)

// For waits for d, or for the end of ctx, which it returns.
func For(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
