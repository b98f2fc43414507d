package app

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/vedette-sec/vedette/internal/core/catalog"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/netguard"
)

// TemplateSource is where a command imports templates from.
type TemplateSource = catalog.Source

// TemplateReport is the result of an import.
type TemplateReport = catalog.Report

// KnownTemplate is a template in the catalogue.
type KnownTemplate = catalog.ScanTemplate

// UpdateTemplates imports a set of templates into the configured database. A URL is
// fetched from public addresses, and from those that webhooks may reach.
func UpdateTemplates(ctx context.Context, c Config, s TemplateSource) (report TemplateReport, err error) {
	err = withCatalog(ctx, c, func(all *catalog.Catalog) error {
		report, err = all.Import(ctx, s)
		return err
	})
	return report, err
}

// Installed lists the templates of the configured database that every team can use.
func Installed(ctx context.Context, c Config) (known []KnownTemplate, err error) {
	err = withCatalog(ctx, c, func(all *catalog.Catalog) error {
		known, err = all.ForScan(ctx, "")
		return err
	})
	return known, err
}

// SourceGuard dials for imports: public addresses, and those that webhooks may reach.
func SourceGuard(c Config) (*netguard.Guard, error) {
	allow, err := prefixes(c.WebhookAllow)
	return &netguard.Guard{Allow: allow}, err
}

func withCatalog(ctx context.Context, c Config, fn func(*catalog.Catalog) error) error {
	guard, err := SourceGuard(c)
	if err != nil {
		return err
	}
	d, err := c.openDB(ctx, false)
	if err != nil {
		return err
	}
	defer d.Close()
	all, err := openCatalog(ctx, d, catalog.Config{Guard: guard}, slog.New(slog.DiscardHandler))
	if err != nil {
		return err
	}
	return fn(all)
}

// openCatalog opens the catalogue and imports the starter templates.
func openCatalog(ctx context.Context, d *db.DB, c catalog.Config, logger *slog.Logger) (*catalog.Catalog, error) {
	all := catalog.New(d, c)
	if err := all.Backfill(ctx); err != nil {
		return nil, fmt.Errorf("filling the list of templates: %w", err)
	}
	report, err := all.ImportStarter(ctx)
	if err == nil && !report.Unchanged {
		logger.InfoContext(ctx, "starter templates", "total", report.Total, "new", report.New, "updated", report.Updated,
			"removed", report.Removed)
	}
	return all, err
}
