package report

import (
	"context"
	"slices"
	"strings"

	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/core/asset"
	"github.com/vedette-sec/vedette/internal/discover"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/page"
)

// Misconfiguration is an error of an asset that discovery noticed.
type Misconfiguration struct {
	Asset asset.Asset
	discover.Misconfiguration
}

// Misconfigurations lists the present ones of the caller's team, the newest asset first, with their
// total. kind and search narrow the list to a type and to hosts that contain a text; both may be
// empty.
func (rs *Reports) Misconfigurations(
	ctx context.Context, kind, search string, w page.Window,
) (found []Misconfiguration, total int, err error) {
	c, err := account.From(ctx)
	if err != nil {
		return nil, 0, err
	}
	var numbers []int64 // of the page, once for each misconfiguration
	var kinds []string
	cond, part := rs.db.Dialect().Contains("a.host", strings.ToLower(search))
	err = db.Each(ctx, rs.db, func(r db.Row) error {
		var no int64
		var column string
		err := r.Scan(&no, &column)
		for _, k := range words(column) {
			if kind != "" && k != kind {
				continue
			}
			if total >= w.Offset && len(kinds) < w.Limit {
				numbers, kinds = append(numbers, no), append(kinds, k)
			}
			total++
		}
		return err
	}, `SELECT a.no, a.misconfiguration FROM asset a
		WHERE a.team_id = ? AND a.misconfiguration <> '' AND NOT a.is_missing AND `+cond+`
		AND EXISTS (SELECT 1 FROM asset_enumeration e WHERE e.id = a.enumeration_id) ORDER BY a.no DESC`, c.TeamID, part)
	if err != nil {
		return nil, 0, err
	}
	assets, err := rs.assets.Load(ctx, c.TeamID, slices.Compact(slices.Clone(numbers)))
	found = []Misconfiguration{}
	for i, no := range numbers {
		for _, a := range assets {
			if asset.NumberOf(a.ID) != no {
				continue
			}
			if at := slices.IndexFunc(a.Misconfiguration,
				func(m discover.Misconfiguration) bool { return m.Type == kinds[i] }); at >= 0 {
				found = append(found, Misconfiguration{a, a.Misconfiguration[at]})
			}
		}
	}
	return found, total, err
}
