package finding

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/engine"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/errs"
)

// Override is the severity of a template's findings that a team wants in place of the template's own (platform, custom
// severity mapping).
type Override struct {
	ID         int64 // of the team
	TemplateID string
	FindingID  string // empty: all findings of the template; an override of one finding wins
	Original   string // the template's own, if known
	Custom     string // one of Severities
	CreatedAt  time.Time
	UpdatedAt  time.Time
}

// maxOverrides bounds those of a team: each upload reads them.
const maxOverrides = 10_000

func noOverride() error {
	return errs.New(errs.NotFound, "severity_mapping_not_found", "There is no such severity mapping.")
}

func (o Override) check() error {
	switch {
	case o.TemplateID == "":
		return errs.Field("template_id", "template_id is required.")
	case len(o.TemplateID) > 256:
		return errs.Field("template_id", "template_id has more than 256 bytes.")
	case !slices.Contains(Severities, o.Custom):
		return errs.Field("custom_severity", "custom_severity must be one of %s.", strings.Join(Severities, ", "))
	}
	return nil
}

// Overrides are those of the caller's team, the oldest first.
func (fs *Findings) Overrides(ctx context.Context) ([]Override, error) {
	c, err := account.From(ctx)
	if err != nil {
		return nil, err
	}
	return db.Select(ctx, fs.db, func(r db.Row) (o Override, err error) {
		return o, r.Scan(&o.ID, &o.TemplateID, &o.FindingID, &o.Original, &o.Custom,
			db.Into(&o.CreatedAt), db.Into(&o.UpdatedAt))
	}, `SELECT id, template_id, finding_id, original, custom, created_at, updated_at FROM finding_severity
		WHERE team_id = ? ORDER BY id`, c.TeamID)
}

// Override gives the present and future findings of a template another severity, or one finding. o needs TemplateID
// and Custom; Original counts where there is no finding to read it from. It returns the override's id.
func (fs *Findings) Override(ctx context.Context, o Override) (id int64, err error) {
	err = fs.changeOverrides(ctx, func(tx *db.Tx, c account.Caller) (templates []string, err error) {
		if err := o.check(); err != nil {
			return nil, err
		}
		if o.Original, err = fs.original(ctx, tx, c.TeamID, o); err != nil {
			return nil, err
		}
		var last, kept int64
		err = tx.QueryRow(ctx, `SELECT COALESCE(MAX(id), 0), COUNT(*) FROM finding_severity WHERE team_id = ?`,
			c.TeamID).Scan(&last, &kept)
		if err != nil {
			return nil, err
		}
		if kept >= maxOverrides {
			return nil, errs.New(errs.Invalid, "too_many_severity_mappings", "A team has at most %d severity mappings.",
				maxOverrides)
		}
		now := db.At(fs.now())
		err = tx.QueryRow(ctx, `INSERT INTO finding_severity (id, team_id, template_id, finding_id, original, custom, created_at, updated_at)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?)
			ON CONFLICT (team_id, template_id, finding_id) DO UPDATE SET custom = excluded.custom, updated_at = excluded.updated_at RETURNING id`,
			last+1, c.TeamID, o.TemplateID, o.FindingID, o.Original, o.Custom, now, now).Scan(&id)
		return []string{o.TemplateID}, err
	})
	return id, err
}

// ChangeOverride replaces an override. NotFound for an id that the caller's team does not have, Conflict when another
// override is about the same.
func (fs *Findings) ChangeOverride(ctx context.Context, id int64, o Override) error {
	return fs.changeOverrides(ctx, func(tx *db.Tx, c account.Caller) (templates []string, err error) {
		if err := o.check(); err != nil {
			return nil, err
		}
		var before string
		err = tx.QueryRow(ctx, `SELECT template_id FROM finding_severity WHERE team_id = ? AND id = ?`, c.TeamID,
			id).Scan(&before)
		if db.IsNoRows(err) {
			return nil, noOverride()
		}
		if err == nil {
			o.Original, err = fs.original(ctx, tx, c.TeamID, o)
		}
		if err != nil {
			return nil, err
		}
		var others int
		err = tx.QueryRow(ctx, `SELECT COUNT(*) FROM finding_severity WHERE team_id = ? AND template_id = ? AND finding_id = ? AND id <> ?`,
			c.TeamID, o.TemplateID, o.FindingID, id).Scan(&others)
		if err == nil && others > 0 {
			err = errs.New(errs.Conflict, "severity_mapping_exists", "Another severity mapping is about the same.")
		}
		if err != nil {
			return nil, err
		}
		_, err = tx.Exec(ctx, `UPDATE finding_severity SET template_id = ?, finding_id = ?, original = ?, custom = ?, updated_at = ?
			WHERE team_id = ? AND id = ?`, o.TemplateID, o.FindingID, o.Original, o.Custom, db.At(fs.now()), c.TeamID, id)
		return []string{before, o.TemplateID}, err
	})
}

// DeleteOverrides gives the findings of overrides the template's severity again. An id that the caller's team does not
// have is NotFound, and nothing changes.
func (fs *Findings) DeleteOverrides(ctx context.Context, ids []int64) error {
	return fs.changeOverrides(ctx, func(tx *db.Tx, c account.Caller) (templates []string, err error) {
		for _, id := range ids {
			var template string
			err := tx.QueryRow(ctx, `DELETE FROM finding_severity WHERE team_id = ? AND id = ? RETURNING template_id`, c.TeamID,
				id).Scan(&template)
			if db.IsNoRows(err) {
				return nil, noOverride()
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
	return severityOf(f.Event), err
}

// severityOf is the severity that the template gave an event.
func severityOf(e engine.Event) string {
	if s := strings.ToLower(string(e.Info.Severity)); slices.Contains(Severities, s) {
		return s
	}
	return "unknown"
}

// changeOverrides changes overrides and, in the same transaction, the severities of the findings of the templates that
// change returns. Nothing is added in between.
func (fs *Findings) changeOverrides(
	ctx context.Context, change func(tx *db.Tx, c account.Caller) (templates []string, err error),
) error {
	c, err := account.Writer(ctx)
	if err != nil {
		return err
	}
	return fs.db.Tx(ctx, func(tx *db.Tx) error {
		if err := fs.lock(ctx, tx, c.TeamID); err != nil {
			return err
		}
		templates, err := change(tx, c)
		if err != nil {
			return err
		}
		slices.Sort(templates)
		for _, id := range slices.Compact(templates) {
			if err := fs.applyOverrides(ctx, tx, c, id); err != nil {
				return err
			}
		}
		return nil
	})
}

// applyOverrides gives the findings of a template their severities.
func (fs *Findings) applyOverrides(ctx context.Context, tx *db.Tx, c account.Caller, templateID string) error {
	overrides, err := findOverrides(ctx, tx, c.TeamID, []string{templateID})
	if err != nil {
		return err
	}
	picked, err := fs.pick(ctx, tx, c.TeamID, Filter{Templates: []string{templateID}})
	if err != nil {
		return err
	}
	slices.Sort(picked)
	counts := scanCounts{}
	_, err = fs.update(ctx, tx, c, picked, update{"severity", "severity", func(old Finding) (ChangeType, string, string) {
		to := overrides.severity(templateID, old.ID, severityOf(old.Event))
		counts.add(old.ScanID, old.Severity, -1)
		counts.add(old.ScanID, to, 1)
		return SeverityChange, old.Severity, to
	}})
	if err != nil {
		return err
	}
	return counts.store(ctx, tx, c.TeamID)
}

// overrideSet is severities by template and finding.
type overrideSet map[[2]string]string

// severity is the severity of a finding; own is the template's.
func (set overrideSet) severity(templateID, findingID, own string) string {
	return cmp.Or(set[[2]string{templateID, findingID}], set[[2]string{templateID, ""}], own)
}

// findOverrides reads a team's overrides for some templates.
func findOverrides(ctx context.Context, q db.Querier, teamID string, templates []string) (overrideSet, error) {
	w := db.InTeam(teamID, "template_id", templates)
	out := overrideSet{}
	err := db.Each(ctx, q, func(r db.Row) error {
		var template, finding, custom string
		err := r.Scan(&template, &finding, &custom)
		out[[2]string{template, finding}] = custom
		return err
	}, `SELECT template_id, finding_id, custom FROM finding_severity`+w.String(), w.Args...)
	return out, err
}
