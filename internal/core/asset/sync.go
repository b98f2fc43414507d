package asset

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/vedette-sec/vedette/internal/infra/db"
)

// staleAfter is how long it is remembered what was deleted: an index that was not brought up
// to date for half of it is made anew.
const staleAfter = 24 * time.Hour

// guarded is an index with its lock.
type guarded struct {
	sync.RWMutex
	*index
}

// current gives a team's index, up to date with what was committed before the call, and
// locked for reading. The caller unlocks it.
func (as *Assets) current(ctx context.Context, teamID string) (*guarded, error) {
	g := as.indexes.Of(teamID, as.now(), func() *guarded { return &guarded{index: newIndex()} })
	var rev int64
	err := as.db.QueryRow(ctx, `SELECT last_rev FROM asset_log WHERE team_id = ?`, teamID).Scan(&rev)
	if err != nil && !db.IsNoRows(err) {
		return nil, err
	}
	g.RLock()
	if g.rev >= rev {
		return g, nil
	}
	g.RUnlock()
	if err := as.catchUp(ctx, g, teamID, rev); err != nil {
		return nil, err
	}
	g.RLock()
	return g, nil
}

// catchUp takes in what was changed up to rev. Whoever writes holds the team's log until
// it commits: a reader that has seen rev there sees every change up to it. What is read
// beyond rev is read again the next time. On an error half a change may be in, and is
// taken in again as a whole.
func (as *Assets) catchUp(ctx context.Context, g *guarded, teamID string, rev int64) error {
	g.Lock()
	defer g.Unlock()
	if g.rev >= rev {
		return nil
	}
	ctx = context.WithoutCancel(ctx) // a client that leaves must not have the next one begin anew
	if as.now().Sub(g.synced) > staleAfter/2 {
		g.index = newIndex()
	}
	if err := as.db.QueryRow(ctx, `SELECT team_no FROM asset_log WHERE team_id = ?`, teamID).Scan(&g.teamNo); err != nil {
		return err
	}
	rows, err := as.db.Query(ctx, `SELECT no, enumeration_id FROM asset_gone WHERE team_id = ? AND rev > ?`, teamID, g.rev)
	_, err = db.Collect(rows, err, func(r db.Row) (struct{}, error) {
		var no uint32
		var enumeration string
		err := r.Scan(&no, &enumeration)
		if no > 0 {
			g.drop(no)
		} else {
			g.dropEnumeration(enumeration)
		}
		return struct{}{}, err
	})
	if err != nil {
		return err
	}
	if err := as.readRuns(ctx, g.index, teamID, time.Time{}); err != nil {
		return err
	}
	if err := g.read(ctx, as.db, `SELECT `+indexed+` FROM asset WHERE team_id = ? AND rev > ?`, teamID, g.rev); err != nil {
		return err
	}
	g.tidy()
	g.takeTexts()
	g.rev, g.synced = rev, as.now()
	return nil
}

// read puts the rows that a query of indexed finds into an index that knows its runs.
// Those of an enumeration that it does not know are being deleted.
func (x *index) read(ctx context.Context, d *db.DB, query string, args ...any) error {
	var wrong error
	text := func(from db.Row) (text string, err error) { return text, from.Scan(&text) }
	err := db.Each(ctx, d, query, args, text, func(part []string) {
		for _, text := range part {
			r, err := parted(text)
			if err != nil {
				wrong = err
			} else if _, enrolled := x.runs[r.enumeration]; enrolled {
				x.put(&r)
			}
		}
	})
	return errors.Join(err, wrong)
}

// readRuns learns which runs are the latest, of all that had begun at a moment; the zero
// time: of all. Enumerations are few.
func (as *Assets) readRuns(ctx context.Context, x *index, teamID string, until time.Time) error {
	clear(x.runs)
	rows, err := as.db.Query(ctx, `SELECT id, rev, name, source FROM asset_enumeration WHERE team_id = ?`, teamID)
	_, err = db.Collect(rows, err, func(r db.Row) (struct{}, error) {
		var id string
		var e runs
		err := r.Scan(&id, &e.rev, &e.name, &e.source)
		x.runs[id] = e
		return struct{}{}, err
	})
	if err != nil {
		return err
	}
	rows, err = as.db.Query(ctx, `SELECT enumeration_id, run, started_at, ended_at, covered FROM asset_run WHERE team_id = ? ORDER BY run`, teamID)
	_, err = db.Collect(rows, err, func(r db.Row) (struct{}, error) {
		var id string
		var run int64
		var started, ended db.Time
		var covered bool
		if err := r.Scan(&id, &run, &started, &ended, &covered); err != nil {
			return struct{}{}, err
		}
		e, known := x.runs[id]
		if !known || !until.IsZero() && started.After(until) {
			return struct{}{}, nil
		}
		e.latest = run
		if started.After(x.changed) {
			x.changed = started.Time
		}
		if covered && (until.IsZero() || !ended.After(until)) {
			e.covered, e.coveredAt = run, ended.Time
		}
		x.runs[id] = e
		return struct{}{}, nil
	})
	return err
}
