// Package install makes the programs of agents ready, and runs them: prerequisites are looked for, install and verify
// commands run once, and what they left is seen by the agent's tools.
//
// All of it runs in package isolate and never outside of it. An installation is a folder of this process's, which is
// kept from task to task while the agent's commands stay the same; only its own commands can change it. It reaches the
// hosts that the operator names for installations, and no targets; the tools reach their task's targets, and nothing
// else. Programs get the secrets of the agent's owner, whoever has the task, as the tools of package toolkit do.
package install

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/vedette-sec/vedette/internal/agent/redact"
	"github.com/vedette-sec/vedette/internal/core/customagent"
	"github.com/vedette-sec/vedette/internal/core/secret"
	"github.com/vedette-sec/vedette/internal/core/toolkit"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/isolate"
	"github.com/vedette-sec/vedette/internal/infra/netguard"
	"github.com/vedette-sec/vedette/internal/infra/sandbox"
)

// Config is what the service needs.
type Config struct {
	Agents  *customagent.Agents
	Secrets *secret.Secrets
	Hosts   []string       // that installations reach, as targets of a scope; none: they have no network
	Deny    []netip.Prefix // networks that they never reach
}

// Installs keeps the installations of this process.
type Installs struct {
	Config

	dial  toolkit.Dial  // of installations; nil: none
	slots chan struct{} // of programs that run at the same time

	mu   sync.Mutex
	root string // of all folders; made when it is needed
	kept map[string]*kept
}

// kept is one installation.
type kept struct {
	busy   chan struct{} // held by who installs, or looks
	folder string        // "": not installed
	users  int
	used   time.Time
}

// Where an installation is in the sandbox.
const folderThere = "/agent"

// Bounds of installations.
const (
	atOnce     = 4
	maxKept    = 16        // folders of agents that no task uses at the moment
	maxSize    = 512 << 20 // bytes of a folder
	maxFiles   = 50_000    // of a folder
	maxOutput  = 8 << 10   // bytes of the end that are shown
	sizeChecks = 200 * time.Millisecond
	fileSize   = 4 << 10 // what a file counts at least
)

// New makes the service. The error names a host that is none.
func New(c Config) (*Installs, error) {
	s := &Installs{Config: c, slots: make(chan struct{}, atOnce), kept: map[string]*kept{}}
	if len(c.Hosts) == 0 {
		return s, nil
	}
	var all []netguard.Target
	for _, text := range c.Hosts {
		one, err := netguard.ParseTarget(text)
		if err != nil {
			return nil, fmt.Errorf("%q is no host: %w", text, err)
		}
		all = append(all, one)
	}
	scope, err := netguard.NewScope(all, netguard.Limits{Deny: c.Deny})
	if err != nil {
		return nil, err
	}
	s.dial = scope.Dial
	return s, nil
}

// Close removes all folders. A service that is nil has none.
func (s *Installs) Close() error {
	if s == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.root == "" {
		return nil
	}
	return remove(s.root)
}

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
	k, err := s.hold(ctx, a.ID+" "+a.InstallHash())
	if err != nil {
		return nil, err
	}
	defer func() {
		<-k.busy
		if err != nil {
			s.letGo(k)
			r = nil
		}
	}()
	if k.folder == "" {
		if err := s.install(ctx, a, k, r.env); err != nil {
			return r, err
		}
	}
	r.folder, r.release = k.folder, sync.OnceFunc(func() { s.letGo(k) })
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

// hold finds or makes what is kept under a key, and waits until nobody else works on it.
func (s *Installs) hold(ctx context.Context, key string) (*kept, error) {
	s.mu.Lock()
	k := s.kept[key]
	if k == nil {
		k = &kept{busy: make(chan struct{}, 1)}
		s.kept[key] = k
	}
	k.users++
	s.forget()
	s.mu.Unlock()
	select {
	case k.busy <- struct{}{}:
		return k, nil
	case <-ctx.Done():
		s.letGo(k)
		return nil, context.Cause(ctx)
	}
}

func (s *Installs) letGo(k *kept) {
	s.mu.Lock()
	defer s.mu.Unlock()
	k.users--
	k.used = time.Now()
	s.forget()
}

// forget removes what was not installed, and the oldest folders that are too many, of those that nobody uses.
func (s *Installs) forget() {
	var idle []string
	for key, k := range s.kept {
		switch {
		case k.users > 0:
		case k.folder == "":
			delete(s.kept, key)
		default:
			idle = append(idle, key)
		}
	}
	slices.SortFunc(idle, func(a, b string) int { return s.kept[a].used.Compare(s.kept[b].used) })
	for _, key := range idle[:max(0, len(idle)-maxKept)] {
		_ = remove(s.kept[key].folder) // what is left goes with the root
		delete(s.kept, key)
	}
}

// install fills the folder of k, which is set when all went well, and writes down how it went.
func (s *Installs) install(ctx context.Context, a customagent.Agent, k *kept, env map[string]string) error {
	if err := s.Agents.SetInstallation(ctx, a, customagent.Installation{Status: customagent.Installing}); err != nil {
		return err
	}
	folder, err := s.newFolder()
	if err != nil {
		return err
	}
	w := work{Installs: s, agent: a, folder: folder, env: env}
	inner, cancel := context.WithTimeoutCause(ctx, customagent.MostInstallTime, sandbox.ErrRunTime)
	defer cancel()
	err = w.do(inner)
	end := customagent.Installation{Status: customagent.Installed, Output: w.tail()}
	if err != nil {
		end.Status, end.Fault = customagent.InstallFailed, redact.New(env).Redact(errs.From(err).Message)
		if errs.Is(err, errs.Internal) {
			end.Fault = "It was interrupted. The next task installs the agent again."
		}
	}
	err = errors.Join(err, s.Agents.SetInstallation(context.WithoutCancel(ctx), a, end))
	if err != nil {
		return errors.Join(err, remove(folder))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	k.folder = folder
	return nil
}

// newFolder makes an empty folder that programs may write to.
func (s *Installs) newFolder() (folder string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.root == "" {
		root, err := os.MkdirTemp(sandbox.Reachable(), "vedette-agents-*")
		if err != nil {
			return "", err
		}
		if err := os.Chmod(root, 0o711); err != nil { //nolint:gosec // the names in it are secret
			return "", err
		}
		s.root = root
	}
	if folder, err = os.MkdirTemp(s.root, "agent-*"); err != nil {
		return "", err
	}
	return folder, errors.Join(os.Chmod(folder, 0o700), sandbox.Give(folder)) //nolint:gosec // programs enter it
}

// remove removes a folder of programs, who may have closed parts of it.
func remove(folder string) error {
	_ = filepath.WalkDir(folder, func(path string, e fs.DirEntry, _ error) error {
		if e != nil && e.IsDir() {
			_ = os.Chmod(path, 0o700) //nolint:gosec // a folder
		}
		return nil
	})
	return os.RemoveAll(folder)
}
