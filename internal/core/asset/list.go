package asset

import (
	"context"
	"slices"
	"time"

	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/page"
)

// Query is a list that is asked for.
type Query struct {
	Filter
	Of    string      // the id of an enumeration or a group, whose assets it picks from; empty: all
	Sorts []page.Sort // from page.Sorts with Sortable; none: the newest first
	page.Window
	AsOf time.Time // the list as it was then; zero: as it is
}

// Listed is what a page says of its list.
type Listed struct {
	Total int // that the filter picks
	// End is behind the number of every asset that the list could have had. As Before of
	// the filter of the pages that follow, it keeps what arrives meanwhile from shifting
	// them, in any order.
	End int64
	// Next is for an unsorted list. As Before, with the offset 0, it asks for what follows
	// this page, whatever arrived or was deleted meanwhile; 0: nothing follows.
	Next int64
}

// Page is a part of a list.
type Page struct {
	Listed
	Assets []Asset
}

// Written is a part of a list of which each asset is written already.
type Written struct {
	Listed
	Assets [][]byte
}

// List lists assets of the caller's team.
func (as *Assets) List(ctx context.Context, q Query) (p Page, err error) {
	v, err := as.view(ctx, q)
	if err != nil {
		return p, err
	}
	p.Listed = v.Listed
	p.Assets, err = v.all(ctx, v.shown)
	return p, err
}

// slot is the place of an asset on the shelf, where it stands written.
type slot struct {
	teamID string
	no     uint32
}

// version tells what an asset was written as from what it is since: an asset says a few
// things of its enumeration.
type version struct {
	rev, enumeration, latest int64 // revisions of both; the run that is_new means
}

// Write is List with each asset as write makes it, which is the same for all calls: what
// it made is kept for as long as nothing of the asset changes.
func (as *Assets) Write(ctx context.Context, q Query, write func(Asset) ([]byte, error)) (p Written, err error) {
	v, err := as.view(ctx, q)
	if err != nil {
		return p, err
	}
	p.Listed = v.Listed
	p.Assets = as.shelf.Take(len(v.shown), func(i int) (slot, version) { return slot{v.teamID, v.shown[i]}, v.versions[i] })
	var missing []uint32
	at := map[uint32]int{}
	for i, no := range v.shown {
		if p.Assets[i] == nil {
			missing, at[no] = append(missing, no), i
		}
	}
	err = v.each(ctx, missing, func(found []Asset) error {
		for _, a := range found {
			text, err := write(a)
			if err != nil {
				return err
			}
			as.shelf.Put(slot{v.teamID, a.no}, a.version, text)
			p.Assets[at[a.no]] = text
		}
		return nil
	})
	p.Assets = slices.DeleteFunc(p.Assets, func(text []byte) bool { return text == nil })
	return p, err
}

// view is a page before anything of it is read.
type view struct {
	Listed
	teamID   string
	shown    []uint32
	versions []version
	load     func(ctx context.Context, numbers []uint32) ([]Asset, error)
}

// each hands on assets of a view by their numbers, some at a time and in that order. One
// that was deleted meanwhile is not there.
func (v view) each(ctx context.Context, numbers []uint32, take func([]Asset) error) error {
	for part := range slices.Chunk(numbers, batch) {
		found, err := v.load(ctx, part)
		if err == nil {
			err = take(inOrder(found, part))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// all is what each hands on, together.
func (v view) all(ctx context.Context, numbers []uint32) ([]Asset, error) {
	out := make([]Asset, 0, len(numbers))
	err := v.each(ctx, numbers, func(found []Asset) error {
		out = append(out, found...)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// view has an index pick a page: the one that follows the database, or one of the past.
func (as *Assets) view(ctx context.Context, q Query) (v view, err error) {
	c, err := account.From(ctx)
	if err != nil {
		return v, err
	}
	if !q.AsOf.IsZero() {
		return as.viewPast(ctx, c.TeamID, q)
	}
	g, err := as.current(ctx, c.TeamID)
	if err != nil {
		return v, err
	}
	if _, enrolled := g.runs[q.Of]; q.Of != "" && enrolled {
		q.Enumerations = []string{q.Of}
	} else if q.Of != "" {
		g.RUnlock()
		saved, err := as.saved(ctx, c.TeamID, q.Of)
		if err != nil {
			return v, err
		}
		q.And = append(q.And, saved)
		if g, err = as.current(ctx, c.TeamID); err != nil {
			return v, err
		}
	}
	defer g.RUnlock()
	v = g.view(q)
	v.teamID = c.TeamID
	v.load = as.reader(g, c.TeamID)
	return v, nil
}

// view is what a page shows.
func (x *index) view(q Query) (v view) {
	p := x.page(q)
	v.Listed, v.shown, v.versions = p.Listed, p.shown, make([]version, len(p.shown))
	for i, no := range p.shown {
		v.versions[i] = x.version(x.revs[no], x.enumeration.values[x.enumeration.of[no]])
	}
	return v
}

func (x *index) version(rev int64, enumeration string) version {
	runs := x.runs[enumeration]
	return version{rev, runs.rev, runs.latest}
}

// chosen is what a page shows, by numbers.
type chosen struct {
	Listed
	shown []uint32
}

// page is the numbers that a page shows. The caller only reads it.
func (x *index) page(q Query) chosen {
	find := func() (chosen, int) {
		p := x.find(q)
		return p, 64 + 4*len(p.shown)
	}
	if name, ok := nameOf(q); ok {
		return x.pages.recall(name, find)
	}
	return x.find(q)
}

func (x *index) find(q Query) (p chosen) {
	s := x.picked(q.Filter)
	p.Total, p.End = s.count(), max(int64(x.size), 1)
	p.shown = x.window(s, p.Total, q.Sorts, q.Window)
	if n := len(p.shown); n > 0 && len(q.Sorts) == 0 && q.Offset+n < p.Total {
		p.Next = int64(p.shown[n-1])
	}
	if q.Before > 0 {
		p.End = min(p.End, q.Before)
	}
	return p
}

// load reads assets by their numbers, in that order. One that was deleted meanwhile is
// not there. The caller does not hold the index.
func (as *Assets) load(ctx context.Context, g *guarded, teamID string, numbers []uint32) ([]Asset, error) {
	return view{load: as.reader(g, teamID)}.all(ctx, numbers)
}

// reader is read of a team.
func (as *Assets) reader(g *guarded, teamID string) func(context.Context, []uint32) ([]Asset, error) {
	return func(ctx context.Context, numbers []uint32) ([]Asset, error) { return as.read(ctx, g, teamID, numbers) }
}

// read is load of a batch, in any order.
func (as *Assets) read(ctx context.Context, g *guarded, teamID string, numbers []uint32) ([]Asset, error) {
	rows, err := as.db.Query(ctx, `SELECT `+shownColumns+` FROM asset a JOIN asset_doc d ON d.team_id = a.team_id AND d.no = a.no AND d.rev = a.doc
		WHERE a.team_id = ? AND a.no IN (`+marks(len(numbers))+`)`+enrolled, append([]any{teamID}, anys(numbers)...)...)
	found, err := db.Collect(rows, err, shownAsset)
	if err != nil {
		return nil, err
	}
	g.RLock()
	defer g.RUnlock()
	g.dress(found)
	return found, nil
}

// shownAsset reads shownColumns.
func shownAsset(r db.Row) (Asset, error) {
	var one row
	var doc []byte
	if err := r.Scan(&one.no, &one.rev, &one.enumeration, &one.hash, &one.firstRun, &one.createdAt, &one.since, &one.seenAt, &one.missing, &one.internal, &one.labels, &one.screenshot, &doc); err != nil {
		return Asset{}, err
	}
	return assetOf(one, doc)
}

// dress adds what the index knows of assets.
func (x *index) dress(found []Asset) {
	for i := range found {
		a := &found[i]
		runs := x.runs[a.EnumerationID]
		a.ID, a.Enumeration, a.SourceType, a.IsNew = idOf(x.teamNo, a.no), runs.name, runs.source, a.firstRun == runs.latest
		a.version = x.version(a.rev, a.EnumerationID)
	}
}

func inOrder(found []Asset, numbers []uint32) []Asset {
	return db.InOrder(found, numbers, func(a Asset) uint32 { return a.no })
}
