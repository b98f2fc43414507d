package asset

import (
	"context"
	"slices"

	"github.com/vedette-sec/vedette/internal/infra/db"
)

// DeleteEnumerations removes enumerations of a team from the inventory: from then on their assets are
// not listed, and nothing can be added to them. Purge deletes the rows. Ids of other teams are
// ignored.
func (as *Assets) DeleteEnumerations(ctx context.Context, tx *db.Tx, teamID string, ids []string) error {
	if _, _, _, err := as.reserve(ctx, tx, teamID, 0); err != nil {
		return err
	}
	for _, id := range ids {
		n, err := tx.Exec(ctx, `DELETE FROM asset_enumeration WHERE id = ? AND team_id = ?`, id, teamID)
		if err == nil && n > 0 {
			_, err = tx.Exec(ctx, `INSERT INTO asset_deleted (team_id, enumeration_id) VALUES (?, ?) ON CONFLICT DO NOTHING`,
				teamID, id)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// purgeRows is how many assets one transaction deletes.
const purgeRows = 500

// Purge deletes the rows of a deleted enumeration, some at a time so that others can write in between.
// Interrupted, it continues at the next call.
func (as *Assets) Purge(ctx context.Context, teamID, id string) error {
	var exists bool
	err := as.db.QueryRow(ctx, `SELECT EXISTS (SELECT 1 FROM asset_enumeration WHERE id = ?)`, id).Scan(&exists)
	if err != nil || exists {
		return err
	}
	for _, table := range []string{"asset", "asset_past"} { // assets of which only past versions are left come last
		for last, more := int64(-1), true; more; {
			if last, more, err = as.purge(ctx, table, teamID, id, last); err != nil {
				return err
			}
		}
	}
	for _, table := range []string{"asset_run", "asset_deleted"} {
		if _, err := as.db.Exec(ctx, `DELETE FROM `+table+` WHERE team_id = ? AND enumeration_id = ?`, teamID,
			id); err != nil {
			return err
		}
	}
	return nil
}

// purge deletes the next assets of a table, in the order of their numbers, and returns the last
// reserve; more is false at the end.
func (as *Assets) purge(ctx context.Context, table, teamID, id string, after int64) (last int64, more bool, err error) {
	err = as.db.Tx(ctx, func(tx *db.Tx) error {
		numbers, err := db.Values[int64](ctx, tx, `SELECT DISTINCT no FROM `+table+`
			WHERE team_id = ? AND enumeration_id = ? AND no > ? ORDER BY no LIMIT ?`, teamID, id, after, purgeRows)
		if more = len(numbers) > 0; err != nil || !more {
			return err
		}
		last = numbers[len(numbers)-1]
		if err := index.Delete(ctx, tx, teamID, numbers); err != nil {
			return err
		}
		for part := range slices.Chunk(numbers, batch) {
			w := db.InTeam(teamID, "no", part)
			for _, table := range []string{"asset_doc", "asset_change", "asset_past", "asset"} {
				if _, err := tx.Exec(ctx, `DELETE FROM `+table+w.String(), w.Args...); err != nil {
					return err
				}
			}
		}
		return nil
	})
	return last, more, err
}
