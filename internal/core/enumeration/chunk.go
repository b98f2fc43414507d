package enumeration

import (
	"context"
	"slices"
	"strings"

	"github.com/vedette-sec/vedette/internal/core/asset"
	"github.com/vedette-sec/vedette/internal/core/exclusion"
	"github.com/vedette-sec/vedette/internal/core/run"
	"github.com/vedette-sec/vedette/internal/discover"
	"github.com/vedette-sec/vedette/internal/discover/pipeline"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/hostpattern"
)

// Stage is the kind of a chunk.
type Stage string

// The stages.
const (
	Names Stage = "names" // it finds hosts
	Hosts Stage = "hosts" // it probes hosts
)

// Chunk is a part of a run with a worker's lease on it.
type Chunk struct {
	*run.Lease

	Stage    Stage
	Work     Work    // of a chunk of names
	Hosts    []Found // of a chunk of hosts, in the order of their names
	Config   Config  // of the enumeration
	Excluded hostpattern.Patterns

	es *Enumerations
}

// StartChunk takes the lease on a chunk, for the first time or after a crash.
func (es *Enumerations) StartChunk(ctx context.Context, a ChunkArgs) (*Chunk, error) {
	c := &Chunk{es: es}
	err := es.db.Tx(ctx, func(tx *db.Tx) (err error) {
		if c.Lease, err = es.runs().Take(ctx, tx, run.Ref{ID: a.EnumerationID, Run: a.Run}, a.N); err != nil {
			return err
		}
		return c.read(ctx, tx)
	})
	if err == nil {
		c.Excluded, err = es.excluded(ctx, c)
	}
	return c, err
}

// read reads the work and the hosts of a chunk.
func (c *Chunk) read(ctx context.Context, tx *db.Tx) error {
	var work db.JSON[Work]
	err := tx.QueryRow(ctx, `SELECT stage, input FROM enumeration_chunk WHERE enumeration_id = ? AND run = ? AND n = ?`,
		c.ID, c.Run, c.Chunk).Scan(&c.Stage, &work)
	if err != nil {
		return err
	}
	c.Work = work.V
	if c.Config, err = c.es.config(ctx, tx, c.ID); err != nil || c.Stage == Names {
		return err
	}
	c.Hosts, err = db.Select(ctx, tx, func(r db.Row) (Found, error) {
		var doc db.JSON[Found]
		err := r.Scan(&doc)
		return doc.V, err
	}, `SELECT name FROM enumeration_name WHERE enumeration_id = ? AND run = ? AND n = ? ORDER BY host`,
		c.ID, c.Run, c.Chunk)
	return err
}

// excluded are the patterns of the enumeration and of the team's rules.
func (es *Enumerations) excluded(ctx context.Context, c *Chunk) (hostpattern.Patterns, error) {
	rules, err := exclusion.New(es.db).Of(ctx, c.TeamID)
	if err != nil {
		return hostpattern.Patterns{}, err
	}
	patterns := slices.Clone(c.Config.Exclusions)
	for _, r := range rules {
		if r.Type == exclusion.EnumerationTarget && (r.EnumerationID == "" || r.EnumerationID == c.ID) {
			patterns = append(patterns, r.Value)
		}
	}
	return hostpattern.Parse(patterns)
}

// insertRows is how many rows one statement writes.
const insertRows = 25

// AddHosts adds chunks of at most ChunkHosts hosts. Hosts that the run has already are left out, so that a chunk that
// runs again adds none twice.
func (c *Chunk) AddHosts(ctx context.Context, found []Found) error {
	for part := range slices.Chunk(found, ChunkHosts) {
		if err := c.Write(ctx, func(tx *db.Tx) error { return c.addHosts(ctx, tx, part) }); err != nil {
			return err
		}
	}
	return nil
}

func (c *Chunk) addHosts(ctx context.Context, tx *db.Tx, found []Found) error {
	n, err := c.es.runs().Next(ctx, tx, c.Ref)
	if err != nil {
		return err
	}
	var fresh int64
	for rows := range slices.Chunk(found, insertRows) {
		var args []any
		for _, f := range rows {
			args = append(args, c.ID, c.Run, db.Clean(f.Host), n, db.Doc(f))
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
	if _, err := tx.Exec(ctx, `UPDATE enumeration_run SET total_name = total_name + ? WHERE enumeration_id = ? AND run = ?`,
		fresh, c.ID, c.Run); err != nil {
		return err
	}
	return c.es.runs().Add(ctx, tx, c.Ref, chunkColumns, [][]any{{string(Hosts), db.Doc(Work{})}})
}

// Store stores assets of the chunk. Those that this run has stored already stay as they are.
func (c *Chunk) Store(ctx context.Context, assets []discover.Asset) error {
	ready, err := c.es.assets.Prepare(ctx, asset.Seen{
		TeamID: c.TeamID, EnumerationID: c.ID, Run: c.Run, At: c.es.now(), Assets: assets,
	})
	if err != nil {
		return err
	}
	return c.Write(ctx, func(tx *db.Tx) error {
		seen, err := c.es.policies.Store(ctx, tx, ready)
		if err != nil || seen.New == 0 {
			return err
		}
		_, err = tx.Exec(ctx, `UPDATE enumeration_run SET new_asset = new_asset + ? WHERE enumeration_id = ? AND run = ?`,
			seen.New, c.ID, c.Run)
		return err
	})
}

// Report is the result of a chunk, besides hosts and assets.
type Report struct {
	Sources []discover.SourceReport
	More    []Work            // further chunks of names
	Denied  []pipeline.Denial // some of the refused dials
	Denials int               // all of them
}

// Finish ends the chunk; the last one ends the run.
func (c *Chunk) Finish(ctx context.Context, r Report) error {
	return c.Write(ctx, func(tx *db.Tx) error {
		if err := c.es.addSources(ctx, tx, c.ID, c.Run, r.Sources); err != nil {
			return err
		}
		events := make([]Event, len(r.Denied))
		for i, d := range r.Denied {
			events[i] = Event{Kind: EventDenied, Subject: d.Addr, Detail: d.Why, Times: d.Times}
		}
		if err := c.es.addEvents(ctx, tx, c.ID, c.Run, events); err != nil {
			return err
		}
		if err := c.es.runs().Add(ctx, tx, c.Ref, chunkColumns, nameChunks(r.More)); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, `UPDATE enumeration_run SET denial = denial + ?, done_name = done_name + ?
			WHERE enumeration_id = ? AND run = ?`, r.Denials, len(c.Hosts), c.ID, c.Run); err != nil {
			return err
		}
		return c.Lease.Finish(ctx, tx)
	})
}

// GiveUpChunk ends a chunk that the queue has given up, in the transaction that ends its job, unless the run has ended.
func (es *Enumerations) GiveUpChunk(ctx context.Context, tx *db.Tx, a ChunkArgs) error {
	return run.IgnoreLate(es.runs().GiveUp(ctx, tx, run.Ref{ID: a.EnumerationID, Run: a.Run}, a.N, nil))
}

// TidyArgs is the job that deletes the hosts of a run that has ended.
type TidyArgs struct {
	EnumerationID string `json:"enumeration_id"`
	Run           int64  `json:"run"`
}

// Kind implements queue.Args.
func (TidyArgs) Kind() string { return "enumeration.tidy" }

// Tidy deletes the hosts of a run that has ended: the inventory has them.
func (es *Enumerations) Tidy(ctx context.Context, a TidyArgs) error {
	return es.empty(ctx, "enumeration_name", "host", "enumeration_id = ? AND run = ?", a.EnumerationID, a.Run)
}
