package scan

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/vedette-sec/vedette/internal/core/catalog"
	"github.com/vedette-sec/vedette/internal/core/exclusion"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/errs"
)

// ErrLate is what a run or a chunk gets that is no longer the scan's: another took over,
// or the scan has ended. Nothing was written.
var ErrLate = errors.New("this run of the scan is no longer the current one")

// ChunkArgs is the job that works on one chunk.
type ChunkArgs struct {
	ScanID string `json:"scan_id"`
	Run    int64  `json:"run"`
	N      int    `json:"n"`
}

// Kind implements queue.Args.
func (ChunkArgs) Kind() string { return "scan.chunk" }

// The bounds of one chunk: what a worker that dies can lose.
const (
	chunkRequests = 10_000
	chunkTargets  = 100
)

// piece is a chunk before it is written.
type piece struct {
	targets     []string
	first, last int // templates
	requests    int
}

// cut makes chunks of bounded cost: some targets with all templates or, where those are
// too many for one target, one target with some.
func cut(targets []string, templates []catalog.Known) (out []piece) {
	total := 0
	for _, t := range templates {
		total += max(1, t.Requests)
	}
	if total <= chunkRequests {
		for part := range slices.Chunk(targets, max(1, min(chunkTargets, chunkRequests/max(1, total)))) {
			out = append(out, piece{part, 0, len(templates), total * len(part)})
		}
		return out
	}
	for _, target := range targets {
		p := piece{targets: []string{target}}
		for i, t := range templates {
			p.requests += max(1, t.Requests)
			if p.requests >= chunkRequests || i == len(templates)-1 {
				p.last = i + 1
				out = append(out, p)
				p = piece{targets: p.targets, first: i + 1}
			}
		}
	}
	return out
}

// Begin cuts a run into chunks and hands them to the queue. A run that is not the scan's
// any more, or is cut already, is left as it is.
func (ss *Scans) Begin(ctx context.Context, a BeginArgs) error {
	var teamID string
	var w db.Where
	w.And("id = ?", a.ScanID)
	w.And("run = ?", a.Run)
	db.In(&w, "status", from(Starting))
	err := ss.db.Tx(ctx, func(tx *db.Tx) error {
		changes(tx, a.ScanID)
		return tx.QueryRow(ctx, `UPDATE scan SET status = ?, updated_at = ?`+w.String()+` RETURNING team_id`, append([]any{Starting, db.At(ss.now())}, w.Args...)...).Scan(&teamID)
	})
	if db.IsNoRows(err) {
		return nil
	}
	if err != nil {
		return err
	}
	config, err := ss.config(ctx, ss.db, a.ScanID)
	if err != nil {
		return err
	}
	excluded, err := ss.excluded(ctx, teamID, a.ScanID)
	if err != nil {
		return err
	}
	patterns, err := exclusion.ParsePatterns(slices.Concat(config.Exclusions, excluded.targets))
	if err != nil {
		return err
	}
	targets := expand(config.Targets, patterns)
	templates, err := ss.choose(ctx, teamID, config)
	if e := errs.From(err); e != nil && e.Kind == errs.Invalid { // a template is gone since
		return ss.fail(ctx, a, e.Message)
	}
	if err != nil {
		return err
	}
	templates = slices.DeleteFunc(templates, func(t catalog.Known) bool { return excluded.templates[t.ID] || excluded.templates[t.WrittenID] })
	switch {
	case len(targets) == 0:
		return ss.fail(ctx, a, "Every target is excluded.")
	case len(templates) == 0:
		return ss.fail(ctx, a, "Every template is excluded.")
	}
	return ss.write(ctx, a, targets, templates)
}

func (ss *Scans) fail(ctx context.Context, a BeginArgs, why string) error {
	return ss.db.Tx(ctx, func(tx *db.Tx) error {
		_, err := ss.end(ctx, tx, a.ScanID, a.Run, Failed, why)
		return err
	})
}

// write stores the chunks of a run with their jobs, and sets the scan running.
func (ss *Scans) write(ctx context.Context, a BeginArgs, targets []string, templates []catalog.Known) error {
	pieces := cut(targets, templates)
	ids := make([]string, len(templates))
	for i, t := range templates {
		ids[i] = t.ID
	}
	return ss.db.Tx(ctx, func(tx *db.Tx) error {
		now := db.At(ss.now())
		n, err := tx.Exec(ctx, `UPDATE scan SET status = ?, updated_at = ? WHERE id = ? AND run = ? AND status = ?`, Running, now, a.ScanID, a.Run, Starting)
		if err != nil || n == 0 { // it was stopped meanwhile
			return err
		}
		changes(tx, a.ScanID)
		requests := 0
		for i, p := range pieces {
			job, err := ss.queue.Insert(ctx, tx, ChunkArgs{a.ScanID, a.Run, i})
			if err != nil {
				return fmt.Errorf("chunk %d: %w", i, err)
			}
			if _, err := tx.Exec(ctx, `INSERT INTO scan_chunk (scan_id, run, n, job_id, state, targets, first_template, last_template, cells) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
				a.ScanID, a.Run, i, job, chunkWaiting, db.Doc(p.targets), p.first, p.last, len(p.targets)*(p.last-p.first)); err != nil {
				return err
			}
			requests += p.requests
		}
		if _, err := tx.Exec(ctx, `INSERT INTO scan_plan (scan_id, run, templates) VALUES (?, ?, ?)`, a.ScanID, a.Run, db.Doc(ids)); err != nil {
			return err
		}
		_, err = tx.Exec(ctx, `UPDATE scan_run SET status = ?, total_target = ?, total_template = ?, total_cell = ?, total_request = ?, open_chunk = ?, started_at = ? WHERE scan_id = ? AND run = ?`,
			Running, len(targets), len(ids), len(targets)*len(ids), requests, len(pieces), now, a.ScanID, a.Run)
		if err == nil {
			_, err = ss.queue.Insert(ctx, tx, ToldArgs{a.ScanID, a.Run, Running})
		}
		return err
	})
}
