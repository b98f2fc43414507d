package jobs

import (
	"context"

	"github.com/vedette-sec/vedette/internal/core/finding"
	"github.com/vedette-sec/vedette/internal/core/notification"
	"github.com/vedette-sec/vedette/internal/notify/alert"
)

// tellOfFindings tells people, and the team's channels, that findings are open again.
func (w worker) tellOfFindings(ctx context.Context, a finding.NewsArgs) error {
	told, ok, err := w.News.Tell(ctx, a)
	if err != nil || !ok {
		return err
	}
	about := notification.Notification{
		TeamID: a.TeamID, Kind: notification.OfFinding, Subject: told.FindingID + "/" + a.Operation,
	}
	return w.post(ctx, about, nil, false, func() ([]alert.Alert, error) { return []alert.Alert{told.Alert}, nil })
}
