package task

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/vedette-sec/vedette/internal/agent/loop"
	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/engine"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/ids"
)

// IssueStatus is a person's decision about an issue.
type IssueStatus string

// The decisions; any may follow any.
const (
	Open          IssueStatus = "open"
	FalsePositive IssueStatus = "false_positive"
	Fixed         IssueStatus = "fixed"
	Duplicate     IssueStatus = "duplicate"
	FixInProgress IssueStatus = "fix_in_progress"
	AcceptedRisk  IssueStatus = "accepted_risk"
	Triaged       IssueStatus = "triaged"
)

// IssueStatuses are all decisions.
var IssueStatuses = []IssueStatus{Open, FalsePositive, Fixed, Duplicate, FixInProgress, AcceptedRisk, Triaged}

// VerificationState is the result of the second, independent request.
type VerificationState string

// The results. Only Verified issues of tasks are shown, and those that people report.
const (
	Pending    VerificationState = "pending"
	Verified   VerificationState = "verified"
	Unverified VerificationState = "unverified" // could not be confirmed; the note says why
	Reported   VerificationState = "reported"   // a person says so; nothing was sent
)

// countedStates are the states of issues that count: a second request or a person has confirmed them. In SQL.
const countedStates = `('verified', 'reported')`

// Severities are all severities, the worst first.
var Severities = []string{"critical", "high", "medium", "low", "info", "unknown"}

// Issue is one finding of a task.
type Issue struct {
	ID           string            `json:"id"`
	TaskID       string            `json:"task_id" doc:"The task that found it; empty: a person reported it outside of tasks."`
	Status       IssueStatus       `json:"status"`
	Verification VerificationState `json:"verification"`
	Severity     string            `json:"severity"`
	Title        string            `json:"title"`
	Description  string            `json:"description"`
	Remediation  string            `json:"remediation"`
	TemplateID   string            `json:"template_id"`
	Target       string            `json:"target"`
	MatchedAt    string            `json:"matched_at"`
	Evidence     []Evidence        `json:"evidence"`
	Note         string            `json:"note,omitempty"`
	VulnID       string            `json:"vuln_id,omitempty" doc:"The finding that it is in the lists of the platform API; absent: it is not verified, or its task is private."`
	ReportedBy   string            `json:"reported_by,omitempty" doc:"Who reported it; absent: a task found it."`
	Assignee     string            `json:"assignee,omitempty" doc:"Who works on it: an address of a member; absent: nobody."`
	CreatedAt    time.Time         `json:"created_at"`
	UpdatedAt    time.Time         `json:"updated_at"`
	Retest       *Retest           `json:"retest,omitempty" doc:"The last look at it after its task; absent: none."`

	Event engine.Event `json:"-"` // the first one
	Proof *Proof       `json:"-"` // how to reproduce it; nil: by TemplateID
	// VerificationResult is what Confirm and MarkUnverified store; zero: none, or by an earlier release.
	VerificationResult loop.Verification `json:"-"`
}

// Proof is how a finding can be reproduced: a template's text, or a request with conditions for its response.
type Proof struct {
	Template string            `json:"template,omitempty"`
	Method   string            `json:"method,omitempty"`
	URL      string            `json:"url,omitempty"`
	Headers  map[string]string `json:"headers,omitempty"`
	Body     string            `json:"body,omitempty"`
	Status   int               `json:"status,omitempty"`   // 0: any
	Contains []string          `json:"contains,omitempty"` // each in the response's header or body
	Absent   []string          `json:"absent,omitempty"`
	// Program is the proof of the tester of web applications, with names in place of secrets.
	Program json.RawMessage `json:"program,omitempty"`
}

// Evidence is one request and its response, as text.
type Evidence struct {
	Kind      string    `json:"kind"` // detection or verification
	URL       string    `json:"url"`
	Matcher   string    `json:"matcher,omitempty"`
	Extracted []string  `json:"extracted,omitempty"`
	Request   string    `json:"request"`
	Response  string    `json:"response"` // the beginning of it
	Curl      string    `json:"curl,omitempty"`
	At        time.Time `json:"at"`
	// Compared are requests that it was compared with: the first of a blind test, or one that must not show it.
	Compared []Compared `json:"compared,omitempty" doc:"Requests that it was compared with."`

	// Of a verification: its result, and how often the finding was reproduced.
	Verdict        string          `json:"verdict,omitempty"`
	Confirmed      int             `json:"confirmed,omitempty"`
	Tried          int             `json:"tried,omitempty"`
	RetestTemplate *RetestTemplate `json:"means,omitempty" doc:"How a retest tests for a confirmed finding, without a language model."`
}

// Compared is a request that one of an evidence was compared with.
type Compared struct {
	Note     string `json:"note,omitempty" doc:"What the comparison shows."`
	Request  string `json:"request" doc:"The request, as text."`
	Response string `json:"response" doc:"The beginning of its answer, as text."`
}

// RetestTemplate is the template that tests for an issue again without a language model.
type RetestTemplate struct {
	TemplateID string `json:"template_id,omitempty" doc:"Of the catalogue or of the team; absent: no template tests for it."`
	Program    bool   `json:"proof,omitempty" doc:"The proof that the tester of web applications has kept is run again."`
	Compiled   bool   `json:"compiled" doc:"The template was made from this finding, tested, and added to the team's."`
	Reason     string `json:"reason,omitempty" doc:"Why it was not compiled."`
	Digest     string `json:"digest,omitempty" doc:"SHA-256 of the compiled template's text."`
}

const maxEvidence = 8 << 10 // bytes of a request or response

func evidence(kind string, e engine.Event, at time.Time) Evidence {
	return Evidence{
		Kind: kind, URL: e.MatchedAt, Matcher: e.MatcherName, Extracted: e.ExtractedResults,
		Request: excerpt(e.Request), Response: excerpt(e.Response), Curl: e.CurlCommand, At: at,
	}
}

// compare adds a request that it was compared with.
func (e *Evidence) compare(note, request, response string) {
	e.Compared = append(e.Compared, Compared{Note: db.Clean(note), Request: excerpt(request),
		Response: excerpt(response)})
}

func excerpt(s string) string {
	if len(s) > maxEvidence {
		s = s[:maxEvidence] + "\n… (cut)"
	}
	return db.Clean(s)
}

// hash identifies a finding within its task, so that a run that happens twice stores it once.
func hash(e engine.Event) string {
	at := e.Place()
	if e.Fuzzed { // payloads may contain numbers that change each time
		at, _, _ = strings.Cut(at, "?")
		at += " " + e.FuzzingPosition + " " + e.FuzzingParameter
	}
	sum := sha256.Sum256([]byte(strings.Join([]string{e.TemplateID, at, e.MatcherName, e.ExtractorName}, "\x00")))
	return hex.EncodeToString(sum[:])
}

// StoreMatch is StoreIssue for a match of a template on a target.
func (r *Run) StoreMatch(ctx context.Context, target string, e engine.Event) (id string, err error) {
	title := e.Info.Name
	if e.MatcherName != "" {
		title += " (" + e.MatcherName + ")"
	}
	return r.StoreIssue(ctx, Issue{
		Severity: strings.ToLower(string(e.Info.Severity)), Title: title, Description: e.Info.Description,
		Remediation: e.Info.Remediation, TemplateID: e.TemplateID, Target: target, MatchedAt: e.MatchedAt, Event: e,
	})
}

// StoreIssue stores an issue that is not verified yet, and returns its id. Events with the same hash are stored once.
func (r *Run) StoreIssue(ctx context.Context, i Issue) (id string, err error) {
	now := db.At(r.tasks.now())
	if !slices.Contains(Severities, i.Severity) {
		i.Severity = "unknown"
	}
	detection := evidence("detection", i.Event, now.Time)
	for _, c := range i.Event.Compared {
		detection.compare(c.Note, c.Request, c.Response)
	}
	err = r.write(ctx, func(tx *db.Tx) (err error) {
		id, err = db.Value[string](ctx, tx, `INSERT INTO issue (id, team_id, task_id, hash, status, verification, severity,
			title, description, remediation, template_id, target, matched_at, evidence, event, proof, created_at, updated_at)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
			ON CONFLICT (task_id, hash) DO UPDATE SET hash = excluded.hash RETURNING id`,
			ids.New(), r.Task.TeamID, r.Task.ID, hash(i.Event), Open, Pending, i.Severity,
			db.Clean(i.Title), db.Clean(i.Description), db.Clean(i.Remediation), db.Clean(i.TemplateID), db.Clean(i.Target),
			db.Clean(i.MatchedAt), db.Doc([]Evidence{detection}), db.Doc(i.Event), db.Doc(i.Proof), now, now)
		return err
	})
	return id, err
}

// Name is the id of the issue's template, the same for the same finding in every task.
func (i Issue) Name() string { return "finding-" + hash(i.Event)[:16] }

// RetestTemplate is for the last confirmation; nil when there was none, or only by an earlier release.
func (i Issue) RetestTemplate() *RetestTemplate {
	for _, e := range slices.Backward(i.Evidence) {
		if e.RetestTemplate != nil {
			return e.RetestTemplate
		}
	}
	return nil
}

// PendingIssues are the issues of this task that are not verified yet.
func (r *Run) PendingIssues(ctx context.Context) ([]Issue, error) {
	return r.tasks.issues(ctx, r.tasks.db, "task_id = ? AND verification = ?", r.Task.ID, Pending)
}

// Issues are all issues of this task, verified or not.
func (r *Run) Issues(ctx context.Context) ([]Issue, error) {
	return r.tasks.issues(ctx, r.tasks.db, "task_id = ?", r.Task.ID)
}

// Issue is an issue of this task.
func (r *Run) Issue(ctx context.Context, id string) (Issue, error) {
	return r.tasks.issue(ctx, r.tasks.db, "id = ? AND task_id = ?", id, r.Task.ID)
}

// Confirmation is the result of independent requests: Confirmed of Tried reproduced an issue.
type Confirmation struct {
	Last             engine.Event // of these requests
	Control          engine.Event // that did not show it; without a request: there was none
	Confirmed, Tried int
	RetestTemplate   *RetestTemplate
}

// Confirm marks an issue as verified, so that it is reported.
func (r *Run) Confirm(ctx context.Context, i Issue, c Confirmation) error {
	now := db.At(r.tasks.now())
	proof := evidence("verification", c.Last, now.Time)
	proof.Verdict, proof.Confirmed, proof.Tried, proof.RetestTemplate = "confirmed", c.Confirmed, c.Tried, c.RetestTemplate
	if c := c.Control; c.Request != "" {
		proof.compare("it must not show the weakness, and does not", c.Request, c.Response)
		i.Event.CompareWith("the control, which does not show it", db.Clean(c.Request), db.Clean(c.Response))
	}
	i.Evidence = append(i.Evidence, proof)
	return r.write(ctx, func(tx *db.Tx) error {
		n, err := tx.Exec(ctx, `UPDATE issue SET verification = ?, evidence = ?, event = ?, result = ?, updated_at = ?
			WHERE id = ? AND verification = ?`, Verified, db.Doc(i.Evidence), db.Doc(i.Event), db.Doc(i.VerificationResult), now,
			i.ID, Pending)
		if err != nil || n == 0 {
			return err
		}
		i.Verification, i.UpdatedAt = Verified, now.Time
		if err := r.tasks.shareIssues(ctx, tx, r.Task.ID); err != nil {
			return err
		}
		if i, err = r.tasks.issue(ctx, tx, "id = ?", i.ID); err != nil { // it may have a status that holds for its weakness
			return err
		}
		if err := r.tasks.emit(ctx, tx, r.Task.StreamID, EventIssue, i); err != nil {
			return err
		}
		return r.tasks.tellOfIssue(ctx, tx, r.Task)
	})
}

// MarkUnverified stores why an issue is not reported.
func (r *Run) MarkUnverified(ctx context.Context, i Issue, why string) error {
	return r.exec(ctx, `UPDATE issue SET verification = ?, note = ?, result = ?, updated_at = ?
		WHERE id = ? AND verification = ?`,
		Unverified, db.Clean(why), db.Doc(i.VerificationResult), db.At(r.tasks.now()), i.ID, Pending)
}

// IssueFilter picks issues.
type IssueFilter struct {
	TaskID     string      // empty: all of the team's
	ProjectID  string      // empty: of any or none
	Status     IssueStatus // empty: any
	Severity   string      // empty: any
	Unverified bool        // also those that could not be confirmed
	More       db.Where    // further conditions on the table issue
	After      string      // the id of the last issue of the page before
	Limit      int
}

// FindIssues lists issues of the caller's team, newest first, and their number on all pages.
func (ts *Tasks) FindIssues(ctx context.Context, f IssueFilter) (issues []Issue, total int, err error) {
	c, err := account.From(ctx)
	if err != nil {
		return nil, 0, err
	}
	var w db.Where
	w.And("team_id = ?", c.TeamID)
	w.And(issueVisible, c.UserID, Private, c.UserID)
	if f.Unverified {
		db.In(&w, "verification", []VerificationState{Verified, Reported, Unverified, Pending})
	} else {
		w.And("verification IN " + countedStates)
	}
	db.Equal(&w, "task_id", f.TaskID)
	db.Equal(&w, `(SELECT p.project_id FROM task p WHERE p.id = issue.task_id)`, f.ProjectID)
	db.Equal(&w, issueStatus, f.Status)
	db.Equal(&w, issueSeverity, f.Severity)
	if conds := f.More.String(); conds != "" {
		w.And(strings.TrimPrefix(conds, " WHERE "), f.More.Args...)
	}
	err = ts.db.Snapshot(ctx, func(q db.Querier) error {
		if total, err = db.Value[int](ctx, q, `SELECT count(*) FROM issue`+w.String(), w.Args...); err != nil {
			return err
		}
		if f.After != "" {
			w.And("id < ?", f.After)
		}
		issues, err = db.Select(ctx, q, scanIssue, issueQuery+w.String()+` ORDER BY id DESC LIMIT ?`,
			append(w.Args, f.Limit)...)
		return err
	})
	return issues, total, err
}

// FindIssue is an issue of the caller's team.
func (ts *Tasks) FindIssue(ctx context.Context, id string) (Issue, error) {
	c, err := account.From(ctx)
	if err != nil {
		return Issue{}, err
	}
	return ts.issue(ctx, ts.db, "id = ? AND team_id = ? AND "+issueVisible, id, c.TeamID, c.UserID, Private, c.UserID)
}

// IssueUpdate changes an issue; nil leaves a field as it is.
type IssueUpdate struct {
	Status      *IssueStatus
	Severity    *string
	Title       *string
	Description *string
	Remediation *string
}

// UpdateIssue changes an issue; a refreshed artifact shows it. Its status is that of its weakness.
func (ts *Tasks) UpdateIssue(ctx context.Context, id string, up IssueUpdate) (Issue, error) {
	c, err := account.Writer(ctx)
	if err != nil {
		return Issue{}, err
	}
	err = ts.db.Tx(ctx, func(tx *db.Tx) error {
		err := db.ExecOr(ctx, tx, errs.Missing("issue"), `UPDATE issue SET severity = coalesce(?, severity),
			title = coalesce(?, title), description = coalesce(?, description), remediation = coalesce(?, remediation),
			updated_at = ? WHERE id = ? AND team_id = ? AND `+issueVisible,
			up.Severity, up.Title, up.Description, up.Remediation, db.At(ts.now()), id, c.TeamID, c.UserID, Private, c.UserID)
		if err == nil {
			err = ts.amend(ctx, tx, c, id, up)
		}
		if err != nil || up.Status == nil {
			return err
		}
		return ts.decide(ctx, tx, c.TeamID, id, *up.Status, c.Email)
	})
	if err != nil {
		return Issue{}, err
	}
	return ts.FindIssue(ctx, id)
}

// reported lists the verified issues of a task, the worst first, without false positives and duplicates.
func (ts *Tasks) reported(ctx context.Context, q db.Querier, taskID string) ([]Issue, error) {
	found, err := ts.issues(ctx, q, "task_id = ? AND verification IN "+countedStates+" AND "+issueStatus+" NOT IN (?, ?)",
		taskID, FalsePositive, Duplicate)
	slices.SortStableFunc(found, func(a, b Issue) int {
		return cmp.Compare(slices.Index(Severities, a.Severity), slices.Index(Severities, b.Severity))
	})
	return found, err
}

// issueVisible is the condition that a user may see an issue, with the arguments of visible: it has no task and is a
// finding, or they may see its task.
var issueVisible = `(issue.task_id IS NULL AND EXISTS (SELECT 1 FROM finding f WHERE f.id = issue.finding_id) OR
	EXISTS (SELECT 1 FROM task t WHERE t.id = issue.task_id AND ` + visible + `))`

const issueQuery = `SELECT id, coalesce(task_id, ''), ` + issueStatus + `, verification, ` + issueSeverity + `, title, description, remediation, template_id,
	target, matched_at, evidence, event, proof, result, retest, note, finding_id, reported_by,
	coalesce((SELECT f.assignee FROM finding f WHERE f.id = issue.finding_id), ''), created_at, updated_at FROM issue`

func (ts *Tasks) issues(ctx context.Context, q db.Querier, cond string, args ...any) ([]Issue, error) {
	return db.Select(ctx, q, scanIssue, issueQuery+` WHERE `+cond+` ORDER BY id`, args...)
}

// issue is the only issue for which cond holds, or NotFound.
func (ts *Tasks) issue(ctx context.Context, q db.Querier, cond string, args ...any) (Issue, error) {
	i, err := scanIssue(q.QueryRow(ctx, issueQuery+` WHERE `+cond, args...))
	return i, db.OrMissing(err, "issue")
}

func scanIssue(r db.Row) (i Issue, err error) {
	err = r.Scan(&i.ID, &i.TaskID, &i.Status, &i.Verification, &i.Severity, &i.Title, &i.Description, &i.Remediation,
		&i.TemplateID, &i.Target, &i.MatchedAt, db.Into(&i.Evidence), db.Into(&i.Event), db.Into(&i.Proof),
		db.Into(&i.VerificationResult), db.Into(&i.Retest), &i.Note, &i.VulnID, &i.ReportedBy, &i.Assignee,
		db.Into(&i.CreatedAt), db.Into(&i.UpdatedAt))
	return i, err
}
