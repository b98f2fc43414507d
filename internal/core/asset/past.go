package asset

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/vedette-sec/vedette/internal/infra/db"
)

// pastIndex is a team's assets, or those of one enumeration, as they were at a moment.
type pastIndex struct {
	teamID, enumeration string
	at                  time.Time
	made                time.Time
	once                sync.Once
	err                 error
	*index
}

// How many are kept, and how long: what happens now changes the past only where it is
// deleted, or where what was seen a moment ago arrives late.
const (
	maxPast = 4
	pastFor = time.Minute
)

// viewPast is view as of a moment.
func (as *Assets) viewPast(ctx context.Context, teamID string, q Query) (v view, err error) {
	if q.Of != "" {
		narrow, err := as.Of(ctx, q.Of)
		if err != nil {
			return v, err
		}
		q.Filter, q.Of = narrow(q.Filter), ""
	}
	if v, still, err := as.viewStill(ctx, teamID, q); still || err != nil {
		return v, err
	}
	x, err := as.pastOf(ctx, teamID, q)
	if err != nil {
		return v, err
	}
	v = x.view(q)
	v.teamID = teamID
	if err := as.leaveOut(ctx, x, &v); err != nil {
		return v, err
	}
	v.load = func(ctx context.Context, numbers []uint32) ([]Asset, error) { return as.readPast(ctx, x, numbers) }
	return v, nil
}

// viewStill is viewPast where nothing has changed since the moment: the index that follows
// the database shows it, if it is there.
func (as *Assets) viewStill(ctx context.Context, teamID string, q Query) (v view, still bool, err error) {
	if !as.follows(teamID) {
		return v, false, nil
	}
	g, err := as.current(ctx, teamID)
	if err != nil {
		return v, false, err
	}
	if still = !g.changed.After(q.AsOf); still {
		now := q
		now.AsOf = time.Time{}
		v = g.view(now)
	}
	enumerations := slices.Collect(maps.Keys(g.runs))
	g.RUnlock()
	if !still || len(enumerations) == 0 {
		return v, still, nil
	}
	// What was deleted is only there; what is newer than the index does no harm.
	var where db.Where
	where.And("team_id = ?", teamID)
	db.In(&where, "enumeration_id", enumerations)
	where.And("until > ?", db.At(q.AsOf))
	var n int
	if err := as.db.QueryRow(ctx, `SELECT count(*) FROM (SELECT 1 FROM asset_past`+where.String()+` LIMIT 1) found`, where.Args...).Scan(&n); err != nil || n > 0 {
		return v, false, err
	}
	v.teamID = teamID
	v.load = func(ctx context.Context, numbers []uint32) ([]Asset, error) {
		found, err := as.read(ctx, g, teamID, numbers)
		if err != nil || !slices.ContainsFunc(found, func(a Asset) bool { return a.UpdatedAt.After(q.AsOf) }) {
			return found, err
		}
		x, err := as.pastOf(ctx, teamID, q) // it changes just now
		if err != nil {
			return nil, err
		}
		return as.readPast(ctx, x, numbers)
	}
	return v, true, nil
}

// follows reports whether there is an index of a team.
func (as *Assets) follows(teamID string) bool {
	return as.indexes.Has(teamID)
}

// leaveOut takes what was deleted with its enumeration since the index was made from a view.
func (as *Assets) leaveOut(ctx context.Context, x *pastIndex, v *view) error {
	rows, err := as.db.Query(ctx, `SELECT id FROM asset_enumeration WHERE team_id = ?`, x.teamID)
	there := map[string]bool{}
	_, err = db.Collect(rows, err, func(r db.Row) (id string, err error) {
		err = r.Scan(&id)
		there[id] = true
		return id, err
	})
	if err != nil {
		return err
	}
	var shown []uint32
	var versions []version
	for i, no := range v.shown {
		if there[x.index.enumeration.values[x.index.enumeration.of[no]]] {
			shown, versions = append(shown, no), append(versions, v.versions[i])
		}
	}
	v.shown, v.versions = shown, versions
	return nil
}

// readPast reads assets by their numbers as they were, in any order.
func (as *Assets) readPast(ctx context.Context, x *pastIndex, numbers []uint32) ([]Asset, error) {
	args := append([]any{x.teamID, db.At(x.at)}, anys(numbers)...)
	args = append(args, append([]any{x.teamID, db.At(x.at), db.At(x.at)}, anys(numbers)...)...)
	rows, err := as.db.Query(ctx, `SELECT `+shownColumns+` FROM asset a JOIN asset_doc d ON d.team_id = a.team_id AND d.no = a.no AND d.rev = a.doc
		WHERE a.team_id = ? AND a.since <= ? AND a.no IN (`+marks(len(numbers))+`)`+enrolled+`
		UNION ALL SELECT `+shownColumns+` FROM asset_past a JOIN asset_doc d ON d.team_id = a.team_id AND d.no = a.no AND d.rev = a.doc
		WHERE a.team_id = ? AND a.since <= ? AND a.until > ? AND a.no IN (`+marks(len(numbers))+`)`+enrolled, args...)
	found, err := db.Collect(rows, err, shownAsset)
	x.dress(found)
	return found, err
}

// pastOf is the index as of a moment: one of the last that were made, or a new one.
func (as *Assets) pastOf(ctx context.Context, teamID string, q Query) (*pastIndex, error) {
	enumeration := ""
	if len(q.Enumerations) == 1 {
		enumeration = q.Enumerations[0]
	}
	at, now := q.AsOf.UTC().Truncate(time.Microsecond), as.now()
	as.mu.Lock()
	i := slices.IndexFunc(as.past, func(x *pastIndex) bool {
		return x.teamID == teamID && x.enumeration == enumeration && x.at.Equal(at) && now.Sub(x.made) < pastFor
	})
	if i < 0 {
		as.past = append(as.past[max(0, len(as.past)-maxPast+1):], &pastIndex{teamID: teamID, enumeration: enumeration, at: at, made: now})
		i = len(as.past) - 1
	}
	x := as.past[i]
	as.mu.Unlock()
	x.once.Do(func() { x.err = as.makePast(context.WithoutCancel(ctx), x) })
	if x.err != nil {
		as.mu.Lock()
		as.past = slices.DeleteFunc(as.past, func(other *pastIndex) bool { return other == x })
		as.mu.Unlock()
	}
	return x, x.err
}

// makePast reads what was there at a moment.
func (as *Assets) makePast(ctx context.Context, x *pastIndex) error {
	x.index = newIndex()
	err := as.db.QueryRow(ctx, `SELECT team_no FROM asset_log WHERE team_id = ?`, x.teamID).Scan(&x.teamNo)
	if db.IsNoRows(err) {
		return nil
	}
	if err != nil {
		return err
	}
	at := db.At(x.at)
	where, args := ` WHERE team_id = ? AND since <= ?`, []any{x.teamID, at}
	past := []any{x.teamID, at, at}
	of := ""
	if x.enumeration != "" {
		of = ` AND enumeration_id = ?`
		args, past = append(args, x.enumeration), append(past, x.enumeration)
	}
	if err := as.readRuns(ctx, x.index, x.teamID, x.at); err != nil {
		return err
	}
	if err := x.read(ctx, as.db, `SELECT `+indexed+` FROM asset`+where+of, args...); err != nil {
		return err
	}
	if err := x.read(ctx, as.db, `SELECT `+indexed+` FROM asset_past`+where+` AND until > ?`+of, past...); err != nil {
		return err
	}
	x.tidy()
	return nil
}
