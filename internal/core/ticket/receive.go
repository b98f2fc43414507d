package ticket

import (
	"context"
	"net/http"
	"net/url"

	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/notify/tracker"
)

// MaxHook bounds the body of a webhook, in bytes.
const MaxHook = tracker.MaxHook

// Receive takes a webhook of a tracker for a configuration. ok is false when it is not for one of ours, or not signed
// by who knows the secret of it; the two are alike for the sender. One that was taken already has no effect, and
// neither has one about a change of our own, or about an issue that is no ticket's. Of the others nothing is believed
// but which issue to read.
func (ts *Tickets) Receive(
	ctx context.Context, configID, provider string, header http.Header, query url.Values, body []byte,
) (ok bool, err error) {
	// An unknown configuration has a tracker without a secret, so that it takes as long to refuse.
	t := tracker.Tracker{Provider: provider}
	teamID, applied, known, err := ts.settings.OfAnyTeam(ctx, configID)
	if err != nil {
		return false, err
	}
	if known {
		config, err := tracker.Parse(applied.Text)
		if err != nil {
			return false, nil //nolint:nilerr // a configuration that cannot be read any more takes no webhooks
		}
		for _, one := range config.Trackers {
			if one.Provider == provider {
				t = one
			}
		}
	}
	hook, ok := t.ReadHook(header, query, body, ts.now())
	if !ok {
		return false, nil
	}
	a := PollArgs{teamID, configID, provider}
	return true, ts.db.Tx(ctx, func(tx *db.Tx) error {
		added, err := tx.Exec(ctx, `INSERT INTO ticket_delivery (team_id, config_id, provider, delivery_id, at) VALUES (?, ?, ?, ?, ?)
			ON CONFLICT DO NOTHING`, teamID, configID, provider, db.Clean(hook.Delivery), db.At(ts.now()))
		if err != nil || added == 0 || hook.Issue == "" {
			return err
		}
		own, err := db.Value[bool](ctx, tx, `SELECT EXISTS (SELECT 1 FROM ticket_tracker`+ofTracker+`
			AND account <> '' AND account = ?)`, append(a.args(), db.Clean(hook.Actor))...)
		if err != nil || own { // what a person does with our account is found by Poll
			return err
		}
		return ts.queueIssues(ctx, tx, a, []string{db.Clean(hook.Issue)}, func(string, string) bool { return true })
	})
}
