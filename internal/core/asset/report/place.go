package report

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/core/asset"
	"github.com/vedette-sec/vedette/internal/core/asset/observation"
	"github.com/vedette-sec/vedette/internal/infra/db"
)

// Place is a host and a port of it.
type Place struct {
	Host string
	Port int
}

// stored is the place as it is in the table.
func (p Place) stored() Place { return Place{strings.ToLower(observation.Clip(p.Host)), p.Port} }

// batch is how many places one statement looks for.
const batch = 250

// At finds the assets of the caller's team at places, of each the last seen of several enumerations; if there is none
// with the port, the host itself. Places without an asset are not in the answer.
func (rs *Reports) At(ctx context.Context, places []Place) (map[Place]asset.Asset, error) {
	c, err := account.From(ctx)
	if err != nil {
		return nil, err
	}
	out := map[Place]asset.Asset{}
	for part := range slices.Chunk(places, batch) {
		latest, err := rs.numbersAt(ctx, c.TeamID, part)
		if err != nil {
			return nil, err
		}
		wanted := map[Place]int64{}
		for _, at := range part {
			no, ok := latest[at.stored()]
			if !ok {
				no, ok = latest[Place{at.stored().Host, 0}]
			}
			if ok {
				wanted[at] = no
			}
		}
		found, err := rs.assets.Load(ctx, c.TeamID, slices.Compact(slices.Sorted(maps.Values(wanted))))
		if err != nil {
			return nil, err
		}
		byNumber := map[int64]asset.Asset{}
		for _, a := range found {
			byNumber[asset.NumberOf(a.ID)] = a
		}
		for at, no := range wanted {
			if a, ok := byNumber[no]; ok {
				out[at] = a
			}
		}
	}
	return out, nil
}

// numbersAt are the numbers of the assets last seen at the hosts and ports of places, and of the hosts themselves.
func (rs *Reports) numbersAt(ctx context.Context, teamID string, places []Place) (map[Place]int64, error) {
	hosts, ports := []string{}, []int{0}
	for _, at := range places {
		hosts, ports = append(hosts, at.stored().Host), append(ports, at.Port)
	}
	var where db.Where
	where.And("a.team_id = ?", teamID)
	db.In(&where, "a.host", hosts)
	db.In(&where, "a.port", ports)
	where.And("EXISTS (SELECT 1 FROM asset_enumeration e WHERE e.id = a.enumeration_id)") // not being deleted
	out := map[Place]int64{}
	return out, db.Each(ctx, rs.db, func(r db.Row) error {
		var no int64
		var at Place
		err := r.Scan(&no, &at.Host, &at.Port)
		out[at] = no
		return err
	}, `SELECT a.no, a.host, a.port FROM asset a`+where.String()+` ORDER BY +a.seen_at, a.no`, where.Args...)
}
