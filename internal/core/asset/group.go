package asset

import (
	"context"
	"strings"
	"time"

	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/ids"
)

// Group is a saved filter over all that a team's enumerations found: it is always live,
// and cannot be run.
type Group struct {
	ID        string
	Name      string
	Filters   Filters
	CreatedAt time.Time
	UpdatedAt time.Time
	Totals    Totals // as it is now
}

// GroupRows is SQL for the id, team_id, name, created_at and updated_at of groups: lists of
// enumerations have groups beside them.
const GroupRows = `SELECT id, team_id, name, created_at, updated_at FROM asset_group`

const (
	maxName   = 200
	maxGroups = 1000 // of a team; policies too
)

// UpdateMode says what an update does with what is there.
type UpdateMode string

// The modes: Append changes what is given and adds to lists; Replace sets everything.
const (
	Append  UpdateMode = "append"
	Replace UpdateMode = "replace"
)

func checkName(name string) (string, error) {
	name = strings.TrimSpace(db.Clean(name))
	if len([]rune(name)) > maxName {
		return "", errs.Field("name", "name must have at most %d characters.", maxName)
	}
	return name, nil
}

// checkFilters refuses filters that say nothing, or that no list takes.
func (as *Assets) checkFilters(param string, q Filters) error {
	if q.Empty() {
		return errs.Field(param, "%s is required, and must say which assets are meant.", param)
	}
	_, err := q.Parse(as.now())
	return err
}

// CreateGroup saves a filter.
func (as *Assets) CreateGroup(ctx context.Context, name string, q Filters) (id string, err error) {
	c, err := account.Writer(ctx)
	if err != nil {
		return "", err
	}
	if name, err = checkName(name); err != nil {
		return "", err
	}
	if err := as.checkFilters("filters", q); err != nil {
		return "", err
	}
	if name == "" {
		name = "Group of " + as.now().UTC().Format(time.DateOnly)
	}
	id = ids.New()
	return id, as.db.Tx(ctx, func(tx *db.Tx) error {
		if err := spare(ctx, tx, "asset_group", c.TeamID); err != nil {
			return err
		}
		now := db.At(as.now())
		_, err := tx.Exec(ctx, `INSERT INTO asset_group (id, team_id, name, filters, created_at, updated_at) VALUES (?, ?, ?, ?, ?, ?)`, id, c.TeamID, name, db.Doc(q), now, now)
		return err
	})
}

// spare refuses one more row of a table than a team may have.
func spare(ctx context.Context, tx *db.Tx, table, teamID string) error {
	var n int
	err := tx.QueryRow(ctx, `SELECT count(*) FROM `+table+` WHERE team_id = ?`, teamID).Scan(&n)
	if err == nil && n >= maxGroups {
		err = errs.New(errs.Conflict, "too_many", "A team can have at most %d of these.", maxGroups)
	}
	return err
}

// UpdateGroup changes a group of the caller's team. An empty name stays.
func (as *Assets) UpdateGroup(ctx context.Context, id, name string, q Filters, mode UpdateMode) error {
	c, err := account.Writer(ctx)
	if err != nil {
		return err
	}
	if name, err = checkName(name); err != nil {
		return err
	}
	return as.db.Tx(ctx, func(tx *db.Tx) error {
		var old db.JSON[Filters]
		var was string
		err := tx.QueryRow(ctx, `SELECT name, filters FROM asset_group WHERE id = ? AND team_id = ?`+tx.Speaks().ForUpdate(), db.Clean(id), c.TeamID).Scan(&was, &old)
		if db.IsNoRows(err) {
			return errs.Missing("group")
		}
		if err != nil {
			return err
		}
		if mode == Append {
			q = old.V.With(q)
		}
		if err := as.checkFilters("filters", q); err != nil {
			return err
		}
		if name == "" {
			name = was
		}
		_, err = tx.Exec(ctx, `UPDATE asset_group SET name = ?, filters = ?, updated_at = ? WHERE id = ?`, name, db.Doc(q), db.At(as.now()), id)
		return err
	})
}

// DeleteGroup deletes a group of the caller's team; the assets stay.
func (as *Assets) DeleteGroup(ctx context.Context, id string) error {
	c, err := account.Writer(ctx)
	if err != nil {
		return err
	}
	n, err := as.db.Exec(ctx, `DELETE FROM asset_group WHERE id = ? AND team_id = ?`, db.Clean(id), c.TeamID)
	if err == nil && n == 0 {
		err = errs.Missing("group")
	}
	return err
}

// Group is one group of the caller's team, with what it has now.
func (as *Assets) Group(ctx context.Context, id string) (Group, error) {
	groups, err := as.groups(ctx, " AND id = ?", db.Clean(id))
	if err == nil && len(groups) == 0 {
		err = errs.Missing("group")
	}
	if err != nil {
		return Group{}, err
	}
	return groups[0], nil
}

// Groups are the groups of the caller's team, the newest first, with what each has now.
func (as *Assets) Groups(ctx context.Context) ([]Group, error) { return as.groups(ctx, "") }

func (as *Assets) groups(ctx context.Context, where string, args ...any) ([]Group, error) {
	c, err := account.From(ctx)
	if err != nil {
		return nil, err
	}
	rows, err := as.db.Query(ctx, `SELECT id, name, filters, created_at, updated_at FROM asset_group WHERE team_id = ?`+where+` ORDER BY created_at DESC, id`, append([]any{c.TeamID}, args...)...)
	groups, err := db.Collect(rows, err, func(r db.Row) (g Group, err error) {
		var filters db.JSON[Filters]
		var created, updated db.Time
		err = r.Scan(&g.ID, &g.Name, &filters, &created, &updated)
		g.Filters, g.CreatedAt, g.UpdatedAt = filters.V, created.Time, updated.Time
		return g, err
	})
	if err != nil || len(groups) == 0 {
		return groups, err
	}
	for i := range groups {
		f, err := groups[i].Filters.Parse(as.minute())
		if err != nil {
			return nil, err
		}
		if groups[i].Totals, err = as.totals(ctx, c.TeamID, f); err != nil {
			return nil, err
		}
	}
	return groups, nil
}

// Known reports whether a team has an enumeration of this id.
func (as *Assets) Known(ctx context.Context, teamID, enumerationID string) (bool, error) {
	var n int
	err := as.db.QueryRow(ctx, `SELECT count(*) FROM asset_enumeration WHERE id = ? AND team_id = ?`, db.Clean(enumerationID), teamID).Scan(&n)
	return n > 0, err
}

// Of is the condition for what an enumeration or a group of the caller's team has, by its
// id; of what is neither it is errs.Missing.
func (as *Assets) Of(ctx context.Context, id string) (narrow func(Filter) Filter, err error) {
	c, err := account.From(ctx)
	if err != nil {
		return nil, err
	}
	known, err := as.Known(ctx, c.TeamID, id)
	if err != nil {
		return nil, err
	}
	if known {
		return func(f Filter) Filter { f.Enumerations = []string{id}; return f }, nil
	}
	saved, err := as.saved(ctx, c.TeamID, id)
	return func(f Filter) Filter { f.And = append(f.And, saved); return f }, err
}

// saved is the filter of a group of a team.
func (as *Assets) saved(ctx context.Context, teamID, id string) (Filter, error) {
	var filters db.JSON[Filters]
	err := as.db.QueryRow(ctx, `SELECT filters FROM asset_group WHERE id = ? AND team_id = ?`, db.Clean(id), teamID).Scan(&filters)
	if db.IsNoRows(err) {
		return Filter{}, errs.Missing("enumeration")
	}
	if err != nil {
		return Filter{}, err
	}
	return filters.V.Parse(as.minute())
}

// minute is the last full one: ranges of time in groups count from it, so that the pages of a
// list agree.
func (as *Assets) minute() time.Time { return as.now().Truncate(time.Minute) }
