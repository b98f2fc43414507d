package task

import (
	"context"
	"time"

	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/errs"
)

// CompletionArtifact is the specification's completion artifact.
type CompletionArtifact struct {
	SchemaVersion      int       `json:"schema_version"`
	Event              string    `json:"event,omitempty"` // on webhook deliveries only
	CompletionDelivery Delivery  `json:"completion_delivery"`
	TaskID             string    `json:"task_id"`
	StreamID           string    `json:"stream_id"`
	Status             Status    `json:"status"`
	CompletedAt        time.Time `json:"completed_at"`
	IssueCount         int       `json:"issue_count"`
	Summary            string    `json:"summary"`
	Findings           []Finding `json:"findings"`
}

// Finding is an issue in an artifact: the specification's five keys, and what identifies the issue.
type Finding struct {
	ID          string     `json:"id"`
	Title       string     `json:"title"`
	Severity    string     `json:"severity"`
	Status      string     `json:"status"`
	Description string     `json:"description"`
	Evidence    []Evidence `json:"evidence"`
	Remediation string     `json:"remediation"`
	Target      string     `json:"target"`
	MatchedAt   string     `json:"matched_at"`
	TemplateID  string     `json:"template_id"`
}

// FindArtifact is the artifact that was stored when a task ended; with refresh it is built from the task's
// current issues. It fails with NotFound while there is none.
func (ts *Tasks) FindArtifact(ctx context.Context, id string, refresh bool) (Delivery, CompletionArtifact, error) {
	var doc CompletionArtifact
	t, err := ts.Find(ctx, id)
	if err != nil {
		return "", doc, err
	}
	switch {
	case t.Delivery == NoDelivery:
		err = errs.New(errs.NotFound, "artifact_not_requested",
			"The task was created without completion_delivery, so it has no artifact.")
	case !t.Status.Final():
		err = errs.New(errs.NotFound, "artifact_not_ready",
			"The task is %s; its artifact is made when it ends.", t.Status)
	case refresh:
		doc, err = ts.buildArtifact(ctx, ts.db, t)
	default:
		err = ts.db.QueryRow(ctx, `SELECT body FROM task_artifact WHERE task_id = ?`, t.ID).Scan(db.Into(&doc))
	}
	return t.Delivery, doc, err
}

// buildArtifact makes every artifact: for the store, for the webhook and for a refresh.
func (ts *Tasks) buildArtifact(ctx context.Context, q db.Querier, t Task) (CompletionArtifact, error) {
	issues, err := ts.reported(ctx, q, t.ID)
	if err != nil {
		return CompletionArtifact{}, err
	}
	findings := make([]Finding, 0, len(issues))
	for _, i := range issues {
		findings = append(findings, Finding{
			ID: i.ID, Title: i.Title, Severity: i.Severity, Status: string(i.Status), Description: i.Description,
			Evidence: i.Evidence, Remediation: i.Remediation, Target: i.Target, MatchedAt: i.MatchedAt, TemplateID: i.TemplateID,
		})
	}
	return CompletionArtifact{
		SchemaVersion: 1, CompletionDelivery: t.Delivery, TaskID: t.ID, StreamID: t.StreamID, Status: t.Status,
		CompletedAt: t.CompletedAt, IssueCount: len(findings), Summary: t.Summary, Findings: findings,
	}, nil
}
