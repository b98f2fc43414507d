// Package arrival has what follows in other tables when sightings arrive or weaknesses become one, in the
// transaction in
// which that happens.
package arrival

import (
	"context"

	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/queue"
)

// Args is the job that lets the rules of triage look at what has arrived. At most one waits for each team.
type Args struct {
	TeamID string `json:"team_id"`
}

// Kind implements queue.Args.
func (Args) Kind() string { return "triage.arrived" }

// TellRules queues the job for a team that has rules, unless one waits.
func TellRules(ctx context.Context, tx *db.Tx, q *queue.Queue, teamID string, now db.Time) error {
	n, err := tx.Exec(ctx, `UPDATE triage_progress SET queued_at = ? WHERE team_id = ? AND has_rules AND queued_at IS NULL`,
		now, teamID)
	if err == nil && n > 0 && q != nil {
		_, err = q.Insert(ctx, tx, teamID, Args{teamID})
	}
	return err
}
