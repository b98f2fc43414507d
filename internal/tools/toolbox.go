// Package tools is what the agent may do: one tool a file, with its description for people and
// models beside it. Every tool works inside the scope of its task (package scope).
package tools

import (
	"embed"
	"encoding/json"
	"log/slog"
	"strconv"
	"strings"

	"github.com/vedette-sec/vedette/internal/tools/distill"
	"github.com/vedette-sec/vedette/internal/tools/scope"

	"github.com/vedette-sec/vedette/internal/agent"
	"github.com/vedette-sec/vedette/internal/core/task"
	"github.com/vedette-sec/vedette/internal/engine"
	"github.com/vedette-sec/vedette/internal/engine/program"
)

//go:embed *.md
var descriptions embed.FS

// Description is what a tool does, in prose.
func Description(tool string) (string, error) {
	text, err := descriptions.ReadFile(tool + ".md")
	return string(text), err
}

type (
	// Boundary is what the tools of a task may reach.
	Boundary = scope.Boundary
	// Budget is how many requests they may send.
	Budget = scope.Budget
	// Denial is a request that was refused.
	Denial = scope.Denial
	// Templates are those that a model may choose from.
	Templates = distill.Templates
)

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
	k := &Kit{Config: c, Plan: s.Plan, scope: s, engine: engine.New(engine.Config{Dial: s.Dial, RateLimit: s.Rate(), Retries: 1, Allow: s.Allow})}
	k.web = newWeb(s)
	return k, nil
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

// address is how the engine takes a target of the plan.
func address(t agent.Target) string {
	host := t.Host
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	if t.Port != 0 {
		host += ":" + strconv.Itoa(t.Port)
	}
	if t.Kind == agent.KindURL {
		return t.Scheme + "://" + host + t.Path
	}
	return host
}

// read decodes a document that a step before this one wrote.
func read[T any](in agent.Input, tool string) (doc T, err error) {
	err = json.Unmarshal(in.Before[tool], &doc)
	return doc, err
}
