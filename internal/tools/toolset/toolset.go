// Package toolset assembles what one task works with: its scope, the tools of the built-in planner and, for a language
// model, templates, files, assets, extensions and custom agents.
package toolset

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/netip"
	"strings"
	"sync"
	"time"

	"github.com/vedette-sec/vedette/internal/agent"
	"github.com/vedette-sec/vedette/internal/agent/loop"
	"github.com/vedette-sec/vedette/internal/browser"
	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/core/asset"
	"github.com/vedette-sec/vedette/internal/core/catalog"
	"github.com/vedette-sec/vedette/internal/core/customagent"
	"github.com/vedette-sec/vedette/internal/core/customagent/install"
	"github.com/vedette-sec/vedette/internal/core/enumeration"
	"github.com/vedette-sec/vedette/internal/core/exclusion"
	"github.com/vedette-sec/vedette/internal/core/extension"
	"github.com/vedette-sec/vedette/internal/core/file"
	"github.com/vedette-sec/vedette/internal/core/knowledge"
	"github.com/vedette-sec/vedette/internal/core/model"
	"github.com/vedette-sec/vedette/internal/core/network"
	"github.com/vedette-sec/vedette/internal/core/project"
	"github.com/vedette-sec/vedette/internal/core/scan"
	"github.com/vedette-sec/vedette/internal/core/skill"
	"github.com/vedette-sec/vedette/internal/core/sshkey"
	"github.com/vedette-sec/vedette/internal/core/task"
	"github.com/vedette-sec/vedette/internal/core/toolkit"
	"github.com/vedette-sec/vedette/internal/engine/child"
	"github.com/vedette-sec/vedette/internal/engine/templates"
	"github.com/vedette-sec/vedette/internal/tools"
	"github.com/vedette-sec/vedette/internal/tools/distill"
	"github.com/vedette-sec/vedette/internal/tools/runner"
	"github.com/vedette-sec/vedette/internal/tools/scope"
	"github.com/vedette-sec/vedette/internal/tools/webtool"
)

// Services are what the tools of tasks use.
type Services struct {
	Agents       *customagent.Agents
	Assets       *asset.Assets
	Catalog      *catalog.Catalog
	Enumerations *enumeration.Enumerations
	Exclusions   *exclusion.Exclusions
	Extensions   *extension.Extensions
	Files        *file.Files
	Network      *network.Events // nil: nothing is captured
	Projects     *project.Projects
	SSHKeys      *sshkey.Keys
	Scans        *scan.Scans
	Skills       *skill.Skills
	Knowledge    *knowledge.Knowledge
	Toolkits     *toolkit.Toolkits
	Installs     *install.Installs
	Engines      *child.Pool
	Deny         []netip.Prefix // never tested
	Logger       *slog.Logger

	starter []runner.Builtin
	browser *browser.Pool // of the tests of web applications, one for all tasks of this process; nil: there is none
}

// New reads the starter templates.
func New(s Services) (Services, error) {
	all, texts, err := templates.StarterTexts()
	for i, t := range all {
		s.starter = append(s.starter, runner.Builtin{Template: t, Text: runner.Text(t.Path, string(texts[i]))})
	}
	if s.Engines == nil || err != nil {
		return s, err
	}
	if b := s.Engines.Browsers(); b.AtOnce > 0 {
		if _, none := browser.Find(b.Path); none == nil {
			s.browser = browser.New(browser.Config{Path: b.Path, Memory: b.Memory, Temp: b.Temp, Pages: browserPages,
				Nobody: true, Idle: time.Minute})
		}
	}
	return s, nil
}

// Browser is that of the tests of web applications; nil: there is none.
func (s Services) Browser() *browser.Pool { return s.browser }

// browserPages are open at a time in the browser that tasks share.
const browserPages = 4

// Kit makes the tools of a task.
func (s Services) Kit(
	ctx context.Context, run *task.Run, plan agent.Plan, budget scope.Budget, secrets map[string]string,
) (*tools.Kit, error) {
	t := run.Task
	boundary, err := s.Boundary(ctx, t, plan)
	if err != nil {
		return nil, err
	}
	boundary.OnDenied, boundary.Budget = s.denials(ctx, run), budget
	if boundary.Capture, err = s.capture(ctx, t, plan); err != nil {
		return nil, err
	}
	c := tools.Config{
		Run: run, Boundary: boundary, Secrets: secrets, Logger: s.Logger, Runs: s.Runs(t.TeamID, run), Browser: s.browser,
		Templates: distill.Templates{Catalog: s.Catalog, TeamID: t.TeamID, UserID: t.UserID,
			Shared: t.IsShared()},
		Inventory: tools.Inventory{
			Assets: s.Assets, Enumerations: s.Enumerations,
			Caller: account.Caller{UserID: t.UserID, Email: t.Owner, TeamID: t.TeamID, Role: account.Member},
		},
	}
	for _, b := range s.starter {
		if tools.AllowsMethods(boundary.Doc, b.Template) {
			c.Builtin = append(c.Builtin, b)
		}
	}
	kit, err := tools.New(c)
	if err != nil {
		boundary.Capture.Close()
	}
	return kit, err
}

// Runs is what runs templates for a team. run is the task whose ledger is kept; nil: none.
func (s Services) Runs(teamID string, run *task.Run) runner.Config {
	return runner.Config{Engines: s.Engines, Scans: s.Scans, TeamID: teamID, Task: run}
}

// Boundary is the scope of a task.
func (s Services) Boundary(ctx context.Context, t task.Task, plan agent.Plan) (b scope.Boundary, err error) {
	b = scope.Boundary{Plan: plan, Deny: s.Deny}
	if t.Options.Scope != nil {
		b.Doc = *t.Options.Scope
	}
	b.Team, err = s.Exclusions.Patterns(ctx, t.TeamID)
	return b, err
}

const maxDenials = 200

// denials reports attempts to leave the scope in the stream.
func (s Services) denials(ctx context.Context, run *task.Run) func(scope.Denial) {
	var mu sync.Mutex
	count := 0
	kept := context.WithoutCancel(ctx)
	return func(d scope.Denial) {
		mu.Lock()
		defer mu.Unlock()
		s.Logger.InfoContext(kept, "a dial was refused", "task_id", run.Task.ID, "address", d.Address, "why", d.Why)
		if count++; count <= maxDenials {
			run.Emit(kept, task.EventDenied, d)
		}
	}
}

// Session is what a language model works with in one stream.
type Session struct {
	loop.Config

	extensions *extension.Set
	crew       *crew
	missing    string // files and agents that no longer exist
}

// Close closes the connections of extensions, and lets go what agents have installed.
func (s *Session) Close() {
	if s.extensions != nil {
		s.extensions.Close()
	}
	s.crew.release()
}

// Session adds files, memory, extensions and agents to the tools of a kit.
func (s Services) Session(ctx context.Context, run *task.Run, kit *tools.Kit, chosen model.Chosen) (*Session, error) {
	t := run.Task
	crew, err := s.crewOf(ctx, t)
	if err != nil {
		return nil, err
	}
	out := &Session{Config: t.LoopConfig(chosen), crew: &crew}
	if err := s.fill(ctx, run, kit, out); err != nil {
		out.Close()
		return nil, err
	}
	return out, nil
}

// fill fills a session whose agents are known.
func (s Services) fill(ctx context.Context, run *task.Run, kit *tools.Kit, out *Session) error {
	t, crew := run.Task, out.crew
	files, missing, err := s.Files.ForTask(ctx, t.TeamID, t.UserID, t.Options.FileKeys)
	if err != nil {
		return err
	}
	if len(missing) > 0 {
		out.missing = "\nThere is no file any more with the key " + strings.Join(missing, ", ") + "."
	}
	kit.Attached = tools.Attached{Files: files, Store: s.Files}
	entries, err := run.Entries(ctx)
	if err != nil {
		return err
	}
	kit.Resume(entries)
	if out.Tools, err = kit.Actions(); err != nil {
		return err
	}
	out.Tools = append(out.Tools, webtool.New(kit.WebStep()).All()...)
	memory, err := run.MemoryText(ctx)
	if err != nil {
		return err
	}
	out.Secrets, out.Logger, out.Attachments = kit.Secrets, s.Logger, kit.Attached.Previews()
	c := &out.Config
	c.Verify = kit.Verify
	about, err := s.Projects.Prompt(ctx, t.ProjectID)
	if err != nil {
		return err
	}
	out.Context = strings.TrimSpace(kit.Scope() + "\n" + about + "\n" + memory)
	passwords, err := s.addSSH(ctx, t, kit, &out.Config)
	if err != nil {
		return err
	}
	skills, err := s.addSkills(ctx, run, &out.Config, crew.skills())
	if err != nil {
		return err
	}
	if err := s.addKnowledge(ctx, t, &out.Config); err != nil {
		return err
	}
	if err := crew.addPrograms(ctx, s, kit, &out.Config); err != nil {
		return err
	}
	if out.extensions, err = s.addExtensions(ctx, run, kit, &out.Config, crew.gaps); err != nil {
		return err
	}
	c.Hidden = append(c.Hidden, passwords...)
	agents, err := crew.addAgents(&out.Config)
	if err != nil {
		return err
	}
	out.missing += skills + agents
	return nil
}

// Ending ends a stream after a language model's run.
func (s *Session) Ending(ctx context.Context, run *task.Run, outcome loop.Outcome) (e task.Ending, err error) {
	entries, err := run.Entries(ctx)
	if err != nil {
		return e, err
	}
	calls := 0 // of extensions: no requests to targets
	for _, entry := range entries {
		if entry.Kind != loop.ToolResult || entry.Stream != run.Task.Index {
			continue
		}
		var returned loop.Returned
		_ = json.Unmarshal(entry.Body, &returned) // written by the loop
		if tools.IsExtension(returned) {
			calls += returned.Result.Requests
		}
	}
	summary := strings.TrimSpace(outcome.Summary)
	if calls > 0 {
		summary += fmt.Sprintf("\nCalls of extensions: %d.", calls)
	}
	summary = strings.TrimSpace(summary+"\n"+missingText(s.extensions.Missing)) + s.missing
	return task.Ending{Status: task.Completed, Opening: summary, Requests: outcome.Requests - calls}, nil
}
