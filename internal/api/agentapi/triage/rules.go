package triage

import (
	"context"
	"net/http"
	"time"

	"github.com/vedette-sec/vedette/internal/api/rest"
	"github.com/vedette-sec/vedette/internal/core/triage"
	"github.com/vedette-sec/vedette/internal/infra/errs"
)

// Rule decides about findings that match it.
type Rule struct {
	ID        string           `json:"id"`
	Name      string           `json:"name"`
	Position  int              `json:"position" doc:"Its place among the rules, from 1."`
	Enabled   bool             `json:"enabled" doc:"Whether it looks at what arrives."`
	Match     triage.Selection `json:"match" doc:"Which findings it is about."`
	Set       triage.Set       `json:"set" doc:"What it sets."`
	Stop      bool             `json:"stop" doc:"No later rule looks at a finding that matches it."`
	Version   int64            `json:"version" doc:"Grows when match, set or stop changes."`
	Applied   int              `json:"applied_count" doc:"How many findings it has changed."`
	AppliedAt *time.Time       `json:"last_applied_at,omitempty" doc:"When it was last applied; absent: never."`
	CreatedBy string           `json:"created_by" doc:"Email of who made it."`
	CreatedAt time.Time        `json:"created_at"`
	UpdatedAt time.Time        `json:"updated_at"`
}

func ruleOf(r triage.Rule) Rule {
	return Rule{
		ID: r.ID, Name: r.Name, Position: r.Position, Enabled: r.Enabled, Match: r.Match, Set: r.Set, Stop: r.Stop,
		Version: r.Version, Applied: r.Applied, AppliedAt: rest.OrNull(r.AppliedAt), CreatedBy: r.CreatedBy,
		CreatedAt: r.CreatedAt, UpdatedAt: r.UpdatedAt,
	}
}

func oneRule(r triage.Rule, err error) (*Rule, error) {
	out := ruleOf(r)
	return &out, err
}

// RuleList is all rules.
type RuleList struct {
	Rules []Rule `json:"rules" doc:"In their order."`
	Count int    `json:"count"`
}

func ruleList(found []triage.Rule, err error) (*RuleList, error) {
	return &RuleList{rest.Each(found, ruleOf), len(found)}, err
}

// RuleRequest makes a rule.
type RuleRequest struct {
	Name    string           `json:"name" minLength:"1" maxLength:"120"`
	Enabled *bool            `json:"enabled,omitempty" doc:"Whether it looks at what arrives; without it, it does."`
	Match   triage.Selection `json:"match,omitzero" doc:"Which findings it is about; without it all open ones."`
	Set     triage.Set       `json:"set" doc:"What it sets: one field at least."`
	Stop    bool             `json:"stop,omitempty" doc:"No later rule looks at a finding that matches it."`
}

func (r RuleRequest) rule() triage.Rule {
	return triage.Rule{Name: r.Name, Enabled: r.Enabled == nil || *r.Enabled,
		Definition: triage.Definition{Match: r.Match, Set: r.Set, Stop: r.Stop}}
}

// RulePatch changes a rule; what is left out stays as it is.
type RulePatch struct {
	Name    *string           `json:"name,omitempty" minLength:"1" maxLength:"120"`
	Enabled *bool             `json:"enabled,omitempty" doc:"Whether it looks at what arrives."`
	Match   *triage.Selection `json:"match,omitempty" doc:"In place of the old one."`
	Set     *triage.Set       `json:"set,omitempty" doc:"In place of the old one."`
	Stop    *bool             `json:"stop,omitempty"`
}

// RulePath names a rule.
type RulePath struct {
	ID string `path:"rule_id" doc:"The rule's id."`
}

// RuleOrder is an order of rules.
type RuleOrder struct {
	IDs []string `json:"rule_ids" maxItems:"100" doc:"All rules of your team, each once."`
}

func (s area) rules() {
	const rules, one = path + "/rules", path + "/rules/{rule_id}"
	rest.Handle(s.API, op("list-triage-rules", "GET "+rules, tag, "List your team's rules, in their order"),
		func(ctx context.Context, _ *struct{}) (*RuleList, error) { return ruleList(s.triage.Rules(ctx)) })
	create := op("create-triage-rule", "POST "+rules, tag, "Make a rule, the last in the order", 409)
	create.DefaultStatus = http.StatusCreated
	create.Description = "It looks at findings that arrive from now on, and at those that come back after they were fixed. For what is there, see dry-run and run. A status that a person decided and a severity of a finding's own stay. It is applied to a weakness once, unless it is changed or the weakness comes back."
	rest.Handle(s.API, create, func(ctx context.Context, in *struct{ Body RuleRequest }) (*Rule, error) {
		return oneRule(s.triage.CreateRule(ctx, in.Body.rule()))
	})
	rest.Handle(s.API, op("get-triage-rule", "GET "+one, tag, "Get a rule", 404),
		func(ctx context.Context, in *RulePath) (*Rule, error) { return oneRule(s.triage.Rule(ctx, in.ID)) })
	rest.Handle(s.API, op("update-triage-rule", "PATCH "+one, tag, "Change a rule", 404),
		func(ctx context.Context, in *struct {
			RulePath
			Body RulePatch
		}) (*Rule, error) {
			return oneRule(s.triage.UpdateRule(ctx, in.ID, triage.RuleUpdate{Name: in.Body.Name, Enabled: in.Body.Enabled,
				Match: in.Body.Match, Set: in.Body.Set, Stop: in.Body.Stop}))
		})
	rest.Handle(s.API, op("delete-triage-rule", "DELETE "+one, tag, "Delete a rule; what it did stays", 404),
		func(ctx context.Context, in *RulePath) (*Done, error) {
			return &Done{"The rule is deleted."}, s.triage.DeleteRule(ctx, in.ID)
		})
	rest.Handle(s.API, op("order-triage-rules", "PUT "+path+"/rule-order", tag, "Put your team's rules in an order"),
		func(ctx context.Context, in *struct{ Body RuleOrder }) (*RuleList, error) {
			return ruleList(s.triage.OrderRules(ctx, in.Body.IDs))
		})
}

// RunRequest says which rules look at which findings.
type RunRequest struct {
	RuleIDs []string          `json:"rule_ids,omitempty" maxItems:"100" doc:"Only these, enabled or not; without it all enabled ones."`
	Among   *triage.Selection `json:"among,omitempty" doc:"Only findings of this selection; without it those of the rule, or with several rules all."`
	Before  int64             `json:"before,omitempty" minimum:"0" doc:"The next_before of the run before; without it from the newest finding."`
	Limit   int               `json:"limit,omitempty" minimum:"1" maximum:"500" default:"100" doc:"How many findings are looked at."`
}

// DryRunRequest is a run that changes nothing.
type DryRunRequest struct {
	RunRequest
	Rule *RuleRequest `json:"rule,omitempty" doc:"Try this rule, which is not stored, in place of those that are."`
}

// RunResult is what rules did, or would do.
type RunResult struct {
	DryRun     bool          `json:"dry_run" doc:"Nothing was changed."`
	Looked     int           `json:"looked_at" doc:"At how many findings the rules looked."`
	Changed    int           `json:"changed" doc:"How many of them change."`
	Decided    []RunDecision `json:"decisions" doc:"One for each finding and rule that is applied to it."`
	NextBefore int64         `json:"next_before,omitempty" doc:"The before of the run that goes on with older findings; absent: there are none."`
}

// RunDecision is one rule that is applied to one finding.
type RunDecision struct {
	RuleID   string          `json:"rule_id,omitempty" doc:"Absent: it is not stored."`
	RuleName string          `json:"rule_name"`
	VulnID   string          `json:"vuln_id" doc:"The finding."`
	Name     string          `json:"name"`
	Severity string          `json:"severity"`
	Target   string          `json:"target"`
	Effects  []triage.Effect `json:"effects" doc:"What it does."`
}

func resultOf(r triage.Result, dry bool) *RunResult {
	out := RunResult{DryRun: dry, Looked: r.Looked, NextBefore: r.Next, Decided: []RunDecision{}}
	for _, d := range r.Decided {
		changes := false
		for _, p := range d.Planned {
			for _, e := range p.Effects {
				changes = changes || e.Kept == ""
			}
			out.Decided = append(out.Decided, RunDecision{RuleID: p.Rule.ID, RuleName: p.Rule.Name, VulnID: d.Finding.ID,
				Name: d.Finding.Name, Severity: d.Finding.Severity, Target: d.Finding.Target, Effects: p.Effects})
		}
		if changes {
			out.Changed++
		}
	}
	return &out
}

func (r RunRequest) run() triage.Run {
	return triage.Run{RuleIDs: r.RuleIDs, Among: r.Among, Before: r.Before, Limit: r.Limit}
}

// ApplicationList is a page of what rules did.
type ApplicationList struct {
	Applications []triage.Application `json:"applications" doc:"The newest first."`
	Total        int                  `json:"total"`
	HasMore      bool                 `json:"has_more"`
}

func (s area) runs() {
	dry := op("dry-run-triage-rules", "POST "+path+"/dry-run", tag, "What rules would change of the findings that are there",
		404)
	dry.Description = "Nothing is changed. A run with the same body does what this says, unless something changes in between."
	rest.Handle(s.API, dry, func(ctx context.Context, in *struct{ Body DryRunRequest }) (*RunResult, error) {
		r := in.Body.run()
		r.Dry = true
		if in.Body.Rule != nil {
			if len(r.RuleIDs) > 0 {
				return nil, errs.Field("rule", "rule and rule_ids cannot be said together.")
			}
			draft := in.Body.Rule.rule()
			r.Draft = &draft
		}
		done, err := s.triage.Run(ctx, r)
		return resultOf(done, true), err
	})
	rest.Handle(s.API, op("run-triage-rules", "POST "+path+"/run", tag,
		"Let rules look at the findings that are there, the newest first", 404),
		func(ctx context.Context, in *struct{ Body RunRequest }) (*RunResult, error) {
			done, err := s.triage.Run(ctx, in.Body.run())
			return resultOf(done, false), err
		})
	list := func(ctx context.Context, id string, w Window) (*ApplicationList, error) {
		found, total, err := s.triage.Applications(ctx, id, w.page())
		return &ApplicationList{rest.OrEmpty(found), total, w.more(len(found), total)}, err
	}
	rest.Handle(s.API, op("list-triage-applications", "GET "+path+"/applications", tag,
		"What rules did, deleted ones too, the newest first"),
		func(ctx context.Context, in *Window) (*ApplicationList, error) { return list(ctx, "", *in) })
	rest.Handle(s.API, op("list-triage-rule-applications", "GET "+path+"/rules/{rule_id}/applications", tag,
		"What a rule did, the newest first", 404),
		func(ctx context.Context, in *struct {
			RulePath
			Window
		}) (*ApplicationList, error) {
			return list(ctx, in.ID, in.Window)
		})
}
