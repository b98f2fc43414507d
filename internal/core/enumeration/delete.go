package enumeration

import (
	"context"
	"slices"

	"github.com/vedette-sec/vedette/internal/core/notification"
	"github.com/vedette-sec/vedette/internal/core/run"
	"github.com/vedette-sec/vedette/internal/infra/db"
)

// PurgeArgs is the job that deletes the rows of a deleted enumeration.
type PurgeArgs struct {
	EnumerationID string `json:"enumeration_id"`
	TeamID        string `json:"team_id"`
}

// Kind implements queue.Args.
func (PurgeArgs) Kind() string { return "enumeration.purge" }

// Delete stops enumerations of the caller's team and deletes them with their assets, all or none; param is the field
// that names them. No list shows them any more, and a job deletes their rows.
func (es *Enumerations) Delete(ctx context.Context, ids []string, param string) error {
	return es.runs().Delete(ctx, ids, param, func(tx *db.Tx, teamID string, ids []string) error {
		for _, id := range ids {
			if err := notification.New(es.db, es.queue).Delete(ctx, tx, notification.OfEnumeration, id); err != nil {
				return err
			}
			if _, err := tx.Exec(ctx, `DELETE FROM enumeration_schedule WHERE enumeration_id = ?`, id); err != nil {
				return err
			}
			if _, err := tx.Exec(ctx, `UPDATE enumeration SET status = ? WHERE id = ?`, run.Deleted, id); err != nil {
				return err
			}
			if _, err := es.queue.Insert(ctx, tx, teamID, PurgeArgs{id, teamID}); err != nil {
				return err
			}
		}
		return es.assets.DeleteEnumerations(ctx, tx, teamID, ids)
	})
}

// Purge deletes the rows of a deleted enumeration, some at a time.
func (es *Enumerations) Purge(ctx context.Context, a PurgeArgs) error {
	if err := es.assets.Purge(ctx, a.TeamID, a.EnumerationID); err != nil {
		return err
	}
	var status Status
	err := es.db.QueryRow(ctx, `SELECT status FROM enumeration WHERE id = ?`, a.EnumerationID).Scan(&status)
	if db.IsNoRows(err) || err == nil && status != run.Deleted {
		return nil
	}
	if err != nil {
		return err
	}
	for _, rows := range []struct{ table, key string }{
		{"enumeration_name", "run, host"}, {"enumeration_chunk", "run, n"},
		{"enumeration_event", "run, kind, subject, detail"},
		{"enumeration_source", "run, source, about"},
	} {
		if err := es.empty(ctx, rows.table, rows.key, "enumeration_id = ?", a.EnumerationID); err != nil {
			return err
		}
	}
	_, err = es.db.Exec(ctx, `DELETE FROM enumeration WHERE id = ? AND status = ?`, a.EnumerationID, run.Deleted)
	return err
}

// tidyRows is how many rows one transaction deletes.
const tidyRows = 5_000

// empty deletes the rows of a table that match a condition, some at a time. key is their primary key.
func (es *Enumerations) empty(ctx context.Context, table, key, where string, args ...any) error {
	for {
		n, err := es.db.Exec(ctx, `DELETE FROM `+table+` WHERE `+where+
			` AND (`+key+`) IN (SELECT `+key+` FROM `+table+` WHERE `+where+` LIMIT ?)`,
			append(slices.Concat(args, args), tidyRows)...)
		if err != nil || n == 0 {
			return err
		}
	}
}
