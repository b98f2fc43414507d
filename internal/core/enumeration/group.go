package enumeration

import (
	"context"
	"slices"
	"time"

	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/core/asset"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/ids"
)

// A group is a saved filter over the assets of all enumerations. It is listed beside them, and
// always shows what matches now; it has no runs.

// maxGroups is how many groups a team has at most.
const maxGroups = 1000

// CreateGroup saves a filter of the caller's team.
func (es *Enumerations) CreateGroup(ctx context.Context, name string, q asset.Filters) (id string, err error) {
	c, err := account.Writer(ctx)
	if err != nil {
		return "", err
	}
	if name, err = asset.CheckName(name); err != nil {
		return "", err
	}
	if err := q.Check("filters", es.now()); err != nil {
		return "", err
	}
	if name == "" {
		name = "Group of " + es.now().UTC().Format(time.DateOnly)
	}
	id = ids.New()
	return id, es.db.Tx(ctx, func(tx *db.Tx) error {
		var n int
		if err := tx.QueryRow(ctx, `SELECT count(*) FROM asset_group WHERE team_id = ?`, c.TeamID).Scan(&n); err != nil {
			return err
		}
		if n >= maxGroups {
			return errs.New(errs.Conflict, "too_many", "A team can have at most %d of these.", maxGroups)
		}
		now := db.At(es.now())
		_, err := tx.Exec(ctx, `INSERT INTO asset_group (id, team_id, name, filters, created_at, updated_at) VALUES (?, ?, ?, ?, ?, ?)`,
			id, c.TeamID, name, db.Doc(q), now, now)
		return err
	})
}

// UpdateGroup changes a group of the caller's team. An empty name stays as it is; filters are added,
// or with replace take the place of the old ones.
func (es *Enumerations) UpdateGroup(ctx context.Context, id, name string, q asset.Filters, replace bool) error {
	c, err := account.Writer(ctx)
	if err != nil {
		return err
	}
	if name, err = asset.CheckName(name); err != nil {
		return err
	}
	return es.db.Tx(ctx, func(tx *db.Tx) error {
		var filters db.JSON[asset.Filters]
		var old string
		err := tx.QueryRow(ctx, `SELECT name, filters FROM asset_group WHERE id = ? AND team_id = ?`+tx.Dialect().ForUpdate(),
			db.Clean(id), c.TeamID).Scan(&old, &filters)
		if err != nil {
			return db.OrMissing(err, "group")
		}
		if !replace {
			q = filters.V.With(q)
		}
		if err := q.Check("filters", es.now()); err != nil {
			return err
		}
		if name == "" {
			name = old
		}
		_, err = tx.Exec(ctx, `UPDATE asset_group SET name = ?, filters = ?, updated_at = ? WHERE id = ?`,
			name, db.Doc(q), db.At(es.now()), id)
		return err
	})
}

// DeleteGroup deletes a group of the caller's team; the assets stay.
func (es *Enumerations) DeleteGroup(ctx context.Context, id string) error {
	c, err := account.Writer(ctx)
	if err != nil {
		return err
	}
	return db.ExecOr(ctx, es.db, errs.Missing("group"),
		`DELETE FROM asset_group WHERE id = ? AND team_id = ?`, db.Clean(id), c.TeamID)
}

// group finds a group of the caller's team, with the totals of its assets.
func (es *Enumerations) group(ctx context.Context, id string) (Enumeration, error) {
	e := Enumeration{ID: id, Type: Group, Status: Finished}
	c, err := account.From(ctx)
	if err != nil {
		return e, err
	}
	var filters db.JSON[asset.Filters]
	var created, updated db.Time
	err = es.db.QueryRow(ctx, `SELECT name, filters, created_at, updated_at FROM asset_group WHERE id = ? AND team_id = ?`,
		db.Clean(id), c.TeamID).Scan(&e.Name, &filters, &created, &updated)
	if err != nil {
		return e, db.OrMissing(err, "group")
	}
	e.Filters, e.CreatedAt, e.UpdatedAt = &filters.V, created.Time, updated.Time
	narrow, err := es.assets.NarrowTo(ctx, id)
	if err == nil {
		e.Totals, err = es.groupTotals(ctx, c.TeamID, narrow(asset.Filter{}))
	}
	return e, err
}

// groupTotals counts the matching assets of a team.
func (es *Enumerations) groupTotals(ctx context.Context, teamID string, f asset.Filter) (t asset.Totals, err error) {
	numbers, err := es.assets.Numbers(ctx, teamID, f)
	hosts := map[string]bool{}
	for part := range slices.Chunk(numbers, 500) {
		if err != nil {
			break
		}
		var where db.Where
		where.And("a.team_id = ?", teamID)
		db.In(&where, "a.no", part)
		rows, failed := es.db.Query(ctx, `SELECT a.host, a.port > 0, a.service IN ('http', 'https'), a.endpoints, a.first_run = e.run,
			a.is_missing FROM asset a JOIN asset_enumeration e ON e.id = a.enumeration_id`+where.String(), where.Args...)
		_, err = db.Collect(rows, failed, func(r db.Row) (host string, err error) {
			var endpoints int
			var port, http, fresh, missing bool
			err = r.Scan(&host, &port, &http, &endpoints, &fresh, &missing)
			hosts[host] = true
			t.Assets++
			t.Endpoints += endpoints
			for n, is := range map[*int]bool{&t.Ports: port, &t.HTTP: http, &t.New: fresh, &t.Missing: missing} {
				if is {
					*n++
				}
			}
			return host, err
		})
	}
	t.Hosts = len(hosts)
	return t, err
}
