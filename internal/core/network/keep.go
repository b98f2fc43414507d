package network

import (
	"context"
	"time"

	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/queue"
)

// keepInterval is how often events that are too old are looked for.
const keepInterval = 10 * time.Minute

// Keep removes events that are too old or too many, until ctx ends.
func (es *Events) Keep(ctx context.Context) {
	queue.Every(ctx, keepInterval, es.from.Logger, "removing network events", es.KeepOnce)
}

// KeepOnce is one round of Keep.
func (es *Events) KeepOnce(ctx context.Context) error {
	teams, err := db.Values[string](ctx, es.db, `SELECT DISTINCT team_id FROM network_capture`)
	if err != nil {
		return err
	}
	for _, team := range teams {
		if err := es.trim(ctx, team); err != nil {
			return err
		}
	}
	return nil
}

// removeAtOnce is how many events one transaction removes.
const removeAtOnce = 5000

// trim removes the events of a team that its policy does not keep, the oldest first. When there are too many bytes, a
// tenth more is removed, so that it need not be done for each new event.
func (es *Events) trim(ctx context.Context, teamID string) error {
	p, err := policyOf(ctx, es.db, teamID)
	if err != nil {
		return err
	}
	oldest := db.At(es.now().AddDate(0, 0, -p.RetentionDays))
	most := int64(p.MaxMegabytes) << 20
	var bytes int64
	if bytes, err = db.Value[int64](ctx, es.db, `SELECT coalesce(sum(size), 0) FROM network_event WHERE team_id = ?`,
		teamID); err != nil {
		return err
	}
	var excess int64
	if bytes > most {
		excess = bytes - most*9/10
	}
	for {
		var ids []any
		if err := db.Each(ctx, es.db, func(r db.Row) error {
			var id string
			var size int64
			var at time.Time
			if err := r.Scan(&id, &size, db.Into(&at)); err != nil {
				return err
			}
			if excess > 0 || at.Before(oldest.Time) {
				ids = append(ids, id)
				excess -= size
			}
			return nil
		}, `SELECT id, size, sent_at FROM network_event WHERE team_id = ? ORDER BY id LIMIT ?`, teamID, removeAtOnce); err != nil {
			return err
		}
		if len(ids) == 0 {
			return nil
		}
		var w db.Where
		w.And("team_id = ?", teamID)
		w.And("id <= ?", ids[len(ids)-1])
		if _, err := es.remove(ctx, w); err != nil {
			return err
		}
	}
}

// remove removes events, and counts them as removed.
func (es *Events) remove(ctx context.Context, w db.Where) (n int64, err error) {
	err = es.db.Tx(ctx, func(tx *db.Tx) error {
		type gone struct {
			id string
			n  int64
		}
		counts, err := db.Select(ctx, tx, func(r db.Row) (g gone, err error) { return g, r.Scan(&g.id, &g.n) },
			`SELECT capture_id, count(*) FROM network_event`+w.String()+` GROUP BY capture_id`, w.Args...)
		if err != nil {
			return err
		}
		for _, g := range counts {
			if _, err := tx.Exec(ctx, `UPDATE network_capture SET removed = removed + ? WHERE id = ?`, g.n, g.id); err != nil {
				return err
			}
		}
		n, err = tx.Exec(ctx, `DELETE FROM network_event`+w.String(), w.Args...)
		return err
	})
	return n, err
}
