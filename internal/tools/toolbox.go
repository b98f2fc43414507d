// Package toolbox is what the agent may do: one tool a file, with its description for
// people and models beside it. Every tool works inside the scope of its task: what the
// instruction names, less what it excludes and what the operator denies.
package tools

import (
	"context"
	"embed"
	"encoding/json"
	"errors"
	"log/slog"
	"net/netip"
	"net/url"
	"strconv"
	"strings"

	"github.com/vedette-sec/vedette/internal/agent"
	"github.com/vedette-sec/vedette/internal/core/task"
	"github.com/vedette-sec/vedette/internal/engine"
	"github.com/vedette-sec/vedette/internal/engine/program"
	"github.com/vedette-sec/vedette/internal/infra/netguard"
)

//go:embed *.md
var descriptions embed.FS

// Description is what a tool does, in prose.
func Description(tool string) (string, error) {
	text, err := descriptions.ReadFile(tool + ".md")
	return string(text), err
}

// Config is what the tools of one task work with.
type Config struct {
	Run      *task.Run
	Boundary Boundary
	Programs []*program.Program // what the built-in planner chooses from
	Secrets  map[string]string  // of the task, by name
	// Templates are what a language model may choose from.
	Templates Templates
	// Keep stores a template that was made of a finding among those of the task's team; nil
	// where the team is not to know it.
	Keep      func(ctx context.Context, filename, text string) (task.Means, error)
	Inventory Inventory
	Attached  Attached
	Logger    *slog.Logger
}

// Kit is the tools of one task.
type Kit struct {
	Config
	Plan   agent.Plan
	scope  *scope
	engine *engine.Engine
	web    *web
}

// New makes the tools and the scope they are held to. It fails with Invalid when the
// instruction or the request names something that cannot be a target.
func New(c Config) (*Kit, error) {
	s, err := newScope(c.Boundary)
	if err != nil {
		return nil, err
	}
	k := &Kit{Config: c, Plan: s.Plan, scope: s, engine: engine.New(engine.Config{Dial: s.Dial, RateLimit: s.rate(), Retries: 1, Allow: s.Allow})}
	k.web = newWeb(s)
	return k, nil
}

// Scope is the scope in words, for people and models.
func (k *Kit) Scope() string { return k.scope.words() }

// Spent reports whether the budget of requests kept something from being sent.
func (k *Kit) Spent() bool { return k.scope.spent.Load() }

// Close ends what the tools hold open.
func (k *Kit) Close() {
	k.engine.Close()
	k.web.close()
}

// Tools are the tools of the built-in planner.
func (k *Kit) Tools() []agent.Tool { return []agent.Tool{probe{k}, explore{k}, scan{k}, verify{k}} }

// scopeTexts are what a target of the plan puts into scope: its host on its port, or on
// the ports that the instruction names, or else on all.
func scopeTexts(t agent.Target, ports []int) []string {
	if t.Kind == agent.KindCIDR {
		return []string{t.Prefix}
	}
	host := t.Host
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	switch {
	case t.Port != 0:
		ports = []int{t.Port}
	case t.Scheme == "https" && len(ports) == 0:
		ports = []int{443}
	case t.Scheme == "http" && len(ports) == 0:
		ports = []int{80}
	case len(ports) == 0:
		return []string{host}
	}
	out := make([]string, len(ports))
	for i, port := range ports {
		out[i] = host + ":" + strconv.Itoa(port)
	}
	return out
}

// excludedRange is the addresses of an exclusion that holds for every port and path.
func excludedRange(t agent.Target) (netip.Prefix, bool) {
	if t.Port != 0 || t.Scheme != "" || t.Path != "" {
		return netip.Prefix{}, false
	}
	text := t.Prefix
	if text == "" {
		text = t.Host
	}
	p, err := netguard.ParsePrefix(text)
	return p, err == nil
}

// placeOf is a URL as a target, to hold it against the plan's exclusions.
func placeOf(u *url.URL) agent.Target {
	port, _ := strconv.Atoi(u.Port()) // "" is 0: the scheme's own
	return agent.Target{Kind: agent.KindURL, Scheme: u.Scheme, Host: strings.ToLower(u.Hostname()), Port: port, Path: u.EscapedPath()}
}

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

// maxReason is the longest reason that is told to people, in bytes.
const maxReason = 200

// reason is why a request failed, short enough for a sentence and without a full stop.
func reason(err error) string {
	text := err.Error()
	if denied, ok := errors.AsType[*netguard.Denied](err); ok {
		text = "it is not in scope: " + denied.Why
	}
	if len(text) > maxReason {
		text = strings.ToValidUTF8(text[:maxReason], "") + "…"
	}
	return strings.TrimRight(text, ".")
}

// read decodes a document that a step before this one wrote.
func read[T any](in agent.Input, tool string) (doc T, err error) {
	err = json.Unmarshal(in.Before[tool], &doc)
	return doc, err
}
