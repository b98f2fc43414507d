package proof

import (
	"context"
	"net/netip"

	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/core/finding"
	"github.com/vedette-sec/vedette/internal/core/finding/chain"
	"github.com/vedette-sec/vedette/internal/engine/child"
	"github.com/vedette-sec/vedette/internal/evidence"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/ids"
)

// ReplayArgs is the job that sends a proof again.
type ReplayArgs struct {
	TeamID    string `json:"team_id"`
	FindingID string `json:"finding_id"`
	RunID     string `json:"run_id"`
}

// Kind implements queue.Args.
func (ReplayArgs) Kind() string { return "evidence.replay" }

// Replay has the proof of a finding of the caller's team sent again. Where that waits already, it is that run. A
// finding
// without a proof is a Conflict.
func (ps *Proofs) Replay(ctx context.Context, findingID string) (Run, error) {
	c, err := account.Writer(ctx)
	if err != nil {
		return Run{}, err
	}
	f, err := ps.from.Findings.Find(ctx, findingID)
	if err != nil {
		return Run{}, err
	}
	if !f.IsReplayable() {
		return Run{}, notReplayable()
	}
	run := Run{ID: ids.New(), Source: string(chain.Replay), State: Queued, By: c.Email, AskedAt: db.At(ps.now()).Time}
	err = ps.db.Tx(ctx, func(tx *db.Tx) error {
		if err := lock(ctx, tx, c.TeamID); err != nil {
			return err
		}
		waiting, err := scanRun(tx.QueryRow(ctx, `SELECT `+runColumns+` FROM evidence_run
			WHERE team_id = ? AND no = ? AND state = ? ORDER BY id LIMIT 1`, c.TeamID, f.No(), Queued))
		if err == nil {
			run = waiting
		}
		if !db.IsNoRows(err) {
			return err
		}
		if _, err := tx.Exec(ctx, `INSERT INTO evidence_run (team_id, id, no, source, state, asked_by, asked_at)
			VALUES (?, ?, ?, ?, ?, ?, ?)`, c.TeamID, run.ID, f.No(), run.Source, run.State, run.By, db.At(run.AskedAt)); err != nil {
			return err
		}
		_, err = ps.queue.Insert(ctx, tx, c.TeamID, ReplayArgs{c.TeamID, f.ID, run.ID})
		return err
	})
	return run, err
}

// lock has the lock of the team's findings, under which its chain grows.
func lock(ctx context.Context, tx *db.Tx, teamID string) error {
	_, err := tx.Exec(ctx, `INSERT INTO finding_log (team_id, last_no, last_rev) VALUES (?, 0, 0)
		ON CONFLICT (team_id) DO UPDATE SET last_no = finding_log.last_no`, teamID)
	return err
}

// RunReplay is the job.
func (ps *Proofs) RunReplay(ctx context.Context, a ReplayArgs, engines *child.Pool, deny []netip.Prefix) error {
	f, err := ps.find(ctx, a)
	if errs.Is(err, errs.NotFound) {
		return nil // it was deleted meanwhile
	}
	if err != nil {
		return err
	}
	result, err := ps.from.Scans.Replay(ctx, a.TeamID, f, engines, deny)
	if err != nil {
		return err
	}
	ctx = context.WithoutCancel(ctx)
	return ps.db.Tx(ctx, func(tx *db.Tx) error { return ps.end(ctx, tx, a, f, result) })
}

// find is the finding of a job.
func (ps *Proofs) find(ctx context.Context, a ReplayArgs) (finding.Finding, error) {
	no, err := db.Value[int64](ctx, ps.db, `SELECT no FROM evidence_run WHERE team_id = ? AND id = ?`, a.TeamID, a.RunID)
	if err != nil {
		return finding.Finding{}, db.OrMissing(err, "replay")
	}
	found, err := ps.from.Findings.Whole(ctx, a.TeamID, []int64{no})
	if err != nil || len(found) == 0 {
		return finding.Finding{}, errs.Missing("vulnerability")
	}
	return found[0], nil
}

// GiveUp ends a replay that could not be run, in the transaction that ends its job.
func (ps *Proofs) GiveUp(ctx context.Context, tx *db.Tx, a ReplayArgs, why string) error {
	f, err := ps.find(ctx, a)
	if errs.Is(err, errs.NotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	return ps.end(ctx, tx, a, f, finding.RetestResult{State: finding.RetestFailed, Note: why})
}

// end stores how a replay ended, once.
func (ps *Proofs) end(
	ctx context.Context, tx *db.Tx, a ReplayArgs, f finding.Finding, result finding.RetestResult,
) error {
	if err := lock(ctx, tx, a.TeamID); err != nil {
		return err
	}
	run, err := scanRun(tx.QueryRow(ctx, `SELECT `+runColumns+` FROM evidence_run WHERE team_id = ? AND id = ?`,
		a.TeamID, a.RunID))
	if db.IsNoRows(err) || err == nil && run.State != Queued {
		return nil // the finding was deleted, or a worker was given up that had ended it
	}
	if err != nil {
		return err
	}
	return chain.Again{
		ID: run.ID, TeamID: a.TeamID, No: f.No(), Seen: f.Seen(), Source: chain.Replay, By: run.By,
		AskedAt: db.At(run.AskedAt), Version: ps.from.Findings.Version, Result: resultOf(result.State), Note: result.Note,
		Event: result.Event, Digest: result.Digest,
	}.Store(ctx, tx, ps.now())
}

func resultOf(s finding.RetestState) evidence.Result {
	switch s {
	case finding.Matched:
		return evidence.Same
	case finding.NotMatched:
		return evidence.Gone
	default:
		return evidence.Failed
	}
}
