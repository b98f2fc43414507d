package scan

import (
	"context"

	"github.com/vedette-sec/vedette/internal/core/finding"
	"github.com/vedette-sec/vedette/internal/core/run"
	"github.com/vedette-sec/vedette/internal/engine"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/traffic"
)

// Chunk is a part of a run with a worker's lease on it.
type Chunk struct {
	*run.Lease

	Targets   []string
	Templates []string // ids
	Config    Config   // of the scan when the run began

	// Traffic gets each HTTP request that was sent, from any goroutine, and must not wait; Dropped how many more there
	// were; Stored is called before the chunk ends, so that a scan that has ended has them all. nil: nobody asks.
	Traffic func(traffic.Exchange)
	Dropped func(n int64)
	Stored  func()

	scans    *Scans
	cells    int
	reported int // cells that scan_run counts as done for this chunk
}

// StartChunk takes the lease on a chunk, for the first time or after a crash.
func (ss *Scans) StartChunk(ctx context.Context, a ChunkArgs) (*Chunk, error) {
	c := &Chunk{scans: ss}
	return c, ss.db.Tx(ctx, func(tx *db.Tx) (err error) {
		if c.Lease, err = ss.runs().Take(ctx, tx, run.Ref{ID: a.ScanID, Run: a.Run}, a.N); err != nil {
			return err
		}
		if c.Config, err = ss.config(ctx, tx, a.ScanID); err != nil {
			return err
		}
		if err := c.read(ctx, tx); err != nil {
			return err
		}
		return c.report(ctx, tx, 0) // this worker starts from the beginning
	})
}

// read reads the targets and templates of a chunk, and the configuration with which the run began.
func (c *Chunk) read(ctx context.Context, tx *db.Tx) error {
	var targets, templates db.JSON[[]string]
	var config db.JSON[*Config]
	var first, last int
	if err := tx.QueryRow(ctx, `SELECT c.targets, p.templates, p.config, c.first_template, c.last_template, c.cells, c.done
		FROM scan_chunk c JOIN scan_plan p ON p.scan_id = c.scan_id AND p.run = c.run
		WHERE c.scan_id = ? AND c.run = ? AND c.n = ?`, c.ID, c.Run, c.Chunk).
		Scan(&targets, &templates, &config, &first, &last, &c.cells, &c.reported); err != nil {
		return err
	}
	c.Targets, c.Templates = targets.V, templates.V[first:last]
	if config.V != nil {
		config.V.Inline = c.Config.Inline
		c.Config = *config.V
	}
	return nil
}

// report sets how many cells of the chunk are done, and adds the difference to the run.
func (c *Chunk) report(ctx context.Context, tx *db.Tx, done int) error {
	if done == c.reported {
		return nil
	}
	if _, err := tx.Exec(ctx, `UPDATE scan_run SET done_cell = done_cell + ? WHERE scan_id = ? AND run = ?`,
		done-c.reported, c.ID, c.Run); err != nil {
		return err
	}
	_, err := tx.Exec(ctx, `UPDATE scan_chunk SET done = ? WHERE scan_id = ? AND run = ? AND n = ?`,
		done, c.ID, c.Run, c.Chunk)
	tx.AfterCommit(func() { c.reported = done })
	return err
}

// Progress reports that done of total steps of the chunk are done.
func (c *Chunk) Progress(ctx context.Context, done, total int) error {
	if total == 0 {
		return nil
	}
	return c.Write(ctx, func(tx *db.Tx) error { return c.report(ctx, tx, c.cells*min(done, total)/total) })
}

// Found stores findings of the chunk.
func (c *Chunk) Found(ctx context.Context, seen []finding.Sighting) error {
	return c.Write(ctx, func(tx *db.Tx) error {
		_, err := c.scans.findings.Add(ctx, tx, finding.Origin{TeamID: c.TeamID, ScanID: c.ID, Run: c.Run}, seen)
		return err
	})
}

// Finish ends the chunk with its coverage; the last one ends the scan.
func (c *Chunk) Finish(ctx context.Context, l *Cells, requests int) error {
	if c.Stored != nil {
		c.Stored()
	}
	return c.Write(ctx, func(tx *db.Tx) error {
		if err := c.save(ctx, tx, l, requests); err != nil {
			return err
		}
		return c.Lease.Finish(ctx, tx)
	})
}

// save writes the coverage of a chunk.
func (c *Chunk) save(ctx context.Context, tx *db.Tx, l *Cells, requests int) error {
	doc, err := l.encode()
	if err != nil {
		return err
	}
	if err := c.report(ctx, tx, c.cells); err != nil {
		return err
	}
	if _, err := tx.Exec(ctx, `UPDATE scan_chunk SET ledger = ? WHERE scan_id = ? AND run = ? AND n = ?`,
		doc, c.ID, c.Run, c.Chunk); err != nil {
		return err
	}
	_, err = tx.Exec(ctx, `UPDATE scan_run SET done_request = done_request + ? WHERE scan_id = ? AND run = ?`,
		requests, c.ID, c.Run)
	return err
}

// The reasons of failed cells whose targets nobody asked.
const (
	NotRun     = "this part of the scan could not be run"
	NoTemplate = "the template is not in the catalogue any more"
)

// GiveUpChunk fails the cells of a chunk that the queue has given up, in the transaction that ends its job, unless
// the scan has ended.
func (ss *Scans) GiveUpChunk(ctx context.Context, tx *db.Tx, a ChunkArgs) error {
	r := run.Ref{ID: a.ScanID, Run: a.Run}
	return run.IgnoreLate(ss.runs().GiveUp(ctx, tx, r, a.N, func(lease *run.Lease) error {
		c := &Chunk{Lease: lease, scans: ss}
		if err := c.read(ctx, tx); err != nil {
			return err
		}
		l := NewCells(c.Targets, c.Templates)
		for i := range l.targets {
			for j := range l.templates {
				l.Set(i, j, engine.Failed, NotRun)
			}
		}
		return c.save(ctx, tx, l, 0)
	}))
}
