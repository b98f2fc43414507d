package enumeration

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/vedette-sec/vedette/internal/discover"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/page"
)

// The kinds of events.
const (
	EventDenied = "denied" // the scope refused a dial
	EventSource = "source" // a source found far less than it used to
	EventScan   = "scan"   // a scan of new assets was made, or was not
	EventProxy  = "proxy"  // the proxy did not work, and what was to be probed through it was not
)

// Event is something in a run that a user should know.
type Event struct {
	Run     int64
	Kind    string
	Subject string // the address, the source, the scan's id, or the proxy with its password masked
	Detail  string
	Times   int
	At      time.Time
}

// Source is the report of a source in a run.
type Source struct {
	Run int64
	discover.SourceReport
	At time.Time
}

// The bounds of a run's events.
const (
	maxEvents = 5_000
	maxDetail = 500 // bytes
)

func clip(s string) string { return db.Clean(s[:min(len(s), maxDetail)]) }

func (es *Enumerations) addSources(
	ctx context.Context, tx *db.Tx, id string, run int64, reports []discover.SourceReport,
) error {
	for _, r := range reports {
		if _, err := tx.Exec(ctx, `INSERT INTO enumeration_source (enumeration_id, run, source, about, state, found, took, detail, at)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (enumeration_id, run, source, about) DO UPDATE
			SET state = excluded.state, found = excluded.found, took = excluded.took, detail = excluded.detail, at = excluded.at`,
			id, run, clip(r.Source), clip(r.About), r.State, r.Count, int64(r.Took), clip(r.Detail),
			db.At(es.now())); err != nil {
			return err
		}
	}
	return nil
}

// addEvents adds events to a run, or counts one more of an event that it has. Beyond maxEvents it drops new refused
// dials.
func (es *Enumerations) addEvents(ctx context.Context, tx *db.Tx, id string, run int64, events []Event) error {
	if len(events) == 0 {
		return nil
	}
	var count int
	if err := tx.QueryRow(ctx, `SELECT count(*) FROM enumeration_event WHERE enumeration_id = ? AND run = ?`, id, run).
		Scan(&count); err != nil {
		return err
	}
	for _, e := range events {
		subject, detail := clip(e.Subject), clip(e.Detail)
		known, err := tx.Exec(ctx, `UPDATE enumeration_event SET times = times + ?
			WHERE enumeration_id = ? AND run = ? AND kind = ? AND subject = ? AND detail = ?`, e.Times, id, run, e.Kind, subject,
			detail)
		if err != nil {
			return err
		}
		if known > 0 || count >= maxEvents && e.Kind == EventDenied {
			continue
		}
		count++
		if _, err := tx.Exec(ctx, `INSERT INTO enumeration_event (enumeration_id, run, kind, subject, detail, times, at)
			VALUES (?, ?, ?, ?, ?, ?, ?)`, id, run, e.Kind, subject, detail, e.Times, db.At(es.now())); err != nil {
			return err
		}
	}
	return nil
}

// A source has failed silently when it finds less than a fifth of the median of its last
// runs, and those found enough for that to mean something.
const (
	pastRuns  = 5
	pastLeast = 5
	fallen    = 5
)

// checkSources adds an event for each source that found far less than in earlier runs.
func (es *Enumerations) checkSources(ctx context.Context, tx *db.Tx, id string, run int64) error {
	rows, err := tx.Query(ctx, `SELECT s.source, s.run, sum(s.found) FROM enumeration_source s
		JOIN enumeration_run r ON r.enumeration_id = s.enumeration_id AND r.run = s.run
		WHERE s.enumeration_id = ? AND (r.status = ? OR s.run = ?) AND s.run <= ? AND s.state <> ?
		GROUP BY s.source, s.run ORDER BY s.source, s.run DESC`, id, Finished, run, run, discover.SourceSkipped)
	now, past := map[string]int{}, map[string][]int{}
	_, err = db.Collect(rows, err, func(r db.Row) (struct{}, error) {
		var source string
		var in int64
		var found int
		err := r.Scan(&source, &in, &found)
		if in == run {
			now[source] = found
		} else if len(past[source]) < pastRuns {
			past[source] = append(past[source], found)
		}
		return struct{}{}, err
	})
	if err != nil {
		return err
	}
	var events []Event
	for source, found := range now {
		before := past[source]
		if len(before) == 0 {
			continue
		}
		slices.Sort(before)
		median := before[len(before)/2]
		if median < pastLeast || found*fallen >= median {
			continue
		}
		detail := fmt.Sprintf("It found %d; the median of its last runs is %d.", found, median)
		events = append(events, Event{Kind: EventSource, Subject: source, Times: 1, Detail: detail})
	}
	return es.addEvents(ctx, tx, id, run, events)
}

// FindSources lists the reports of sources in a run (0: the last) of an enumeration of the caller's team, and how many
// there are.
func (es *Enumerations) FindSources(ctx context.Context, id string, run int64, w page.Window) ([]Source, int, error) {
	e, err := es.Find(ctx, id)
	if err != nil {
		return nil, 0, err
	}
	if run == 0 {
		run = e.Run
	}
	var where db.Where
	where.And("enumeration_id = ? AND run = ?", e.ID, run)
	return db.Page(ctx, es.db, func(r db.Row) (s Source, err error) {
		return s, r.Scan(&s.Run, &s.Source, &s.About, &s.State, &s.Count, &s.Took, &s.Detail, db.Into(&s.At))
	}, `SELECT run, source, about, state, found, took, detail, at FROM enumeration_source`, `enumeration_source`, where,
		` ORDER BY about, source`, w)
}

// FindEvents lists the events of a run (0: the last) of an enumeration of the caller's team, and how many there are.
func (es *Enumerations) FindEvents(ctx context.Context, id string, run int64, w page.Window) ([]Event, int, error) {
	e, err := es.Find(ctx, id)
	if err != nil {
		return nil, 0, err
	}
	if run == 0 {
		run = e.Run
	}
	return es.events(ctx, e.ID, run, "", w)
}

func (es *Enumerations) events(
	ctx context.Context, id string, run int64, kind string, w page.Window,
) ([]Event, int, error) {
	var where db.Where
	where.And("enumeration_id = ?", id)
	where.And("run = ?", run)
	db.Equal(&where, "kind", kind)
	return db.Page(ctx, es.db, func(r db.Row) (e Event, err error) {
		return e, r.Scan(&e.Run, &e.Kind, &e.Subject, &e.Detail, &e.Times, db.Into(&e.At))
	}, `SELECT run, kind, subject, detail, times, at FROM enumeration_event`, `enumeration_event`, where,
		` ORDER BY kind, subject, detail`, w)
}
