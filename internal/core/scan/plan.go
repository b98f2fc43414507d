package scan

import (
	"context"
	"github.com/vedette-sec/vedette/internal/core/scan/target"
	"slices"

	"github.com/vedette-sec/vedette/internal/core/catalog"
	"github.com/vedette-sec/vedette/internal/core/run"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/hostpattern"
)

// ErrLate refuses writes of a worker that has lost its run or chunk.
var ErrLate = run.ErrLate

// ChunkArgs is the job that works on one chunk.
type ChunkArgs struct {
	ScanID string `json:"scan_id"`
	Run    int64  `json:"run"`
	N      int    `json:"n"`
}

// Kind implements queue.Args.
func (ChunkArgs) Kind() string { return "scan.chunk" }

// The bounds of a chunk, which is lost when its worker dies.
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

// cut makes chunks of bounded cost: some targets with all templates, or one target with some templates.
func cut(targets []string, templates []catalog.ScanTemplate) (out []piece) {
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

// Begin cuts a run into chunks and inserts their jobs. A run that has ended or has its chunks is left alone.
func (ss *Scans) Begin(ctx context.Context, a BeginArgs) error {
	r := run.Ref{ID: a.ScanID, Run: a.Run}
	return ss.runs().Prepare(ctx, r, func(teamID string) (func(tx *db.Tx) error, error) {
		p, err := ss.plan(ctx, teamID, a.ScanID)
		return func(tx *db.Tx) error { return ss.start(ctx, tx, r, p) }, err
	})
}

// plan is what a run does. It is fixed when the run begins.
type plan struct {
	config    Config
	targets   []string // those of the configuration and of the inventory, less what is excluded
	templates []catalog.ScanTemplate
}

// plan finds the targets and templates of a run. The error is Invalid when there are none, or when a template or a
// source of targets was deleted.
func (ss *Scans) plan(ctx context.Context, teamID, id string) (p plan, err error) {
	if p.config, err = ss.config(ctx, ss.db, id); err != nil {
		return p, err
	}
	excluded, err := ss.excluded(ctx, teamID, id)
	if err != nil {
		return p, err
	}
	patterns, err := hostpattern.Parse(slices.Concat(p.config.Exclusions, excluded.targets))
	if err != nil {
		return p, err
	}
	if p.targets, err = ss.targets(ctx, teamID, p.config); err != nil {
		return p, err
	}
	p.targets = target.Expand(p.targets, patterns)
	templates, err := ss.choose(ctx, teamID, p.config)
	p.templates = slices.DeleteFunc(templates, func(t catalog.ScanTemplate) bool {
		return excluded.templates[t.ID] || excluded.templates[t.WrittenID]
	})
	switch {
	case err != nil:
	case len(p.targets) == 0:
		err = errs.Field("targets", "Every target is excluded.")
	case len(p.templates) == 0:
		err = errs.Field("templates", "Every template is excluded.")
	}
	return p, err
}

// start writes the chunks of a run with their jobs, and sets the scan running.
func (ss *Scans) start(ctx context.Context, tx *db.Tx, r run.Ref, p plan) error {
	requests := 0
	var chunks [][]any
	for _, part := range cut(p.targets, p.templates) {
		requests += part.requests
		chunks = append(chunks, []any{db.Doc(part.targets), part.first, part.last,
			len(part.targets) * (part.last - part.first)})
	}
	ids := make([]string, len(p.templates))
	for i, t := range p.templates {
		ids[i] = t.ID
	}
	if err := ss.runs().Start(ctx, tx, r, "targets, first_template, last_template, cells", chunks); err != nil {
		return err
	}
	p.config.Inline = nil // cannot be changed, and may be large
	if _, err := tx.Exec(ctx, `INSERT INTO scan_plan (scan_id, run, templates, config) VALUES (?, ?, ?, ?)`,
		r.ID, r.Run, db.Doc(ids), db.Doc(p.config)); err != nil {
		return err
	}
	if _, err := tx.Exec(ctx, `UPDATE scan SET is_internal = ? WHERE id = ?`, target.AllInternal(p.targets), r.ID); err != nil {
		return err
	}
	_, err := tx.Exec(ctx, `UPDATE scan_run SET total_target = ?, total_template = ?, total_cell = ?, total_request = ?
		WHERE scan_id = ? AND run = ?`, len(p.targets), len(ids), len(p.targets)*len(ids), requests, r.ID, r.Run)
	return err
}
