package jobs

import (
	"context"
	"fmt"

	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/core/asset"
	"github.com/vedette-sec/vedette/internal/core/enumeration"
	"github.com/vedette-sec/vedette/internal/core/notification"
	"github.com/vedette-sec/vedette/internal/infra/page"
	"github.com/vedette-sec/vedette/internal/notify/alert"
)

// alertOfEnumeration posts the alerts of a run's new state.
func (w worker) alertOfEnumeration(ctx context.Context, a enumeration.AlertArgs) error {
	state, ok, err := w.Enumerations.FindRunState(ctx, a)
	if err != nil || !ok {
		return err
	}
	about := notification.Notification{
		TeamID: state.TeamID, Kind: notification.OfEnumeration, Subject: state.ID, Run: state.Run,
	}
	return w.post(ctx, about, state.Config.AlertConfigIDs, state.Config.NoGlobalAlerts, func() ([]alert.Alert, error) {
		return w.enumerationAlerts(ctx, state)
	})
}

// enumerationAlerts are the alerts of a run's new state.
func (w worker) enumerationAlerts(ctx context.Context, state enumeration.RunState) ([]alert.Alert, error) {
	about := notification.Subject{Kind: notification.OfEnumeration, ID: state.ID, Name: state.Name}
	n := state.Numbers
	switch state.Status {
	case enumeration.Running:
		return about.Running(alert.Start{StartedAt: n.StartedAt}), nil
	case enumeration.Failed, enumeration.Stopped:
		return about.Failed(n.EndedAt, n.DoneNames, n.Names, state.FailureReason, state.Status == enumeration.Stopped), nil
	}
	end := alert.End{
		FinishedAt: n.EndedAt, EnumerationTime: fmt.Sprintf("%ds", int(n.Elapsed(n.EndedAt).Seconds())),
		TotalAssets: state.Totals.Assets, NewAssets: n.NewAssets,
	}
	if n.NewAssets > 0 {
		var err error
		if end.NewAssetsList, err = w.newAssets(ctx, state); err != nil {
			return nil, err
		}
	}
	var drops []string
	for _, e := range state.Drops {
		drops = append(drops, e.Subject+": "+e.Detail)
	}
	return about.EnumerationFinished(end, drops), nil
}

// newAssets are some of the assets that a run found first.
func (w worker) newAssets(ctx context.Context, state enumeration.RunState) ([]alert.Asset, error) {
	ctx = account.WithCaller(ctx, account.Caller{TeamID: state.TeamID})
	found, err := w.Assets.List(ctx, asset.Query{
		Filter: asset.Filter{Enumerations: []string{state.ID}, New: new(true)},
		Window: page.Window{Limit: notification.MaxListed},
	})
	out := make([]alert.Asset, len(found.Assets))
	for i, a := range found.Assets {
		out[i] = alert.Asset{Host: a.Host, Port: a.Port, IP: a.IP}
	}
	return out, err
}
