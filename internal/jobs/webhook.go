package jobs

import (
	"context"

	"github.com/vedette-sec/vedette/internal/core/hook"
	"github.com/vedette-sec/vedette/internal/infra/errs"
)

// deliver sends a webhook, with the secret that the team chose for it. One whose secret was deleted is stored as
// failed: the receiver would refuse it, and must not get it without.
func (w worker) deliver(ctx context.Context, a hook.DeliverArgs) error {
	team, name, err := w.Hooks.SecretOf(ctx, a.DeliveryID)
	if err != nil {
		return err
	}
	if name == "" {
		return w.Hooks.Deliver(ctx, a.DeliveryID, "")
	}
	bearer, err := w.Secrets.OfOwner(ctx, team, name)
	if errs.Is(err, errs.NotFound) {
		return w.Hooks.Fail(ctx, a.DeliveryID, errs.From(err).Message)
	}
	if err != nil {
		return err
	}
	return w.Hooks.Deliver(ctx, a.DeliveryID, bearer)
}
