// Package tools has the tools of the agent: one tool a file, with its description in a .md file. Every tool works
// inside the scope of its task (package scope).
package tools

import (
	"embed"
	"log/slog"

	"github.com/vedette-sec/vedette/internal/agent"
	"github.com/vedette-sec/vedette/internal/browser"
	"github.com/vedette-sec/vedette/internal/core/task"
	"github.com/vedette-sec/vedette/internal/core/toolkit"
	"github.com/vedette-sec/vedette/internal/engine"
	"github.com/vedette-sec/vedette/internal/tools/distill"
	"github.com/vedette-sec/vedette/internal/tools/runner"
	"github.com/vedette-sec/vedette/internal/tools/scope"
)

//go:embed *.md
var descriptions embed.FS

// Description is the description of a tool.
func Description(tool string) (string, error) {
	text, err := descriptions.ReadFile(tool + ".md")
	return string(text), err
}

// Budget bounds the requests of a task's tools.
type Budget = scope.Budget

// Config is what the tools of one task need.
type Config struct {
	Run      *task.Run
	Boundary scope.Boundary
	Builtin  []runner.Builtin  // of the built-in planner
	Secrets  map[string]string // by name
	// Templates are for language models.
	Templates distill.Templates
	Runs      runner.Config // of templates
	Inventory Inventory
	Attached  Attached
	Logger    *slog.Logger
	Browser   *browser.Pool // for tests of web applications; nil: there is none
}

// Kit is the tools of one task.
type Kit struct {
	Config
	Plan   agent.Plan
	scope  *scope.Scope
	engine *engine.Engine // sends requests that are no template's
	runner *runner.Runner
	web    *web
}

// Dial makes connections within the task's scope, each of which counts as a request.
func (k *Kit) Dial() toolkit.Dial { return k.scope.Connect }

// New fails with Invalid when the instruction or the request names something that cannot be a target.
func New(c Config) (*Kit, error) {
	s, err := scope.New(c.Boundary)
	if err != nil {
		return nil, err
	}
	limited := engine.New(engine.Config{
		Dial: s.Dial, RateLimit: s.Rate(), Retries: 1, Allow: s.Allow, AllowName: s.AllowsName,
		Record: s.Capture.By("http"),
	})
	return &Kit{Config: c, Plan: s.Plan, scope: s, engine: limited, runner: runner.New(c.Runs, s), web: newWeb(s)}, nil
}

func (k *Kit) distiller() *distill.Distiller {
	return distill.New(k.runner, k.scope, k.Secrets, k.Templates)
}

// Scope describes the scope.
func (k *Kit) Scope() string { return k.scope.Describe() }

// Boundary is the scope.
func (k *Kit) Boundary() *scope.Scope { return k.scope }

// Spent reports whether the budget of requests refused one.
func (k *Kit) Spent() bool { return k.scope.IsSpent() }

// Close closes connections.
func (k *Kit) Close() {
	k.engine.Close()
	k.web.close()
	k.scope.Capture.Close()
}

// Tools are those of the built-in planner.
func (k *Kit) Tools() []agent.Tool {
	return []agent.Tool{probe{k}, explore{k}, scan{k}, webTest{k}, verify{k}}
}
