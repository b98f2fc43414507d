package scan

import (
	"context"
	"github.com/vedette-sec/vedette/internal/core/scan/target"
	"reflect"
	"strings"

	"github.com/vedette-sec/vedette/internal/core/asset"
	"github.com/vedette-sec/vedette/internal/core/notification"
	"github.com/vedette-sec/vedette/internal/core/run"
	"github.com/vedette-sec/vedette/internal/core/scan/webapp"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/errs"
)

// Rename gives a scan of the caller's team another name.
func (ss *Scans) Rename(ctx context.Context, id, name string) error {
	if _, err := ss.own(ctx, id); err != nil {
		return err
	}
	name, err := run.CheckName(name)
	if err != nil {
		return err
	}
	return ss.db.Tx(ctx, func(tx *db.Tx) error {
		_, err := tx.Exec(ctx, `UPDATE scan SET name = ?, folded_name = ?, updated_at = ? WHERE id = ?`,
			name, fold(name), db.At(ss.now()), id)
		return err
	})
}

// Delete stops scans of the caller's team and deletes them with their findings, all or none.
func (ss *Scans) Delete(ctx context.Context, ids []string) error {
	return ss.runs().Delete(ctx, ids, "scan_ids", func(tx *db.Tx, teamID string, ids []string) error {
		for _, id := range ids {
			if err := ss.findings.DeleteOfScan(ctx, tx, teamID, id); err != nil {
				return err
			}
			if err := notification.New(ss.db, ss.queue).Delete(ctx, tx, notification.OfScan, id); err != nil {
				return err
			}
			if _, err := tx.Exec(ctx, `DELETE FROM scan WHERE id = ?`, id); err != nil {
				return err
			}
		}
		return nil
	})
}

// ConfigUpdate is a change of a configuration; nil fields stay as they are.
type ConfigUpdate struct {
	Targets         []string
	AssetLists      []string
	EnumerationIDs  []string
	ScanAllAssets   *bool
	AssetFilters    *asset.Filters // empty: none any more
	Templates       []string
	TemplateURLs    []string
	EarlyTemplates  []string
	ScanConfigIDs   []string
	ReportConfigIDs []string
	AlertConfigIDs  []string
	Proxy           *string // URL of a SOCKS5 proxy; the one that was shown, with its mask, keeps it; empty: none
	AgentID         *string
	AgentTags       []string
	AgentNetworks   []string
	AgentBehavior   *string
	Web             *webapp.Options // empty: none any more
}

// UpdateConfig changes the configuration of the next runs of a scan of the caller's team. It adds to lists or replaces
// them.
func (ss *Scans) UpdateConfig(ctx context.Context, id string, up ConfigUpdate, replace bool) error {
	s, err := ss.own(ctx, id)
	if err != nil {
		return err
	}
	c := s.Config
	for to, from := range map[*[]string][]string{
		&c.Targets: up.Targets, &c.AssetLists: up.AssetLists, &c.EnumerationIDs: up.EnumerationIDs,
		&c.Templates: up.Templates, &c.TemplateURLs: up.TemplateURLs, &c.EarlyTemplates: up.EarlyTemplates,
		&c.ScanConfigIDs: up.ScanConfigIDs, &c.ReportConfigIDs: up.ReportConfigIDs, &c.AlertConfigIDs: up.AlertConfigIDs,
		&c.AgentTags: up.AgentTags, &c.AgentNetworks: up.AgentNetworks,
	} {
		run.Update(to, from, replace)
	}
	if up.Proxy != nil {
		if c.Proxy, err = ss.settings.SealProxy(s.TeamID, *up.Proxy, c.Proxy); err != nil {
			return err
		}
	}
	if up.AgentID != nil {
		c.AgentID = *up.AgentID
	}
	if up.AgentBehavior != nil {
		c.AgentBehavior = *up.AgentBehavior
	}
	if up.ScanAllAssets != nil {
		c.AllAssets = *up.ScanAllAssets
	}
	if up.AssetFilters != nil {
		c.AssetFilters = up.AssetFilters
		if reflect.ValueOf(*c.AssetFilters).IsZero() {
			c.AssetFilters = nil
		}
	}
	if err := ss.setWeb(s.TeamID, &c, up.Web, s.Config.Targets); err != nil {
		return err
	}
	if len(c.Targets) == 0 && c.field() == "" && !s.IsOSS {
		return errs.Field("targets", "targets: a scan needs one, or assets.")
	}
	if err := ss.check(ctx, s.TeamID, c); err != nil {
		return renamed(err)
	}
	targets, err := ss.targets(ctx, s.TeamID, c)
	if errs.Is(err, errs.Invalid) { // its assets may be found later
		targets, err = c.Targets, nil
	}
	if err != nil {
		return err
	}
	return ss.db.Tx(ctx, func(tx *db.Tx) error {
		if _, err := tx.Exec(ctx, `UPDATE scan SET is_internal = ?, updated_at = ? WHERE id = ?`,
			target.AllInternal(targets), db.At(ss.now()), id); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, `UPDATE scan_config SET config = ?, targets = ? WHERE scan_id = ?`,
			db.Doc(c), db.Doc(append([]string{}, c.Targets...)), id)
		return err
	})
}

// updateNames are the fields of a change whose name is another when a scan is made.
var updateNames = map[string]string{"reporting_config_ids": "report_config_ids", "assets": "assets_lists"}

// renamed is err, naming the field as the change of a configuration does.
func renamed(err error) error {
	e := errs.From(err)
	name := updateNames[e.Param]
	if name == "" {
		return err
	}
	return errs.Field(name, "%s", strings.Replace(e.Message, e.Param, name, 1))
}
