package tools

import (
	"context"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"strconv"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/vedette-sec/vedette/internal/agent"
	"github.com/vedette-sec/vedette/internal/agent/llm"
	"github.com/vedette-sec/vedette/internal/agent/loop"
	"github.com/vedette-sec/vedette/internal/core/file"
)

// action is a tool for a language model, with arguments of type A.
type action[A any] struct {
	name       string // also of its .md
	schema     string // JSON Schema of A
	passive    bool
	repeatable bool
	secrets    bool
	requests   func(A) int
	approval   func(A) *loop.Approval
	call       func(ctx context.Context, args A, progress func(string)) (loop.Result, error)
}

// tool is the action for the loop. Arguments that do not fit A are the model's error.
func (a action[A]) tool() (loop.Tool, error) {
	text, err := Description(a.name)
	t := loop.Tool{
		Tool:    llm.Tool{Name: a.name, Description: text, Schema: json.RawMessage(a.schema)},
		Passive: a.passive, Repeatable: a.repeatable, Secrets: a.secrets,
		Call: func(ctx context.Context, raw json.RawMessage, progress func(string)) (loop.Result, error) {
			var args A
			if err := json.Unmarshal(raw, &args); err != nil {
				return loop.Result{}, fmt.Errorf("the arguments of %s: %w", a.name, err)
			}
			return a.call(ctx, args, progress)
		},
	}
	decode := func(raw json.RawMessage) (args A) {
		_ = json.Unmarshal(raw, &args) // Call reports the error
		return args
	}
	if a.requests != nil {
		t.Requests = func(raw json.RawMessage) int { return a.requests(decode(raw)) }
	}
	if a.approval != nil {
		t.Approval = func(raw json.RawMessage) *loop.Approval { return a.approval(decode(raw)) }
	}
	return t, err
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

// ActionNames are the names of Actions, in order.
func ActionNames() (names []string, err error) {
	tools, err := (&Kit{Config: Config{Attached: Attached{Files: make([]file.File, 1)}}}).Actions()
	for _, t := range tools {
		names = append(names, t.Name)
	}
	return names, err
}

func digest(text []byte) string {
	sum := fnv.New64a()
	_, _ = sum.Write(text) // never fails
	return strconv.FormatUint(sum.Sum64(), 16)
}

// forEach calls f for each target, at most limit at a time, and reports progress.
func forEach(targets []string, limit int, emit func(agent.Update), f func(i int)) {
	var mu sync.Mutex
	done := 0
	var group errgroup.Group
	group.SetLimit(limit)
	for i, target := range targets {
		group.Go(func() error {
			f(i)
			mu.Lock()
			defer mu.Unlock()
			done++
			emit(agent.Update{Text: target, Done: done, Total: len(targets)})
			return nil
		})
	}
	_ = group.Wait() // its functions return nothing
}

// allowedRequests bounds the requests of a tool by the budget.
func allowedRequests(ctx context.Context, want int) int { return min(want, loop.Allowance(ctx)) }
