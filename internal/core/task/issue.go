package task

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
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

// IssueStatus is what people have decided about an issue.
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

// Verification is what the second, independent request said.
type Verification string

// The verdicts. Only Verified issues are reported.
const (
	Pending    Verification = "pending"
	Verified   Verification = "verified"
	Unverified Verification = "unverified" // could not be confirmed; the note says why
)

// Severities from the worst to the least.
var Severities = []string{"critical", "high", "medium", "low", "info", "unknown"}

// Issue is one finding of a task.
type Issue struct {
	ID           string       `json:"id"`
	TaskID       string       `json:"task_id"`
	Status       IssueStatus  `json:"status"`
	Verification Verification `json:"verification"`
	Severity     string       `json:"severity"`
	Title        string       `json:"title"`
	Description  string       `json:"description"`
	Remediation  string       `json:"remediation"`
	TemplateID   string       `json:"template_id"`
	Target       string       `json:"target"`
	MatchedAt    string       `json:"matched_at"`
	Evidence     []Evidence   `json:"evidence"`
	Note         string       `json:"note,omitempty"`
	CreatedAt    time.Time    `json:"created_at"`
	UpdatedAt    time.Time    `json:"updated_at"`
	Retest       *Retest      `json:"retest,omitempty" doc:"The last look at it after its task; absent: none."`

	Event engine.Event `json:"-"` // what the engine saw first
	Proof *Proof       `json:"-"` // how to show it again; nil: as TemplateID says
	// Judged is what verifying it came to, which Confirm and Doubt keep; zero: not yet, or by
	// an earlier release.
	Judged loop.Verification `json:"-"`
}

// Proof is how a finding can be shown again without any other knowledge: a
// template's text, or a request with what its answer must and must not hold.
type Proof struct {
	Template string            `json:"template,omitempty"`
	Method   string            `json:"method,omitempty"`
	URL      string            `json:"url,omitempty"`
	Headers  map[string]string `json:"headers,omitempty"`
	Body     string            `json:"body,omitempty"`
	Status   int               `json:"status,omitempty"`   // 0: any
	Contains []string          `json:"contains,omitempty"` // in the answer's header or body, each
	Absent   []string          `json:"absent,omitempty"`
}

// Evidence is one request and what came back, as text.
type Evidence struct {
	Kind      string    `json:"kind"` // detection, or verification
	URL       string    `json:"url"`
	Matcher   string    `json:"matcher,omitempty"`
	Extracted []string  `json:"extracted,omitempty"`
	Request   string    `json:"request"`
	Response  string    `json:"response"` // the beginning of it
	Curl      string    `json:"curl,omitempty"`
	At        time.Time `json:"at"`

	// Of a verification: the verifier's word, and how often of how many times it was shown.
	Verdict   string `json:"verdict,omitempty"`
	Confirmed int    `json:"confirmed,omitempty"`
	Tried     int    `json:"tried,omitempty"`
	// Means is what shows a confirmed finding again without a model; nil in older ones.
	Means *Means `json:"means,omitempty" doc:"What shows a confirmed finding again, without a language model."`
}

// Means is the template that shows a finding again, so that a retest costs no call of a model.
type Means struct {
	TemplateID string `json:"template_id,omitempty" doc:"Of the catalogue or of the team; absent: nothing shows it again."`
	Compiled   bool   `json:"compiled" doc:"The template was made of this finding, tried, and is kept among the team's."`
	Reason     string `json:"reason,omitempty" doc:"Why it was not compiled."`
	Digest     string `json:"digest,omitempty" doc:"SHA-256 of the compiled template's text."`
}

// maxEvidence is how much of a response an issue keeps, in bytes.
const maxEvidence = 8 << 10

func evidence(kind string, e engine.Event, at time.Time) Evidence {
	return Evidence{
		Kind: kind, URL: e.MatchedAt, Matcher: e.MatcherName, Extracted: e.ExtractedResults,
		Request: excerpt(e.Request), Response: excerpt(e.Response), Curl: e.CurlCommand, At: at,
	}
}

func excerpt(s string) string {
	if len(s) > maxEvidence {
		s = s[:maxEvidence] + "\n… (cut)"
	}
	return db.Clean(s)
}

// hash names what was found where, so that a run that happens twice finds it once.
func hash(e engine.Event) string {
	at := e.MatchedAt
	if e.Fuzzed { // what was sent may have numbers in it that are new each time
		at, _, _ = strings.Cut(at, "?")
		at += " " + e.FuzzingPosition + " " + e.FuzzingParameter
	}
	sum := sha256.Sum256([]byte(strings.Join([]string{e.TemplateID, at, e.MatcherName, e.ExtractorName}, "\x00")))
	return hex.EncodeToString(sum[:])
}

// Found stores what a scan saw, at once and before it is verified, and gives its id. Seen
// before in this task, it is not stored again.
func (r *Run) Found(ctx context.Context, target string, e engine.Event) (id string, err error) {
	title := e.Info.Name
	if e.MatcherName != "" {
		title += " (" + e.MatcherName + ")"
	}
	return r.Propose(ctx, Issue{
		Severity: strings.ToLower(string(e.Info.Severity)), Title: title, Description: e.Info.Description, Remediation: e.Info.Remediation,
		TemplateID: e.TemplateID, Target: target, MatchedAt: e.MatchedAt, Event: e,
	})
}

// Propose stores what may be a finding, not verified yet, and gives its id. What its
// event says of the same place is stored once.
func (r *Run) Propose(ctx context.Context, i Issue) (id string, err error) {
	now := db.At(r.tasks.now())
	if !slices.Contains(Severities, i.Severity) {
		i.Severity = "unknown"
	}
	err = r.write(ctx, func(tx *db.Tx) error {
		return tx.QueryRow(ctx, `INSERT INTO issue (id, team_id, task_id, hash, status, verification, severity, title, description, remediation,
			template_id, target, matched_at, evidence, event, proof, created_at, updated_at)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (task_id, hash) DO UPDATE SET hash = excluded.hash RETURNING id`,
			ids.New(), r.Task.TeamID, r.Task.ID, hash(i.Event), Open, Pending, i.Severity, db.Clean(i.Title), db.Clean(i.Description), db.Clean(i.Remediation),
			db.Clean(i.TemplateID), db.Clean(i.Target), db.Clean(i.MatchedAt), db.Doc([]Evidence{evidence("detection", i.Event, now.Time)}), db.Doc(i.Event), db.Doc(i.Proof), now, now).Scan(&id)
	})
	return id, err
}

// Name is one for the template of an issue: the same finding has the same in every task.
func (i Issue) Name() string { return "finding-" + hash(i.Event)[:16] }

// Means is what shows the issue again; nil when it was not confirmed, or by an earlier release.
func (i Issue) Means() *Means {
	for _, e := range slices.Backward(i.Evidence) {
		if e.Means != nil {
			return e.Means
		}
	}
	return nil
}

// Unchecked lists what this task found and has not verified yet.
func (r *Run) Unchecked(ctx context.Context) ([]Issue, error) {
	return r.tasks.issues(ctx, r.tasks.db, "task_id = ? AND verification = ?", r.Task.ID, Pending)
}

// Issues are all that this task found, verified or not.
func (r *Run) Issues(ctx context.Context) ([]Issue, error) {
	return r.tasks.issues(ctx, r.tasks.db, "task_id = ?", r.Task.ID)
}

// Issue is one that this task found.
func (r *Run) Issue(ctx context.Context, id string) (Issue, error) {
	found, err := r.tasks.issues(ctx, r.tasks.db, "id = ? AND task_id = ?", id, r.Task.ID)
	if err != nil || len(found) == 0 {
		return Issue{}, cmp.Or(err, error(errs.Missing("issue")))
	}
	return found[0], nil
}

// Confirmation is how an issue was shown again: by independent requests, Confirmed of
// Tried times.
type Confirmation struct {
	Last             engine.Event // of these requests
	Confirmed, Tried int
	Means            *Means // what shows it again later
}

// Confirm reports an issue.
func (r *Run) Confirm(ctx context.Context, i Issue, c Confirmation) error {
	now := db.At(r.tasks.now())
	proof := evidence("verification", c.Last, now.Time)
	proof.Verdict, proof.Confirmed, proof.Tried, proof.Means = "confirmed", c.Confirmed, c.Tried, c.Means
	i.Evidence = append(i.Evidence, proof)
	return r.write(ctx, func(tx *db.Tx) error {
		n, err := tx.Exec(ctx, `UPDATE issue SET verification = ?, evidence = ?, judged = ?, updated_at = ? WHERE id = ? AND verification = ?`, Verified, db.Doc(i.Evidence), db.Doc(i.Judged), now, i.ID, Pending)
		if err != nil || n == 0 {
			return err
		}
		i.Verification, i.UpdatedAt = Verified, now.Time
		return r.tasks.emit(ctx, tx, r.Task.StreamID, EventIssue, i)
	})
}

// Doubt keeps an issue out of the report, with the reason.
func (r *Run) Doubt(ctx context.Context, i Issue, why string) error {
	return r.write(ctx, func(tx *db.Tx) error {
		_, err := tx.Exec(ctx, `UPDATE issue SET verification = ?, note = ?, judged = ?, updated_at = ? WHERE id = ? AND verification = ?`, Unverified, db.Clean(why), db.Doc(i.Judged), db.At(r.tasks.now()), i.ID, Pending)
		return err
	})
}

// IssueFilter picks issues of a list.
type IssueFilter struct {
	TaskID     string      // empty: all of the team's
	Status     IssueStatus // empty: any
	Severity   string      // empty: any
	Unverified bool        // also those that could not be confirmed
	After      string      // the id of the last issue of the page before
	Limit      int
}

// FindIssues lists issues of the caller's team, newest first, and how many the filter
// picks in all.
func (ts *Tasks) FindIssues(ctx context.Context, f IssueFilter) (issues []Issue, total int, err error) {
	c, err := account.From(ctx)
	if err != nil {
		return nil, 0, err
	}
	var w db.Where
	w.And("team_id = ?", c.TeamID)
	w.And(issueSeen, c.UserID, Private)
	verdicts := []Verification{Verified}
	if f.Unverified {
		verdicts = append(verdicts, Unverified, Pending)
	}
	db.In(&w, "verification", verdicts)
	for column, value := range map[string]string{"task_id": f.TaskID, "status": string(f.Status), "severity": f.Severity} {
		if value != "" {
			w.And(column+" = ?", value)
		}
	}
	if err := ts.db.QueryRow(ctx, `SELECT count(*) FROM issue`+w.String(), w.Args...).Scan(&total); err != nil {
		return nil, 0, err
	}
	if f.After != "" {
		w.And("id < ?", f.After)
	}
	rows, err := ts.db.Query(ctx, `SELECT `+issueColumns+` FROM issue`+w.String()+` ORDER BY id DESC LIMIT ?`, append(w.Args, f.Limit)...)
	issues, err = db.Collect(rows, err, scanIssue)
	return issues, total, err
}

// FindIssue is an issue of the caller's team.
func (ts *Tasks) FindIssue(ctx context.Context, id string) (Issue, error) {
	c, err := account.From(ctx)
	if err != nil {
		return Issue{}, err
	}
	found, err := ts.issues(ctx, ts.db, "id = ? AND team_id = ? AND "+issueSeen, id, c.TeamID, c.UserID, Private)
	if err != nil || len(found) == 0 {
		return Issue{}, cmp.Or(err, error(errs.Missing("issue")))
	}
	return found[0], nil
}

// IssueUpdate is what was sent of an issue: nil means "leave it".
type IssueUpdate struct {
	Status      *IssueStatus
	Severity    *string
	Title       *string
	Description *string
	Remediation *string
}

// UpdateIssue changes an issue; a refreshed artifact shows it.
func (ts *Tasks) UpdateIssue(ctx context.Context, id string, up IssueUpdate) (Issue, error) {
	c, err := account.Writer(ctx)
	if err != nil {
		return Issue{}, err
	}
	n, err := ts.db.Exec(ctx, `UPDATE issue SET status = coalesce(?, status), severity = coalesce(?, severity), title = coalesce(?, title),
		description = coalesce(?, description), remediation = coalesce(?, remediation), updated_at = ? WHERE id = ? AND team_id = ? AND `+issueSeen,
		up.Status, up.Severity, up.Title, up.Description, up.Remediation, db.At(ts.now()), id, c.TeamID, c.UserID, Private)
	if err != nil {
		return Issue{}, err
	}
	if n == 0 {
		return Issue{}, errs.Missing("issue")
	}
	return ts.FindIssue(ctx, id)
}

// reported lists the issues of a task that are findings: verified, and not set aside by
// a person as false or double. The worst comes first.
func (ts *Tasks) reported(ctx context.Context, q db.Querier, taskID string) ([]Issue, error) {
	found, err := ts.issues(ctx, q, "task_id = ? AND verification = ? AND status NOT IN (?, ?)", taskID, Verified, FalsePositive, Duplicate)
	slices.SortStableFunc(found, func(a, b Issue) int {
		return cmp.Compare(slices.Index(Severities, a.Severity), slices.Index(Severities, b.Severity))
	})
	return found, err
}

// issueSeen is the condition that a user may see an issue: its task is theirs, or not
// private.
const issueSeen = `EXISTS (SELECT 1 FROM task t WHERE t.id = issue.task_id AND (t.user_id = ? OR t.visibility <> ?))`

const issueColumns = `id, task_id, status, verification, severity, title, description, remediation, template_id, target, matched_at, evidence, event, proof, judged, retest, note, created_at, updated_at`

func (ts *Tasks) issues(ctx context.Context, q db.Querier, cond string, args ...any) ([]Issue, error) {
	rows, err := q.Query(ctx, `SELECT `+issueColumns+` FROM issue WHERE `+cond+` ORDER BY id`, args...)
	return db.Collect(rows, err, scanIssue)
}

func scanIssue(r db.Row) (i Issue, err error) {
	var proof db.JSON[[]Evidence]
	var event db.JSON[engine.Event]
	var again db.JSON[*Proof]
	var judged db.JSON[loop.Verification]
	var retest db.JSON[*Retest]
	var created, updated db.Time
	err = r.Scan(&i.ID, &i.TaskID, &i.Status, &i.Verification, &i.Severity, &i.Title, &i.Description, &i.Remediation, &i.TemplateID,
		&i.Target, &i.MatchedAt, &proof, &event, &again, &judged, &retest, &i.Note, &created, &updated)
	i.Evidence, i.Event, i.Proof, i.Judged, i.Retest = proof.V, event.V, again.V, judged.V, retest.V
	i.CreatedAt, i.UpdatedAt = created.Time, updated.Time
	return i, err
}
