package scan

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/infra/page"
)

// Filter picks scans of a list.
type Filter struct {
	Status   Status // empty: any
	Search   string // a part of the name or the id
	Internal *bool
}

// Row is a scan of a list, written already.
type Row struct {
	Text []byte
	// Since is when the run began that is not over yet: what Text says of how long it takes
	// is from when it was written. Zero: nothing in Text grows old.
	Since time.Time
}

// List is a part of a list.
type List struct {
	Rows  []Row
	Total int // that the filter picks
}

// FindAll lists scans of the caller's team; without sorts the newest come first. Each is
// as write makes it, which is the same for all calls: what it made is kept for as long as
// nothing of the scan changes. The configurations that it is given have no targets.
func (ss *Scans) FindAll(ctx context.Context, f Filter, sorts []page.Sort, w page.Window, write func(Scan) ([]byte, error)) (l List, err error) {
	c, err := account.From(ctx)
	if err != nil {
		return l, err
	}
	k := ss.keeperOf(c.TeamID)
	r, err := ss.current(ctx, k)
	if err != nil {
		return l, err
	}
	found := r.list(f, sorts)
	from := min(w.Offset, len(found))
	shown := found[from:min(from+w.Limit, len(found))]
	texts, err := ss.texts(ctx, k, shown, write)
	if err != nil {
		return l, err
	}
	l.Total = len(found)
	for i, one := range shown {
		row := Row{Text: texts[i]}
		if row.Text == nil {
			continue // it was deleted meanwhile
		}
		if one.startedAt != 0 && one.endedAt == 0 {
			row.Since = time.UnixMicro(one.startedAt).UTC()
		}
		l.Rows = append(l.Rows, row)
	}
	return l, nil
}

// texts are scans as write makes them; nil for one that was deleted meanwhile.
func (ss *Scans) texts(ctx context.Context, k *keeper, shown []*line, write func(Scan) ([]byte, error)) ([][]byte, error) {
	take := func() [][]byte {
		return ss.shelf.Take(len(shown), func(i int) (string, version) { return shown[i].id, shown[i].version })
	}
	missing := func(text []byte) bool { return text == nil }
	texts := take()
	if !slices.ContainsFunc(texts, missing) {
		return texts, nil
	}
	k.reading.Lock() // what many ask for at once is read once
	defer k.reading.Unlock()
	texts = take()
	at := map[string]int{}
	for i, one := range shown {
		if texts[i] == nil {
			at[one.id] = i
		}
	}
	if len(at) == 0 {
		return texts, nil
	}
	scans, err := ss.read(ctx, k.teamID, slices.Collect(maps.Keys(at)))
	if err != nil {
		return nil, err
	}
	for _, s := range scans {
		i := at[s.ID]
		if texts[i], err = write(s); err != nil {
			return nil, err
		}
		ss.shelf.Put(s.ID, shown[i].version, texts[i])
	}
	return texts, nil
}

// FindStats counts the scans of the caller's team. Nobody may change the Statuses.
func (ss *Scans) FindStats(ctx context.Context) (Stats, error) {
	c, err := account.From(ctx)
	if err != nil {
		return Stats{}, err
	}
	r, err := ss.current(ctx, ss.keeperOf(c.TeamID))
	if err != nil {
		return Stats{}, err
	}
	return r.stats(), nil
}
