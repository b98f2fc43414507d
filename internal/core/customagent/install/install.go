// Package install makes the programs of agents ready, and runs them: prerequisites are looked for, install and verify
// commands run once, and what they left is seen by the agent's tools.
//
// All of it runs in package isolate and never outside of it. An installation is a folder of package provision, which is
// kept from task to task while the agent's commands stay the same; only its own commands can change it. The tools reach
// their task's targets, and nothing else. Programs get the secrets of the agent's owner, whoever has the task, as the
// tools of package toolkit do.
package install

import (
	"context"
	"errors"
	"strings"

	"github.com/vedette-sec/vedette/internal/agent/redact"
	"github.com/vedette-sec/vedette/internal/core/customagent"
	"github.com/vedette-sec/vedette/internal/core/secret"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/isolate"
	"github.com/vedette-sec/vedette/internal/infra/provision"
)

// Config is what the service needs.
type Config struct {
	Agents  *customagent.Agents
	Secrets *secret.Secrets
	Folders *provision.Folders
}

// Installs makes the programs of agents ready.
type Installs struct{ Config }

// folderThere is where the programs of an agent see its folder.
const folderThere = "/agent"

// New makes the service.
func New(c Config) *Installs { return &Installs{c} }

// Ready is an agent whose programs can be run.
type Ready struct {
	customagent.Agent

	env     map[string]string // secrets
	folder  string            // "": there is none
	all     *Installs
	release func()
}

// Close lets the installation go.
func (r *Ready) Close() {
	if r.release != nil {
		r.release()
	}
}

// Hidden are the secrets that programs get.
func (r *Ready) Hidden() (values []string) {
	for _, value := range r.env {
		values = append(values, value)
	}
	return values
}

// CheckSecrets fails with Conflict when the owner of an agent has not the secrets that it requires.
func (s *Installs) CheckSecrets(ctx context.Context, a customagent.Agent) error {
	_, err := s.environment(ctx, a)
	return err
}

func (s *Installs) environment(ctx context.Context, a customagent.Agent) (map[string]string, error) {
	env := map[string]string{}
	if len(a.Env) == 0 {
		return env, nil
	}
	all, missing, err := s.Secrets.ForTask(ctx, a.TeamID, a.OwnerID, "", a.Env)
	if err != nil {
		return nil, err
	}
	if len(missing) > 0 {
		return nil, errs.New(errs.Conflict, "secret_not_found",
			"The agent %s requires secrets that its owner does not have: %s (require_env_vars). Nothing was done.", a.Name,
			strings.Join(missing, ", "))
	}
	for _, name := range a.Env {
		env[name] = all[name]
	}
	return env, nil
}

// Ready makes an agent's programs ready; close what it returns. Conflict says why they cannot be run: nothing of them
// ran outside of the sandbox.
func (s *Installs) Ready(ctx context.Context, a customagent.Agent) (r *Ready, err error) {
	r = &Ready{Agent: a, all: s}
	if r.env, err = s.environment(ctx, a); err != nil {
		return nil, err
	}
	if !a.Installs() {
		if len(a.CustomTools) > 0 {
			err = s.refusal(ctx, a, isolate.Check(ctx))
		}
		return r, err
	}
	r.folder, r.release, err = s.Folders.Hold(ctx, "agent "+a.ID+" "+a.InstallHash(),
		func(ctx context.Context, w *provision.Work) error { return s.install(ctx, a, w, r.env) })
	if err != nil {
		return nil, err
	}
	return r, nil
}

// refusal is why programs of an agent cannot be run here at all.
func (s *Installs) refusal(ctx context.Context, a customagent.Agent, err error) error {
	if err == nil || ctx.Err() != nil {
		return err
	}
	return errs.New(errs.Conflict, "tools_not_available", "The agent %s has programs, and none are run here: %s.", a.Name,
		strings.TrimSuffix(err.Error(), "."))
}

// install runs the commands of an agent in a new folder, and stores how it went.
func (s *Installs) install(ctx context.Context, a customagent.Agent, w *provision.Work, env map[string]string) error {
	if err := s.Agents.SetInstallation(ctx, a, customagent.Installation{Status: customagent.Installing}); err != nil {
		return err
	}
	all := work{Installs: s, Work: w, agent: a, env: env}
	err := all.do(ctx)
	end := customagent.Installation{Status: customagent.Installed, Output: all.tail()}
	if err != nil {
		end.Status, end.Fault = customagent.InstallFailed, redact.New(env).Redact(errs.From(err).Message)
		if errs.Is(err, errs.Internal) {
			end.Fault = "It was interrupted. The next task installs the agent again."
		}
	}
	return errors.Join(err, s.Agents.SetInstallation(context.WithoutCancel(ctx), a, end))
}
