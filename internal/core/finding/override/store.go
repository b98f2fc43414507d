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
		created_at, updated_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT (team_id, template_id, finding_id) DO UPDATE SET custom = excluded.custom,
			updated_at = excluded.updated_at
		RETURNING id`, last+1, teamID, o.TemplateID, o.FindingID, o.Original, o.Custom, now, now)
}
