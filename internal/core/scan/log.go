package scan

import (
	"context"

	"github.com/vedette-sec/vedette/internal/infra/db"
)

// changes has a transaction that holds a scan's row give the scan a new revision as its
// last thing: whatever of the scan, its runs and its schedule it changes is behind that
// number, and numbers become visible in their order. A scan that was deleted by then has none.
func changes(tx *db.Tx, id string) {
	tx.BeforeCommit(func(ctx context.Context) error {
		n, err := tx.Exec(ctx, `INSERT INTO scan_log (team_id, last_rev) SELECT team_id, 1 FROM scan WHERE id = ?
			ON CONFLICT (team_id) DO UPDATE SET last_rev = scan_log.last_rev + 1`, id)
		if err != nil || n == 0 {
			return err
		}
		_, err = tx.Exec(ctx, `UPDATE scan SET rev = (SELECT l.last_rev FROM scan_log l WHERE l.team_id = scan.team_id) WHERE id = ?`, id)
		return err
	})
}

// deletes has a transaction that deletes scans of a team say so as its last thing.
func deletes(tx *db.Tx, teamID string) {
	tx.BeforeCommit(func(ctx context.Context) error {
		_, err := tx.Exec(ctx, `INSERT INTO scan_log (team_id, last_rev, last_gone) VALUES (?, 1, 1)
			ON CONFLICT (team_id) DO UPDATE SET last_rev = scan_log.last_rev + 1, last_gone = scan_log.last_rev + 1`, teamID)
		return err
	})
}

// reschedules is changes for a transaction that does not hold the scan's row yet: every
// transaction locks the scan before its schedule.
func reschedules(ctx context.Context, tx *db.Tx, id string) error {
	var held string
	err := tx.QueryRow(ctx, `SELECT id FROM scan WHERE id = ?`+tx.Speaks().ForUpdate(), id).Scan(&held)
	if db.IsNoRows(err) {
		return nil // and its schedule with it
	}
	changes(tx, id)
	return err
}
