package tools

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/vedette-sec/vedette/internal/agent/loop"
	"github.com/vedette-sec/vedette/internal/core/catalog"
	"github.com/vedette-sec/vedette/internal/core/task"
	"github.com/vedette-sec/vedette/internal/engine"
	"github.com/vedette-sec/vedette/internal/engine/child"
	"github.com/vedette-sec/vedette/internal/engine/syntax"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/tools/brief"
)

type runArgs struct {
	Targets  []string `json:"targets"`
	IDs      []string `json:"ids"`
	Tags     []string `json:"tags"`
	Severity []string `json:"severity"`
}

const (
	// Templates of one call.
	maxTemplates = 500
	// The most requests of a template to one target that a budget expects.
	runCost = 20
)

// isHarmful reports whether a template may change or disturb a target.
func isHarmful(tags []string) bool {
	return slices.ContainsFunc(tags, func(tag string) bool {
		return slices.Contains([]string{"intrusive", "dos", "fuzz", "fuzzing", "brute", "brute-force", "bruteforce",
			"default-login"}, strings.ToLower(tag))
	})
}

func (k *Kit) runTemplates() action[runArgs] {
	return action[runArgs]{
		name: "run_templates", repeatable: true,
		schema: `{"type": "object", "required": ["targets"], "properties": {"targets": {"type": "array", "maxItems": 100, "items": {"type": "string"}},
			"ids": {"type": "array", "items": {"type": "string"}}, "tags": {"type": "array", "items": {"type": "string"}},
			"severity": {"type": "array", "items": {"type": "string", "enum": ["critical", "high", "medium", "low", "info"]}}}}`,
		requests: func(a runArgs) int {
			if len(a.IDs) > 0 {
				return runCost * len(a.IDs) * len(a.Targets)
			}
			return runCost * maxTemplates * len(a.Targets)
		},
		approval: k.approveRun,
		call: func(ctx context.Context, a runArgs, progress func(string)) (loop.Result, error) {
			chosen, note, err := k.choose(ctx, a)
			if err != nil {
				return loop.Result{}, err
			}
			r, err := k.run(ctx, a.Targets, chosen, nil, progress)
			r.Text = strings.TrimSpace(note + "\n" + r.Text)
			return r, err
		},
	}
}

func (k *Kit) approveRun(a runArgs) *loop.Approval {
	if k.scope.Doc.Intrusiveness == task.Intrusive {
		return nil
	}
	harmful := isHarmful(a.Tags)
	if len(a.IDs) > 0 && !harmful {
		known, err := k.Templates.Known(context.Background())
		harmful = err != nil || slices.ContainsFunc(known,
			func(t catalog.ScanTemplate) bool { return isHarmful(t.Tags) && slices.Contains(a.IDs, t.WrittenID) })
	}
	if !harmful {
		return nil
	}
	return &loop.Approval{
		Action: errs.Clip("run templates "+strings.Join(slices.Concat(a.IDs, a.Tags), ", ")+" on "+
			strings.Join(a.Targets, ", "), brief.MaxReason),
		Reason: "Some of these templates try to log in, guess, or send what a target may not expect.",
		Risk:   "Accounts may be locked, load may rise, and data may change.",
	}
}

// choose finds the wanted templates. Harmful ones must be asked for by name.
func (k *Kit) choose(ctx context.Context, a runArgs) (chosen []child.Template, note string, err error) {
	if len(a.IDs)+len(a.Tags)+len(a.Severity) == 0 {
		return nil, "", errors.New("say which templates: by ids, tags or severity")
	}
	known, err := k.Templates.Known(ctx)
	if err != nil {
		return nil, "", err
	}
	search, left := searchArgs{Tags: a.Tags, Severity: a.Severity}, 0
	var ids []string
	for _, t := range known {
		byName := slices.ContainsFunc(a.IDs, func(id string) bool { return strings.EqualFold(id, t.WrittenID) })
		bySearch := len(a.IDs) == 0 && search.picks(t)
		switch {
		case !byName && !bySearch:
		case bySearch && isHarmful(t.Tags) && !isHarmful(a.Tags), len(ids) == maxTemplates:
			left++
		default:
			ids = append(ids, t.ID)
		}
	}
	found, err := k.Templates.Texts(ctx, ids)
	if err != nil {
		return nil, "", err
	}
	for _, id := range slices.Sorted(maps.Keys(found)) {
		ok, err := k.mayRun(ctx, id)
		if err != nil {
			return nil, "", err
		}
		if !ok {
			left++
			continue
		}
		chosen = append(chosen, found[id])
	}
	if left > 0 {
		note = fmt.Sprintf("%d templates were left out: they may do harm and were not asked for by name, use methods that are not in scope, or are more than %d.", left, maxTemplates)
	}
	return chosen, note, nil
}

// mayRun reports whether the methods of a template are in scope.
func (k *Kit) mayRun(ctx context.Context, id string) (bool, error) {
	if len(k.scope.Doc.Methods) == 0 {
		return true, nil
	}
	text, err := k.Templates.Text(ctx, id)
	if err != nil {
		return false, err
	}
	t, err := syntax.Parse(id, text)
	return err == nil && AllowsMethods(k.scope.Doc, t), nil // an unreadable one is not run
}

// run runs templates and stores each match at once, not yet verified. proof shows a match of a text that is in no
// catalogue.
func (k *Kit) run(
	ctx context.Context, targets []string, chosen []child.Template, proof *task.Proof, progress func(string),
) (loop.Result, error) {
	if len(targets) == 0 || len(targets) > maxTargets {
		return loop.Result{}, fmt.Errorf("targets must have 1 to %d entries", maxTargets)
	}
	if len(chosen) == 0 {
		return loop.Result{Text: "There is no such template."}, nil
	}
	before := k.scope.Total()
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var matches []match
	job := child.Job{Targets: targets, Templates: chosen, OnEvent: func(_ int, e engine.Event) {
		m, err := k.storeMatch(ctx, targetOf(e), e, proof)
		if err != nil {
			stop(fmt.Errorf("storing a finding: %w", err))
		}
		matches = append(matches, m)
	}, OnProgress: func(p engine.Progress) {
		progress(fmt.Sprintf("%d of %d checks, %d requests", p.Done, p.Total, p.Requests))
	}}
	if allowed := loop.Allowance(ctx); allowed < 1<<30 {
		job.MaxRequests = max(1, allowed)
	}
	report, notes, err := k.runner.Run(ctx, job)
	if cause := context.Cause(ctx); cause != nil {
		err = cause
	}
	r := loop.Result{Requests: int(k.scope.Total() - before)}
	if report == nil {
		r.Text = strings.Join(notes, "\n")
		return r, err
	}
	r.Text = scanSummary(len(targets), len(chosen), report.Requests, report.Counts())
	if len(notes) > 0 {
		r.Text += "\n" + strings.Join(notes, "\n")
	}
	if len(chosen) == 1 {
		if state, reason := report.Cell(0, 0); state == engine.Skipped {
			r.Text += "\nIt cannot be run: " + errs.Clip(reason, brief.MaxReason)
		}
	}
	var ids []string
	for _, m := range matches {
		r.Text += "\n" + m.words
		r.Evidence = append(r.Evidence, m.key)
		ids = append(ids, m.issue)
	}
	if len(ids) > 0 {
		var jerr error
		if r.Candidate, jerr = json.Marshal(candidate{ids}); jerr != nil {
			return r, jerr
		}
	}
	return r, err
}

type match struct{ issue, key, words string }

func (k *Kit) storeMatch(ctx context.Context, target string, e engine.Event, proof *task.Proof) (match, error) {
	var id string
	var err error
	if proof == nil {
		id, err = k.Run.StoreMatch(ctx, target, e)
	} else {
		id, err = k.Run.StoreIssue(ctx, task.Issue{
			Severity: strings.ToLower(string(e.Info.Severity)), Title: e.Info.Name, Description: e.Info.Description,
			Remediation: e.Info.Remediation,
			TemplateID:  e.TemplateID, Target: target, MatchedAt: e.MatchedAt, Event: e, Proof: proof,
		})
	}
	words := fmt.Sprintf("match: %s [%s] at %s, issue %s", e.TemplateID, e.Info.Severity, e.MatchedAt, id)
	if e.MatcherName != "" {
		words += ", " + e.MatcherName
	}
	if len(e.ExtractedResults) > 0 {
		words += ", extracted " + errs.Clip(strings.Join(e.ExtractedResults, ", "), brief.MaxReason)
	}
	return match{id, "match " + e.TemplateID + " " + e.MatchedAt + " " + e.MatcherName, words}, err
}
