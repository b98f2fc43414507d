package asset

import (
	"context"
	"slices"

	"github.com/vedette-sec/vedette/internal/infra/db"
)

// DeleteEnumerations takes enumerations of a team out of the inventory, in the transaction
// that deletes them elsewhere: from then on nothing of them is listed, and nothing can be
// added to them. Their rows are for Purge to delete. An id that is not the team's is passed
// over.
func (as *Assets) DeleteEnumerations(ctx context.Context, tx *db.Tx, teamID string, ids []string) error {
	_, _, _, err := as.number(ctx, tx, teamID, 0)
	if err != nil {
		return err
	}
	for _, id := range ids {
		mine, err := tx.Exec(ctx, `DELETE FROM asset_enumeration WHERE id = ? AND team_id = ?`, id, teamID)
		if err != nil {
			return err
		}
		if mine == 0 {
			continue
		}
		if _, err := tx.Exec(ctx, `INSERT INTO asset_deleted (team_id, enumeration_id) VALUES (?, ?) ON CONFLICT DO NOTHING`, teamID, id); err != nil {
			return err
		}
	}
	return nil
}

// purgeRows is how many assets one transaction deletes.
const purgeRows = 500

// Purge deletes the rows of an enumeration that DeleteEnumerations has taken out, some at a
// time: others write in between, and a purge that broke off goes on where it was. It does
// nothing to an enumeration that is enrolled.
func (as *Assets) Purge(ctx context.Context, teamID, id string) error {
	var there int
	if err := as.db.QueryRow(ctx, `SELECT count(*) FROM asset_enumeration WHERE id = ?`, id).Scan(&there); err != nil || there > 0 {
		return err
	}
	for _, table := range []string{"asset", "asset_past"} { // those of which only the past is left come last
		for last := int64(-1); ; {
			next, err := as.purge(ctx, table, teamID, id, last)
			if err != nil {
				return err
			}
			if next == last {
				break
			}
			last = next
		}
	}
	for _, table := range []string{"asset_run", "asset_deleted"} {
		if _, err := as.db.Exec(ctx, `DELETE FROM `+table+` WHERE team_id = ? AND enumeration_id = ?`, teamID, id); err != nil {
			return err
		}
	}
	return nil
}

// purge deletes the next of the assets that a table names, and gives the number of the last;
// that which it was given when there are no more. In the order of their numbers they lie
// side by side.
func (as *Assets) purge(ctx context.Context, table, teamID, id string, after int64) (last int64, err error) {
	last = after
	err = as.db.Tx(ctx, func(tx *db.Tx) error {
		rows, err := tx.Query(ctx, `SELECT DISTINCT no FROM `+table+` WHERE team_id = ? AND enumeration_id = ? AND no > ? ORDER BY no LIMIT ?`, teamID, id, after, purgeRows)
		numbers, err := db.Collect(rows, err, func(r db.Row) (no int64, err error) { return no, r.Scan(&no) })
		if err != nil || len(numbers) == 0 {
			return err
		}
		last = numbers[len(numbers)-1]
		if err := index.Delete(ctx, tx, teamID, numbers); err != nil {
			return err
		}
		for part := range slices.Chunk(numbers, batch) {
			args := append([]any{teamID}, anys(part)...)
			for _, table := range []string{"asset_doc", "asset_change", "asset_past", "asset"} {
				if _, err := tx.Exec(ctx, `DELETE FROM `+table+` WHERE team_id = ? AND no IN (`+marks(len(part))+`)`, args...); err != nil {
					return err
				}
			}
		}
		return nil
	})
	return last, err
}
