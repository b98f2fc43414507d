package notification

import (
	"context"
	"time"

	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/page"
)

// Filter picks notifications that match all fields; empty ones match all.
type Filter struct {
	ConfigID string
	Event    string
	Subject  string // the id of a scan, an enumeration or a policy
	States   []State
	Since    time.Time
	Until    time.Time // exclusive
}

// Find lists the notifications of the caller's team that the filter picks, the newest first, and how many there are.
func (ns *Notifications) Find(
	ctx context.Context, f Filter, window page.Window,
) (found []Notification, total int, err error) {
	c, err := account.From(ctx)
	if err != nil {
		return nil, 0, err
	}
	var w db.Where
	w.And("team_id = ?", c.TeamID)
	if f.ConfigID != "" {
		w.And("config_id = ?", db.Clean(f.ConfigID))
	}
	db.Equal(&w, "event", f.Event)
	if f.Subject != "" {
		w.And("CASE WHEN kind = ? THEN policy_id ELSE subject_id END = ?", OfPolicy, db.Clean(f.Subject))
	}
	if len(f.States) > 0 {
		db.In(&w, "state", f.States)
	}
	if !f.Since.IsZero() {
		w.And("created_at >= ?", db.At(f.Since))
	}
	if !f.Until.IsZero() {
		w.And("created_at < ?", db.At(f.Until))
	}
	return db.Page(ctx, ns.db, row, `SELECT `+columns+` FROM notice`, `notice`, w, ` ORDER BY created_at DESC, id DESC`,
		window)
}
