package export

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/vedette-sec/vedette/internal/agent"
	"github.com/vedette-sec/vedette/internal/core/export/fact"
	"github.com/vedette-sec/vedette/internal/core/export/report"
	"github.com/vedette-sec/vedette/internal/core/finding"
	"github.com/vedette-sec/vedette/internal/core/scan"
	"github.com/vedette-sec/vedette/internal/core/task"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/mask"
)

const (
	maxWorks = 10 // scans and tasks that a report describes
	maxScope = 60 // targets of one that are listed
	maxGaps  = 40 // reasons of one that are listed
)

// works are the scans and tasks of a report, those with most findings first; more is how many others there are.
func (f *File) works(ctx context.Context, c *chosen) (out []report.Work, more int, err error) {
	type work struct {
		id   string
		n    int
		task bool
	}
	var all []work
	if f.ScanID != "" {
		c.scans = map[string]int{f.ScanID: 1}
	}
	if f.TaskID != "" {
		c.tasks = map[string]int{f.TaskID: 1}
	}
	for id, n := range c.scans {
		all = append(all, work{id, n, false})
	}
	for id, n := range c.tasks {
		all = append(all, work{id, n, true})
	}
	slices.SortFunc(all, func(a, b work) int { return cmp.Or(b.n-a.n, strings.Compare(a.id, b.id)) })
	for _, w := range all[:min(len(all), maxWorks)] {
		var one report.Work
		if w.task {
			one, err = f.workOfTask(ctx, w.id)
		} else {
			one, err = f.workOfScan(ctx, w.id)
		}
		if errs.Is(err, errs.NotFound) { // deleted, or of another's private task
			continue
		}
		if err != nil {
			return nil, 0, err
		}
		out = append(out, one)
	}
	return out, max(0, len(all)-maxWorks), nil
}

// scanStates say why tests came to no result, where the coverage gives no reason.
var scanStates = map[scan.State]string{
	"skipped": "it was not tried", "budget": "the budget was spent", "denied": "it was out of scope",
	"failed": "there was no answer", "pending": "the scan did not come to it",
}

func (f *File) workOfScan(ctx context.Context, id string) (w report.Work, err error) {
	if f.es.from.Scans == nil || id == "" {
		return w, errs.Missing("scan")
	}
	s, err := f.es.from.Scans.Find(ctx, id)
	if err != nil {
		return w, err
	}
	w = report.Work{
		Kind:   "scan",
		ID:     s.ID,
		Name:   s.Name,
		Status: string(s.Status),
		Began:  s.Numbers.StartedAt,
		Ended:  s.Numbers.EndedAt,
	}
	if w.By, err = f.es.email(ctx, s.UserID); err != nil {
		return w, err
	}
	w.Scope, w.MoreScope = firstOf(s.Config.Targets)
	for _, pattern := range s.Config.Exclusions {
		if !strings.HasPrefix(pattern, "+") && len(w.Excluded) < maxScope {
			w.Excluded = append(w.Excluded, pattern)
		}
	}
	if s.Status == scan.Uploaded {
		w.Method = "The results were uploaded from another tool."
		w.Began, w.Ended = s.CreatedAt, s.UpdatedAt
		w.NotTested = []report.Gap{
			{What: "Unknown", Why: "The results come from another tool, which did not say what it tested."},
		}
		return w, nil
	}
	w.Method = "Detection templates were run against the targets; each match was confirmed by a second request."
	w.Done = [][2]string{
		{"Targets", report.Thousands(s.Numbers.Targets)},
		{"Templates", report.Thousands(s.Numbers.Templates)},
		{"Tests", report.Thousands(s.Numbers.Cells)},
		{"Requests sent", report.Thousands(s.Numbers.DoneRequests)},
		{"Run", strconv.FormatInt(s.Run, 10)},
		{"Why it ended", s.FailureReason},
	}
	if s.Config.Proxy != nil {
		w.Limits = append(w.Limits, [2]string{"Network", "through a proxy"})
	}
	gaps, rest, err := f.es.from.Scans.FindGaps(ctx, s.ID, maxGaps)
	if err != nil {
		return w, err
	}
	for _, g := range gaps {
		w.NotTested = append(
			w.NotTested,
			report.Gap{N: g.N, What: report.Title(string(g.State)) + ", such as " + fact.Clip(g.Target, 200),
				Why: report.Title(cmp.Or(g.Reason, scanStates[g.State]))},
		)
	}
	if rest > 0 {
		w.NotTested = append(
			w.NotTested,
			report.Gap{What: "Others", Why: "For further reasons; the coverage of the scan has each.", N: rest},
		)
	}
	if s.Run == 0 {
		w.NotTested = append(w.NotTested, report.Gap{What: "Everything", Why: "The scan was never launched."})
	}
	return w, nil
}

func firstOf(all []string) (first []string, more int) {
	for _, text := range all[:min(len(all), maxScope)] {
		first = append(first, fact.Clip(text, 300))
	}
	return first, max(0, len(all)-maxScope)
}

func (f *File) workOfTask(ctx context.Context, id string) (w report.Work, err error) {
	t, err := f.es.from.Tasks.Find(ctx, id)
	if err != nil {
		return w, err
	}
	w = report.Work{
		Kind:    "task",
		ID:      t.ID,
		Name:    t.Title,
		By:      t.Owner,
		Status:  string(t.Status),
		Began:   t.StartedAt,
		Ended:   t.CompletedAt,
		Summary: fact.Clip(t.Summary, 4000),
	}
	streams, err := f.es.from.Tasks.Streams(ctx, t.ID)
	if err != nil {
		return w, err
	}
	var instructions []string
	for _, s := range streams {
		instructions = append(instructions, fact.Clip(s.Instruction, 2000))
		if w.Began.IsZero() || !s.StartedAt.IsZero() && s.StartedAt.Before(w.Began) {
			w.Began = s.StartedAt
		}
	}
	w.Instruction = strings.Join(instructions[:min(len(instructions), 10)], "\n")
	w.Method = methodOf(t)
	scopeOf(&w, t)
	w.NotTested, err = f.taskGaps(ctx, t, streams)
	return w, err
}

func methodOf(t task.Task) string {
	how := "The model " + t.Model + " planned and called the tools of the server"
	if t.Model == "" || t.Model == "builtin" {
		how = "The built-in planner, without a language model, chose templates and called the tools of the server"
	}
	return how + "; each finding was verified a second time."
}

// scopeOf adds what a task might reach, and its limits.
func scopeOf(w *report.Work, t task.Task) {
	var plan agent.Plan
	_ = json.Unmarshal(t.Plan, &plan) // a model's plan has another form
	for _, target := range plan.Targets {
		w.Scope = append(w.Scope, target.String())
	}
	for _, target := range plan.Excluded {
		w.Excluded = append(w.Excluded, target.String())
	}
	limit := func(name, value string) {
		if value != "" && value != "0" {
			w.Limits = append(w.Limits, [2]string{name, value})
		}
	}
	if s := t.Options.Scope; s != nil {
		if len(s.Hosts) > 0 {
			w.Scope = s.Hosts
		}
		w.Excluded = append(w.Excluded, s.Exclude...)
		var ports []string
		for _, port := range s.Ports {
			ports = append(ports, strconv.Itoa(port))
		}
		limit("Ports", strings.Join(ports, ", "))
		limit("Paths", strings.Join(s.Paths, "\n"))
		limit("Methods", strings.Join(s.Methods, ", "))
		limit("Intrusiveness", string(s.Intrusiveness))
		if s.ExpiresAt != nil {
			limit("Until", s.ExpiresAt.UTC().Format("2 January 2006, 15:04 UTC"))
		}
	}
	w.Scope, w.MoreScope = firstOf(w.Scope)
	w.Excluded, _ = firstOf(w.Excluded)
	if b := t.Options.Budget; b != nil {
		limit("Requests at most", report.Thousands(int(b.Requests)))
		limit("Seconds at most", strconv.FormatInt(b.Seconds, 10))
		limit("Tokens at most", report.Thousands(int(b.Tokens)))
		if b.MoneyUSD > 0 {
			limit("US dollars at most", strconv.FormatFloat(b.MoneyUSD, 'f', 2, 64))
		}
	}
	if plan.RateLimit > 0 {
		limit("Requests a second", strconv.FormatFloat(plan.RateLimit, 'f', -1, 64))
	}
	if plan.TimeLimit > 0 {
		limit("Seconds of the plan", strconv.Itoa(plan.TimeLimit))
	}
	if t.Options.Mode != "" {
		limit("Mode", t.Options.Mode)
	}
}

// limitsOf is what no task of this kind tests.
func limitsOf(t task.Task) report.Gap {
	if t.Model == "" || t.Model == "builtin" {
		return report.Gap{
			What: "Beyond the built-in planner",
			Why: "It does not log in, changes only parameters of URLs, one at a time, " +
				"runs no scripts of pages, and reads at most 30 pages of a site. Weaknesses in request bodies, of a session or " +
				"between two users, stored ones and blind ones are not found.",
		}
	}
	return report.Gap{
		What: "Beyond the plan of the model",
		Why:  "The model decided what to try; what it did not think of was not tested.",
	}
}

// taskGaps are what a task did not test: what its plan leaves out, steps that did not come to their end, attempts to
// leave the scope, and what could not be confirmed.
func (f *File) taskGaps(ctx context.Context, t task.Task, streams []task.Stream) (out []report.Gap, err error) {
	for _, s := range streams {
		var plan agent.Plan
		_ = json.Unmarshal(s.Plan, &plan) // a model's plan has another form
		for _, text := range plan.NotDone {
			out = append(out, report.Gap{What: "Left out of the plan", Why: fact.Clip(text, 500)})
		}
		for _, text := range plan.NotUnderstood {
			out = append(out, report.Gap{What: "Not used of the instruction", Why: fact.Clip(text, 500)})
		}
	}
	out = append(out, limitsOf(t))
	if !t.Status.Final() || t.Status == task.Failed || t.Status == task.Aborted {
		out = append(out, report.Gap{What: "The rest of the task", Why: "The task is " + string(t.Status) + "."})
	}
	gaps, err := f.es.from.Tasks.FindGaps(ctx, t.ID)
	if err != nil {
		return nil, err
	}
	for _, step := range gaps.Steps {
		why := "It ended as " + step.Status
		if step.Error != "" {
			why += ": " + fact.Clip(step.Error, 500)
		}
		out = append(out, report.Gap{What: "The step " + step.Tool, Why: task.Sentence(why)})
	}
	if gaps.Denied > 0 {
		out = append(
			out,
			report.Gap{
				What: "Outside the scope",
				Why:  fmt.Sprintf("Attempts to leave the scope that were refused: %d.", gaps.Denied),
			},
		)
	}
	if gaps.Unconfirmed > 0 {
		out = append(out, report.Gap{What: "Suspicions", Why: fmt.Sprintf(
			"Seen once and not confirmed by a second request, so not reported: %d.", gaps.Unconfirmed)})
	}
	if len(out) > maxGaps {
		more := len(out) - maxGaps
		out = append(
			out[:maxGaps:maxGaps],
			report.Gap{What: "Others", Why: fmt.Sprintf("%d more reasons are in the log of the task.", more)},
		)
	}
	return out, nil
}

// describeIssue is a finding of a task, that other tasks may have seen as well.
func describeIssue(
	m *mask.Masker, hints map[string][]byte, i *task.Issue, also []*task.Issue,
) (out report.Finding, err error) {
	d, err := documentOf(i)
	if err != nil {
		return out, err
	}
	template, matcher := hints[i.TemplateID], i.Event.MatcherName
	if i.Proof != nil && i.Proof.Template != "" {
		template = []byte(i.Proof.Template)
	}
	m.Forget()
	for _, text := range []string{d.Request.Text, d.Response.Text} {
		m.Learn(text)
	}
	learn(m, i)
	if !m.Off() {
		d.Rewrite(func(key string, v finding.Value) finding.Value { return maskValue(m, key, v) })
	}
	out = report.Finding{Finding: fact.Of(d), From: from("", append([]*task.Issue{i}, also...))}
	complete(&out.Finding, template)
	h := fact.HintsOf(template, matcher).With(out.Extracted...)
	if i.Proof != nil {
		h = h.With(i.Proof.Contains...)
	}
	out.Exchanges = []report.Exchange{
		{Title: "Detection", Request: cutRequest(d.Request.Text), Response: h.Find(d.Response.Text, maxResponse)},
	}
	verification(m, h, i, &out)
	if r := i.Retest; r != nil {
		out.Retest = strings.ReplaceAll(string(r.State), "_", " ")
		if r.EndedAt != nil {
			out.Retest = retestWords(string(r.State), *r.EndedAt)
		}
	}
	return out, nil
}

// maskWork masks what people and targets wrote about a scan or a task.
func maskWork(m *mask.Masker, w *report.Work) {
	m.Forget()
	w.Name, w.Instruction, w.Summary = m.Text(w.Name), m.Text(w.Instruction), m.Text(w.Summary)
	for i := range w.Scope {
		w.Scope[i] = m.Text(w.Scope[i])
	}
	for i := range w.NotTested {
		w.NotTested[i].What, w.NotTested[i].Why = m.Text(w.NotTested[i].What), m.Text(w.NotTested[i].Why)
	}
}

// email is that of a user; empty: there is none of this id any more.
func (es *Exports) email(ctx context.Context, userID string) (string, error) {
	email, err := db.Value[string](ctx, es.db, `SELECT email FROM user_account WHERE id = ?`, userID)
	if db.IsNoRows(err) {
		return "", nil
	}
	return email, err
}

func (es *Exports) teamName(ctx context.Context, teamID string) (string, error) {
	name, err := db.Value[string](ctx, es.db, `SELECT name FROM team WHERE id = ?`, teamID)
	if db.IsNoRows(err) {
		return "", nil
	}
	return name, err
}
