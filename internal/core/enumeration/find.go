package enumeration

import (
	"context"
	"time"

	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/core/asset"
	"github.com/vedette-sec/vedette/internal/core/run"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/page"
)

// Filter picks enumerations of a list.
type Filter struct {
	Statuses     []Status // none: any
	Types        []Type   // none: any
	Search       string   // a part of the name, or the id
	Internal     *bool
	Having       *asset.Filter // that have an asset which it picks
	Since, Until time.Time     // when it was made; zero is open
}

// Sortable are the fields of an order, as page.Sorts wants them.
var Sortable = map[string]string{
	"created_at": "e.created_at", "updated_at": "e.updated_at", "name": "e.name", "status": "e.status", "id": "e.id",
	"enumeration_type": "e.enum_type",
	"completed_at":     "coalesce(r.ended_at, 0)", "new_assets": "coalesce(r.new_asset, 0)", "rescan_count": "e.run",
	"enumeration_time_elapsed": "coalesce(r.ended_at - r.started_at, 0)",
}

const numberColumns = `coalesce(r.total_name, 0), coalesce(r.done_name, 0), coalesce(r.new_asset, 0), coalesce(r.denial, 0), r.started_at, r.ended_at`

const fields = `e.id, e.team_id, e.user_id, e.name, e.enum_type, e.status, e.failure_reason, e.run, e.is_internal, e.created_at, e.updated_at,
	coalesce(c.config, '{}'), coalesce(c.input, 0), ` + numberColumns

const columns = fields + `
	FROM enumeration e JOIN enumeration_config c ON c.enumeration_id = e.id LEFT JOIN enumeration_run r ON r.enumeration_id = e.id AND r.run = e.run`

// listedRows are enumerations and groups of assets.
const listedRows = `(SELECT id, team_id, user_id, name, enum_type, status, failure_reason, run, is_internal, created_at, updated_at
	FROM enumeration UNION ALL SELECT id, team_id, '', name, '` + string(Group) + `', '` +
	string(Finished) + `', '', 0, FALSE, created_at,
	updated_at FROM asset_group) e`

const listed = `SELECT ` + fields + ` FROM ` + listedRows + `
	LEFT JOIN enumeration_config c ON c.enumeration_id = e.id LEFT JOIN enumeration_run r ON r.enumeration_id = e.id AND r.run = e.run`

// scan reads numberColumns, and before those the columns before.
func (n *Numbers) scan(r db.Row, before ...any) error {
	return r.Scan(append(before,
		&n.Names, &n.DoneNames, &n.NewAssets, &n.Denials, db.Into(&n.StartedAt), db.Into(&n.EndedAt))...)
}

func enumerationRow(r db.Row) (e Enumeration, err error) {
	var created, updated db.Time
	var config db.JSON[Config]
	err = e.Numbers.scan(r, &e.ID, &e.TeamID, &e.UserID, &e.Name, &e.Type, &e.Status, &e.FailureReason, &e.Run,
		&e.IsInternal,
		&created, &updated, &config, &e.InputCount)
	e.CreatedAt, e.UpdatedAt, e.Config = created.Time, updated.Time, config.V
	return e, err
}

// Find is an enumeration of the caller's team, complete.
func (es *Enumerations) Find(ctx context.Context, id string) (Enumeration, error) {
	c, err := account.From(ctx)
	if err != nil {
		return Enumeration{}, err
	}
	e, err := enumerationRow(es.db.QueryRow(ctx, `SELECT `+columns+` WHERE e.id = ? AND e.team_id = ? AND e.status <> ?`,
		db.Clean(id), c.TeamID, run.Deleted))
	if err != nil {
		return e, db.OrMissing(err, "enumeration")
	}
	if e.Config, err = es.config(ctx, es.db, e.ID); err != nil {
		return e, err
	}
	one := []Enumeration{e}
	err = es.complete(ctx, one)
	return one[0], err
}

// FindListed is what FindAll lists under an id: an enumeration, or a group.
func (es *Enumerations) FindListed(ctx context.Context, id string) (Enumeration, error) {
	e, err := es.Find(ctx, id)
	if !errs.Is(err, errs.NotFound) {
		return e, err
	}
	g, gerr := es.group(ctx, id)
	if errs.Is(gerr, errs.NotFound) {
		return e, err
	}
	return g, gerr
}

// config is the configuration of an enumeration, with its inputs.
func (es *Enumerations) config(ctx context.Context, q db.Querier, id string) (Config, error) {
	var config db.JSON[Config]
	var inputs db.JSON[[]string]
	err := q.QueryRow(ctx, `SELECT config, inputs FROM enumeration_config WHERE enumeration_id = ?`, id).Scan(&config,
		&inputs)
	config.V.Inputs = inputs.V
	return config.V, err
}

// complete adds their inventory and schedules to enumerations.
func (es *Enumerations) complete(ctx context.Context, list []Enumeration) error {
	ids := make([]string, len(list))
	for i, e := range list {
		ids[i] = e.ID
	}
	schedules, err := es.Schedules().Of(ctx, ids)
	if err != nil {
		return err
	}
	for i := range list {
		e := &list[i]
		if s, ok := schedules[e.ID]; ok {
			e.Schedule = &s
		}
		if e.Type == Group {
			g, err := es.group(ctx, e.ID)
			if err != nil && !errs.Is(err, errs.NotFound) { // it was deleted meanwhile
				return err
			}
			e.Filters, e.Totals = g.Filters, g.Totals
			continue
		}
		if e.Totals, err = es.assets.Totals(ctx, e.TeamID, e.ID); err != nil {
			return err
		}
	}
	return nil
}

// FindAll lists enumerations and groups of assets of the caller's team, and how many the filter picks in all. Without
// sorts the newest come first. The configurations have no inputs.
func (es *Enumerations) FindAll(
	ctx context.Context, f Filter, sorts []page.Sort, w page.Window,
) (list []Enumeration, total int, err error) {
	c, err := account.From(ctx)
	if err != nil {
		return nil, 0, err
	}
	var where db.Where
	where.And("e.team_id = ?", c.TeamID)
	where.And("e.status <> ?", run.Deleted)
	if len(f.Statuses) > 0 {
		db.In(&where, "e.status", f.Statuses)
	}
	if len(f.Types) > 0 {
		db.In(&where, "e.enum_type", f.Types)
	}
	if f.Internal != nil {
		where.And("e.is_internal = ?", *f.Internal)
	}
	if f.Search != "" {
		name, arg := es.db.Dialect().Contains("e.name", f.Search)
		where.And("("+name+" OR e.id = ?)", arg, db.Clean(f.Search))
	}
	if f.Having != nil {
		ids, err := es.assets.EnumerationsWith(ctx, *f.Having)
		if err != nil || len(ids) == 0 {
			return nil, 0, err
		}
		db.In(&where, "e.id", ids)
	}
	between(&where, "e.created_at", f.Since, f.Until)
	if len(sorts) == 0 {
		sorts = []page.Sort{{Column: "e.created_at", Desc: true}}
	}
	list, total, err = db.Page(ctx, es.db, enumerationRow, listed, listedRows, where, db.OrderBy(sorts, "e.id DESC"), w)
	if err != nil {
		return nil, 0, err
	}
	return list, total, es.complete(ctx, list)
}

func between(w *db.Where, column string, since, until time.Time) {
	if !since.IsZero() {
		w.And(column+" >= ?", db.At(since))
	}
	if !until.IsZero() {
		w.And(column+" < ?", db.At(until))
	}
}

// Launch is one run of an enumeration, for its history.
type Launch struct {
	EnumerationID string
	Name          string
	Type          Type
	Run           int64
	Status        Status
	FailureReason string
	Numbers       Numbers
	CreatedAt     time.Time
}

// History is runs of an enumeration, the newest first.
type History struct {
	Launches []Launch
	Total    int // that the filter picks
	Unique   int // enumerations that those are of
}

// FindHistory lists the runs of an enumeration of the caller's team that were launched from since on and before
// until; zero is open.
func (es *Enumerations) FindHistory(
	ctx context.Context, id string, since, until time.Time, w page.Window,
) (h History, err error) {
	e, err := es.Find(ctx, id)
	if err != nil {
		return h, err
	}
	var where db.Where
	where.And("enumeration_id = ?", e.ID)
	between(&where, "created_at", since, until)
	h.Launches, h.Total, err = db.Page(ctx, es.db, func(r db.Row) (Launch, error) {
		l := Launch{EnumerationID: e.ID, Name: e.Name, Type: e.Type}
		err := l.Numbers.scan(r, &l.Run, &l.Status, &l.FailureReason, db.Into(&l.CreatedAt))
		return l, err
	}, `SELECT run, status, failure_reason, created_at, `+numberColumns+` FROM enumeration_run r`, `enumeration_run`,
		where,
		` ORDER BY run DESC`, w)
	h.Unique = min(h.Total, 1)
	return h, err
}
