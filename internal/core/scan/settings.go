package scan

import (
	"context"
	"slices"

	"github.com/vedette-sec/vedette/internal/core/catalog"
	"github.com/vedette-sec/vedette/internal/core/scan/webapp"
	"github.com/vedette-sec/vedette/internal/core/setting"
	"github.com/vedette-sec/vedette/internal/engine"
	"github.com/vedette-sec/vedette/internal/engine/options"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/errs"
)

// Options are the configurations of a scan together: the team's global ones, then those that it names. An id that the
// team does not have is Invalid.
func (ss *Scans) Options(ctx context.Context, teamID string, c Config) (options.Options, error) {
	o := options.Options{Engine: engine.Config{Retries: 1}}
	types := []setting.Type{setting.Scan, setting.Template}
	applied, err := ss.settings.ApplyAny(ctx, nil, teamID, types, c.ScanConfigIDs, !c.NoGlobalSettings, "scan_config_ids")
	if err != nil {
		return o, err
	}
	slices.SortStableFunc(applied, func(a, b setting.Applied) int {
		return slices.Index(c.ScanConfigIDs, a.ID) - slices.Index(c.ScanConfigIDs, b.ID)
	})
	for _, a := range applied {
		add := o.Add
		if a.Type == setting.Template {
			add = o.AddSet
		}
		if err := add(a.Text); err != nil {
			return o, errs.Field("scan_config_ids", "scan_config_ids: the configuration %.80q cannot be applied: %v.", a.Name,
				err)
		}
	}
	own, err := ss.settings.OpenProxy(teamID, c.Proxy)
	if own != nil {
		o.Proxy = own
	}
	return o, err
}

// RunsWith are the Options with which a scan runs, for a retest of what it has found; of a scan that was deleted, those
// of its team. proxy, unless nil, is that of the retest.
func (ss *Scans) RunsWith(ctx context.Context, teamID, scanID string, proxy *setting.Proxy) (options.Options, error) {
	c, err := ss.config(ctx, ss.db, scanID)
	if err != nil && !db.IsNoRows(err) {
		return options.Options{}, err
	}
	if proxy != nil {
		c.Proxy = proxy
	}
	return ss.Options(ctx, teamID, c)
}

// checkSettings refuses ids of configurations that are not the team's.
func (ss *Scans) checkSettings(ctx context.Context, teamID string, c Config) error {
	_, err := ss.settings.Apply(ctx, nil, teamID, setting.Reporting, c.ReportConfigIDs, false, "reporting_config_ids")
	if err == nil {
		_, err = ss.settings.Apply(ctx, nil, teamID, setting.Alerting, c.AlertConfigIDs, false, "alerting_config_ids")
	}
	return err
}

// forOptions is a template in the form that package options filters.
func forOptions(t catalog.ScanTemplate) options.Template {
	return options.Template{ID: t.ID, WrittenID: t.WrittenID, Tags: t.Tags, Severity: t.Severity, Type: t.Type,
		Named: t.Named}
}

// setWeb sets the options of a scan of applications, whose targets were others before.
func (ss *Scans) setWeb(teamID string, c *Config, given *webapp.Options, before []string) (err error) {
	if given != nil && c.Type != Web {
		return errs.Field("web_options", "web_options: only scans of the type web have them.")
	}
	c.Web, err = webapp.Change(ss.settings, teamID, c.Web, given, before, c.Targets, c.field() != "")
	return err
}

// WebOptions are the options of a scan of applications, with their secrets; none for one that was deleted.
func (ss *Scans) WebOptions(ctx context.Context, teamID, scanID string) (webapp.Options, error) {
	c, err := ss.config(ctx, ss.db, scanID)
	if err != nil && !db.IsNoRows(err) {
		return webapp.Options{}, err
	}
	return c.Web.Open(ss.settings, teamID)
}
