package tools

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/vedette-sec/vedette/internal/agent/llm"
	"github.com/vedette-sec/vedette/internal/agent/loop"
	"github.com/vedette-sec/vedette/internal/core/file"
)

// action is a tool for a language model, with arguments of type A.
type action[A any] struct {
	name       string // of its .md too
	schema     string // JSON Schema of A
	passive    bool
	repeatable bool
	secrets    bool
	requests   func(A) int
	approval   func(A) *loop.Approval
	call       func(ctx context.Context, args A, say func(string)) (loop.Result, error)
}

// tool is the action as the loop takes it. Arguments that do not fit A are the model's
// error, and told to it.
func (a action[A]) tool() (loop.Tool, error) {
	words, err := Description(a.name)
	if err != nil {
		return loop.Tool{}, fmt.Errorf("the description of %s: %w", a.name, err)
	}
	t := loop.Tool{
		Tool: llm.Tool{Name: a.name, Description: words, Schema: json.RawMessage(a.schema)}, Passive: a.passive, Repeatable: a.repeatable, Secrets: a.secrets,
		Call: func(ctx context.Context, raw json.RawMessage, say func(string)) (loop.Result, error) {
			var args A
			if err := json.Unmarshal(raw, &args); err != nil {
				return loop.Result{}, fmt.Errorf("the arguments of %s: %w", a.name, err)
			}
			return a.call(ctx, args, say)
		},
	}
	if a.requests != nil {
		t.Requests = func(raw json.RawMessage) int {
			var args A
			_ = json.Unmarshal(raw, &args) // Call says what is wrong
			return a.requests(args)
		}
	}
	if a.approval != nil {
		t.Approval = func(raw json.RawMessage) *loop.Approval {
			var args A
			_ = json.Unmarshal(raw, &args) // as above
			return a.approval(args)
		}
	}
	return t, nil
}

// Actions are the tools for a language model.
func (k *Kit) Actions() (out []loop.Tool, err error) {
	all := []interface{ tool() (loop.Tool, error) }{
		k.httpRequest(), k.probeHosts(), k.crawl(), k.dnsLookup(), k.tlsFacts(), k.portCheck(),
		k.listAssets(), k.discoverAssets(), k.searchTemplates(), k.readTemplate(), k.runTemplates(), k.runTemplateText(),
		k.readFindings(), k.reportIssue(), k.verifyIssue(), k.remember(), k.note(),
	}
	if len(k.Attached.Files) > 0 {
		all = append(all, k.readFile())
	}
	for _, made := range all {
		tool, err := made.tool()
		if err != nil {
			return nil, err
		}
		out = append(out, tool)
	}
	return out, nil
}

// ActionNames are the names of the tools for a language model, in the order of Actions.
func ActionNames() (names []string, err error) {
	tools, err := (&Kit{Config: Config{Attached: Attached{Files: make([]file.File, 1)}}}).Actions()
	for _, t := range tools {
		names = append(names, t.Name)
	}
	return names, err
}

// within is the lesser of what a tool wants and what the budget of requests leaves it.
func within(ctx context.Context, want int) int { return min(want, loop.Allowance(ctx)) }
