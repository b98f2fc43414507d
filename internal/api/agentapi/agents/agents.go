// Package agents serves the areas Agents and Agent Directory of the agent-task API: custom agents, their versions, and
// the directory of agents that everybody on the server may copy.
package agents

import (
	"context"
	"net/http"
	"time"

	"github.com/vedette-sec/vedette/internal/api/agentapi/signin"
	"github.com/vedette-sec/vedette/internal/api/rest"
	"github.com/vedette-sec/vedette/internal/core/customagent"
	"github.com/vedette-sec/vedette/internal/core/sharing"
	"github.com/vedette-sec/vedette/internal/core/task"
	"github.com/vedette-sec/vedette/internal/infra/errs"
)

// AgentRequest is the body of POST and PATCH /api/v1/agents/user; absent fields stay.
type AgentRequest struct {
	Name          *string   `json:"name,omitempty" minLength:"1" maxLength:"128" doc:"Its name: one line, unique among your agents. Required for a new one."`
	Description   *string   `json:"description,omitempty" maxLength:"2000" doc:"What it is, for people."`
	WhenToUse     *string   `json:"when_to_use,omitempty" maxLength:"2000"`
	SystemContext *string   `json:"system_context,omitempty" maxLength:"20000" doc:"Its system prompt. It adds to the product's own rules and changes none."`
	Tags          *[]string `json:"tags,omitempty" maxItems:"50"`
	NativeTools   *[]string `json:"native_tools,omitempty" maxItems:"100"`
	Skills        *[]string `json:"skills,omitempty" maxItems:"50" doc:"Names of the skills that it may load; empty: all that its task has."`
	Shared        *bool     `json:"shared,omitempty" doc:"Whether the team may use it and see its text. What is run of it gets your secrets, also in tasks of others."`

	CustomTools     *[]CustomTool `json:"custom_tools,omitempty" maxItems:"20" doc:"Commands that its model may run, in the sandbox and within the scope of the task."`
	PrereqPackages  *[]string     `json:"prereq_packages,omitempty" maxItems:"50" doc:"Programs that must be on the server, by name; nothing is installed for them. A task fails that misses one."`
	InstallCommands *[]string     `json:"install_commands,omitempty" maxItems:"20" doc:"Commands of a shell that are run in the sandbox before the agent's first task. What they write to /agent is kept for its tools."`
	VerifyCommands  *[]string     `json:"verify_commands,omitempty" maxItems:"20" doc:"Commands of a shell that are run after install_commands. Each must end with the code 0."`
	RequireEnvVars  *[]string     `json:"require_env_vars,omitempty" maxItems:"50" doc:"Names of secrets of yours, which are in the environment of its tools and commands. A task fails that misses one."`
	IsDynamic       bool          `json:"is_dynamic,omitempty" doc:"Must be false: an agent makes no tools here. All agents have your dynamic tools."`
}

func (r AgentRequest) update() (customagent.Update, error) {
	up := customagent.Update{
		Name: r.Name, Description: r.Description, WhenToUse: r.WhenToUse, SystemContext: r.SystemContext, Tags: r.Tags,
		NativeTools: r.NativeTools, Skills: r.Skills, Shared: r.Shared,
		Prereqs: r.PrereqPackages, Install: r.InstallCommands, Verify: r.VerifyCommands, Env: r.RequireEnvVars,
	}
	if r.IsDynamic {
		return up, errs.Field("is_dynamic", "is_dynamic cannot be set: an agent makes no tools on this server. "+
			"All agents have your dynamic tools (POST /api/v1/dynamic-tools).")
	}
	if r.CustomTools != nil {
		up.CustomTools = new(rest.Each(*r.CustomTools, CustomTool.tool))
	}
	return up, nil
}

// AgentDoc is an agent in an answer.
type AgentDoc struct {
	ID            string   `json:"id"`
	Name          string   `json:"name"`
	Description   string   `json:"description" doc:"What it is, for people."`
	Type          string   `json:"type" enum:"user,team,shipped,published" doc:"user: yours. team: a colleague's, shared. shipped: it comes with the server. published: of the directory."`
	WhenToUse     string   `json:"when_to_use"`
	SystemContext string   `json:"system_context" doc:"Its system prompt."`
	Tags          []string `json:"tags"`
	NativeTools   []string `json:"native_tools"`
	Skills        []string `json:"skills" doc:"Names of the skills that it may load; empty: all that its task has."`
	Shared        bool     `json:"shared" doc:"Whether the team may use it."`
	IsOwner       bool     `json:"is_owner"`
	ToolsCount    int      `json:"tools_count" doc:"Number of native_tools."`
	AgentPrograms
	CustomToolsCount            int        `json:"custom_tools_count" doc:"Number of custom_tools."`
	HasDynamicTools             bool       `json:"has_dynamic_tools" doc:"Always false: it makes no tools."`
	HasMemory                   bool       `json:"has_memory" doc:"Always true: it has the task's memory."`
	HasInstallationRequirements bool       `json:"has_installation_requirements" doc:"Whether it has prereq_packages, install_commands or verify_commands."`
	InstallationStatus          string     `json:"installation_status" enum:"none,not_started,installing,installed,failed" doc:"What became of these when a task last needed them; none: there are none."`
	InstallationError           string     `json:"installation_error" doc:"Why it failed."`
	InstallationOutput          string     `json:"installation_output" doc:"The end of what the commands wrote, without secrets."`
	InstallationAt              *time.Time `json:"installation_at" doc:"When that was; null: never."`
	ConfigHash                  string     `json:"config_hash" doc:"A hash of its system prompt and tools."`
	ConfigVersion               int        `json:"config_version" doc:"From 1; grows with each change."`
	ForkCount                   int        `json:"fork_count" doc:"Copies that were made of it."`
	UseCount                    int        `json:"use_count" doc:"Tasks of your team that used it."`
	OriginalAgentID             string     `json:"original_agent_id,omitempty" doc:"The agent that it was copied from."`
	OriginalCreatorID           string     `json:"original_creator_id,omitempty" doc:"The user who made the agent that it was copied from; absent when that came with the server."`
	PublishedAt                 *time.Time `json:"published_at" doc:"When it was put into the directory; null: it is not there."`
	PublishedVersion            int        `json:"published_version" doc:"The config_version that the directory has; 0: none."`
	CreatedAt                   time.Time  `json:"created_at"`
	UpdatedAt                   time.Time  `json:"updated_at"`
}

func agentDoc(a customagent.Agent) AgentDoc {
	d := AgentDoc{
		ID:               a.ID,
		Name:             a.Name,
		Description:      a.Description,
		Type:             string(a.Origin),
		WhenToUse:        a.WhenToUse,
		SystemContext:    a.SystemContext,
		Tags:             a.Tags,
		NativeTools:      a.NativeTools,
		ToolsCount:       len(a.NativeTools),
		Skills:           append([]string{}, a.Skills...),
		Shared:           a.Shared,
		IsOwner:          a.Origin == sharing.Own,
		AgentPrograms:    programsDoc(a.Programs),
		CustomToolsCount: len(a.CustomTools),
		HasMemory:        true,

		HasInstallationRequirements: a.Installs(),

		InstallationStatus: a.Installation.Status,
		InstallationError:  a.Installation.Fault,
		InstallationOutput: a.Installation.Output,

		ConfigHash:        a.Hash(),
		ConfigVersion:     a.Version,
		ForkCount:         a.Forks,
		UseCount:          a.Uses,
		OriginalAgentID:   a.OriginalID,
		OriginalCreatorID: a.OriginalOwner,
		PublishedVersion:  a.PublishedVersion,
		CreatedAt:         a.CreatedAt,
		UpdatedAt:         a.UpdatedAt,
	}
	if !a.PublishedAt.IsZero() {
		d.PublishedAt = &a.PublishedAt
	}
	if !a.Installation.At.IsZero() {
		d.InstallationAt = &a.Installation.At
	}
	return d
}

func answer(a customagent.Agent, err error) (*AgentDoc, error) { return new(agentDoc(a)), err }

// AgentList is the agents that the caller may use, or those of the directory.
type AgentList struct {
	Agents []AgentDoc `json:"agents" doc:"Yours by name, then those that colleagues share; of the directory, those that come with the server first."`
	Total  int        `json:"total"`
}

// AgentPath names an agent.
type AgentPath struct {
	ID string `path:"agent_id" doc:"The agent's id."`
}

// Area is the areas with the services that they call.
type Area struct {
	*rest.API
	Agents *customagent.Agents
	Tasks  *task.Tasks
}

const (
	path = "/api/v1/agents/user"
	one  = path + "/{agent_id}"
	tag  = "Agents"
)

// Register adds the operations.
func (s Area) Register() {
	rest.Handle(s.API, rest.NewOp("list-agents", "GET "+path, tag, "List your agents, and those that your team shares"),
		func(ctx context.Context, _ *struct{}) (*AgentList, error) {
			found, err := s.Agents.FindAll(ctx)
			return &AgentList{rest.Each(found, agentDoc), len(found)}, err
		})

	create := rest.NewOp("create-agent", "POST "+path, tag, "Create an agent for your tasks", 409)
	create.DefaultStatus = http.StatusCreated
	create.Description = "agent_id of a task lets it work on the task; agent_ids lets the task's agent delegate to it. " +
		"Its tools and commands are run in the sandbox alone; where the server has none, tasks with the agent fail and say why."
	rest.Handle(s.API, create, func(ctx context.Context, in *struct{ Body AgentRequest }) (*AgentDoc, error) {
		up, err := in.Body.update()
		if err != nil {
			return nil, err
		}
		return answer(s.Agents.Create(ctx, up))
	})

	rest.Handle(s.API, rest.NewOp("get-agent", "GET "+one, tag, "Get an agent", 404),
		func(ctx context.Context, in *AgentPath) (*AgentDoc, error) { return answer(s.Agents.Find(ctx, in.ID)) })

	update := rest.NewOp("update-agent", "PATCH "+one, tag, "Change an agent of yours", 404, 409)
	update.Description = "A changed text is a new version. Tasks that have begun keep the version that they began with."
	rest.Handle(s.API, update, func(ctx context.Context, in *struct {
		AgentPath
		Body AgentRequest
	}) (*AgentDoc, error) {
		up, err := in.Body.update()
		if err != nil {
			return nil, err
		}
		return answer(s.Agents.Update(ctx, in.ID, up))
	})

	signin.Act(s.API, rest.NewOp("delete-agent", "DELETE "+one, tag, "Delete an agent of yours; copies of it stay", 404),
		"The agent is deleted.", func(ctx context.Context, in *AgentPath) error { return s.Agents.Delete(ctx, in.ID) })
	s.versions()
	s.directory()
}
