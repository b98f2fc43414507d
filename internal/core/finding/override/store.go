package override

import (
	"context"
	"slices"

	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/errs"
)

// OfHash is the part of a finding's id that its hash decides.
func OfHash(findingID string) string { return ofHash(findingID) }

// insert stores an override under an id, or changes that of the same findings, and gives its id.
func insert(ctx context.Context, tx *db.Tx, id int64, teamID string, o Override, now db.Time) (int64, error) {
	return db.Value[int64](ctx, tx, `INSERT INTO finding_severity (id, team_id, template_id, finding_id, original, custom,
		reason, vector, created_at, updated_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT (team_id, template_id, finding_id) DO UPDATE SET custom = excluded.custom, reason = excluded.reason,
			vector = excluded.vector, updated_at = excluded.updated_at
		RETURNING id`, id, teamID, o.TemplateID, o.FindingID, o.Original, o.Custom, o.Reason, o.Vector, now, now)
}

// room is the last id of a team's overrides, if it may have so many more.
func room(ctx context.Context, tx *db.Tx, teamID string, more int64) (last int64, err error) {
	var kept int64
	err = tx.QueryRow(ctx, `SELECT COALESCE(MAX(id), 0), COUNT(*) FROM finding_severity WHERE team_id = ?`, teamID).
		Scan(&last, &kept)
	if err == nil && kept+more > Max {
		err = errs.New(errs.Invalid, "too_many_severity_mappings", "A team has at most %d severity mappings.", Max)
	}
	return last, err
}

// Store stores an override, or changes that of the same findings, and gives its id. It changes no finding.
func Store(ctx context.Context, tx *db.Tx, teamID string, o Override, now db.Time) (id int64, err error) {
	last, err := room(ctx, tx, teamID, 1)
	if err != nil {
		return 0, err
	}
	return insert(ctx, tx, last+1, teamID, o, now)
}

// Replace stores overrides of one finding each in place of those that the same findings of the template have: of their
// hashes, in whichever scan. It changes no finding.
func Replace(ctx context.Context, tx *db.Tx, teamID, templateID string, all []Override, now db.Time) error {
	findings := make([]string, len(all))
	for i, o := range all {
		findings[i] = o.FindingID
	}
	if err := forget(ctx, tx, teamID, templateID, findings); err != nil {
		return err
	}
	return add(ctx, tx, teamID, templateID, all, now)
}

// forget deletes the overrides of findings of a template.
func forget(ctx context.Context, tx *db.Tx, teamID, templateID string, findings []string) error {
	about := map[string]bool{}
	for _, id := range findings {
		about[ofHash(id)] = true
	}
	var gone []int64
	err := db.Each(ctx, tx, func(r db.Row) error {
		var id int64
		var finding string
		err := r.Scan(&id, &finding)
		if about[ofHash(finding)] {
			gone = append(gone, id)
		}
		return err
	}, `SELECT id, finding_id FROM finding_severity WHERE team_id = ? AND template_id = ? AND finding_id <> ''`,
		teamID, templateID)
	if err != nil {
		return err
	}
	for part := range slices.Chunk(gone, chunk) {
		w := db.InTeam(teamID, "id", part)
		if _, err := tx.Exec(ctx, `DELETE FROM finding_severity`+w.String(), w.Args...); err != nil {
			return err
		}
	}
	return nil
}

const chunk = 250 // ids or templates that one statement names

// add stores new overrides of findings of a template.
func add(ctx context.Context, tx *db.Tx, teamID, templateID string, all []Override, now db.Time) error {
	last, err := room(ctx, tx, teamID, int64(len(all)))
	if err != nil {
		return err
	}
	for _, o := range all {
		last++
		o.TemplateID = templateID
		if _, err := insert(ctx, tx, last, teamID, o, now); err != nil {
			return err
		}
	}
	return nil
}

// Restore gives findings of a template the severity that they had (Custom, with Reason and Vector), by overrides of
// each where the template's own severity, or that of an override of the template, is another one; own is a finding's
// severity by its template.
func Restore(
	ctx context.Context, tx *db.Tx, teamID, templateID string, findingIDs []string, had Override, now db.Time,
	own func(findingID string) (string, error),
) error {
	if err := forget(ctx, tx, teamID, templateID, findingIDs); err != nil {
		return err
	}
	set, err := Find(ctx, tx, teamID, []string{templateID})
	if err != nil {
		return err
	}
	var needed []Override
	for _, id := range findingIDs {
		plain, err := own(id)
		if err != nil {
			return err
		}
		if set.Severity(templateID, id, plain) == had.Custom {
			continue
		}
		had.FindingID, had.Original = id, plain
		set[[2]string{templateID, ofHash(id)}] = had.Custom // another sighting needs no second one
		needed = append(needed, had)
	}
	return add(ctx, tx, teamID, templateID, needed, now)
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
