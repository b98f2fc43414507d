package scan

import (
	"context"
	"slices"

	"github.com/vedette-sec/vedette/internal/core/catalog"
	"github.com/vedette-sec/vedette/internal/core/exclusion"
	"github.com/vedette-sec/vedette/internal/core/run"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/errs"
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
		targets, templates, err := ss.plan(ctx, teamID, a.ScanID)
		return func(tx *db.Tx) error { return ss.start(ctx, tx, r, targets, templates) }, err
	})
}

// plan finds the targets and templates of a run. The error is Invalid when there are none, or when a template was
// deleted.
func (ss *Scans) plan(ctx context.Context, teamID, id string) ([]string, []catalog.ScanTemplate, error) {
	config, err := ss.config(ctx, ss.db, id)
	if err != nil {
		return nil, nil, err
	}
	excluded, err := ss.excluded(ctx, teamID, id)
	if err != nil {
		return nil, nil, err
	}
	patterns, err := exclusion.ParsePatterns(slices.Concat(config.Exclusions, excluded.targets))
	if err != nil {
		return nil, nil, err
	}
	targets := expand(config.Targets, patterns)
	templates, err := ss.choose(ctx, teamID, config)
	templates = slices.DeleteFunc(templates, func(t catalog.ScanTemplate) bool {
		return excluded.templates[t.ID] || excluded.templates[t.WrittenID]
	})
	switch {
	case err != nil:
	case len(targets) == 0:
		err = errs.Field("targets", "Every target is excluded.")
	case len(templates) == 0:
		err = errs.Field("templates", "Every template is excluded.")
	}
	return targets, templates, err
}

// start writes the chunks of a run with their jobs, and sets the scan running.
func (ss *Scans) start(
	ctx context.Context, tx *db.Tx, r run.Ref, targets []string, templates []catalog.ScanTemplate,
) error {
	requests := 0
	var chunks [][]any
	for _, p := range cut(targets, templates) {
		requests += p.requests
		chunks = append(chunks, []any{db.Doc(p.targets), p.first, p.last, len(p.targets) * (p.last - p.first)})
	}
	ids := make([]string, len(templates))
	for i, t := range templates {
		ids[i] = t.ID
	}
	if err := ss.runs().Start(ctx, tx, r, "targets, first_template, last_template, cells", chunks); err != nil {
		return err
	}
	if _, err := tx.Exec(ctx, `INSERT INTO scan_plan (scan_id, run, templates) VALUES (?, ?, ?)`,
		r.ID, r.Run, db.Doc(ids)); err != nil {
		return err
	}
	_, err := tx.Exec(ctx, `UPDATE scan_run SET total_target = ?, total_template = ?, total_cell = ?, total_request = ?
		WHERE scan_id = ? AND run = ?`, len(targets), len(ids), len(targets)*len(ids), requests, r.ID, r.Run)
	return err
}
