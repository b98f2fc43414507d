// Package report answers what lists of assets do not: the changes of one asset, the differences of
// an enumeration between two moments, and the misconfigurations of all assets.
package report

import (
	"context"
	"time"

	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/core/asset"
	"github.com/vedette-sec/vedette/internal/core/asset/observation"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/page"
)

// Reports is the service.
type Reports struct {
	db     *db.DB
	assets *asset.Assets
}

// New makes the service.
func New(d *db.DB, assets *asset.Assets) *Reports { return &Reports{d, assets} }

// Change is one recorded change of an asset.
type Change struct {
	Type   asset.ChangeType
	At     time.Time
	Actor  string // an email; empty: the service
	Fields []observation.Field
}

// Filter picks changes of one asset.
type Filter struct {
	AssetID int64
	Types   []asset.ChangeType // none: all
	Since   time.Time
	Oldest  bool // the oldest first; else the newest
}

// Changes lists the changes of an asset of the caller's team, with their total, and the asset.
func (rs *Reports) Changes(
	ctx context.Context, f Filter, w page.Window,
) (a asset.Asset, found []Change, total int, err error) {
	c, err := account.From(ctx)
	if err != nil {
		return a, nil, 0, err
	}
	if a, err = rs.assets.Get(ctx, c.TeamID, f.AssetID); err != nil {
		return a, nil, 0, err
	}
	var where db.Where
	where.And("team_id = ?", c.TeamID)
	where.And("no = ?", asset.NumberOf(a.ID))
	if len(f.Types) > 0 {
		db.In(&where, "type", f.Types)
	}
	if !f.Since.IsZero() {
		where.And("at >= ?", db.At(f.Since))
	}
	order := db.OrderBy([]page.Sort{{Column: "rev", Desc: !f.Oldest}}, "no")
	found, total, err = db.Page(ctx, rs.db, func(r db.Row) (n Change, err error) {
		err = r.Scan(&n.Type, db.Into(&n.At), &n.Actor, db.Into(&n.Fields))
		return n, err
	}, `SELECT type, at, actor, fields FROM asset_change`, `asset_change`, where, order, w)
	return a, found, total, err
}
