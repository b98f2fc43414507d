package scan

import (
	"context"
	"fmt"

	"github.com/vedette-sec/vedette/internal/core/finding"
	"github.com/vedette-sec/vedette/internal/engine"
	"github.com/vedette-sec/vedette/internal/infra/db"
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
// and what a chunk writes is refused once a later one has begun or the scan has ended.
type Chunk struct {
	ScanID    string
	TeamID    string
	Targets   []string
	Templates []string // ids
	Inline    []Inline // templates that came with the scan
	Config    Config   // of the scan

	scans    *Scans
	run      int64
	n        int
	token    int64
	cells    int
	reported int // cells that scan_run counts as done for this chunk
}

// StartChunk begins, or after a crash begins again, to work on a chunk.
func (ss *Scans) StartChunk(ctx context.Context, a ChunkArgs) (*Chunk, error) {
	c := &Chunk{ScanID: a.ScanID, scans: ss, run: a.Run, n: a.N}
	err := ss.db.Tx(ctx, func(tx *db.Tx) error {
		if err := c.hold(ctx, tx); err != nil {
			return err
		}
		var targets db.JSON[[]string]
		var first, last, done int
		err := tx.QueryRow(ctx, `UPDATE scan_chunk SET state = ?, token = token + 1 WHERE scan_id = ? AND run = ? AND n = ? AND state IN ('waiting', 'running')
			RETURNING token, targets, first_template, last_template, cells, done`, chunkRunning, a.ScanID, a.Run, a.N).Scan(&c.token, &targets, &first, &last, &c.cells, &done)
		if db.IsNoRows(err) {
			return ErrLate
		}
		if err != nil {
			return err
		}
		var templates db.JSON[[]string]
		if err := tx.QueryRow(ctx, `SELECT p.templates, s.team_id FROM scan_plan p JOIN scan s ON s.id = p.scan_id WHERE p.scan_id = ? AND p.run = ?`, a.ScanID, a.Run).Scan(&templates, &c.TeamID); err != nil {
			return err
		}
		if first < 0 || last > len(templates.V) || first > last {
			return fmt.Errorf("chunk %d of scan %s names templates that its run has not", a.N, a.ScanID)
		}
		c.Targets, c.Templates = targets.V, templates.V[first:last]
		config, err := ss.config(ctx, tx, a.ScanID)
		if err != nil {
			return err
		}
		c.Inline, c.Config = config.Inline, config
		c.reported = done
		return c.report(ctx, tx, 0) // what an earlier worker had done is done again
	})
	return c, err
}

// hold locks the scan, or fails with ErrLate when it is not at work in this run.
func (c *Chunk) hold(ctx context.Context, tx *db.Tx) error {
	n, err := tx.Exec(ctx, `UPDATE scan SET updated_at = ? WHERE id = ? AND run = ? AND status = ?`, db.At(c.scans.now()), c.ScanID, c.run, Running)
	if err == nil && n == 0 {
		err = ErrLate
	}
	if err == nil {
		changes(tx, c.ScanID)
	}
	return err
}

// write runs fn in a transaction that holds the scan and the chunk, or fails with ErrLate.
func (c *Chunk) write(ctx context.Context, fn func(tx *db.Tx) error) error {
	return c.scans.db.Tx(ctx, func(tx *db.Tx) error {
		if err := c.hold(ctx, tx); err != nil {
			return err
		}
		var token int64
		var state string
		if err := tx.QueryRow(ctx, `SELECT token, state FROM scan_chunk WHERE scan_id = ? AND run = ? AND n = ?`+tx.Speaks().ForUpdate(), c.ScanID, c.run, c.n).Scan(&token, &state); err != nil {
			return err
		}
		if token != c.token || state != chunkRunning {
			return ErrLate
		}
		return fn(tx)
	})
}

// report sets how many cells of the chunk are done; the run counts the difference.
func (c *Chunk) report(ctx context.Context, tx *db.Tx, done int) error {
	if done == c.reported {
		return nil
	}
	if _, err := tx.Exec(ctx, `UPDATE scan_run SET done_cell = done_cell + ? WHERE scan_id = ? AND run = ?`, done-c.reported, c.ScanID, c.run); err != nil {
		return err
	}
	_, err := tx.Exec(ctx, `UPDATE scan_chunk SET done = ? WHERE scan_id = ? AND run = ? AND n = ?`, done, c.ScanID, c.run, c.n)
	tx.AfterCommit(func() { c.reported = done })
	return err
}

// Progress tells how much of the chunk is done: done of total steps.
func (c *Chunk) Progress(ctx context.Context, done, total int) error {
	if total == 0 {
		return nil
	}
	return c.write(ctx, func(tx *db.Tx) error { return c.report(ctx, tx, c.cells*min(done, total)/total) })
}

// Found stores what the chunk saw. Seen before, it is not stored again.
func (c *Chunk) Found(ctx context.Context, seen []finding.Sighting) error {
	return c.write(ctx, func(tx *db.Tx) error {
		_, err := c.scans.findings.Add(ctx, tx, finding.Origin{TeamID: c.TeamID, ScanID: c.ScanID, Run: c.run}, seen)
		return err
	})
}

// Finish ends the chunk with its ledger; the last one ends the scan.
func (c *Chunk) Finish(ctx context.Context, l *Ledger, requests int) error {
	doc, err := l.encode()
	if err != nil {
		return err
	}
	return c.write(ctx, func(tx *db.Tx) error { return c.close(ctx, tx, chunkDone, doc, requests) })
}

func (c *Chunk) close(ctx context.Context, tx *db.Tx, state string, ledger []byte, requests int) error {
	if err := c.report(ctx, tx, c.cells); err != nil {
		return err
	}
	if _, err := tx.Exec(ctx, `UPDATE scan_chunk SET state = ?, ledger = ? WHERE scan_id = ? AND run = ? AND n = ?`, state, ledger, c.ScanID, c.run, c.n); err != nil {
		return err
	}
	failed := 0
	if state == chunkFailed {
		failed = 1
	}
	var open, broken, chunks int
	if err := tx.QueryRow(ctx, `UPDATE scan_run SET open_chunk = open_chunk - 1, failed_chunk = failed_chunk + ?, done_request = done_request + ? WHERE scan_id = ? AND run = ? RETURNING open_chunk, failed_chunk`,
		failed, requests, c.ScanID, c.run).Scan(&open, &broken); err != nil || open > 0 {
		return err
	}
	if err := tx.QueryRow(ctx, `SELECT count(*) FROM scan_chunk WHERE scan_id = ? AND run = ?`, c.ScanID, c.run).Scan(&chunks); err != nil {
		return err
	}
	to, why := Finished, ""
	switch {
	case broken == chunks:
		to, why = Failed, "No part of the scan could be run. The server's log says why."
	case broken > 0:
		why = fmt.Sprintf("%d of %d parts of the scan could not be run; the coverage says which.", broken, chunks)
	}
	_, err := c.scans.end(ctx, tx, c.ScanID, c.run, to, why)
	return err
}

// GiveUpChunk ends a chunk that the queue will not run again, in the transaction that ends
// its job: its cells are failed. It does nothing when the scan has ended.
func (ss *Scans) GiveUpChunk(ctx context.Context, tx *db.Tx, a ChunkArgs) error {
	c := &Chunk{ScanID: a.ScanID, scans: ss, run: a.Run, n: a.N}
	if err := c.hold(ctx, tx); err != nil {
		if err == ErrLate { //nolint:errorlint // hold gives it bare
			return nil
		}
		return err
	}
	var targets, templates db.JSON[[]string]
	var first, last int
	err := tx.QueryRow(ctx, `SELECT c.targets, p.templates, c.first_template, c.last_template, c.cells, c.done FROM scan_chunk c
		JOIN scan_plan p ON p.scan_id = c.scan_id AND p.run = c.run WHERE c.scan_id = ? AND c.run = ? AND c.n = ? AND c.state IN ('waiting', 'running')`,
		a.ScanID, a.Run, a.N).Scan(&targets, &templates, &first, &last, &c.cells, &c.reported)
	if db.IsNoRows(err) {
		return nil
	}
	if err != nil {
		return err
	}
	l := NewLedger(targets.V, templates.V[first:last])
	for i := range l.targets {
		for j := range l.templates {
			l.Set(i, j, engine.Failed, "this part of the scan could not be run")
		}
	}
	doc, err := l.encode()
	if err != nil {
		return err
	}
	return c.close(ctx, tx, chunkFailed, doc, 0)
}
