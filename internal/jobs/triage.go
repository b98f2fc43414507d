package jobs

import (
	"context"
	"fmt"
	"time"

	"github.com/vedette-sec/vedette/internal/core/notification"
	"github.com/vedette-sec/vedette/internal/core/triage"
	"github.com/vedette-sec/vedette/internal/notify/alert"
)

// alertOfRule tells the channels of a rule what it did.
func (w worker) alertOfRule(ctx context.Context, a triage.NotifyArgs) error {
	news, ok, err := w.Triage.News(ctx, a)
	if err != nil || !ok {
		return err
	}
	channels, err := w.dispatcher.Channels(ctx, a.TeamID, news.Configs, false)
	if err != nil {
		return err
	}
	about := notification.Notification{TeamID: a.TeamID, Kind: notification.OfRule, Subject: a.RuleID + "/" + a.Batch}
	return w.dispatcher.Post(ctx, about, channels, []alert.Alert{{
		Kind:    alert.NewVuln,
		Message: fmt.Sprintf("The rule %q was applied to %d findings.", news.RuleName, news.Total),
		Finished: &alert.End{
			FinishedAt: time.Now().UTC(), NewVulns: news.Total,
			NewVulnsList: news.Findings[:min(len(news.Findings), notification.MaxListed)],
		},
	}})
}
