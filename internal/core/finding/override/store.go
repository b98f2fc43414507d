package override

import (
	"context"

	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/errs"
)

// OfHash is the part of a finding's id that its hash decides.
func OfHash(findingID string) string { return ofHash(findingID) }

// Store stores an override, or changes that of the same findings, and gives its id. It changes no finding.
func Store(ctx context.Context, tx *db.Tx, teamID string, o Override, now db.Time) (id int64, err error) {
	var last, kept int64
	err = tx.QueryRow(ctx, `SELECT COALESCE(MAX(id), 0), COUNT(*) FROM finding_severity WHERE team_id = ?`, teamID).
		Scan(&last, &kept)
	if err == nil && kept >= Max {
		err = errs.New(errs.Invalid, "too_many_severity_mappings", "A team has at most %d severity mappings.", Max)
	}
	if err != nil {
		return 0, err
	}
	return db.Value[int64](ctx, tx, `INSERT INTO finding_severity (id, team_id, template_id, finding_id, original, custom,
		reason, vector, created_at, updated_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT (team_id, template_id, finding_id) DO UPDATE SET custom = excluded.custom, reason = excluded.reason,
			vector = excluded.vector, updated_at = excluded.updated_at
		RETURNING id`, last+1, teamID, o.TemplateID, o.FindingID, o.Original, o.Custom, o.Reason, o.Vector, now, now)
}

// Template is the template that an override is about. NotFound for an id that the team does not have.
func Template(ctx context.Context, tx *db.Tx, teamID string, id int64) (string, error) {
	template, err := db.Value[string](ctx, tx, `SELECT template_id FROM finding_severity
		WHERE team_id = ? AND id = ?`, teamID, id)
	if db.IsNoRows(err) {
		return "", NotFound()
	}
	return template, err
}

// Change replaces an override that the team has. It changes no finding. Conflict when another is about the same.
func Change(ctx context.Context, tx *db.Tx, teamID string, id int64, o Override, now db.Time) error {
	others, err := db.Value[int](ctx, tx, `SELECT COUNT(*) FROM finding_severity
		WHERE team_id = ? AND template_id = ? AND finding_id = ? AND id <> ?`, teamID, o.TemplateID, o.FindingID, id)
	if err == nil && others > 0 {
		err = errs.New(errs.Conflict, "severity_mapping_exists", "Another severity mapping is about the same.")
	}
	if err != nil {
		return err
	}
	_, err = tx.Exec(ctx, `UPDATE finding_severity SET template_id = ?, finding_id = ?, original = ?, custom = ?, reason = ?,
		vector = ?, updated_at = ? WHERE team_id = ? AND id = ?`, o.TemplateID, o.FindingID, o.Original, o.Custom,
		o.Reason, o.Vector, now, teamID, id)
	return err
}

// NotFound is the error about an override that there is not.
func NotFound() error {
	return errs.New(errs.NotFound, "severity_mapping_not_found", "There is no such severity mapping.")
}
