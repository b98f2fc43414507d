package app

import (
	"context"

	"github.com/vedette-sec/vedette/internal/core/feed"
	"github.com/vedette-sec/vedette/internal/core/finding/upkeep"
	"github.com/vedette-sec/vedette/internal/core/scan/fixed"
	"github.com/vedette-sec/vedette/internal/core/vulnerability"
)

// fixes is the service that says what scans do not show any more.
func (a *App) fixes() *fixed.Fixes { return fixed.New(a.db, a.Findings, a.Scans, a.catalog) }

// upkeep is the service that keeps due dates, and what feeds know, in findings.
func (a *App) upkeep() *upkeep.Upkeep { return upkeep.New(a.db, a.queue, a.Findings, a.logger) }

// keepFindings does what time does to findings, until the server closes.
func (a *App) keepFindings() {
	go a.news.Keep(a.closing)
	go a.upkeep().Keep(a.closing)
	go vulnerability.New(a.db).Keep(a.closing, a.logger)
	go a.network.Keep(a.closing)
}

// WithFeeds opens the database for a command about feeds.
func WithFeeds(ctx context.Context, c Config, fn func(*feed.Feeds, *vulnerability.Vulnerabilities) error) error {
	d, err := c.openDB(ctx, false)
	if err != nil {
		return err
	}
	defer d.Close()
	return fn(feed.New(d), vulnerability.New(d))
}
