// Package tools is what the agent may do: one tool a file, with its description for people and
// models beside it. Every tool works inside the scope of its task (package scope).
package tools

import (
	"embed"
	"log/slog"

	"github.com/vedette-sec/vedette/internal/agent"
	"github.com/vedette-sec/vedette/internal/core/task"
	"github.com/vedette-sec/vedette/internal/engine"
	"github.com/vedette-sec/vedette/internal/engine/program"
	"github.com/vedette-sec/vedette/internal/tools/distill"
	"github.com/vedette-sec/vedette/internal/tools/scope"
)

//go:embed *.md
var descriptions embed.FS

// Description is what a tool does, in prose.
func Description(tool string) (string, error) {
	text, err := descriptions.ReadFile(tool + ".md")
	return string(text), err
}

// Budget is how many requests the tools of a task may send.
type Budget = scope.Budget

// Config is what the tools of one task work with.
type Config struct {
	Run      *task.Run
	Boundary scope.Boundary
	Programs []*program.Program // what the built-in planner chooses from
	Secrets  map[string]string  // of the task, by name
	// Templates are what a language model may choose from.
	Templates distill.Templates
	Inventory Inventory
	Attached  Attached
	Logger    *slog.Logger
}

// Kit is the tools of one task.
type Kit struct {
	Config
	Plan   agent.Plan
	scope  *scope.Scope
	engine *engine.Engine
	web    *web
}

// New makes the tools and the scope they are held to. It fails with Invalid when the
// instruction or the request names something that cannot be a target.
func New(c Config) (*Kit, error) {
	s, err := scope.New(c.Boundary)
	if err != nil {
		return nil, err
	}
	limited := engine.New(engine.Config{Dial: s.Dial, RateLimit: s.Rate(), Retries: 1, Allow: s.Allow})
	return &Kit{Config: c, Plan: s.Plan, scope: s, engine: limited, web: newWeb(s)}, nil
}

// distiller writes templates from the issues that the tools confirm.
func (k *Kit) distiller() *distill.Distiller {
	return distill.New(k.engine, k.scope, k.Secrets, k.Templates)
}

// Scope is the scope in words, for people and models.
func (k *Kit) Scope() string { return k.scope.Words() }

// Spent reports whether the budget of requests kept something from being sent.
func (k *Kit) Spent() bool { return k.scope.IsSpent() }

// Close ends what the tools hold open.
func (k *Kit) Close() {
	k.engine.Close()
	k.web.close()
}

// Tools are the tools of the built-in planner.
func (k *Kit) Tools() []agent.Tool { return []agent.Tool{probe{k}, explore{k}, scan{k}, verify{k}} }
