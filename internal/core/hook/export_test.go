package hook

import (
	"context"
	"time"

	"github.com/vedette-sec/vedette/internal/infra/db"
)

// SetTiming shortens the wait for a receiver, and for a worker that may be dead.
func (h *Hooks) SetTiming(timeout, lease time.Duration) { h.timeout, h.lease = timeout, lease }

// SetNow replaces the clock.
func (h *Hooks) SetNow(now func() time.Time) { h.now = now }

// Start marks a delivery as started, as Deliver does, and dies there.
func (h *Hooks) Start(ctx context.Context, id string) (bool, error) {
	return h.move(ctx, id, Pending, Sending, `started_at = ?, attempts = attempts + 1`, db.At(h.now()))
}

// Move tries to change a delivery's state.
func (h *Hooks) Move(ctx context.Context, id string, from, to State) (bool, error) {
	return h.move(ctx, id, from, to, `error = ?`, "")
}
