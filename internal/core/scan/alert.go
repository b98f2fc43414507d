package scan

import (
	"context"
	"time"

	"github.com/vedette-sec/vedette/internal/infra/db"
)

// AlertArgs is the job that sends alerts about the new state of a run.
type AlertArgs struct {
	ScanID string `json:"scan_id"`
	Run    int64  `json:"run"`
	Status Status `json:"status"` // Running, Finished, Failed or Stopped
}

// Kind implements queue.Args. Jobs are stored under this name.
func (AlertArgs) Kind() string { return "scan.told" }

// RunState is a run as its alerts show it.
type RunState struct {
	Scan            // with its configuration
	Since time.Time // when the run was launched
}

// FindRunState is a scan with the numbers and the new state of a run. ok is false when the scan was deleted.
func (ss *Scans) FindRunState(ctx context.Context, a AlertArgs) (n RunState, ok bool, err error) {
	var created db.Time
	var severity db.JSON[map[string]int]
	err = n.Numbers.scan(ss.db.QueryRow(ctx,
		`SELECT s.id, s.team_id, s.user_id, s.name, r.failure_reason, `+numberColumns+`,
		r.created_at, coalesce(r.severity, '{}') FROM scan s JOIN scan_run r ON r.scan_id = s.id WHERE s.id = ? AND r.run = ?`, a.ScanID, a.Run),
		[]any{&n.ID, &n.TeamID, &n.UserID, &n.Name, &n.FailureReason}, &created, &severity)
	if err == nil {
		n.Run, n.Status, n.Severities, n.Since = a.Run, a.Status, severity.V, created.Time
		n.Config, err = ss.config(ctx, ss.db, a.ScanID)
	}
	if db.IsNoRows(err) {
		return n, false, nil
	}
	return n, err == nil, err
}
