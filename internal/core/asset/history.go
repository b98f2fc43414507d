package asset

import (
	"context"
	"encoding/json"
	"io"
	"strings"
	"time"

	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/discover"
	"github.com/vedette-sec/vedette/internal/infra/blob"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/page"
)

// Change is one event in the life of an asset.
type Change struct {
	Type   ChangeType
	At     time.Time
	Actor  string // an email; empty: the service
	Fields []Field
}

// ChangeFilter picks changes of one asset.
type ChangeFilter struct {
	AssetID int64
	Types   []ChangeType
	Since   time.Time
	Oldest  bool // the oldest first; else the newest
}

// Changes are what happened to an asset of the caller's team since it was seen first, the
// asset as it is, and how many changes there are.
func (as *Assets) Changes(ctx context.Context, f ChangeFilter, w page.Window) (a Asset, found []Change, total int, err error) {
	c, err := account.From(ctx)
	if err != nil {
		return a, nil, 0, err
	}
	if a, err = as.Get(ctx, c.TeamID, f.AssetID); err != nil {
		return a, nil, 0, err
	}
	var where db.Where
	where.And("team_id = ?", c.TeamID)
	where.And("no = ?", a.no)
	if len(f.Types) > 0 {
		db.In(&where, "type", f.Types)
	}
	if !f.Since.IsZero() {
		where.And("at >= ?", db.At(f.Since))
	}
	if err := as.db.QueryRow(ctx, `SELECT count(*) FROM asset_change`+where.String(), where.Args...).Scan(&total); err != nil {
		return a, nil, 0, err
	}
	limit, args := db.Limit(w)
	rows, err := as.db.Query(ctx, `SELECT type, at, actor, fields FROM asset_change`+where.String()+db.OrderBy([]page.Sort{{Column: "rev", Desc: !f.Oldest}}, "no")+limit, append(where.Args, args...)...)
	found, err = db.Collect(rows, err, func(r db.Row) (n Change, err error) {
		var at db.Time
		var fields []byte
		if err := r.Scan(&n.Type, &at, &n.Actor, &fields); err != nil {
			return n, err
		}
		n.At = at.Time
		return n, json.Unmarshal(fields, &n.Fields)
	})
	return a, found, total, err
}

// Screenshot opens the picture of an asset of the caller's team, a PNG, and tells its
// size in bytes; the caller closes it.
func (as *Assets) Screenshot(ctx context.Context, id int64) (png io.ReadSeekCloser, size int64, err error) {
	c, err := account.From(ctx)
	if err != nil {
		return nil, 0, err
	}
	if _, err := as.Get(ctx, c.TeamID, id); err != nil {
		return nil, 0, err
	}
	_, no := noOf(id)
	var text string
	err = as.db.QueryRow(ctx, `SELECT screenshot FROM asset WHERE team_id = ? AND no = ?`, c.TeamID, no).Scan(&text)
	if db.IsNoRows(err) || err == nil && text == "" || as.blobs == nil {
		return nil, 0, errs.Missing("screenshot")
	}
	if err != nil {
		return nil, 0, err
	}
	d, err := blob.ParseDigest(text)
	if err != nil {
		return nil, 0, err
	}
	return as.blobs.Get(d)
}

// Misconfiguration is something wrong with an asset that was seen while it was found.
type Misconfiguration struct {
	Asset Asset
	discover.Misconfiguration
}

// Misconfigurations are those of the caller's team that are there now, of a type or, with
// an empty one, of all, on hosts that contain a text; the newest first; and how many
// there are.
func (as *Assets) Misconfigurations(ctx context.Context, kind, search string, w page.Window) (found []Misconfiguration, total int, err error) {
	c, err := account.From(ctx)
	if err != nil {
		return nil, 0, err
	}
	type place struct {
		no   int64
		kind string
	}
	var places []place
	cond, part := as.db.Dialect.Contains("a.host", strings.ToLower(search))
	rows, err := as.db.Query(ctx, `SELECT a.no, a.misconfiguration FROM asset a WHERE a.team_id = ? AND a.misconfiguration <> '' AND NOT a.is_missing
		AND `+cond+enrolled+` ORDER BY a.no DESC`, c.TeamID, part)
	_, err = db.Collect(rows, err, func(r db.Row) (struct{}, error) {
		var no int64
		var kinds string
		err := r.Scan(&no, &kinds)
		for _, k := range words(kinds) {
			if kind == "" || k == kind {
				places = append(places, place{no, k})
			}
		}
		return struct{}{}, err
	})
	if err != nil {
		return nil, 0, err
	}
	total = len(places)
	places = places[min(w.Offset, total):min(w.Offset+w.Limit, total)]
	var numbers []int64
	for _, p := range places {
		if len(numbers) == 0 || numbers[len(numbers)-1] != p.no {
			numbers = append(numbers, p.no)
		}
	}
	assets, err := as.load(ctx, c.TeamID, numbers)
	if err != nil {
		return nil, 0, err
	}
	byNo := map[int64]Asset{}
	for _, a := range assets {
		byNo[a.no] = a
	}
	found = []Misconfiguration{}
	for _, p := range places {
		for _, m := range byNo[p.no].Misconfiguration {
			if m.Type == p.kind {
				found = append(found, Misconfiguration{byNo[p.no], m})
				break
			}
		}
	}
	return found, total, nil
}
