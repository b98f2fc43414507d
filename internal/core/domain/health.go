package domain

import (
	"context"
	"slices"
	"time"

	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/discover"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/ids"
)

// Health is the result of the last query to a place, a website or service, about a domain.
type Health struct {
	Place     string // such as crtsh
	Source    string // such as certificate_history
	Domain    string
	State     discover.SourceState
	Count     int
	Usual     int // the median of its earlier runs; -1: too few
	Detail    string
	Took      time.Duration
	CheckedAt time.Time
	FoundAt   time.Time // when it answered last; zero: never
	Alert     *Alert    // when it is far below its usual count
}

// scan reads domain, place, source, state, count, detail, took_us, checked_at, found_at and further columns.
func (h *Health) scan(r db.Row, further ...any) error {
	var took int64
	err := r.Scan(append([]any{
		&h.Domain, &h.Place, &h.Source, &h.State, &h.Count, &h.Detail, &took, db.Into(&h.CheckedAt), db.Into(&h.FoundAt),
	}, further...)...)
	h.Took = time.Duration(took) * time.Microsecond
	return err
}

// Alert reports that a place returns much less than before.
type Alert struct {
	ID       string
	State    discover.SourceState
	Count    int
	Usual    int
	OpenedAt time.Time
}

// An alert is opened by a run whose count is below half of the median of the last ten answered runs, if there are
// at least three of them and the median is at least three. The first run that is not below closes it.
const (
	medianOf    = 10
	fewestRuns  = 3
	leastMedian = 3
)

// usual is the median of the answered runs before one; -1 when there are too few.
func usual(ctx context.Context, q db.Querier, a SearchArgs, place string) (int, error) {
	counts, err := db.Values[int](ctx, q, `SELECT count FROM domain_answer_run WHERE team_id = ? AND domain = ?
		AND place = ? AND run < ? AND state IN (?, ?) ORDER BY run DESC LIMIT ?`,
		a.TeamID, a.Domain, place, a.Run, discover.SourceOK, discover.SourceEmpty, medianOf)
	if err != nil || len(counts) < fewestRuns {
		return -1, err
	}
	slices.Sort(counts)
	return counts[len(counts)/2], nil
}

// watch stores a run's count, and opens or closes the alert about its place.
func (ds *Domains) watch(ctx context.Context, tx *db.Tx, a SearchArgs, r discover.SourceReport) error {
	if r.State == discover.SourceSkipped {
		return nil
	}
	now := db.At(ds.Now())
	if _, err := tx.Exec(ctx, `INSERT INTO domain_answer_run (team_id, domain, place, run, state, count, at)
		VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (team_id, domain, place, run)
		DO UPDATE SET state = excluded.state, count = excluded.count, at = excluded.at`,
		a.TeamID, a.Domain, r.Source, a.Run, r.State, r.Count, now); err != nil {
		return err
	}
	const place = ` WHERE team_id = ? AND domain = ? AND place = ?`
	// Runs that no median needs any more are deleted.
	if _, err := tx.Exec(ctx, `DELETE FROM domain_answer_run`+place+` AND run < ?`,
		a.TeamID, a.Domain, r.Source, a.Run-10*medianOf); err != nil {
		return err
	}
	median, err := usual(ctx, tx, a, r.Source)
	if err != nil {
		return err
	}
	if median < leastMedian || 2*r.Count >= median {
		_, err = tx.Exec(ctx, `UPDATE domain_source_alert SET closed_at = ?`+place+` AND closed_at IS NULL`,
			now, a.TeamID, a.Domain, r.Source)
		return err
	}
	n, err := tx.Exec(ctx, `UPDATE domain_source_alert SET state = ?, count = ?`+place+` AND closed_at IS NULL`,
		r.State, r.Count, a.TeamID, a.Domain, r.Source)
	if err != nil || n > 0 {
		return err
	}
	ds.Logger.WarnContext(ctx, "a source returns much less than before", "source", r.Source, "domain", a.Domain,
		"state", r.State, "count", r.Count, "usual", median)
	_, err = tx.Exec(ctx, `INSERT INTO domain_source_alert (id, team_id, domain, place, state, count, usual, opened_at)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?)`, ids.New(), a.TeamID, a.Domain, r.Source, r.State, r.Count, median, now)
	return err
}

// Sources is the health of each place for the domains that the caller's team has asked about, or one of them;
// the latest first, at most a thousand.
func (ds *Domains) Sources(ctx context.Context, name string) ([]Health, error) {
	c, err := account.From(ctx)
	if err != nil {
		return nil, err
	}
	var where db.Where
	where.And("a.team_id = ?", c.TeamID)
	if name != "" {
		if name, err = parse(name); err != nil {
			return nil, err
		}
		where.And("a.domain = ?", registered(name))
	}
	var runs []int64
	scan := func(r db.Row) (h Health, err error) {
		var run int64
		var opened time.Time
		var id, state *string
		var count, median *int
		err = h.scan(r, &run, &id, &state, &count, &median, db.Into(&opened))
		if err == nil && id != nil {
			h.Alert = &Alert{*id, discover.SourceState(*state), *count, *median, opened}
		}
		runs = append(runs, run)
		return h, err
	}
	out, err := db.Select(ctx, ds.db, scan, `SELECT a.domain, a.place, a.source, a.state, a.count, a.detail, a.took_us,
		a.checked_at, a.found_at, s.run, l.id, l.state, l.count, l.usual, l.opened_at
		FROM domain_answer a JOIN domain_search s ON s.team_id = a.team_id AND s.domain = a.domain
		LEFT JOIN domain_source_alert l ON l.team_id = a.team_id AND l.domain = a.domain AND l.place = a.place
		AND l.closed_at IS NULL`+where.String()+` ORDER BY a.checked_at DESC, a.domain, a.place LIMIT 1000`, where.Args...)
	if err != nil {
		return nil, err
	}
	for i := range out {
		if out[i].Usual, err = usual(ctx, ds.db, SearchArgs{c.TeamID, out[i].Domain, runs[i]}, out[i].Place); err != nil {
			return nil, err
		}
	}
	return out, nil
}
