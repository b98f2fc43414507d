package finding

import (
	"cmp"
	"context"
	"encoding/json"

	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/list"
	"github.com/vedette-sec/vedette/internal/infra/page"
)

// Picked are the numbers of the findings of a team that a filter picks, of those among (nil: of all), the newest first.
// The ids of the filter do not count. q nil: no transaction.
func (fs *Findings) Picked(
	ctx context.Context, q db.Querier, teamID string, f Filter, among []int64,
) (picked []int64, err error) {
	if f.IDs = nil; q == nil {
		q = fs.db
	}
	query, err := fs.query(ctx, q, teamID, f, nil, page.Window{})
	if err != nil {
		return nil, err
	}
	if among != nil {
		query.Filter = list.All(list.Numbers(among...), query.Filter)
	}
	return picked, findings.Each(ctx, q, teamID, query, func(part []int64) error {
		picked = append(picked, part...)
		return nil
	})
}

// Words are the words of a finding; empty ones stay as they are.
type Words struct{ Name, Description, Remediation string }

// Describe gives one sighting other words. NotFound when there is no such finding.
func (fs *Findings) Describe(ctx context.Context, tx *db.Tx, teamID, id string, w Words) error {
	_, rev, err := fs.reserve(ctx, tx, teamID, 0, 1)
	if err != nil {
		return err
	}
	var no int64
	var s storedEvent
	err = tx.QueryRow(ctx, `SELECT f.no, d.event`+tables+` WHERE f.id = ? AND f.team_id = ?`, id, teamID).
		Scan(&no, db.Into(&s))
	if err != nil {
		return db.OrMissing(err, "vulnerability")
	}
	info := &s.Event.Info
	info.Name, info.Description = cmp.Or(db.Clean(w.Name), info.Name), cmp.Or(db.Clean(w.Description), info.Description)
	info.Remediation = cmp.Or(db.Clean(w.Remediation), info.Remediation)
	text, err := json.Marshal(s)
	if err != nil {
		return err
	}
	if _, err := tx.Exec(ctx, `UPDATE finding_doc SET event = ? WHERE team_id = ? AND no = ?`, text, teamID, no); err != nil {
		return err
	}
	if _, err := tx.Exec(ctx, `UPDATE finding SET name = ?, rev = ?, updated_at = ? WHERE team_id = ? AND no = ?`,
		info.Name, rev, db.At(fs.now()), teamID, no); err != nil {
		return err
	}
	return reindex(ctx, tx, teamID, no)
}
