package scan

import (
	"context"
	"time"

	"github.com/vedette-sec/vedette/internal/infra/db"
)

// AlertArgs is the job that sends notifications about the new state of a run. It is inserted
// in the transaction of the change.
type AlertArgs struct {
	ScanID string `json:"scan_id"`
	Run    int64  `json:"run"`
	Status Status `json:"status"` // Running, Finished, Failed or Stopped
}

// Kind implements queue.Args.
func (AlertArgs) Kind() string { return "scan.told" }

// RunState is a run as its notifications show it.
type RunState struct {
	Scan            // with its configuration
	Since time.Time // when the run was launched
}

// FindRunState is a scan with the numbers of a run and its state then, for a worker. ok is
// false when the scan was deleted.
func (ss *Scans) FindRunState(ctx context.Context, a AlertArgs) (n RunState, ok bool, err error) {
	var reason string
	var started, ended, created db.Time
	var severity db.JSON[map[string]int]
	err = ss.db.QueryRow(ctx, `SELECT s.id, s.team_id, s.user_id, s.name, r.failure_reason, r.total_target, r.total_template, r.total_cell, r.done_cell, r.total_request, r.done_request,
		r.started_at, r.ended_at, r.created_at, coalesce(r.severity, '{}') FROM scan s JOIN scan_run r ON r.scan_id = s.id WHERE s.id = ? AND r.run = ?`, a.ScanID, a.Run).
		Scan(&n.ID, &n.TeamID, &n.UserID, &n.Name, &reason, &n.Numbers.Targets, &n.Numbers.Templates, &n.Numbers.Cells, &n.Numbers.DoneCells, &n.Numbers.Requests, &n.Numbers.DoneRequests,
			&started, &ended, &created, &severity)
	if db.IsNoRows(err) {
		return n, false, nil
	}
	if err != nil {
		return n, false, err
	}
	n.Run, n.Status, n.FailureReason, n.Severities, n.Since = a.Run, a.Status, reason, severity.V, created.Time
	n.Numbers.StartedAt, n.Numbers.EndedAt = started.Time, ended.Time
	n.Config, err = ss.ConfigOf(ctx, a.ScanID)
	return n, true, err
}
