// Package issue has what people do with issues, which are the findings of a team seen through its tasks: those that
// tasks have found (package task stores them), and those that people report. An issue that is not of a private task is
// a sighting of a weakness (package finding): its status and severity are the weakness's, wherever they are changed.
//
// A reported issue is stored as any sighting is, so that it is recognized and decided as one: in the task that it
// names, or else in the team's scan of uploaded results named ScanName.
package issue

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/core/asset"
	"github.com/vedette-sec/vedette/internal/core/finding"
	"github.com/vedette-sec/vedette/internal/core/finding/comment"
	"github.com/vedette-sec/vedette/internal/core/finding/identity"
	"github.com/vedette-sec/vedette/internal/core/finding/work"
	"github.com/vedette-sec/vedette/internal/core/scan"
	"github.com/vedette-sec/vedette/internal/core/task"
	"github.com/vedette-sec/vedette/internal/engine"
	"github.com/vedette-sec/vedette/internal/engine/syntax"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/ids"
)

// ScanName is the name of the scan that keeps what people report outside of tasks.
const ScanName = "Reported issues"

// Issues is the service.
type Issues struct {
	db       *db.DB
	tasks    *task.Tasks
	scans    *scan.Scans
	findings *finding.Findings
	assets   *asset.Assets
	works    *work.Works
	comments *comment.Comments
	now      func() time.Time
}

// New makes the service.
func New(
	d *db.DB, ts *task.Tasks, ss *scan.Scans, fs *finding.Findings, as *asset.Assets, ws *work.Works, cs *comment.Comments,
) *Issues {
	return &Issues{d, ts, ss, fs, as, ws, cs, time.Now}
}

// Report is an issue that a person reports. Title and Target are needed.
type Report struct {
	TaskID      string // empty: of no task
	Title       string
	Severity    string // one of finding.Severities; empty: unknown
	Status      finding.Status
	Description string
	Remediation string
	Target      string // a URL, a host, or host:port
	MatchedAt   string // empty: Target
	TemplateID  string // what found it; empty: one is made of the title
	CVE, CWE    []string
	Tags        []string
	Request     string // what shows it
	Response    string
}

// Created is a reported issue; IsKnown: it was reported before, and is as it was.
type Created struct {
	task.Issue

	IsKnown bool
}

// MaxReports bounds the reports of one request.
const MaxReports = 100

// event is a report as a sighting. What is reported under the same title at the same place is the same.
func (r Report) event(now time.Time) engine.Event {
	e := engine.Event{
		TemplateID: cmp.Or(strings.TrimSpace(r.TemplateID), "reported:"+slug(r.Title)), Type: "reported",
		MatchedAt: cmp.Or(r.MatchedAt, r.Target), Request: r.Request, Response: r.Response, Timestamp: now,
		MatcherStatus: true,
		Info: syntax.Info{
			Name: r.Title, Author: []string{}, Tags: append([]string{}, r.Tags...), Description: r.Description,
			Remediation: r.Remediation, Severity: syntax.Severity(r.Severity),
		},
	}
	if len(r.CVE)+len(r.CWE) > 0 {
		e.Info.Classification = &syntax.Classification{CVEID: lower(r.CVE), CWEID: lower(r.CWE)}
	}
	return e
}

func lower(words []string) (out []string) {
	for _, w := range words {
		out = append(out, strings.ToLower(strings.TrimSpace(w)))
	}
	return out
}

// slug is a title without what people write differently: letters and digits, joined by hyphens.
func slug(title string) string {
	words := strings.FieldsFunc(strings.ToLower(title), func(c rune) bool {
		return (c < 'a' || c > 'z') && (c < '0' || c > '9') && c < 0x80
	})
	text := strings.Join(words, "-")
	return text[:min(len(text), 120)]
}

// check refuses a report that says too little; field is the beginning of the name of its fields.
func (r *Report) check(field string) error {
	r.Title, r.Target = strings.TrimSpace(db.Clean(r.Title)), strings.TrimSpace(db.Clean(r.Target))
	r.Severity, r.Status = cmp.Or(r.Severity, "unknown"), cmp.Or(r.Status, finding.Open)
	switch {
	case r.Title == "":
		return errs.Field(field+"title", "%stitle is required.", field)
	case r.Target == "":
		return errs.Field(field+"target", "%starget is required: a URL, a host, or host:port.", field)
	case !slices.Contains(finding.Severities, r.Severity):
		return errs.Field(field+"severity", "%sseverity must be one of %s.", field, strings.Join(finding.Severities, ", "))
	case !slices.Contains(finding.Statuses, r.Status):
		return errs.Field(field+"status", "%sstatus is none of the statuses of a finding.", field)
	}
	if identity.Of(r.event(time.Time{}), "").Host == "" {
		return errs.Field(field+"target", "%starget must be a URL, a host, or host:port.", field)
	}
	return nil
}

// Create stores what the caller reports, all or nothing, in the order of the reports. What was reported before, by the
// same title at the same place in the same task, is not stored again. A task that the caller does not see is NotFound.
// field names the field of one report in errors, such as "issues[0].".
func (is *Issues) Create(ctx context.Context, reports []Report, field func(i int) string) ([]Created, error) {
	c, err := account.Writer(ctx)
	if err != nil {
		return nil, err
	}
	if len(reports) > MaxReports {
		return nil, errs.Field("issues", "issues must have at most %d issues.", MaxReports)
	}
	tasks := map[string]task.Task{}
	for i := range reports {
		r := &reports[i]
		if err := r.check(field(i)); err != nil {
			return nil, err
		}
		if _, is := tasks[r.TaskID]; r.TaskID == "" || is {
			continue
		}
		tasks[r.TaskID] = task.Task{}
	}
	for id := range tasks {
		if tasks[id], err = is.tasks.Find(ctx, id); err != nil {
			return nil, err
		}
	}
	stored, known := make([]string, len(reports)), make([]bool, len(reports))
	err = is.db.Tx(ctx, func(tx *db.Tx) (err error) {
		scanID := ""
		for i, r := range reports {
			if r.TaskID == "" && scanID == "" {
				if scanID, err = is.scan(ctx, tx, c); err != nil {
					return err
				}
			}
			if stored[i], known[i], err = is.store(ctx, tx, c, r, tasks[r.TaskID], scanID); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	out := make([]Created, len(reports))
	for i, id := range stored {
		if out[i].Issue, err = is.tasks.FindIssue(ctx, id); err != nil {
			return nil, err
		}
		out[i].IsKnown = known[i]
	}
	return out, nil
}

// store stores one report, and the finding that it is unless its task is private.
func (is *Issues) store(
	ctx context.Context, tx *db.Tx, c account.Caller, r Report, t task.Task, scanID string,
) (id string, known bool, err error) {
	now := db.At(is.now())
	e := r.event(now.Time)
	from := finding.Origin{TeamID: c.TeamID, ScanID: scanID}
	var taskID *string
	if r.TaskID != "" {
		taskID, from = &t.ID, finding.Origin{TeamID: c.TeamID, ScanID: t.ID, Run: int64(t.Index), IsTask: true}
	}
	isShared := t.Visibility != task.Private
	findingID := ""
	if isShared {
		if _, err := is.findings.Add(ctx, tx, from, []finding.Sighting{{Event: e, Target: r.Target}}); err != nil {
			return "", false, err
		}
		findingID = finding.IDOf(from.ScanID, e)
		id, err = db.Value[string](ctx, tx, `SELECT id FROM issue WHERE finding_id = ?`, findingID)
	} else {
		id, err = db.Value[string](ctx, tx, `SELECT id FROM issue WHERE task_id = ? AND hash = ?`, t.ID,
			finding.Fingerprint(e, ""))
	}
	if !db.IsNoRows(err) {
		return id, true, err
	}
	id = ids.New()
	if _, err := tx.Exec(ctx, `INSERT INTO issue (id, team_id, task_id, hash, status, verification, severity, title,
		description, remediation, template_id, target, matched_at, evidence, event, finding_id, reported_by, created_at,
		updated_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		id, c.TeamID, taskID, finding.Fingerprint(e, ""), r.Status, task.Reported, r.Severity, r.Title,
		db.Clean(r.Description), db.Clean(r.Remediation), db.Clean(e.TemplateID), r.Target, db.Clean(e.MatchedAt),
		db.Doc(is.evidence(r, e)), db.Doc(e), findingID, c.Email, now, now); err != nil {
		return "", false, err
	}
	if r.Status != finding.Open && isShared {
		err = is.findings.Decide(ctx, tx, c.TeamID, findingID, r.Status, c.Email)
	} else {
		err = nil
	}
	return id, false, err
}

// evidence is what the report shows; empty when it shows nothing.
func (is *Issues) evidence(r Report, e engine.Event) []task.Evidence {
	if r.Request == "" && r.Response == "" {
		return []task.Evidence{}
	}
	return []task.Evidence{{Kind: "report", URL: e.MatchedAt, Request: db.Clean(r.Request),
		Response: db.Clean(r.Response), At: e.Timestamp}}
}

// scan is the scan of the caller's team that keeps what people report. It is made when it is needed first, and again
// when it was deleted.
func (is *Issues) scan(ctx context.Context, tx *db.Tx, c account.Caller) (id string, err error) {
	id, err = db.Value[string](ctx, tx, `INSERT INTO issue_scan (team_id, scan_id) VALUES (?, '')
		ON CONFLICT (team_id) DO UPDATE SET scan_id = issue_scan.scan_id RETURNING scan_id`, c.TeamID) // and locks it
	if err != nil {
		return "", err
	}
	kept, err := db.Value[int](ctx, tx, `SELECT count(*) FROM scan WHERE id = ? AND team_id = ?`, id, c.TeamID)
	if err != nil || kept > 0 {
		return id, err
	}
	if id, err = is.scans.Keep(ctx, tx, c, ScanName); err != nil {
		return "", err
	}
	_, err = tx.Exec(ctx, `UPDATE issue_scan SET scan_id = ? WHERE team_id = ?`, id, c.TeamID)
	return id, err
}
