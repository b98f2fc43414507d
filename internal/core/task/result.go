package task

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/vedette-sec/vedette/internal/agent"
	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/core/task/change"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/errs"
)

// Ending is how a stream ends. It is stored without Status, so that a refreshed artifact has a summary of the
// current issues.
type Ending struct {
	Status   Status     `json:"-"`
	Opening  string     `json:"opening,omitempty"`  // what the summary begins with
	Plan     agent.Plan `json:"plan"`               // of the built-in planner
	Requests int        `json:"requests,omitempty"` // that the language model's run sent to targets
	Denied   int        `json:"denied,omitempty"`   // attempts to leave the scope; Conclude counts them
}

// Conclude ends the stream with a summary of what was done and found.
func (r *Run) Conclude(ctx context.Context, e Ending) (err error) {
	e.Denied, err = db.Value[int](ctx, r.tasks.db, `SELECT count(*) FROM stream_event WHERE stream_id = ? AND type = ?`,
		r.Task.StreamID, EventDenied)
	if err != nil {
		return err
	}
	if err := r.settle(ctx); err != nil {
		return err
	}
	text, err := r.summary(ctx, e)
	if err != nil {
		return err
	}
	return r.Finish(ctx, Outcome{Status: e.Status, Summary: text, ending: &e})
}

// summary is the summary of the stream, from its ending, its steps and the task's issues as they are now.
func (r *Run) summary(ctx context.Context, e Ending) (string, error) {
	changes, err := r.Task.changes(ctx, r.tasks.db)
	if err != nil || changes != nil && changes.Quiet {
		return changes.Words(), err
	}
	e.Opening = strings.TrimSpace(changes.Words() + "\n" + e.Opening)
	found, err := r.Issues(ctx)
	if err != nil {
		return "", err
	}
	steps, err := r.finished(ctx)
	if err != nil {
		return "", err
	}
	text := summary(e.Opening, e.Plan, steps, found) +
		fmt.Sprintf("\nRequests sent to targets: %d, all of them in scope", e.Requests+int(sent(steps)))
	if e.Denied > 0 {
		text += fmt.Sprintf("; attempts to leave it that were refused: %d", e.Denied)
	}
	return text + ".", nil
}

// RequestsSent is how many requests the built-in planner's steps of the stream sent to targets.
func (r *Run) RequestsSent(ctx context.Context) (int64, error) {
	steps, err := r.finished(ctx)
	return sent(steps), err
}

func sent(steps []agent.Done) (sum int64) {
	for _, step := range steps {
		var output struct{ Requests int64 }
		_ = json.Unmarshal(step.Output, &output) // a step that failed has no output
		sum += output.Requests
	}
	return sum
}

// summary describes what was found, what each step did, what could not be confirmed, and what of the
// instruction was not used or not done.
func summary(opening string, plan agent.Plan, steps []agent.Done, found []Issue) string {
	var lines []string
	if opening != "" {
		lines = append(lines, opening)
	}
	if len(plan.NotUnderstood) > 0 {
		lines = append(lines, "Of the instruction I did not use: "+strings.Join(plan.NotUnderstood, "; ")+".")
	}
	lines = append(lines, plan.NotDone...)
	bySeverity := map[string]int{}
	verified := 0
	unreported := map[string]int{} // by reason
	var reasons []string
	for _, i := range found {
		reason := i.Note
		switch {
		case i.Verification == Pending:
			reason = "it was not checked a second time"
		case i.Verification == Unverified:
		case i.Status == FalsePositive:
			reason = "a person marked it as a false positive"
		case i.Status == Duplicate:
			reason = "a person marked it as a duplicate"
		default:
			verified++
			bySeverity[i.Severity]++
			continue
		}
		if unreported[reason]++; unreported[reason] == 1 {
			reasons = append(reasons, reason)
		}
	}
	lines = append(lines, counted(verified, bySeverity))
	for _, step := range steps {
		if step.Summary != "" {
			lines = append(lines, step.Summary)
		}
		if step.Status != agent.Completed {
			lines = append(lines,
				fmt.Sprintf("The step %s did not come to its end (%s): %s", step.Tool, step.Status, Sentence(step.Error)))
		}
	}
	for _, why := range reasons {
		lines = append(lines, fmt.Sprintf("Not reported, because %s: %d.", why, unreported[why]))
	}
	return strings.Join(lines, "\n")
}

// counted is the sentence "3 verified findings: 1 high, 2 low".
func counted(n int, bySeverity map[string]int) string {
	if n == 0 {
		return "No verified findings."
	}
	var parts []string
	for _, severity := range Severities {
		if c := bySeverity[severity]; c > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", c, severity))
		}
	}
	noun := "findings"
	if n == 1 {
		noun = "finding"
	}
	return fmt.Sprintf("%d verified %s: %s.", n, noun, strings.Join(parts, ", "))
}

// Sentence is a text with a full stop at its end.
func Sentence(s string) string {
	if s == "" || strings.HasSuffix(s, ".") {
		return s
	}
	return s + "."
}

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

	Changes *change.Report `json:"changes,omitempty" doc:"Of a schedule that reports changes only: what this run changed. findings has what is new or changed."`
}

// Finding is an issue in an artifact.
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

// FindArtifact is the artifact of the last stream that has ended, also while a later one runs. With refresh it is
// built from the current issues, and stored if the caller may change things. NotFound: none was requested, or no
// stream has ended since.
func (ts *Tasks) FindArtifact(ctx context.Context, id string, refresh bool) (doc CompletionArtifact, err error) {
	t, err := ts.Find(ctx, id)
	if err != nil {
		return doc, err
	}
	var stored int64
	err = ts.db.QueryRow(ctx, `SELECT body, created_at FROM task_artifact WHERE task_id = ?`, t.ID).
		Scan(db.Into(&doc), &stored)
	switch {
	case db.IsNoRows(err) && t.Delivery == NoDelivery:
		err = errs.New(errs.NotFound, "artifact_not_requested",
			"The task was created without completion_delivery, so it has no artifact.")
	case db.IsNoRows(err):
		err = errs.New(errs.NotFound, "artifact_not_ready",
			"The task is %s; its artifact is made when it ends.", t.Status)
	case err == nil && refresh:
		doc, err = ts.refresh(ctx, t, doc, stored)
	}
	return doc, err
}

// refresh builds the artifact of a task anew. stored is when the present one was; of one that a stream has made since
// nothing is overwritten.
func (ts *Tasks) refresh(
	ctx context.Context, t Task, doc CompletionArtifact, stored int64,
) (CompletionArtifact, error) {
	var ending *Ending
	var err error
	if t.Stream, err = scanStream(ts.db.QueryRow(ctx, `SELECT `+streamColumns+` FROM task_stream s WHERE s.id = ?`,
		doc.StreamID)); err != nil {
		return doc, err
	}
	err = ts.db.QueryRow(ctx, `SELECT ending FROM task_stream WHERE id = ?`, t.StreamID).Scan(db.Into(&ending))
	if err != nil {
		return doc, err
	}
	if ending != nil {
		if t.Summary, err = (&Run{Task: t, tasks: ts}).summary(ctx, *ending); err != nil {
			return doc, err
		}
	}
	t.Delivery = doc.CompletionDelivery
	if doc, err = ts.buildArtifact(ctx, ts.db, t); err != nil {
		return doc, err
	}
	if _, err := account.Writer(ctx); err != nil {
		return doc, nil //nolint:nilerr // who only reads gets it and stores nothing
	}
	body, err := json.Marshal(doc)
	if err != nil {
		return doc, err
	}
	_, err = ts.db.Exec(ctx, `UPDATE task_artifact SET body = ?, created_at = ? WHERE task_id = ? AND created_at = ?`,
		body, db.At(ts.now()), t.ID, stored)
	return doc, err
}

// buildArtifact makes every artifact: for the store, for the webhook and for a refresh.
func (ts *Tasks) buildArtifact(ctx context.Context, q db.Querier, t Task) (CompletionArtifact, error) {
	issues, err := ts.reported(ctx, q, t.ID)
	if err != nil {
		return CompletionArtifact{}, err
	}
	changes, err := t.changes(ctx, q)
	if err != nil {
		return CompletionArtifact{}, err
	}
	findings := make([]Finding, 0, len(issues))
	for _, i := range issues {
		if changes != nil && !changes.Has(i.ID) {
			continue
		}
		findings = append(findings, Finding{
			ID: i.ID, Title: i.Title, Severity: i.Severity, Status: string(i.Status), Description: i.Description,
			Evidence: i.Evidence, Remediation: i.Remediation, Target: i.Target, MatchedAt: i.MatchedAt, TemplateID: i.TemplateID,
		})
	}
	return CompletionArtifact{
		SchemaVersion: 1, CompletionDelivery: t.Delivery, TaskID: t.ID, StreamID: t.StreamID, Status: t.Status,
		CompletedAt: t.CompletedAt, IssueCount: len(findings), Summary: t.Summary, Findings: findings,
		Changes: changes,
	}, nil
}
