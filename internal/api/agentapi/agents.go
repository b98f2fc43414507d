package agentapi

import (
	"context"
	"net/http"
	"time"

	"github.com/vedette-sec/vedette/internal/api/rest"
	"github.com/vedette-sec/vedette/internal/core/customagent"
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

	AgentCode
}

// AgentCode would run a user's code on the server: it must be empty.
type AgentCode struct {
	CustomTools     []map[string]any `json:"custom_tools,omitempty" doc:"Must be empty: no scripts of users are run here. Describe an HTTP tool, or connect an MCP server."`
	IsDynamic       bool             `json:"is_dynamic,omitempty" doc:"Must be false: an agent makes no tools here."`
	PrereqPackages  []string         `json:"prereq_packages,omitempty" doc:"Must be empty: nothing is installed here."`
	InstallCommands []string         `json:"install_commands,omitempty" doc:"Must be empty: no commands of users are run here."`
	VerifyCommands  []string         `json:"verify_commands,omitempty" doc:"Must be empty: no commands of users are run here."`
	RequireEnvVars  []string         `json:"require_env_vars,omitempty" doc:"Must be empty: name secrets in the task instead."`
}

func (c AgentCode) check() error {
	for _, field := range []struct {
		name, why string
		sent      bool
	}{
		{"custom_tools", "no scripts of users are run on this server. Describe an HTTP tool or connect an MCP server instead",
			len(c.CustomTools) > 0},
		{"is_dynamic", "an agent makes no tools on this server", c.IsDynamic},
		{"prereq_packages", "nothing is installed on this server for an agent", len(c.PrereqPackages) > 0},
		{"install_commands", "no commands of users are run on this server", len(c.InstallCommands) > 0},
		{"verify_commands", "no commands of users are run on this server", len(c.VerifyCommands) > 0},
		{"require_env_vars", "an agent has no environment on this server. Name secrets in the task instead",
			len(c.RequireEnvVars) > 0},
	} {
		if field.sent {
			return errs.Field(field.name, "%s cannot be set: %s.", field.name, field.why)
		}
	}
	return nil
}

func (r AgentRequest) update() (customagent.Update, error) {
	return customagent.Update{
		Name: r.Name, Description: r.Description, WhenToUse: r.WhenToUse, SystemContext: r.SystemContext, Tags: r.Tags,
		NativeTools: r.NativeTools,
	}, r.check()
}

// AgentDoc is an agent in an answer.
type AgentDoc struct {
	ID                          string           `json:"id"`
	Name                        string           `json:"name"`
	Description                 string           `json:"description" doc:"What it is, for people."`
	Type                        string           `json:"type" enum:"user" doc:"Who made it."`
	WhenToUse                   string           `json:"when_to_use"`
	SystemContext               string           `json:"system_context" doc:"Its system prompt."`
	Tags                        []string         `json:"tags"`
	NativeTools                 []string         `json:"native_tools"`
	ToolsCount                  int              `json:"tools_count" doc:"Number of native_tools."`
	CustomTools                 []map[string]any `json:"custom_tools" doc:"Always empty."`
	CustomToolsCount            int              `json:"custom_tools_count" doc:"Always 0."`
	HasDynamicTools             bool             `json:"has_dynamic_tools" doc:"Always false."`
	HasMemory                   bool             `json:"has_memory" doc:"Always true: it has the task's memory."`
	HasInstallationRequirements bool             `json:"has_installation_requirements" doc:"Always false."`
	ConfigHash                  string           `json:"config_hash" doc:"A hash of its system prompt and tools."`
	ConfigVersion               int              `json:"config_version" doc:"From 1; grows with each change."`
	CreatedAt                   time.Time        `json:"created_at"`
	UpdatedAt                   time.Time        `json:"updated_at"`
}

func agentDoc(a customagent.Agent) AgentDoc {
	return AgentDoc{
		ID: a.ID, Name: a.Name, Description: a.Description, Type: "user", WhenToUse: a.WhenToUse,
		SystemContext: a.SystemContext,
		Tags:          a.Tags, NativeTools: a.NativeTools, ToolsCount: len(a.NativeTools), CustomTools: []map[string]any{},
		HasMemory:  true,
		ConfigHash: a.Hash(), ConfigVersion: a.Version, CreatedAt: a.CreatedAt, UpdatedAt: a.UpdatedAt,
	}
}

// AgentList is the caller's agents.
type AgentList struct {
	Agents []AgentDoc `json:"agents" doc:"By name."`
	Total  int        `json:"total"`
}

// AgentPath names an agent.
type AgentPath struct {
	ID string `path:"agent_id" doc:"The agent's id."`
}

func (s surface) agents() {
	const path, tag = "/api/v1/agents/user", "Agents"

	rest.Handle(s.API, op("list-agents", "GET "+path, tag, "List your agents"),
		func(ctx context.Context, _ *struct{}) (*AgentList, error) {
			found, err := s.CustomAgents.FindAll(ctx)
			return &AgentList{rest.Each(found, agentDoc), len(found)}, err
		})

	create := op("create-agent", "POST "+path, tag, "Create an agent for your tasks", 409)
	create.DefaultStatus = http.StatusCreated
	create.Description = "agent_id of a task lets it work on the task; agent_ids lets the task's agent delegate to it. " +
		"It consists of texts and names of tools: none of it is run as code."
	rest.Handle(s.API, create, func(ctx context.Context, in *struct{ Body AgentRequest }) (*AgentDoc, error) {
		up, err := in.Body.update()
		if err != nil {
			return nil, err
		}
		return bodyOf(agentDoc)(s.CustomAgents.Create(ctx, up))
	})

	rest.Handle(s.API, op("get-agent", "GET "+path+"/{agent_id}", tag, "Get an agent", 404),
		func(ctx context.Context, in *AgentPath) (*AgentDoc, error) {
			return bodyOf(agentDoc)(s.CustomAgents.Find(ctx, in.ID))
		})

	rest.Handle(s.API, op("update-agent", "PATCH "+path+"/{agent_id}", tag, "Change an agent", 404, 409),
		func(ctx context.Context, in *struct {
			AgentPath
			Body AgentRequest
		}) (*AgentDoc, error) {
			up, err := in.Body.update()
			if err != nil {
				return nil, err
			}
			return bodyOf(agentDoc)(s.CustomAgents.Update(ctx, in.ID, up))
		})

	act(s, op("delete-agent", "DELETE "+path+"/{agent_id}", tag, "Delete an agent", 404), "The agent is deleted.",
		func(ctx context.Context, in *AgentPath) error { return s.CustomAgents.Delete(ctx, in.ID) })
}
