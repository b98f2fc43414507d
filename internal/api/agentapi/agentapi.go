// Package agentapi serves the agent-task API, /api/v1 and /api/internal: tasks and their streams, issues,
// artifacts, API keys, teams, login, and the lookup between regions.
package agentapi

import (
	"context"

	"github.com/vedette-sec/vedette/internal/api/agentapi/agents"
	"github.com/vedette-sec/vedette/internal/api/agentapi/auditlogs"
	"github.com/vedette-sec/vedette/internal/api/agentapi/billing"
	"github.com/vedette-sec/vedette/internal/api/agentapi/connections"
	"github.com/vedette-sec/vedette/internal/api/agentapi/dynamic"
	"github.com/vedette-sec/vedette/internal/api/agentapi/issues"
	"github.com/vedette-sec/vedette/internal/api/agentapi/knowledge"
	"github.com/vedette-sec/vedette/internal/api/agentapi/network"
	"github.com/vedette-sec/vedette/internal/api/agentapi/projects"
	"github.com/vedette-sec/vedette/internal/api/agentapi/prompts"
	"github.com/vedette-sec/vedette/internal/api/agentapi/schedules"
	"github.com/vedette-sec/vedette/internal/api/agentapi/signin"
	"github.com/vedette-sec/vedette/internal/api/agentapi/skills"
	"github.com/vedette-sec/vedette/internal/api/agentapi/sshkeys"
	"github.com/vedette-sec/vedette/internal/api/agentapi/teams"
	"github.com/vedette-sec/vedette/internal/api/agentapi/triage"
	"github.com/vedette-sec/vedette/internal/api/rest"
	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/core/audit"
	corebilling "github.com/vedette-sec/vedette/internal/core/billing"
	"github.com/vedette-sec/vedette/internal/core/chat"
	"github.com/vedette-sec/vedette/internal/core/customagent"
	"github.com/vedette-sec/vedette/internal/core/export"
	"github.com/vedette-sec/vedette/internal/core/extension"
	"github.com/vedette-sec/vedette/internal/core/file"
	"github.com/vedette-sec/vedette/internal/core/hook"
	"github.com/vedette-sec/vedette/internal/core/issue"
	coreknowledge "github.com/vedette-sec/vedette/internal/core/knowledge"
	"github.com/vedette-sec/vedette/internal/core/membership"
	"github.com/vedette-sec/vedette/internal/core/model"
	corenetwork "github.com/vedette-sec/vedette/internal/core/network"
	"github.com/vedette-sec/vedette/internal/core/project"
	"github.com/vedette-sec/vedette/internal/core/prompt"
	"github.com/vedette-sec/vedette/internal/core/review"
	"github.com/vedette-sec/vedette/internal/core/secret"
	"github.com/vedette-sec/vedette/internal/core/skill"
	"github.com/vedette-sec/vedette/internal/core/sshkey"
	"github.com/vedette-sec/vedette/internal/core/task"
	"github.com/vedette-sec/vedette/internal/core/taskschedule"
	"github.com/vedette-sec/vedette/internal/core/toolkit"
	coretriage "github.com/vedette-sec/vedette/internal/core/triage"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/netguard"
)

// Prefix is where the surface is mounted.
const Prefix = "/api/"

const version = "1.0.0"

// Error is the surface's error body (specification, Errors).
type Error struct {
	Error            string `json:"error" doc:"What went wrong, in words."`
	Code             string `json:"code" doc:"What went wrong, for programs; stable."`
	ErrorID          string `json:"error_id" doc:"The id of this request in the server's log."`
	Kind             string `json:"kind" doc:"The class of the error, such as invalid or not_found."`
	Message          string `json:"message" doc:"What went wrong, in words; names the field at fault."`
	TurnstileSiteKey string `json:"turnstile_site_key,omitempty" doc:"The site key of the challenge to solve, when one is required."`
}

func shape(_ int, e *errs.Error, id string) any {
	return Error{
		Error: e.Message, Code: e.Code, ErrorID: id, Kind: string(e.Kind), Message: e.Message,
		TurnstileSiteKey: e.Extra["turnstile_site_key"],
	}
}

// Deps are the services that the handlers call.
type Deps struct {
	Accounts     *account.Accounts
	Audit        *audit.Log
	Failures     *audit.Failures
	Members      *membership.Members
	Tasks        *task.Tasks
	Schedules    *taskschedule.Schedules
	Projects     *project.Projects
	SSHKeys      *sshkey.Keys
	Issues       *issue.Issues
	Network      *corenetwork.Events
	Triage       *coretriage.Triage
	Exports      *export.Exports
	Secrets      *secret.Secrets
	Files        *file.Files
	CustomAgents *customagent.Agents
	Extensions   *extension.Extensions
	Toolkits     *toolkit.Toolkits
	Skills       *skill.Skills
	Prompts      *prompt.Prompts
	Knowledge    *coreknowledge.Knowledge
	Models       *model.Models
	Hooks        *hook.Hooks
	Reviews      *review.Reviews
	Chats        *chat.Chats
	Webhooks     *netguard.Guard
	Credits      *corebilling.Credits
	BillingLink  string          // where people pay the operator; empty: nowhere
	EgressIPs    []string        // where requests of this server come from
	Closing      context.Context // done when the server begins to stop: streams end then
}

type surface struct {
	*rest.API
	Deps
}

// New makes the surface with all its operations.
func New(c rest.Config, servers []rest.Server, d Deps) *rest.API {
	s := surface{rest.New(rest.Surface{
		Name: "agent", Title: "Vedette agent-task API", Version: version, Servers: servers, Shape: shape, ErrorType: Error{},
		Vocabulary: vocabulary(),
		Tags: []string{
			"Tasks", "Issues", "Projects", "Schedules", "Triage", "Agents", "Agent Directory", "Skills", "Prompts",
			"Knowledge", "Files", "Memory", "Secrets", "SSH Keys", "MCP", "Tools", "Dynamic Tools", "Models", "BYOK",
			"Usage", "API Keys", "Teams", "User", "Billing", "Audit Logs", "Network Events",
		},
		About: "Create security tasks in plain language, follow them and read their verified findings. " +
			"The values of a repeated query parameter are joined by commas. " +
			"What you send that has no effect is named in warnings, a list of texts in the answer, and in the header X-Warning.",
	}, c), d}
	signin.Register(s.API, d.Accounts, d.Failures, d.Members)
	s.keys()
	s.internal()
	s.tasks()
	projects.Area{API: s.API, Projects: d.Projects, Tasks: d.Tasks}.Register()
	schedules.Area{API: s.API, Schedules: d.Schedules, Names: s.names(), Prompts: d.Prompts}.Register()
	s.exports()
	s.decisions()
	s.agentLog()
	s.memory()
	s.secrets()
	sshkeys.Area{API: s.API, Keys: d.SSHKeys}.Register()
	s.files()
	agents.Area{API: s.API, Agents: d.CustomAgents, Tasks: d.Tasks}.Register()
	knowledge.Area{API: s.API, Knowledge: d.Knowledge}.Register()
	skills.Area{API: s.API, Skills: d.Skills, Tasks: d.Tasks}.Register()
	prompts.Area{API: s.API, Prompts: d.Prompts}.Register()
	s.mcp()
	s.tools()
	dynamic.Register(s.API, d.Toolkits)
	s.streams()
	triage.Register(s.API, d.Triage)
	issues.Register(s.API, d.Tasks, d.Issues, d.Exports)
	s.models()
	s.byok()
	s.usage()
	teams.Area{API: s.API, Tasks: d.Tasks, Accounts: d.Accounts, Members: d.Members, Secrets: d.Secrets,
		Models: d.Models, Hooks: d.Hooks,
		Webhooks: d.Webhooks, EgressIPs: d.EgressIPs}.Register()
	connections.Area{API: s.API, Reviews: d.Reviews, Chats: d.Chats}.Register()
	billing.Area{API: s.API, Credits: d.Credits, Link: d.BillingLink}.Register()
	auditlogs.Area{API: s.API, Log: d.Audit}.Register()
	network.Area{API: s.API, Events: d.Network}.Register()
	return s.API
}

var op = rest.NewOp

// act adds an operation that answers with a fixed message.
func act[I any](s surface, o rest.Op, done string, do func(context.Context, *I) error) {
	signin.Act(s.API, o, done, do)
}

func body[T any](v T, err error) (*T, error) { return &v, err }

// bodyOf makes a service's result a body.
func bodyOf[T, B any](convert func(T) B) func(T, error) (*B, error) {
	return func(v T, err error) (*B, error) { return new(convert(v)), err }
}

type message = signin.Message

// MasterEmailRequest takes no other fields.
type MasterEmailRequest struct {
	_     struct{} `additionalProperties:"false"`
	Email string   `json:"email"`
}

func (s surface) internal() {
	type input struct{ Body MasterEmailRequest }

	master := op("user-master-lookup", "POST /api/internal/user-master/lookup", "User",
		"Find a user's region and team (only in the US deployment)", 404, 503)
	master.Auth = rest.InternalKey
	// Outside the US the endpoint does not exist.
	master.Before = func() error { return s.Accounts.IsMaster() }
	rest.Handle(s.API, master, func(ctx context.Context, in *input) (*account.LookupResult, error) {
		return body(s.Accounts.MasterLookup(ctx, in.Body.Email))
	})

	local := op("user-lookup", "POST "+account.RegionLookupPath, "User",
		"Find a user of this deployment, for the deployment of another region")
	local.Auth = rest.InternalKey
	rest.Handle(s.API, local, func(ctx context.Context, in *input) (*account.LookupResult, error) {
		return body(s.Accounts.LocalLookup(ctx, in.Body.Email))
	})
}
