package jobs

import (
	"context"
	"fmt"
	"time"

	"github.com/vedette-sec/vedette/internal/core/asset"
	"github.com/vedette-sec/vedette/internal/core/notification"
	"github.com/vedette-sec/vedette/internal/core/policy"
	"github.com/vedette-sec/vedette/internal/infra/queue"
	"github.com/vedette-sec/vedette/internal/notify/alert"
)

// handleAssets registers the jobs that label many assets and apply policies.
func (w worker) handleAssets(q *queue.Queue) {
	queue.Handle(q, queue.Handler[asset.LabelArgs]{Work: w.Assets.RunLabels})
	queue.Handle(q, queue.Handler[policy.RunArgs]{Work: w.Policies.Run})
	queue.Handle(q, queue.Handler[policy.AlertArgs]{Quick: true, Work: w.alertOfPolicy})
}

// alertOfPolicy posts an alert of a policy.
func (w worker) alertOfPolicy(ctx context.Context, job queue.Job[policy.AlertArgs]) error {
	e, ok, err := w.Policies.FindAlert(ctx, job.Args.EventID)
	if err != nil || !ok {
		return err
	}
	channels, err := w.dispatcher.Channels(ctx, e.TeamID, []string{e.ConfigID}, false)
	if err != nil {
		return err
	}
	if len(channels) == 0 {
		return w.Policies.EndAlert(ctx, e.ID, "The alerting configuration is gone, or has no channel.")
	}
	a := alert.Alert{Kind: alert.NewAsset, EnumerationID: e.EnumerationID}
	a.Message = fmt.Sprintf("%d assets match the policy %q.", e.Affected, e.PolicyName)
	a.Finished = &alert.End{FinishedAt: time.Now().UTC(), NewAssets: e.Affected}
	for _, b := range e.Sample {
		a.Finished.NewAssetsList = append(a.Finished.NewAssetsList, alert.Asset{Host: b.Host, Port: b.Port, IP: []string{}})
	}
	about := notification.Notification{TeamID: e.TeamID, Kind: notification.OfPolicy, Subject: e.ID, PolicyID: e.PolicyID, Run: e.Run}
	if err := w.dispatcher.Post(ctx, about, channels, []alert.Alert{a}); err != nil {
		return err
	}
	return w.Policies.EndAlert(ctx, e.ID, "")
}
