package task

import (
	"context"
	"encoding/json"

	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/core/hook"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/errs"
)

// TestWebhook queues a delivery to the webhook of the caller's team, to see whether one arrives: with its address and
// its secret, but about no task. An admin of the team may; Conflict when there is no address. It returns the
// delivery's id.
func (ts *Tasks) TestWebhook(ctx context.Context) (id string, err error) {
	c, err := account.TeamAdmin(ctx)
	if err != nil {
		return "", err
	}
	return id, ts.db.Tx(ctx, func(tx *db.Tx) error {
		url, secret, err := ts.accounts.Webhook(ctx, tx, c.TeamID)
		if err != nil {
			return err
		}
		if url == "" {
			return errs.New(errs.Conflict, "no_webhook", "Your team has no webhook_url: set one first.").At("webhook_url")
		}
		body, err := json.Marshal(map[string]any{"schema_version": 1, "event": hook.Test, "sent_at": ts.now().UTC(),
			"message": "An admin of the team has asked for this test. It is about no task."})
		if err != nil {
			return err
		}
		id, err = ts.hooks.New(ctx, tx, hook.Delivery{TeamID: c.TeamID, Event: hook.Test, URL: url, Body: body,
			SecretName: secret})
		if err != nil {
			return err
		}
		_, err = ts.queue.Insert(ctx, tx, c.TeamID, hook.DeliverArgs{DeliveryID: id})
		return err
	})
}
