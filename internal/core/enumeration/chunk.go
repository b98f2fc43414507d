package enumeration

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/vedette-sec/vedette/internal/core/asset"
	"github.com/vedette-sec/vedette/internal/core/exclusion"
	"github.com/vedette-sec/vedette/internal/discover"
	"github.com/vedette-sec/vedette/internal/infra/db"
)

// Stage is what a chunk does.
type Stage string

// The stages.
const (
	Names Stage = "names" // it finds hosts
	Hosts Stage = "hosts" // it looks at hosts
)

// The states of a chunk: waiting, running, then one of the others for good.
const (
	chunkWaiting = "waiting"
	chunkRunning = "running"
	chunkDone    = "done"
	chunkFailed  = "failed"
	chunkStopped = "stopped"
)

// Chunk is a worker's hold on a part of a run. Each start of a chunk has a higher token,
// and what a chunk writes is refused once a later one has begun or the run has ended.
type Chunk struct {
	EnumerationID string
	TeamID        string
	Run           int64
	Stage         Stage
	Work          Work    // of a chunk of names
	Hosts         []Found // of a chunk of hosts, in the order of their names
	Config        Config  // of the enumeration
	Excluded      exclusion.Patterns

	es    *Enumerations
	n     int
	token int64
	names int
}

// StartChunk begins, or after a crash begins again, to work on a chunk.
func (es *Enumerations) StartChunk(ctx context.Context, a ChunkArgs) (*Chunk, error) {
	c := &Chunk{EnumerationID: a.EnumerationID, Run: a.Run, es: es, n: a.N}
	err := es.db.Tx(ctx, func(tx *db.Tx) error {
		if err := c.hold(ctx, tx); err != nil {
			return err
		}
		var work db.JSON[Work]
		err := tx.QueryRow(ctx, `UPDATE enumeration_chunk SET state = ?, token = token + 1 WHERE enumeration_id = ? AND run = ? AND n = ? AND state IN ('waiting', 'running')
			RETURNING token, stage, input, names`, chunkRunning, a.EnumerationID, a.Run, a.N).Scan(&c.token, &c.Stage, &work, &c.names)
		if db.IsNoRows(err) {
			return ErrLate
		}
		if err != nil {
			return err
		}
		c.Work = work.V
		if c.Config, err = es.config(ctx, tx, a.EnumerationID); err != nil || c.Stage == Names {
			return err
		}
		rows, err := tx.Query(ctx, `SELECT name FROM enumeration_name WHERE enumeration_id = ? AND run = ? AND n = ? ORDER BY host`, a.EnumerationID, a.Run, a.N)
		c.Hosts, err = db.Collect(rows, err, func(r db.Row) (Found, error) {
			var doc db.JSON[Found]
			err := r.Scan(&doc)
			return doc.V, err
		})
		return err
	})
	if err == nil {
		c.Excluded, err = es.excluded(ctx, c)
	}
	return c, err
}

// excluded is what a chunk leaves out: by its enumeration's own patterns, and by the
// rules of the team.
func (es *Enumerations) excluded(ctx context.Context, c *Chunk) (exclusion.Patterns, error) {
	rules, err := exclusion.New(es.db).Of(ctx, c.TeamID)
	if err != nil {
		return exclusion.Patterns{}, err
	}
	patterns := slices.Clone(c.Config.Exclusions)
	for _, r := range rules {
		if r.Type == exclusion.EnumerationTarget && (r.EnumerationID == "" || r.EnumerationID == c.EnumerationID) {
			patterns = append(patterns, r.Value)
		}
	}
	return exclusion.ParsePatterns(patterns)
}

// hold locks the enumeration, or fails with ErrLate when it is not at work in this run.
func (c *Chunk) hold(ctx context.Context, tx *db.Tx) error {
	err := tx.QueryRow(ctx, `UPDATE enumeration SET updated_at = ? WHERE id = ? AND run = ? AND status = ? RETURNING team_id`, db.At(c.es.now()), c.EnumerationID, c.Run, Running).Scan(&c.TeamID)
	if db.IsNoRows(err) {
		return ErrLate
	}
	return err
}

// write runs fn in a transaction that holds the enumeration and the chunk, or fails with
// ErrLate.
func (c *Chunk) write(ctx context.Context, fn func(tx *db.Tx) error) error {
	return c.es.db.Tx(ctx, func(tx *db.Tx) error {
		if err := c.hold(ctx, tx); err != nil {
			return err
		}
		var token int64
		var state string
		if err := tx.QueryRow(ctx, `SELECT token, state FROM enumeration_chunk WHERE enumeration_id = ? AND run = ? AND n = ?`+tx.Speaks().ForUpdate(), c.EnumerationID, c.Run, c.n).Scan(&token, &state); err != nil {
			return err
		}
		if token != c.token || state != chunkRunning {
			return ErrLate
		}
		return fn(tx)
	})
}

// insertRows is how many rows one statement writes.
const insertRows = 25

// HandOn hands hosts on to chunks of hosts, at most ChunkHosts in each. One that the run
// has already, from whichever chunk, is passed over; so nothing is handed on twice when
// this chunk runs again. Callers hand on some hundred at a time.
func (c *Chunk) HandOn(ctx context.Context, found []Found) error {
	for part := range slices.Chunk(found, ChunkHosts) {
		if err := c.write(ctx, func(tx *db.Tx) error { return c.handOn(ctx, tx, part) }); err != nil {
			return err
		}
	}
	return nil
}

func (c *Chunk) handOn(ctx context.Context, tx *db.Tx, found []Found) error {
	var n int
	if err := tx.QueryRow(ctx, `SELECT chunk FROM enumeration_run WHERE enumeration_id = ? AND run = ?`, c.EnumerationID, c.Run).Scan(&n); err != nil {
		return err
	}
	var fresh int64
	for rows := range slices.Chunk(found, insertRows) {
		var args []any
		for _, f := range rows {
			args = append(args, c.EnumerationID, c.Run, db.Clean(f.Host), n, db.Doc(f))
		}
		added, err := tx.Exec(ctx, `INSERT INTO enumeration_name (enumeration_id, run, host, n, name) VALUES (?, ?, ?, ?, ?)`+
			strings.Repeat(`, (?, ?, ?, ?, ?)`, len(rows)-1)+` ON CONFLICT (enumeration_id, run, host) DO NOTHING`, args...)
		if err != nil {
			return err
		}
		fresh += added
	}
	if fresh == 0 {
		return nil
	}
	if _, err := tx.Exec(ctx, `UPDATE enumeration_run SET chunk = chunk + 1, open_chunk = open_chunk + 1, total_name = total_name + ? WHERE enumeration_id = ? AND run = ?`, fresh, c.EnumerationID, c.Run); err != nil {
		return err
	}
	return c.es.addChunk(ctx, tx, ChunkArgs{c.EnumerationID, c.Run, n}, Hosts, Work{}, int(fresh))
}

// Saw stores assets that the chunk saw. Seen before in this run, they are not stored again.
func (c *Chunk) Saw(ctx context.Context, assets []discover.Asset) error {
	ready, err := c.es.assets.Prepare(ctx, asset.Seen{TeamID: c.TeamID, EnumerationID: c.EnumerationID, Run: c.Run, At: c.es.now(), Assets: assets})
	if err != nil {
		return err
	}
	return c.write(ctx, func(tx *db.Tx) error {
		seen, err := c.es.assets.Store(ctx, tx, ready)
		if err != nil || seen.New == 0 {
			return err
		}
		_, err = tx.Exec(ctx, `UPDATE enumeration_run SET new_asset = new_asset + ? WHERE enumeration_id = ? AND run = ?`, seen.New, c.EnumerationID, c.Run)
		return err
	})
}

// Report is what a chunk tells at its end.
type Report struct {
	Sources []discover.SourceReport
	More    []Work   // chunks of names that the run needs besides
	Denied  []Denial // some of the refused dials
	Denials int      // all of them
}

// Denial is a dial that the scope refused, and how often.
type Denial struct {
	Address string // host:port
	Why     string
	Times   int
}

// Finish ends the chunk; the last one ends the run.
func (c *Chunk) Finish(ctx context.Context, r Report) error {
	return c.write(ctx, func(tx *db.Tx) error {
		if err := c.es.addSources(ctx, tx, c.EnumerationID, c.Run, r.Sources); err != nil {
			return err
		}
		events := make([]Event, len(r.Denied))
		for i, d := range r.Denied {
			events[i] = Event{Kind: EventDenied, Subject: d.Address, Detail: d.Why, Times: d.Times}
		}
		if err := c.es.addEvents(ctx, tx, c.EnumerationID, c.Run, events); err != nil {
			return err
		}
		if err := c.add(ctx, tx, r.More); err != nil {
			return err
		}
		return c.close(ctx, tx, chunkDone, r.Denials)
	})
}

// add adds chunks of names to the run.
func (c *Chunk) add(ctx context.Context, tx *db.Tx, works []Work) error {
	if len(works) == 0 {
		return nil
	}
	var next int
	if err := tx.QueryRow(ctx, `UPDATE enumeration_run SET chunk = chunk + ?, open_chunk = open_chunk + ? WHERE enumeration_id = ? AND run = ? RETURNING chunk`,
		len(works), len(works), c.EnumerationID, c.Run).Scan(&next); err != nil {
		return err
	}
	for i, w := range works {
		if err := c.es.addChunk(ctx, tx, ChunkArgs{c.EnumerationID, c.Run, next - len(works) + i}, Names, w, 0); err != nil {
			return err
		}
	}
	return nil
}

func (c *Chunk) close(ctx context.Context, tx *db.Tx, state string, denials int) error {
	if _, err := tx.Exec(ctx, `UPDATE enumeration_chunk SET state = ? WHERE enumeration_id = ? AND run = ? AND n = ?`, state, c.EnumerationID, c.Run, c.n); err != nil {
		return err
	}
	failed, done := 0, c.names
	if state == chunkFailed {
		failed, done = 1, 0
	}
	var open, broken, chunks int
	if err := tx.QueryRow(ctx, `UPDATE enumeration_run SET open_chunk = open_chunk - 1, failed_chunk = failed_chunk + ?, done_name = done_name + ?, denial = denial + ? WHERE enumeration_id = ? AND run = ?
		RETURNING open_chunk, failed_chunk, chunk`, failed, done, denials, c.EnumerationID, c.Run).Scan(&open, &broken, &chunks); err != nil || open > 0 {
		return err
	}
	to, why := Finished, ""
	switch {
	case broken == chunks:
		to, why = Failed, "No part of the enumeration could be run. The server's log says why."
	case broken > 0:
		why = fmt.Sprintf("%d of %d parts of the enumeration could not be run.", broken, chunks)
	}
	_, err := c.es.end(ctx, tx, c.EnumerationID, c.Run, to, why)
	return err
}

// GiveUpChunk ends a chunk that the queue will not run again, in the transaction that ends
// its job. It does nothing when the run has ended.
func (es *Enumerations) GiveUpChunk(ctx context.Context, tx *db.Tx, a ChunkArgs) error {
	c := &Chunk{EnumerationID: a.EnumerationID, Run: a.Run, es: es, n: a.N}
	if err := c.hold(ctx, tx); err != nil {
		if err == ErrLate { //nolint:errorlint // hold gives it bare
			return nil
		}
		return err
	}
	err := tx.QueryRow(ctx, `SELECT names FROM enumeration_chunk WHERE enumeration_id = ? AND run = ? AND n = ? AND state IN ('waiting', 'running')`, a.EnumerationID, a.Run, a.N).Scan(&c.names)
	if db.IsNoRows(err) {
		return nil
	}
	if err != nil {
		return err
	}
	return c.close(ctx, tx, chunkFailed, 0)
}

// TidyArgs is the job that forgets the hosts of a run that has ended.
type TidyArgs struct {
	EnumerationID string `json:"enumeration_id"`
	Run           int64  `json:"run"`
}

// Kind implements queue.Args.
func (TidyArgs) Kind() string { return "enumeration.tidy" }

// Tidy forgets the hosts of a run that has ended: its inventory has them.
func (es *Enumerations) Tidy(ctx context.Context, a TidyArgs) error {
	return es.empty(ctx, "enumeration_name", "host", "enumeration_id = ? AND run = ?", a.EnumerationID, a.Run)
}
