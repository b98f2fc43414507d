package agents

import (
	"context"
	"net/http"
	"time"

	"github.com/vedette-sec/vedette/internal/api/agentapi/signin"
	"github.com/vedette-sec/vedette/internal/api/rest"
	"github.com/vedette-sec/vedette/internal/core/customagent"
	"github.com/vedette-sec/vedette/internal/core/sharing"
)

// AgentFork is the body of the operations that copy an agent.
type AgentFork struct {
	Name string `json:"name,omitempty" maxLength:"128" doc:"The name of the copy; default: the same."`
}

// AgentRestore is the body of the operation that gives an agent the text of an earlier version.
type AgentRestore struct {
	Version int `json:"config_version" minimum:"1" maximum:"1000000000" doc:"The version to take the text of."`
}

// AgentVersionDoc is what an agent was.
type AgentVersionDoc struct {
	ConfigVersion int      `json:"config_version" doc:"From 1."`
	ConfigHash    string   `json:"config_hash" doc:"A hash of its system prompt and tools."`
	Name          string   `json:"name"`
	Description   string   `json:"description" doc:"What it is, for people."`
	WhenToUse     string   `json:"when_to_use"`
	SystemContext string   `json:"system_context" doc:"Its system prompt."`
	Tags          []string `json:"tags"`
	NativeTools   []string `json:"native_tools"`
	Skills        []string `json:"skills" doc:"Names of the skills that it may load."`
	AgentPrograms
	CreatedAt time.Time `json:"created_at"`
}

// AgentVersionList is the versions of an agent.
type AgentVersionList struct {
	Versions []AgentVersionDoc `json:"versions" doc:"The newest first, at most 201."`
	Total    int               `json:"total"`
}

func versionDoc(v customagent.Version) AgentVersionDoc {
	return AgentVersionDoc{
		ConfigVersion: v.Version,
		ConfigHash:    v.Hash,
		Name:          v.Name,
		Description:   v.Description,
		WhenToUse:     v.WhenToUse,
		SystemContext: v.SystemContext,
		Tags:          append([]string{}, v.Tags...),
		NativeTools:   append([]string{}, v.NativeTools...),
		Skills:        append([]string{}, v.Skills...),
		AgentPrograms: programsDoc(v.Programs),
		CreatedAt:     v.CreatedAt,
	}
}

// TaskAgent is an agent that a task used, in the version that it used.
type TaskAgent struct {
	StreamID      string    `json:"stream_id"`
	AgentID       string    `json:"agent_id" doc:"The agent's id, also when it is deleted."`
	Name          string    `json:"name"`
	ConfigVersion int       `json:"config_version" doc:"The version that the stream began with, and kept."`
	ConfigHash    string    `json:"config_hash" doc:"A hash of its system prompt and tools then."`
	Lead          bool      `json:"lead" doc:"It worked on the task; otherwise the task's agent could delegate to it."`
	UsedAt        time.Time `json:"used_at" doc:"When the stream began."`
}

// TaskAgentList is the agents of a task.
type TaskAgentList struct {
	Agents []TaskAgent `json:"agents" doc:"In the order of their use."`
	Total  int         `json:"total"`
}

// versions are the operations on copies and versions of agents.
func (s Area) versions() {
	fork := rest.NewOp("fork-agent", "POST "+one+"/fork", tag, "Copy an agent of yours or of your team", 404, 409)
	fork.DefaultStatus = http.StatusCreated
	rest.Handle(s.API, fork, func(ctx context.Context, in *struct {
		AgentPath
		Body AgentFork
	}) (*AgentDoc, error) {
		return answer(s.Agents.Fork(ctx, in.ID, in.Body.Name, false))
	})

	rest.Handle(s.API, rest.NewOp("list-agent-versions", "GET "+one+"/versions", tag, "List what an agent was", 404),
		func(ctx context.Context, in *AgentPath) (*AgentVersionList, error) {
			found, err := s.Agents.Versions(ctx, in.ID)
			return &AgentVersionList{rest.Each(found, versionDoc), len(found)}, err
		})

	restore := rest.NewOp("restore-agent", "POST "+one+"/restore", tag,
		"Give an agent of yours the text of an earlier version, as a new one", 404, 409)
	rest.Handle(s.API, restore, func(ctx context.Context, in *struct {
		AgentPath
		Body AgentRestore
	}) (*AgentDoc, error) {
		return answer(s.Agents.Restore(ctx, in.ID, in.Body.Version))
	})

	rest.Handle(s.API, rest.NewOp("list-task-agents", "GET /api/v1/tasks/{id}/agents", tag,
		"List the agents that a task used, with their versions", 404),
		func(ctx context.Context, in *struct {
			ID string `path:"id" doc:"The task's id."`
		}) (*TaskAgentList, error) {
			t, err := s.Tasks.Find(ctx, in.ID)
			if err != nil {
				return nil, err
			}
			found, err := s.Agents.Uses(ctx, t.ID)
			return &TaskAgentList{rest.Each(found, func(u customagent.Use) TaskAgent {
				return TaskAgent{u.StreamID, u.AgentID, u.Name, u.Version, u.Hash, u.Lead, u.UsedAt}
			}), len(found)}, err
		})
}

// ListedPath names an agent of the directory.
type ListedPath struct {
	ID string `path:"listed_agent_id" doc:"The agent's id."`
}

// directory are the operations on the directory.
func (s Area) directory() {
	const all, tag = "/api/v1/agents/directory", "Agent Directory"
	publish := rest.NewOp("publish-agent", "POST "+one+"/publish", tag,
		"Put the present version of an agent of yours into the directory (team admins only)", 404, 409)
	publish.Description = "Every team on this server can then see its whole text and copy it. Later changes are not seen there " +
		"until you publish again."
	rest.Handle(s.API, publish, func(ctx context.Context, in *AgentPath) (*AgentDoc, error) {
		return answer(s.Agents.Publish(ctx, in.ID))
	})

	signin.Act(s.API, rest.NewOp("unpublish-agent", "DELETE "+one+"/publish", tag,
		"Take an agent out of the directory; copies of it stay", 404), "The agent is no longer in the directory.",
		func(ctx context.Context, in *AgentPath) error { return s.Agents.Unpublish(ctx, in.ID) })

	rest.Handle(s.API, rest.NewOp("list-agent-directory", "GET "+all, tag,
		"List the agents that everybody on this server may copy"), func(ctx context.Context, in *struct {
		Search string `query:"search" maxLength:"128" doc:"Only those with this text in the name, the description, when_to_use or a tag."`
		Tag    string `query:"tag" maxLength:"64" doc:"Only those with this tag."`
		Type   string `query:"type" enum:"shipped,published" doc:"Only those that come with the server, or that a team has published."`
		Limit  int    `query:"limit" minimum:"1" maximum:"200" default:"50" doc:"How many to return."`
		Offset int    `query:"offset" minimum:"0" maximum:"100000" doc:"How many to leave out first."`
	}) (*AgentList, error) {
		found, total, err := s.Agents.Directory(ctx, customagent.Filter{Search: in.Search, Tag: in.Tag,
			Origin: sharing.Origin(in.Type), Limit: in.Limit, Offset: in.Offset})
		return &AgentList{rest.Each(found, agentDoc), total}, err
	})

	rest.Handle(
		s.API,
		rest.NewOp("get-listed-agent", "GET "+all+"/{listed_agent_id}", tag, "Get an agent of the directory", 404),
		func(ctx context.Context, in *ListedPath) (*AgentDoc, error) {
			return answer(s.Agents.Listed(ctx, in.ID))
		},
	)

	fork := rest.NewOp(
		"fork-listed-agent",
		"POST "+all+"/{listed_agent_id}/fork",
		tag,
		"Copy an agent of the directory",
		404,
		409,
	)
	fork.DefaultStatus = http.StatusCreated
	fork.Description = "The copy is yours. Read its system_context first: it will tell your tasks what to do. Read its tools and commands as well: " +
		"they get the secrets of yours that require_env_vars names."
	rest.Handle(s.API, fork, func(ctx context.Context, in *struct {
		ListedPath
		Body AgentFork
	}) (*AgentDoc, error) {
		return answer(s.Agents.Fork(ctx, in.ID, in.Body.Name, true))
	})
}
