package finding

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"github.com/vedette-sec/vedette/internal/infra/db"
)

// staleDays is how long it is remembered what was deleted: an index that was not brought up
// to date this long is made anew.
const staleDays = 24 * time.Hour

// guarded is an index with its lock.
type guarded struct {
	sync.RWMutex
	*index

	memo   sync.Mutex
	picked map[string]*list // by filter, since the last change; guarded by memo
}

// maxPicked is how many filters an index remembers. A set of a million has 125 KB at most.
const maxPicked = 64

// pick is the findings that a filter picks; ids are the numbers of Filter.IDs. Pages of
// one list, and lists that are asked for again, are picked once. The caller has the index
// locked for reading.
func (g *guarded) pick(f Filter, ids []uint32) *list {
	within := g.span(f)
	if len(f.IDs) > 0 {
		return &list{set: g.index.pick(f, within, ids)}
	}
	f.Since, f.Until, f.Before = time.Time{}, time.Time{}, 0 // "the last day" is another time, and mostly the same findings
	key, err := json.Marshal(struct {
		Filter
		span
	}{f, within})
	if err != nil { // texts and numbers have a spelling
		return &list{set: g.index.pick(f, within, ids)}
	}
	g.memo.Lock()
	picked := g.picked[string(key)]
	g.memo.Unlock()
	if picked != nil {
		return picked
	}
	picked = &list{set: g.index.pick(f, within, ids)}
	g.memo.Lock()
	defer g.memo.Unlock()
	if g.picked == nil || len(g.picked) >= maxPicked {
		g.picked = map[string]*list{}
	}
	g.picked[string(key)] = picked
	return picked
}

// current gives a team's index, up to date with what was committed before the call, and
// locked for reading. The caller unlocks it.
func (fs *Findings) current(ctx context.Context, teamID string) (*guarded, error) {
	g := fs.indexes.Of(teamID, fs.now(), func() *guarded { return &guarded{index: newIndex()} })
	var rev int64
	err := fs.db.QueryOften(ctx, `SELECT last_rev FROM finding_log WHERE team_id = ?`, teamID).Scan(&rev)
	if err != nil && !db.IsNoRows(err) {
		return nil, err
	}
	g.RLock()
	if g.rev >= rev {
		return g, nil
	}
	g.RUnlock()
	if err := fs.catchUp(ctx, g, teamID, rev); err != nil {
		return nil, err
	}
	g.RLock()
	return g, nil
}

// catchUp takes in what was changed up to rev. Whoever writes holds the team's log until
// it commits: a reader that has seen rev there sees every change up to it. What is read
// beyond rev is read again the next time.
func (fs *Findings) catchUp(ctx context.Context, g *guarded, teamID string, rev int64) error {
	g.Lock()
	defer g.Unlock()
	if g.rev >= rev {
		return nil
	}
	ctx = context.WithoutCancel(ctx) // a client that leaves must not have the next one begin anew
	if now := fs.now(); now.Sub(g.synced) > staleDays/2 {
		g.index = newIndex()
	}
	if err := fs.takeIn(ctx, g.index, teamID); err != nil {
		return err
	}
	gone, err := fs.db.Query(ctx, `SELECT no FROM finding_gone WHERE team_id = ? AND rev > ?`, teamID, g.rev)
	deleted, err := db.Collect(gone, err, func(r db.Row) (no uint32, err error) { return no, r.Scan(&no) })
	if err != nil {
		return err
	}
	for _, no := range deleted {
		g.drop(no)
	}
	g.tidy()
	g.picked = nil
	g.rev, g.synced = rev, fs.now()
	return nil
}

// takeIn puts what was written behind the index's revision in.
func (fs *Findings) takeIn(ctx context.Context, x *index, teamID string) error {
	return db.Each(ctx, fs.db, `SELECT no, rev, created_at, severity, status, scan_id, host, port, template_id, name, tags, labels, categories,
		is_internal, is_regression, is_ticket FROM finding WHERE team_id = ? AND rev > ? ORDER BY rev`, []any{teamID, x.rev},
		func(r db.Row) (l loaded, err error) {
			return l, r.Scan(&l.no, &l.rev, &l.createdAt, &l.severity, &l.status, &l.scan, &l.host, &l.port, &l.template, &l.name, &l.tags, &l.labels, &l.categories,
				&l.internal, &l.regression, &l.ticket)
		}, func(part []loaded) {
			for _, l := range part {
				x.put(l)
			}
		})
}
