package jobs

import (
	"context"
	"fmt"
	"time"

	"github.com/vedette-sec/vedette/internal/core/notification"
	"github.com/vedette-sec/vedette/internal/core/policy"
	"github.com/vedette-sec/vedette/internal/notify/alert"
)

// alertOfPolicy posts an alert of a policy.
func (w worker) alertOfPolicy(ctx context.Context, a policy.AlertArgs) error {
	e, ok, err := w.Policies.FindAlert(ctx, a.EventID)
	if err != nil || !ok {
		return err
	}
	channels, err := w.dispatcher.Channels(ctx, e.TeamID, []string{e.ConfigID}, false)
	if err != nil {
		return err
	}
	if len(channels) == 0 {
		return w.Policies.EndAlert(ctx, e.ID, "The alerting configuration was deleted, or has no channel.")
	}
	end := alert.End{FinishedAt: time.Now().UTC(), NewAssets: e.Affected}
	for _, s := range e.Sample {
		end.NewAssetsList = append(end.NewAssetsList, alert.Asset{Host: s.Host, Port: s.Port, IP: []string{}})
	}
	alerts := []alert.Alert{{
		Kind: alert.NewAsset, EnumerationID: e.EnumerationID, Finished: &end,
		Message: fmt.Sprintf("%d assets match the policy %q.", e.Affected, e.PolicyName),
	}}
	about := notification.Notification{
		TeamID: e.TeamID, Kind: notification.OfPolicy, Subject: e.ID, PolicyID: e.PolicyID, Run: e.Run,
	}
	if err := w.dispatcher.Post(ctx, about, channels, alerts); err != nil {
		return err
	}
	return w.Policies.EndAlert(ctx, e.ID, "")
}
