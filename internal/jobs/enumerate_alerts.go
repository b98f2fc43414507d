package jobs

import (
	"context"
	"fmt"
	"strings"

	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/core/asset"
	"github.com/vedette-sec/vedette/internal/core/enumeration"
	"github.com/vedette-sec/vedette/internal/core/notification"
	"github.com/vedette-sec/vedette/internal/infra/page"
	"github.com/vedette-sec/vedette/internal/infra/queue"
	"github.com/vedette-sec/vedette/internal/notify/alert"
)

// tellOfEnumeration makes what follows from a run's new state: a notice for each channel
// that wants it.
func (w worker) tellOfEnumeration(ctx context.Context, job queue.Job[enumeration.ToldArgs]) error {
	news, ok, err := w.Enumerations.FindNews(ctx, job.Args)
	if err != nil || !ok {
		return err
	}
	channels, err := w.channels(ctx, news.TeamID, news.Config.AlertConfigIDs, !news.Config.NoGlobalAlerts)
	if err != nil || len(channels) == 0 {
		return err
	}
	alerts, err := w.enumerationAlerts(ctx, news)
	if err != nil {
		return err
	}
	return w.post(ctx, notification.Notice{TeamID: news.TeamID, Kind: notification.OfEnumeration, Subject: news.ID, Run: news.Run}, channels, alerts)
}

// enumerationAlerts are what is to be told of a run in its new state.
func (w worker) enumerationAlerts(ctx context.Context, news enumeration.News) ([]alert.Alert, error) {
	a := alert.Alert{EnumerationID: news.ID, EnumerationName: news.Name}
	n := news.Numbers
	switch news.Status {
	case enumeration.Running:
		a.Kind, a.Message = alert.Running, fmt.Sprintf("Enumeration %q has started.", news.Name)
		a.Running = &alert.Start{StartedAt: n.StartedAt}
		return []alert.Alert{a}, nil
	case enumeration.Failed, enumeration.Stopped:
		reason := news.FailureReason
		a.Kind, a.Message = alert.Failed, fmt.Sprintf("Enumeration %q has failed.", news.Name)
		if news.Status == enumeration.Stopped {
			reason, a.Message = "It was stopped.", fmt.Sprintf("Enumeration %q was stopped.", news.Name)
		}
		progress := 0
		if n.Names > 0 {
			progress = n.DoneNames * 100 / n.Names
		}
		a.Failed = &alert.Breakdown{Timestamp: n.EndedAt, Progress: progress, Reason: reason}
		return []alert.Alert{a}, nil
	}
	a.Kind, a.Message = alert.Finished, fmt.Sprintf("Enumeration %q has finished with %d assets, %d of them new.", news.Name, news.Totals.Assets, n.NewAssets)
	a.Finished = &alert.End{
		FinishedAt: n.EndedAt, EnumerationTime: fmt.Sprintf("%ds", int(n.Elapsed(n.EndedAt).Seconds())), TotalAssets: news.Totals.Assets, NewAssets: n.NewAssets,
	}
	alerts := []alert.Alert{a}
	if n.NewAssets > 0 {
		list, err := w.newAssets(ctx, news)
		if err != nil {
			return nil, err
		}
		a.Finished.NewAssetsList = list
		fresh := a
		fresh.Kind, fresh.Message = alert.NewAsset, fmt.Sprintf("Enumeration %q has found %d new assets.", news.Name, n.NewAssets)
		alerts = append(alerts, fresh)
	}
	if len(news.Fallen) > 0 {
		alerts = append(alerts, fallen(news))
	}
	return alerts, nil
}

// fallen tells of sources that told far less than they used to.
func fallen(news enumeration.News) alert.Alert {
	lines := make([]string, len(news.Fallen))
	for i, e := range news.Fallen {
		lines[i] = e.Subject + ": " + e.Detail
	}
	return alert.Alert{
		Kind: alert.SourceDrop, EnumerationID: news.ID, EnumerationName: news.Name,
		Message: fmt.Sprintf("Sources of enumeration %q told far less than they used to. %s", news.Name, strings.Join(lines, " ")),
	}
}

// newAssets are some of the assets that a run saw first.
func (w worker) newAssets(ctx context.Context, news enumeration.News) ([]alert.Asset, error) {
	ctx = account.WithCaller(ctx, account.Caller{TeamID: news.TeamID})
	found, err := w.Assets.List(ctx, asset.Query{
		Filter: asset.Filter{Enumerations: []string{news.ID}, New: new(true)}, Window: page.Window{Limit: maxFresh},
	})
	out := make([]alert.Asset, len(found.Assets))
	for i, a := range found.Assets {
		out[i] = alert.Asset{Host: a.Host, Port: a.Port, IP: a.IP}
	}
	return out, err
}
