package review

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"github.com/vedette-sec/vedette/internal/core/review/diff"
	"github.com/vedette-sec/vedette/internal/core/review/opinion"
	"github.com/vedette-sec/vedette/internal/core/review/rule"
	"github.com/vedette-sec/vedette/internal/infra/apiclient"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/queue"
	"github.com/vedette-sec/vedette/internal/notify/forge"
)

// RunArgs are the arguments of the job that reviews a commit.
type RunArgs struct {
	ReviewID string `json:"review_id"`
}

// Kind implements queue.Args. It is that of jobs from when GitHub alone was reviewed.
func (RunArgs) Kind() string { return "github.review" }

// Bounds of what is read of a pull request.
const (
	maxFiles    = 300
	maxPatch    = 2 << 20 // bytes of all patches
	maxFindings = 500
	checkName   = "Vedette"
)

// Run reviews a commit. What failed for good ends the review; what may pass is an error, and the job is tried again.
func (rs *Reviews) Run(ctx context.Context, job queue.Job[RunArgs]) error {
	return rs.run(ctx, job.Args, job.CheckLease)
}

func (rs *Reviews) run(ctx context.Context, a RunArgs, lease func(context.Context, *db.Tx) error) error {
	w, r, err := rs.work(ctx, a.ReviewID, Queued, Running)
	if w == nil || err != nil {
		return err
	}
	w.lease = lease
	err = w.do(ctx)
	if noted := rs.note(ctx, r, err); noted != nil {
		return noted
	}
	if _, retry := apiclient.RetryAfter(err); err == nil || retry {
		return err
	}
	_ = w.release(ctx, forge.Check{Title: failedTitle, Summary: failedText}) // if the forge lets us
	return rs.end(ctx, rs.db, w.v.ID, Failed, errs.From(failed(err)).Message)
}

// What the checks of reviews say that came to no end of their own.
const (
	failedTitle = "The review failed"
	failedText  = "The console of Vedette says why."
	passedTitle = "The review was not needed any more"
	passedText  = "The change has come to another commit, or is closed."
)

// release ends the check of a review that says nothing of its commit: one that stays in progress keeps a change from
// being merged. It is an error where trying again may help.
func (w work) release(ctx context.Context, c forge.Check) error {
	if w.v.check == 0 {
		return nil
	}
	c.Name, c.Commit, c.External, c.Conclusion = checkName, w.v.Head, w.v.ID, forge.Neutral
	_, err := w.hub.SetCheck(ctx, w.v.check, c)
	if _, retry := apiclient.RetryAfter(err); !retry {
		return nil
	}
	return err
}

// ReleaseArgs are the arguments of the job that ends the check of a review whose own job is not tried again.
type ReleaseArgs struct {
	ReviewID string `json:"review_id"`
}

// Kind implements queue.Args.
func (ReleaseArgs) Kind() string { return "review.release" }

// GiveUp ends a review whose job is not tried again, and has its check ended.
func (rs *Reviews) GiveUp(ctx context.Context, tx *db.Tx, a RunArgs) error {
	if err := rs.end(ctx, tx, a.ReviewID, Failed, "The review could not be run. The server's log says why."); err != nil {
		return err
	}
	team, err := db.Value[string](ctx, tx, `SELECT team_id FROM review_run WHERE id = ? AND check_id <> 0`, a.ReviewID)
	if db.IsNoRows(err) {
		return nil // there is no check
	}
	if err == nil {
		_, err = rs.queue.Insert(ctx, tx, team, ReleaseArgs(a))
	}
	return err
}

// Release ends the check of a review that failed, unless it is under way again.
func (rs *Reviews) Release(ctx context.Context, job queue.Job[ReleaseArgs]) error {
	w, _, err := rs.work(ctx, job.Args.ReviewID, Failed)
	if w == nil || err != nil {
		return err
	}
	return w.release(ctx, forge.Check{Title: failedTitle, Summary: failedText})
}

// work is the work of a review that has one of some statuses, without a lease, and its repository; nil: it has another,
// or is gone with what it belonged to.
func (rs *Reviews) work(ctx context.Context, id string, statuses ...string) (*work, Repository, error) {
	v, err := scanReview(rs.db.QueryRow(ctx, `SELECT `+reviewColumns+` FROM review_run WHERE id = ?`, id))
	if db.IsNoRows(err) || err == nil && !slices.Contains(statuses, v.Status) {
		return nil, Repository{}, nil
	}
	if err != nil {
		return nil, Repository{}, err
	}
	r, err := scanRepo(rs.db.QueryRow(ctx, `SELECT `+repoColumns+` WHERE r.id = ?`, v.Repo))
	if err != nil {
		return nil, Repository{}, err
	}
	hub, err := rs.open(ctx, r)
	if err != nil {
		return nil, Repository{}, err
	}
	return &work{Reviews: rs, v: &v, config: r.Effective(), hub: hub}, r, nil
}

func (rs *Reviews) end(ctx context.Context, q db.Querier, id, status, why string) error {
	_, err := q.Exec(ctx, `UPDATE review_run SET status = ?, error = ?, finished_at = ? WHERE id = ? AND finished_at IS NULL`, status,
		errs.Clip(db.Clean(why), 500), db.At(rs.now()), id)
	return err
}

// work is one run of a review.
type work struct {
	*Reviews

	lease  func(context.Context, *db.Tx) error
	v      *Review
	config Config
	hub    forge.Repo
}

// held fails in a run that was taken for dead, whose successor writes in its place.
func (w work) held(ctx context.Context) error {
	return w.db.Tx(ctx, func(tx *db.Tx) error { return w.lease(ctx, tx) })
}

func (w work) do(ctx context.Context) error {
	pull, err := w.hub.Change(ctx, w.v.Pull)
	if err != nil {
		return err
	}
	if pull.Head != w.v.Head || !pull.Open {
		if err := w.release(ctx, forge.Check{Title: passedTitle, Summary: passedText}); err != nil {
			return err
		}
		return w.end(ctx, w.db, w.v.ID, Superseded, "")
	}
	check := forge.Check{Name: checkName, Commit: w.v.Head, External: w.v.ID}
	if err := w.held(ctx); err != nil {
		return err
	}
	if w.v.check == 0 {
		if w.v.check, err = w.hub.SetCheck(ctx, 0, check); err != nil {
			return err
		}
	}
	if _, err := w.db.Exec(ctx, `UPDATE review_run SET status = ?, check_id = ? WHERE id = ?`, Running, w.v.check, w.v.ID); err != nil {
		return err
	}
	files, more, err := w.hub.Files(ctx, w.v.Pull, maxFiles)
	if err != nil {
		return err
	}
	found := w.examine(files, more)
	if err := w.inspect(ctx, pull, &found); err != nil {
		return err
	}
	if err := w.opine(ctx, &found); err != nil {
		return err
	}
	found.sort()
	w.v.Findings, w.v.Files = found.findings, found.files
	if err := w.held(ctx); err != nil {
		return err
	}
	if err := w.comment(ctx, pull, found); err != nil {
		return err
	}
	if err := w.summarise(ctx, found); err != nil {
		return err
	}
	check.Title, check.Summary = counted(found.findings), w.text(found)
	check.Conclusion = w.conclusion(found.findings)
	if _, err := w.hub.SetCheck(ctx, w.v.check, check); err != nil {
		return err
	}
	_, err = w.db.Exec(ctx, `UPDATE review_run SET status = ?, conclusion = ?, findings = ?, commented = ?, files = ?, finished_at = ?
		WHERE id = ? AND finished_at IS NULL`, Completed, check.Conclusion, db.Doc(found.findings), db.Doc(w.v.Commented), found.files,
		db.At(w.now()), w.v.ID)
	return err
}

// examined is what the rules say of a pull request.
type examined struct {
	findings []rule.Finding
	lines    map[string]string     // the text of a finding's line, by place
	changed  map[string]forge.File // by name
	files    int
	left     []string // files that were not read, and why
	shown    []opinion.File
	said     *opinion.Answer // of a model; nil: none was asked
	ran      []string        // programs that looked
	problems []string        // of programs that did not, in words
	unseen   []string        // files that programs were not shown
	below    int             // findings below the threshold
}

func place(f rule.Finding) string { return fmt.Sprintf("%s:%d", f.Path, f.Line) }

func (w work) examine(files []forge.File, more bool) (out examined) {
	out.lines, out.changed = map[string]string{}, map[string]forge.File{}
	size := 0
	for _, f := range files {
		if f.Removed || matches(*w.config.Exclude, f.Name) {
			continue
		}
		size += len(f.Patch)
		lines, err := diff.Parse(f.Patch)
		switch {
		case size > maxPatch:
			out.left = append(out.left, f.Name+" (the change is too large)")
			continue
		case err != nil:
			out.left = append(out.left, f.Name+" (its patch cannot be read)")
			continue
		case f.Hidden:
			out.left = append(out.left, f.Name+" (its patch is not shown)")
			continue
		}
		out.files++
		out.changed[f.Name] = f
		out.shown = append(out.shown, opinion.File{Path: f.Name, Lines: lines})
		for i, l := range lines {
			if l.Added {
				w.line(f.Name, l, above(lines, i), &out)
			}
		}
	}
	if more {
		out.left = append(out.left, fmt.Sprintf("all files after the first %d", maxFiles))
	}
	return out
}

// sort puts the worst findings first.
func (e *examined) sort() {
	slices.SortStableFunc(e.findings, func(a, b rule.Finding) int {
		return slices.Index(rule.Severities, a.Severity) - slices.Index(rule.Severities, b.Severity)
	})
}

// maxAbove is how many lines above one are looked at for the list that it is in.
const maxAbove = 20

// above are the lines before one that a patch shows without a gap.
func above(lines []diff.Line, i int) (out []string) {
	first := i
	for first > 0 && i-first < maxAbove && lines[first-1].Number == lines[first].Number-1 {
		first--
	}
	for _, l := range lines[first:i] {
		out = append(out, l.Text)
	}
	return out
}

func (w work) line(name string, l diff.Line, above []string, out *examined) {
	found, _ := rule.Check(name, l.Number, l.Text, above...)
	out.take(w.config, l.Text, found)
}

// take adds findings on a line, if the options ask for them.
func (e *examined) take(c Config, text string, found []rule.Finding) {
	for _, f := range found {
		switch {
		case *c.Focus != FocusAll && *c.Focus != string(f.Kind):
		case !f.Severity.AtLeast(rule.Severity(*c.Severity)):
			e.below++
		case len(e.findings) < maxFindings:
			e.findings, e.lines[place(f)] = append(e.findings, f), text
		}
	}
}

// conclusion is that of the check. What a model says fails no gate: nobody has verified it.
func (w work) conclusion(found []rule.Finding) string {
	if len(found) == 0 {
		return forge.Success
	}
	if gate := *w.config.Gate; gate != GateOff &&
		slices.ContainsFunc(found, func(f rule.Finding) bool {
			return f.FoundBy != rule.ByModel && f.Severity.AtLeast(rule.Severity(gate))
		}) {
		return forge.Failure
	}
	return forge.Neutral
}

// fingerprint is the same for a finding on a line that has moved.
func fingerprint(f rule.Finding, line string) string {
	sum := sha256.Sum256([]byte(f.Rule + "\x00" + f.Path + "\x00" + strings.TrimSpace(line)))
	return hex.EncodeToString(sum[:12])
}

// comment writes the comments on lines, in one review, unless an earlier run has: a commit gets its comments once.
func (w work) comment(ctx context.Context, pull forge.Change, found examined) error {
	if *w.config.Output != OutputComments || len(w.v.Commented) > 0 {
		return nil
	}
	before, err := db.Select(ctx, w.db, scanOne, `SELECT `+reviewColumns+` FROM review_run WHERE repo = ? AND pull = ? AND id <> ?`,
		w.v.Repo, w.v.Pull, w.v.ID)
	if err != nil {
		return err
	}
	var had []string
	for _, v := range before {
		had = append(had, v.Commented...)
	}
	var comments []forge.LineComment
	for _, f := range found.findings {
		mark := fingerprint(f, found.lines[place(f)])
		if slices.Contains(had, mark) || len(comments) >= *w.config.MaxComments {
			continue
		}
		had, w.v.Commented = append(had, mark), append(w.v.Commented, mark)
		comments = append(comments, forge.LineComment{File: found.changed[f.Path], Line: f.Line, Body: w.said(f),
			Mark: "<!-- vedette:line:" + w.v.ID + ":" + mark + " -->"})
	}
	if len(comments) == 0 {
		return nil
	}
	if _, err := w.db.Exec(ctx, `UPDATE review_run SET posting = ? WHERE id = ?`, true, w.v.ID); err != nil {
		return err
	}
	return w.hub.CommentLines(ctx, forge.Batch{Change: pull, Mark: "<!-- vedette:review:" + w.v.ID + " -->",
		Text: fmt.Sprintf("Vedette commented on %d lines.", len(comments)), Comments: comments, Again: w.v.posting})
}

const summaryMark = "<!-- vedette:summary -->"

// summarise writes the one summary of the pull request, or replaces it.
func (w work) summarise(ctx context.Context, found examined) error {
	if *w.config.Output == OutputCheck {
		return nil
	}
	text := "## Vedette\n\n" + w.text(found) + "\n" + summaryMark
	id, err := w.hub.FindComment(ctx, w.v.Pull, summaryMark)
	if err != nil {
		return err
	}
	if id != 0 {
		if gone, err := w.hub.Edit(ctx, w.v.Pull, id, text); err != nil || !gone {
			return err
		}
	}
	_, err = w.hub.Comment(ctx, w.v.Pull, text)
	return err
}
