package task

import (
	"cmp"
	"context"

	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/core/finding"
	"github.com/vedette-sec/vedette/internal/core/finding/amend"
	"github.com/vedette-sec/vedette/internal/core/finding/chain"
	"github.com/vedette-sec/vedette/internal/engine/syntax"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/errs"
)

// A verified issue is a sighting of a weakness of the team, as what scans see is: it has the same identity and the same
// status. Issues of a private task are none, as only its owner may see them.

// issueStatus is the status of an issue in SQL: that of its finding, or the last that the issue itself was given.
const issueStatus = `coalesce((SELECT f.status FROM finding f WHERE f.id = issue.finding_id), issue.status)`

// IsShared reports whether everybody in the team sees the task.
func (t Task) IsShared() bool { return t.Visibility != Private && !t.closed }

// ShareProject makes the verified issues of a project's tasks sightings, or no longer so, as the project is shared.
func (ts *Tasks) ShareProject(ctx context.Context, projectID string) error {
	tasks, err := db.Values[string](ctx, ts.db, `SELECT id FROM task WHERE project_id = ?`, projectID)
	for _, id := range tasks {
		if err == nil {
			err = ts.db.Tx(ctx, func(tx *db.Tx) error { return ts.shareIssues(ctx, tx, id) })
		}
	}
	return err
}

// issueSeverity is the severity of an issue in SQL, likewise.
const issueSeverity = `coalesce((SELECT f.severity FROM finding f WHERE f.id = issue.finding_id), issue.severity)`

// shareIssues makes the verified issues of a task sightings, or, of a private task, no longer so.
func (ts *Tasks) shareIssues(ctx context.Context, tx *db.Tx, taskID string) error {
	t, err := ts.byID(ctx, tx, taskID)
	if err != nil {
		return err
	}
	if !t.IsShared() {
		if err := ts.findings.DeleteOfScan(ctx, tx, t.TeamID, t.ID); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, `UPDATE issue SET status = `+issueStatus+`, severity = `+issueSeverity+`, finding_id = '' WHERE task_id = ? AND finding_id <> ''`,
			t.ID)
		return err
	}
	issues, err := ts.issues(ctx, tx, "task_id = ? AND verification IN "+countedStates+" AND finding_id = ''", t.ID)
	for _, i := range issues {
		if err := ts.share(ctx, tx, t, i); err != nil {
			return err
		}
	}
	return err
}

// share makes one verified issue a sighting. What was decided about it before holds for the weakness, if nothing was.
func (ts *Tasks) share(ctx context.Context, tx *db.Tx, t Task, i Issue) error {
	e := i.Event
	e.Info.Name, e.Info.Severity, e.MatcherStatus = i.Title, syntax.Severity(i.Severity), true
	e.Info.Description, e.Info.Remediation = i.Description, i.Remediation
	seen := []finding.Sighting{{Event: e, Target: i.Target, Proof: i.proof()}}
	from := finding.Origin{TeamID: t.TeamID, ScanID: t.ID, Run: int64(t.Index), IsTask: true, Source: chain.Task}
	if _, err := ts.findings.Add(ctx, tx, from, seen); err != nil {
		return err
	}
	id := finding.IDOf(t.ID, e)
	if _, err := tx.Exec(ctx, `UPDATE issue SET finding_id = ? WHERE id = ?`, id, i.ID); err != nil {
		return err
	}
	known, err := db.Value[IssueStatus](ctx, tx, `SELECT status FROM finding WHERE id = ?`, id)
	if err != nil || i.Status == Open || known != Open {
		return err
	}
	return ts.findings.Decide(ctx, tx, t.TeamID, id, finding.Status(i.Status), "")
}

// proof is how an issue can be shown again, and how often it was; nil: it cannot.
func (i Issue) proof() *chain.Proof {
	var p chain.Proof
	for _, e := range i.Evidence {
		p.Shown, p.Runs = p.Shown+e.Confirmed, p.Runs+e.Tried
	}
	if t := i.RetestTemplate(); t != nil {
		p.Template, p.Digest = t.TemplateID, t.Digest
	}
	if p == (chain.Proof{}) {
		return nil
	}
	return &p
}

// decide gives an issue a status, and so its weakness in all scans and tasks. actor is an email; empty: the service.
func (ts *Tasks) decide(ctx context.Context, tx *db.Tx, teamID, issueID string, to IssueStatus, actor string) error {
	id, err := db.Value[string](ctx, tx, `UPDATE issue SET status = ? WHERE id = ? RETURNING finding_id`, to, issueID)
	if err != nil || id == "" {
		return err
	}
	if err := ts.findings.Decide(ctx, tx, teamID, id, finding.Status(to), actor); !errs.Is(err, errs.NotFound) {
		return err
	}
	return nil // the finding was deleted
}

// amend gives the finding of an issue the severity and the words that the issue was given.
func (ts *Tasks) amend(ctx context.Context, tx *db.Tx, c account.Caller, issueID string, up IssueUpdate) error {
	id, err := db.Value[string](ctx, tx, `SELECT finding_id FROM issue WHERE id = ?`, issueID)
	if err != nil || id == "" {
		return err
	}
	f, err := ts.findings.InTeam(ctx, tx, c.TeamID, id)
	if err == nil && up.Severity != nil && *up.Severity != f.Severity {
		err = amend.Apply(ctx, ts.findings, tx, c.TeamID, f, amend.Change{Severity: *up.Severity, Actor: c.Email})
	}
	if err == nil && (up.Title != nil || up.Description != nil || up.Remediation != nil) {
		text := func(p *string) string { return *cmp.Or(p, new(string)) }
		err = ts.findings.Describe(ctx, tx, c.TeamID, id, finding.Words{Name: text(up.Title),
			Description: text(up.Description), Remediation: text(up.Remediation)})
	}
	if errs.Is(err, errs.NotFound) {
		return nil // the finding was deleted
	}
	return err
}

// Backfill makes sightings of the verified issues that an older version stored. The server calls it before it answers
// requests.
func (ts *Tasks) Backfill(ctx context.Context) error {
	tasks, err := db.Values[string](ctx, ts.db, `SELECT DISTINCT i.task_id FROM issue i JOIN task t ON t.id = i.task_id
		WHERE i.verification IN `+countedStates+` AND i.finding_id = '' AND t.visibility <> ?
		AND NOT EXISTS (SELECT 1 FROM project p WHERE p.id = t.project_id AND NOT p.shared)`, Private)
	for _, id := range tasks {
		if err == nil {
			err = ts.db.Tx(ctx, func(tx *db.Tx) error { return ts.shareIssues(ctx, tx, id) })
		}
	}
	return err
}
