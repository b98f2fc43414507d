package finding

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/errs"
)

// Override is a severity that a team gives what a template finds, in place of the
// template's own (platform, custom severity mapping).
type Override struct {
	ID         int64 // of the team
	TemplateID string
	FindingID  string // empty: all findings of the template; one that is named goes before
	Original   string // the template's own, as far as it is known
	Custom     string // one of Severities
	CreatedAt  time.Time
	UpdatedAt  time.Time
}

// maxOverrides is how many a team may have: each upload reads them.
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
	rows, err := fs.db.Query(ctx, `SELECT id, template_id, finding_id, original, custom, created_at, updated_at FROM finding_severity
		WHERE team_id = ? ORDER BY id`, c.TeamID)
	return db.Collect(rows, err, func(r db.Row) (o Override, err error) {
		var created, updated db.Time
		err = r.Scan(&o.ID, &o.TemplateID, &o.FindingID, &o.Original, &o.Custom, &created, &updated)
		o.CreatedAt, o.UpdatedAt = created.Time, updated.Time
		return o, err
	})
}

// Override gives a template's findings, those there are and those to come, another
// severity, or one finding; what is there already is changed. o needs TemplateID and
// Custom; Original counts where no finding tells it. It returns the override's id.
func (fs *Findings) Override(ctx context.Context, o Override) (id int64, err error) {
	err = fs.reweighing(ctx, func(tx *db.Tx, c account.Caller) (templates []string, err error) {
		if err := o.check(); err != nil {
			return nil, err
		}
		if o.Original, err = fs.original(ctx, tx, c.TeamID, o); err != nil {
			return nil, err
		}
		var last, kept int64
		err = tx.QueryRow(ctx, `SELECT COALESCE(MAX(id), 0), COUNT(*) FROM finding_severity WHERE team_id = ?`, c.TeamID).Scan(&last, &kept)
		if err != nil {
			return nil, err
		}
		if kept >= maxOverrides {
			return nil, errs.New(errs.Invalid, "too_many_severity_mappings", "A team has at most %d severity mappings.", maxOverrides)
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

// ChangeOverride makes an override say something else. NotFound for an id that the
// caller's team does not have, Conflict when another says it about the same already.
func (fs *Findings) ChangeOverride(ctx context.Context, id int64, o Override) error {
	return fs.reweighing(ctx, func(tx *db.Tx, c account.Caller) (templates []string, err error) {
		if err := o.check(); err != nil {
			return nil, err
		}
		var before string
		err = tx.QueryRow(ctx, `SELECT template_id FROM finding_severity WHERE team_id = ? AND id = ?`, c.TeamID, id).Scan(&before)
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
		_, err = tx.Exec(ctx, `UPDATE finding_severity SET template_id = ?, finding_id = ?, original = ?, custom = ?, updated_at = ? WHERE team_id = ? AND id = ?`,
			o.TemplateID, o.FindingID, o.Original, o.Custom, db.At(fs.now()), c.TeamID, id)
		return []string{before, o.TemplateID}, err
	})
}

// DropOverrides takes overrides back: their findings have the template's own severity
// again. An id that the caller's team does not have is NotFound, and nothing changes.
func (fs *Findings) DropOverrides(ctx context.Context, ids []int64) error {
	return fs.reweighing(ctx, func(tx *db.Tx, c account.Caller) (templates []string, err error) {
		for _, id := range ids {
			var template string
			err := tx.QueryRow(ctx, `DELETE FROM finding_severity WHERE team_id = ? AND id = ? RETURNING template_id`, c.TeamID, id).Scan(&template)
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

// original is the severity that a template gives by itself, and whether what the override
// names is there.
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
	return ownSeverity(f), err
}

// ownSeverity is what the template said when the finding was made.
func ownSeverity(f Finding) string {
	if s := strings.ToLower(string(f.Event.Info.Severity)); slices.Contains(Severities, s) {
		return s
	}
	return "unknown"
}

// reweighing changes overrides and, in the same transaction, the findings of the
// templates that are named: nothing is added between the two.
func (fs *Findings) reweighing(ctx context.Context, change func(tx *db.Tx, c account.Caller) (templates []string, err error)) error {
	c, err := account.Writer(ctx)
	if err != nil {
		return err
	}
	return fs.db.Tx(ctx, func(tx *db.Tx) error {
		if _, _, err := fs.number(ctx, tx, c.TeamID, 0, 0); err != nil {
			return err
		}
		templates, err := change(tx, c)
		if err != nil {
			return err
		}
		slices.Sort(templates)
		for _, id := range slices.Compact(templates) {
			if err := fs.reweigh(ctx, tx, c, id); err != nil {
				return err
			}
		}
		return nil
	})
}

// reweigh gives the findings of a template the severities that hold for them now.
func (fs *Findings) reweigh(ctx context.Context, tx *db.Tx, c account.Caller, templateID string) error {
	holds, err := overrides(ctx, tx, c.TeamID, []string{templateID})
	if err != nil {
		return err
	}
	picked, err := fs.pick(ctx, tx, c.TeamID, Filter{Templates: []string{templateID}})
	if err != nil {
		return err
	}
	slices.Sort(picked)
	tallies := map[string]map[string]int64{}
	_, err = fs.eachOf(ctx, tx, c, picked, func(ctx context.Context, tx *db.Tx, c account.Caller, old Finding, rev int64) (bool, error) {
		to := holds.of(templateID, old.ID, ownSeverity(old))
		if to == old.Severity {
			return false, nil
		}
		if tallies[old.ScanID] == nil {
			tallies[old.ScanID] = map[string]int64{}
		}
		tallies[old.ScanID][old.Severity]--
		tallies[old.ScanID][to]++
		now := db.At(fs.now())
		if _, err := tx.Exec(ctx, `UPDATE finding SET severity = ?, rev = ?, updated_at = ? WHERE team_id = ? AND no = ?`, to, rev, now, c.TeamID, old.no); err != nil {
			return false, err
		}
		return true, record(ctx, tx, c.TeamID, change{old.no, rev, SeverityChange, "severity", old.Severity, to, c.Email, now})
	})
	for scanID, totals := range tallies {
		if err == nil {
			err = tally(ctx, tx, c.TeamID, scanID, totals)
		}
	}
	return err
}

// weights are overrides by template and finding.
type weights map[[2]string]string

// of is the severity of a finding, whose own is given.
func (w weights) of(templateID, findingID, own string) string {
	return cmp.Or(w[[2]string{templateID, findingID}], w[[2]string{templateID, ""}], own)
}

// overrides are a team's for some templates.
func overrides(ctx context.Context, q db.Querier, teamID string, templates []string) (weights, error) {
	var w db.Where
	w.And("team_id = ?", teamID)
	db.In(&w, "template_id", templates)
	rows, err := q.Query(ctx, `SELECT template_id, finding_id, custom FROM finding_severity`+w.String(), w.Args...)
	out := weights{}
	_, err = db.Collect(rows, err, func(r db.Row) (struct{}, error) {
		var template, finding, custom string
		err := r.Scan(&template, &finding, &custom)
		out[[2]string{template, finding}] = custom
		return struct{}{}, err
	})
	return out, err
}
