package finding

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/core/finding/override"
	"github.com/vedette-sec/vedette/internal/core/finding/tally"
	"github.com/vedette-sec/vedette/internal/core/finding/timeline"
	"github.com/vedette-sec/vedette/internal/engine"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/ids"
)

// Override is the severity that a team gives findings of a template in place of the template's own.
type Override = override.Override

// Overrides are those of the caller's team, the oldest first.
func (fs *Findings) Overrides(ctx context.Context) ([]Override, error) {
	c, err := account.From(ctx)
	if err != nil {
		return nil, err
	}
	return override.List(ctx, fs.db, c.TeamID)
}

// Override gives the present and future findings of a template another severity, or one finding. o needs TemplateID
// and Custom or Vector; Original counts where there is no finding to read it from. It returns the override's id.
func (fs *Findings) Override(ctx context.Context, o Override) (id int64, err error) {
	err = fs.changeOverrides(ctx, &o, func(tx *db.Tx, c account.Caller) (templates []string, err error) {
		if err := o.Check(); err != nil {
			return nil, err
		}
		if o.Original, err = fs.original(ctx, tx, c.TeamID, o); err != nil {
			return nil, err
		}
		id, err = override.Store(ctx, tx, c.TeamID, o, db.At(fs.now()))
		return []string{o.TemplateID}, err
	})
	return id, err
}

// ChangeOverride replaces an override. NotFound for an id that the caller's team does not have, Conflict when another
// override is about the same.
func (fs *Findings) ChangeOverride(ctx context.Context, id int64, o Override) error {
	return fs.changeOverrides(ctx, &o, func(tx *db.Tx, c account.Caller) (templates []string, err error) {
		if err := o.Check(); err != nil {
			return nil, err
		}
		before, err := override.Template(ctx, tx, c.TeamID, id)
		if err != nil {
			return nil, err
		}
		if o.Original, err = fs.original(ctx, tx, c.TeamID, o); err != nil {
			return nil, err
		}
		return []string{before, o.TemplateID}, override.Change(ctx, tx, c.TeamID, id, o, db.At(fs.now()))
	})
}

// DeleteOverrides gives the findings of overrides the template's severity again. An id that the caller's team does not
// have is NotFound, and nothing changes.
func (fs *Findings) DeleteOverrides(ctx context.Context, ids []int64) error {
	return fs.changeOverrides(ctx, &Override{}, func(tx *db.Tx, c account.Caller) (templates []string, err error) {
		for _, id := range ids {
			var template string
			err := tx.QueryRow(ctx, `DELETE FROM finding_severity WHERE team_id = ? AND id = ? RETURNING template_id`, c.TeamID,
				id).Scan(&template)
			if db.IsNoRows(err) {
				return nil, override.NotFound()
			}
			if err != nil {
				return nil, err
			}
			templates = append(templates, template)
		}
		return templates, nil
	})
}

// original is the template's own severity. An override of a finding that there is not is refused.
func (fs *Findings) original(ctx context.Context, tx *db.Tx, teamID string, o Override) (string, error) {
	if o.FindingID == "" {
		return cmp.Or(o.Original, "unknown"), nil
	}
	f, err := scan(tx.QueryRow(ctx, `SELECT `+columns+tables+` WHERE f.id = ? AND f.team_id = ?`, o.FindingID, teamID))
	switch {
	case db.IsNoRows(err):
		return "", errs.Field("vuln_id", "vuln_id names no vulnerability.")
	case err == nil && f.TemplateID != o.TemplateID:
		return "", errs.Field("vuln_id", "vuln_id names a vulnerability of another template.")
	}
	return TemplateSeverity(f.Event), err
}

// TemplateSeverity is the severity that the template gave an event.
func TemplateSeverity(e engine.Event) string {
	if s := strings.ToLower(string(e.Info.Severity)); slices.Contains(Severities, s) {
		return s
	}
	return "unknown"
}

// changeOverrides changes overrides and, in the same transaction, the severities of the findings of the templates that
// change returns; the reason and the vector of o are in their timelines. Nothing is added in between.
func (fs *Findings) changeOverrides(
	ctx context.Context, o *Override, change func(tx *db.Tx, c account.Caller) (templates []string, err error),
) error {
	c, err := account.Writer(ctx)
	if err != nil {
		return err
	}
	return fs.db.Tx(ctx, func(tx *db.Tx) error {
		if err := fs.Lock(ctx, tx, c.TeamID); err != nil {
			return err
		}
		templates, err := change(tx, c)
		if err != nil {
			return err
		}
		slices.Sort(templates)
		operation := ids.New()
		for _, id := range slices.Compact(templates) {
			if _, err := fs.ApplyOverrides(ctx, tx, c, id, operation, o); err != nil {
				return err
			}
		}
		return nil
	})
}

// RestoreSeverity gives findings, by template, the severity that they had before (Custom, Reason and Vector of an
// override), in the caller's transaction, and returns how many had another: an override of them alone goes, and where
// that is not enough, another comes.
func (fs *Findings) RestoreSeverity(
	ctx context.Context, tx *db.Tx, c account.Caller, findings map[string][]string, had Override, operation string,
) (changed int, err error) {
	for _, template := range slices.Sorted(maps.Keys(findings)) {
		err := override.Restore(ctx, tx, c.TeamID, template, findings[template], had, db.At(fs.now()),
			func(id string) (string, error) {
				f, err := fs.InTeam(ctx, tx, c.TeamID, id)
				return TemplateSeverity(f.Event), err
			})
		if err != nil {
			return changed, err
		}
		n, err := fs.ApplyOverrides(ctx, tx, c, template, operation, &had)
		if changed += n; err != nil {
			return changed, err
		}
	}
	return changed, nil
}

// ApplyOverrides gives the findings of a template the severities that its overrides say, in the caller's transaction,
// and returns how many had another. The reason and the vector of o are in their timelines.
func (fs *Findings) ApplyOverrides(
	ctx context.Context, tx *db.Tx, c account.Caller, templateID, operation string, o *Override,
) (changed int, err error) {
	overrides, err := override.Find(ctx, tx, c.TeamID, []string{templateID})
	if err != nil {
		return 0, err
	}
	picked, err := fs.pick(ctx, tx, c.TeamID, Filter{Templates: []string{templateID}})
	if err != nil {
		return 0, err
	}
	slices.Sort(picked)
	counts := tally.Counts{}
	changed, err = fs.update(ctx, tx, c, picked, Edit{Column: "severity", Field: timeline.Severity,
		Kind: timeline.SeverityChange, Operation: operation, Reason: o.Reason, Vector: o.Vector,
		Value: func(old Finding) (from, to string) {
			to = overrides.Severity(templateID, old.ID, TemplateSeverity(old.Event))
			counts.Add(old.ScanID, old.Severity, -1)
			counts.Add(old.ScanID, to, 1)
			return old.Severity, to
		}})
	if err != nil {
		return 0, err
	}
	return changed, counts.Store(ctx, tx, c.TeamID)
}

// overrideSeverities gives new rows the severities that the team wants.
func overrideSeverities(ctx context.Context, tx *db.Tx, teamID string, rows []row) error {
	templates := make([]string, len(rows))
	for i, r := range rows {
		templates[i] = r.templateID
	}
	slices.Sort(templates)
	overrides, err := override.Find(ctx, tx, teamID, slices.Compact(templates))
	for i, r := range rows {
		rows[i].severity = overrides.Severity(r.templateID, r.id, r.severity)
	}
	return err
}
