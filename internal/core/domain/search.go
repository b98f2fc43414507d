package domain

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/vedette-sec/vedette/internal/discover"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/queue"
)

// SearchArgs is the job that searches for what is associated with a domain.
type SearchArgs struct {
	TeamID string `json:"team_id"`
	Domain string `json:"domain"` // registered
	Run    int64  `json:"run"`    // results of an earlier run are refused
}

// Kind implements queue.Args.
func (SearchArgs) Kind() string { return "domain.search" }

const (
	freshFor  = 24 * time.Hour      // how old answers may be before a query starts a new search
	storeFor  = 90 * 24 * time.Hour // how long answers are stored after the last query
	wantedFor = 7 * 24 * time.Hour  // how long after the last query the answers are refreshed
	noteEvery = time.Hour           // the precision of the time of the last query
	maxProbes = 2000                // web sites of one search
)

type search struct {
	run      int64
	started  time.Time
	asked    time.Time
	finished time.Time // zero: under way
}

// begin starts a search for a domain whose answers are not fresh. first: wait for it.
func (ds *Domains) begin(ctx context.Context, teamID, domain string) (first bool, err error) {
	now := ds.Now()
	s, err := ds.find(ctx, ds.db, teamID, domain, "")
	switch {
	case db.IsNoRows(err):
	case err != nil:
		return false, err
	case now.Sub(s.asked) < noteEvery && (s.finished.IsZero() || now.Sub(s.finished) < freshFor):
		return ds.isFirst(s, now), nil
	}
	err = ds.db.Tx(ctx, func(tx *db.Tx) error {
		if _, err := tx.Exec(ctx, `INSERT INTO domain_search (team_id, domain, run, started_at, asked_at, finished_at)
			VALUES (?, ?, 0, ?, ?, ?) ON CONFLICT DO NOTHING`,
			teamID, domain, db.At(now), db.At(now), db.At(time.Unix(1, 0))); err != nil {
			return err
		}
		if s, err = ds.find(ctx, tx, teamID, domain, tx.Dialect().ForUpdate()); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, `UPDATE domain_search SET asked_at = ? WHERE team_id = ? AND domain = ?`,
			db.At(now), teamID, domain); err != nil {
			return err
		}
		return ds.startRun(ctx, tx, teamID, domain, s, now)
	})
	return s.run == 0 || ds.isFirst(s, now), err
}

// isFirst reports whether a search is the first of its domain, and a query should still wait for it.
func (ds *Domains) isFirst(s search, now time.Time) bool {
	return s.run == 1 && s.finished.IsZero() && now.Sub(s.started) < ds.Wait
}

func (ds *Domains) find(ctx context.Context, q db.Querier, teamID, domain, lock string) (s search, err error) {
	err = q.QueryRow(ctx, `SELECT run, started_at, asked_at, finished_at FROM domain_search
		WHERE team_id = ? AND domain = ?`+lock, teamID, domain).
		Scan(&s.run, db.Into(&s.started), db.Into(&s.asked), db.Into(&s.finished))
	return s, err
}

// startRun starts the next run of a search that has ended and whose answers are old.
func (ds *Domains) startRun(ctx context.Context, tx *db.Tx, teamID, domain string, s search, now time.Time) error {
	if s.finished.IsZero() || now.Sub(s.finished) < freshFor {
		return nil
	}
	a := SearchArgs{teamID, domain, s.run + 1}
	job, err := ds.queue.Insert(ctx, tx, teamID, a)
	if err != nil {
		return err
	}
	_, err = tx.Exec(ctx, `UPDATE domain_search SET run = ?, job_id = ?, started_at = ?, finished_at = NULL
		WHERE team_id = ? AND domain = ?`, a.Run, job, db.At(now), teamID, domain)
	return err
}

// Save stores an answer of a place during a search, together with its earlier answer, which stays until Settle.
func (ds *Domains) Save(ctx context.Context, a SearchArgs, answer discover.AssociatedAnswer) error {
	return ds.ifCurrent(ctx, nil, a, func(tx *db.Tx) error { return ds.storeAnswer(ctx, tx, a, answer, false) })
}

// Settle stores the last answers of a search, and opens and closes the alerts about them. A complete answer
// replaces the earlier one.
func (ds *Domains) Settle(ctx context.Context, a SearchArgs, answers map[string]discover.AssociatedAnswer) error {
	return ds.ifCurrent(ctx, nil, a, func(tx *db.Tx) error {
		for _, place := range slices.Sorted(maps.Keys(answers)) {
			if err := ds.storeAnswer(ctx, tx, a, answers[place], true); err != nil {
				return err
			}
			if err := ds.watch(ctx, tx, a, answers[place].Report); err != nil {
				return err
			}
		}
		return nil
	})
}

// Finish ends a search. tx is the caller's transaction; nil: one of its own.
func (ds *Domains) Finish(ctx context.Context, tx *db.Tx, a SearchArgs) error {
	return ds.ifCurrent(ctx, tx, a, func(tx *db.Tx) error {
		_, err := tx.Exec(ctx, `UPDATE domain_search SET finished_at = ? WHERE team_id = ? AND domain = ?`, db.At(ds.Now()),
			a.TeamID, a.Domain)
		return err
	})
}

// ifCurrent runs fn in a transaction if the run is the newest of its search.
func (ds *Domains) ifCurrent(ctx context.Context, tx *db.Tx, a SearchArgs, fn func(tx *db.Tx) error) error {
	if tx == nil {
		return ds.db.Tx(ctx, func(tx *db.Tx) error { return ds.ifCurrent(ctx, tx, a, fn) })
	}
	s, err := ds.find(ctx, tx, a.TeamID, a.Domain, tx.Dialect().ForUpdate())
	if db.IsNoRows(err) || err == nil && s.run != a.Run {
		return nil
	}
	if err != nil {
		return err
	}
	return fn(tx)
}

func answered(s discover.SourceState) bool {
	return s == discover.SourceOK || s == discover.SourceEmpty
}

// storeAnswer writes an answer, together with the place's earlier one unless this is its last and complete one.
func (ds *Domains) storeAnswer(
	ctx context.Context, tx *db.Tx, a SearchArgs, answer discover.AssociatedAnswer, last bool,
) error {
	now := db.At(ds.Now())
	found, at := answer.Found, now
	if !last || !answered(answer.Report.State) {
		var before []discover.Associated
		var beforeAt db.Time
		err := tx.QueryRow(ctx, `SELECT found, found_at FROM domain_answer WHERE team_id = ? AND domain = ? AND place = ?`,
			a.TeamID, a.Domain, answer.Report.Source).Scan(db.Into(&before), &beforeAt)
		if err != nil && !db.IsNoRows(err) {
			return err
		}
		if !answered(answer.Report.State) && len(found) == 0 {
			at = beforeAt
		}
		found = discover.MergeAssociated(found, before)
	}
	r := answer.Report
	_, err := tx.Exec(ctx, `INSERT INTO domain_answer (team_id, domain, place, source, state, count, detail, took_us,
		checked_at, found, found_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT (team_id, domain, place) DO UPDATE SET state = excluded.state, count = excluded.count,
		detail = excluded.detail, took_us = excluded.took_us, checked_at = excluded.checked_at, found = excluded.found,
		found_at = excluded.found_at`, a.TeamID, a.Domain, r.Source, answer.Source, r.State, r.Count, db.Clean(r.Detail),
		r.Took.Microseconds(), now, db.Doc(discover.MergeAssociated(found)), at)
	return err
}

// ToProbe are the domains that a search has found and whose web sites were not probed lately.
func (ds *Domains) ToProbe(ctx context.Context, a SearchArgs) ([]string, error) {
	answers, err := ds.answers(ctx, a.TeamID, []string{a.Domain})
	if err != nil {
		return nil, err
	}
	fresh, err := db.Values[string](ctx, ds.db, `SELECT domain FROM domain_probe WHERE team_id = ? AND checked_at > ?`,
		a.TeamID, db.At(ds.Now().Add(-freshFor)))
	if err != nil {
		return nil, err
	}
	known := map[string]bool{}
	for _, name := range fresh {
		known[name] = true
	}
	var out []string
	for _, answer := range answers {
		for _, found := range answer.found {
			if !known[found.Domain] && len(out) < maxProbes {
				known[found.Domain] = true
				out = append(out, found.Domain)
			}
		}
	}
	return out, nil
}

// SaveProbe stores what was seen of a domain's web site.
func (ds *Domains) SaveProbe(ctx context.Context, a SearchArgs, domain string, seen discover.Evidence) error {
	_, err := ds.db.Exec(ctx, `INSERT INTO domain_probe (team_id, domain, seen, checked_at) VALUES (?, ?, ?, ?)
		ON CONFLICT (team_id, domain) DO UPDATE SET seen = excluded.seen, checked_at = excluded.checked_at`,
		a.TeamID, domain, db.Doc(seen), db.At(ds.Now()))
	return err
}

func (ds *Domains) probes(ctx context.Context, teamID string, domains []string) (map[string]discover.Evidence, error) {
	out := map[string]discover.Evidence{}
	for part := range slices.Chunk(domains, 500) {
		var where db.Where
		where.And("team_id = ?", teamID)
		db.In(&where, "domain", part)
		scan := func(r db.Row) (name string, err error) {
			var seen discover.Evidence
			err = r.Scan(&name, db.Into(&seen))
			out[name] = seen
			return name, err
		}
		_, err := db.Select(ctx, ds.db, scan, `SELECT domain, seen FROM domain_probe`+where.String(), where.Args...)
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}

const (
	retryCheck = time.Hour // when a check is due again whose job failed
	sweepBatch = 500
)

// Keep runs Sweep until ctx ends, on every worker node.
func (ds *Domains) Keep(ctx context.Context) {
	queue.Every(ctx, time.Minute, ds.Logger, "sweeping domains", ds.Sweep)
}

// Sweep inserts the due jobs that check proofs and refresh answers, each once on all nodes, and deletes old answers.
func (ds *Domains) Sweep(ctx context.Context) error {
	if err := ds.sweepChecks(ctx); err != nil {
		return err
	}
	if err := ds.sweepSearches(ctx); err != nil {
		return err
	}
	old := db.At(ds.Now().Add(-storeFor))
	if _, err := ds.db.Exec(ctx, `DELETE FROM domain_search WHERE asked_at < ?`, old); err != nil {
		return err
	}
	_, err := ds.db.Exec(ctx, `DELETE FROM domain_probe WHERE checked_at < ?`, old)
	return err
}

func (ds *Domains) sweepChecks(ctx context.Context) error {
	now := ds.Now()
	type due struct {
		VerifyArgs
		at db.Time
	}
	scan := func(r db.Row) (d due, err error) { return d, r.Scan(&d.ID, &d.TeamID, &d.at) }
	checks, err := db.Select(ctx, ds.db, scan, `SELECT id, team_id, next_look_at FROM domain WHERE next_look_at <= ?
		ORDER BY next_look_at LIMIT ?`, db.At(now), sweepBatch)
	if err != nil {
		return err
	}
	for _, d := range checks {
		if err := ds.db.Tx(ctx, func(tx *db.Tx) error {
			n, err := tx.Exec(ctx, `UPDATE domain SET next_look_at = ? WHERE id = ? AND next_look_at = ?`,
				db.At(now.Add(retryCheck)), d.ID, d.at)
			if err != nil || n == 0 {
				return err
			}
			_, err = ds.queue.Insert(ctx, tx, d.TeamID, d.VerifyArgs)
			return err
		}); err != nil {
			return err
		}
	}
	return nil
}

func (ds *Domains) sweepSearches(ctx context.Context) error {
	now := ds.Now()
	scan := func(r db.Row) (a SearchArgs, err error) { return a, r.Scan(&a.TeamID, &a.Domain) }
	due, err := db.Select(ctx, ds.db, scan, `SELECT team_id, domain FROM domain_search
		WHERE finished_at <= ? AND asked_at >= ? ORDER BY finished_at LIMIT ?`,
		db.At(now.Add(-freshFor)), db.At(now.Add(-wantedFor)), sweepBatch)
	if err != nil {
		return err
	}
	for _, a := range due {
		if err := ds.db.Tx(ctx, func(tx *db.Tx) error {
			s, err := ds.find(ctx, tx, a.TeamID, a.Domain, tx.Dialect().ForUpdate())
			if db.IsNoRows(err) {
				return nil
			}
			if err != nil {
				return err
			}
			return ds.startRun(ctx, tx, a.TeamID, a.Domain, s, now)
		}); err != nil {
			return err
		}
	}
	return nil
}
