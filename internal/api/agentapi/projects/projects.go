// Package projects serves the area Projects of the agent-task API.
package projects

import (
	"context"
	"math"
	"net/http"
	"time"

	"github.com/vedette-sec/vedette/internal/api/agentapi/signin"
	"github.com/vedette-sec/vedette/internal/api/rest"
	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/core/project"
	"github.com/vedette-sec/vedette/internal/core/task"
)

// Request is the body of POST /api/v1/projects.
type Request struct {
	ID       string    `json:"id,omitempty" format:"uuid" doc:"The new project's id; made by the server when absent."`
	Name     *string   `json:"name,omitempty" maxLength:"128" doc:"If empty, it becomes the title of the project's first task."`
	Settings *string   `json:"settings_md,omitempty" doc:"What every agent that works on a task of the project is told, as Markdown; more than 35,000 characters are cut."`
	Tags     *[]string `json:"tags,omitempty" maxItems:"20" doc:"Keywords, each with at most 32 characters."`
	Type     string    `json:"type,omitempty" enum:"shared,personal" doc:"personal: without other members. It cannot be changed. Default shared."`
	Shared   *bool     `json:"shared_with_team,omitempty" doc:"Whether everybody in the team sees it; else its members do. Default false."`
}

// Patch is the body of PATCH /api/v1/projects/{project_id}.
type Patch struct {
	Name     *string   `json:"name,omitempty" minLength:"1" maxLength:"128"`
	Settings *string   `json:"settings_md,omitempty" doc:"An empty text clears it."`
	Tags     *[]string `json:"tags,omitempty" maxItems:"20" doc:"They replace those that it has."`
	Shared   *bool     `json:"shared_with_team,omitempty" doc:"Whether everybody in the team sees it; else its members do."`
}

// CapRequest is the body of PATCH /api/v1/projects/{project_id}/cap.
type CapRequest struct {
	Cap float64 `json:"spending_cap_usd" minimum:"0" maximum:"1000000000" doc:"What its tasks may spend on models, in US dollars; 0 blocks."`
}

// MemberRequest is the body of POST /api/v1/projects/{project_id}/members.
type MemberRequest struct {
	Email string `json:"email" maxLength:"320" doc:"Of a member of the team."`
	Role  string `json:"role,omitempty" enum:"admin,member" default:"member" doc:"admin: may add and remove members."`
}

// Doc is a project in an answer.
type Doc struct {
	ID           string          `json:"id"`
	Name         string          `json:"name" doc:"Empty until its first task, when it was created without one."`
	Type         string          `json:"type" enum:"shared,personal"`
	OwnerEmail   string          `json:"owner_email"`
	IsOwner      bool            `json:"is_owner"`
	MemberCount  int             `json:"member_count" doc:"Who was invited, with its owner."`
	TaskCount    int             `json:"task_count" doc:"Number of its tasks."`
	Settings     string          `json:"settings_md" doc:"What agents are told."`
	Shared       bool            `json:"shared_with_team" doc:"Whether everybody in the team sees it."`
	SharedTeamID *string         `json:"shared_team_id" doc:"The team that sees it; null: its members do."`
	Tags         []string        `json:"tags"`
	CapUSD       *float64        `json:"spending_cap_usd" doc:"In US dollars; null: none."`
	UsedUSD      float64         `json:"cap_used_usd" doc:"What its tasks have spent on models, in US dollars."`
	UsedPercent  *float64        `json:"cap_percent_used" doc:"cap_used_usd in per cent of the cap; null without one."`
	IssueCount   *int            `json:"issue_count,omitempty" doc:"Number of verified issues of its tasks; not in lists."`
	Severities   []project.Count `json:"issues_by_severity,omitempty" doc:"Its verified issues by severity; not in lists."`
	Statuses     []project.Count `json:"issues_by_status,omitempty" doc:"Its verified issues by status; not in lists."`
	CreatedAt    time.Time       `json:"created_at"`
	UpdatedAt    time.Time       `json:"updated_at"`
}

const (
	microsPerUSD = 1e6
	centsPerUSD  = 100
)

func projectDoc(p project.Project, c account.Caller) Doc {
	doc := Doc{
		ID: p.ID, Name: p.Name, Type: string(p.Type), OwnerEmail: p.Owner, IsOwner: p.OwnerID == c.UserID,
		MemberCount: p.Members,
		TaskCount:   p.Tasks, Settings: p.Settings, Shared: p.Shared, Tags: append([]string{}, p.Tags...),
		UsedUSD: float64(p.Spent) / microsPerUSD, CreatedAt: p.CreatedAt, UpdatedAt: p.UpdatedAt,
	}
	if p.Shared {
		doc.SharedTeamID = &p.TeamID
	}
	if p.CapCents != nil {
		limit := float64(*p.CapCents) / centsPerUSD
		percent := float64(centsPerUSD)
		if limit > 0 {
			percent = math.Round(1000*doc.UsedUSD/limit) / 10
		}
		doc.CapUSD, doc.UsedPercent = &limit, &percent
	}
	return doc
}

func detailed(p project.Project, c account.Caller) Doc {
	doc, count := projectDoc(p, c), 0
	for _, n := range p.Issues {
		count += n.Count
	}
	doc.IssueCount, doc.Severities, doc.Statuses = &count, p.Issues, p.Statuses
	return doc
}

// Answer is a project.
type Answer struct {
	Project Doc `json:"project" doc:"The project as it is now."`
}

// List is the projects that the caller sees.
type List struct {
	Projects []Doc `json:"projects" doc:"Newest first."`
	Count    int   `json:"count" doc:"Number of projects."`
}

// Members are the members of a project.
type Members struct {
	Members []project.Person `json:"members" doc:"In the order in which they were added."`
	Total   int              `json:"total"`
}

// Issues is a page of a project's issues.
type Issues struct {
	Issues     []task.Issue `json:"issues" doc:"The page, newest first."`
	Total      int          `json:"total"`
	HasMore    bool         `json:"has_more"`
	NextCursor string       `json:"next_cursor,omitempty"`
}

// Area is the area with the services that it calls.
type Area struct {
	*rest.API
	Projects *project.Projects
	Tasks    *task.Tasks
}

// Path names a project. huma reads embedded fields of exported types only.
type Path struct {
	ID string `path:"project_id" doc:"The project's id."`
}

// Register adds the area's operations.
func (a Area) Register() {
	const path, tag = "/api/v1/projects", "Projects"
	one := path + "/{project_id}"
	create := rest.NewOp("create-project", "POST "+path, tag, "Create a project", 409)
	create.DefaultStatus = http.StatusCreated
	create.Description = "You are its owner. project_id of a task, file, secret or schedule puts it into the project: who sees the " +
		"project sees it, and its tasks may use the project's secrets and files."
	rest.Handle(a.API, create, func(ctx context.Context, in *struct{ Body Request }) (*Answer, error) {
		r := in.Body
		return a.answer(ctx)(a.Projects.Create(ctx, project.NewProject{ID: r.ID, Type: project.Type(r.Type),
			Update: project.Update{Name: r.Name, Settings: r.Settings, Tags: r.Tags, Shared: r.Shared}}))
	})
	rest.Handle(
		a.API,
		rest.NewOp("list-projects", "GET "+path, tag, "List the projects that you see, newest first"),
		a.list,
	)
	rest.Handle(a.API, rest.NewOp("get-project", "GET "+one, tag, "Get a project", 404),
		func(ctx context.Context, in *Path) (*Answer, error) {
			return a.answer(ctx)(a.Projects.Find(ctx, in.ID))
		})
	rest.Handle(
		a.API,
		rest.NewOp("update-project", "PATCH "+one, tag, "Change a project (its owner, and team admins)", 404),
		a.update,
	)
	remove := rest.NewOp("delete-project", "DELETE "+one, tag, "Delete a project (its owner, and team admins)", 404)
	remove.Description = "What belongs to it stays with those who made it; tasks of a project that was not everybody's become private."
	signin.Act(a.API, remove, "The project is deleted.",
		func(ctx context.Context, in *Path) error { return a.Projects.Delete(ctx, in.ID) })
	a.caps(one+"/cap", tag)
	a.members(one+"/members", tag)
	a.memory(one+"/memory", tag)
	rest.Handle(a.API, rest.NewOp("list-project-issues", "GET "+one+"/issues", tag,
		"List the verified issues of a project's tasks, newest first", 404), a.issues)
}

// answer makes a project of a service an answer.
func (a Area) answer(ctx context.Context) func(project.Project, error) (*Answer, error) {
	return func(p project.Project, err error) (*Answer, error) {
		if err != nil {
			return nil, err
		}
		c, err := account.From(ctx)
		return &Answer{detailed(p, c)}, err
	}
}

func (a Area) list(ctx context.Context, _ *struct{}) (*List, error) {
	c, err := account.From(ctx)
	if err != nil {
		return nil, err
	}
	found, err := a.Projects.FindAll(ctx)
	return &List{rest.Each(found, func(p project.Project) Doc { return projectDoc(p, c) }), len(found)}, err
}

func (a Area) update(ctx context.Context, in *struct {
	Path
	Body Patch
}) (*Answer, error) {
	p, err := a.Projects.Update(ctx, in.ID, project.Update(in.Body))
	if err == nil && in.Body.Shared != nil {
		err = a.Tasks.ShareProject(ctx, p.ID)
	}
	return a.answer(ctx)(p, err)
}

func (a Area) caps(path, tag string) {
	rest.Handle(a.API, rest.NewOp("set-project-cap", "PATCH "+path, tag,
		"Set what a project's tasks may spend on models, in US dollars; 0 blocks (its owner, and team admins)", 404),
		func(ctx context.Context, in *struct {
			Path
			Body CapRequest
		}) (*Answer, error) {
			cents := int64(math.Round(in.Body.Cap * centsPerUSD))
			return a.answer(ctx)(a.Projects.SetCap(ctx, in.ID, &cents))
		})
	rest.Handle(a.API, rest.NewOp("clear-project-cap", "DELETE "+path, tag,
		"Remove a project's spending cap (its owner, and team admins)", 404),
		func(ctx context.Context, in *Path) (*Answer, error) {
			return a.answer(ctx)(a.Projects.SetCap(ctx, in.ID, nil))
		})
}

func (a Area) members(path, tag string) {
	list := func(ctx context.Context, id string) (*Members, error) {
		found, err := a.Projects.Members(ctx, id)
		return &Members{found, len(found)}, err
	}
	rest.Handle(a.API, rest.NewOp("list-project-members", "GET "+path, tag, "List who was invited to a project", 404),
		func(ctx context.Context, in *Path) (*Members, error) { return list(ctx, in.ID) })
	rest.Handle(a.API, rest.NewOp("set-project-member", "POST "+path, tag,
		"Add a member of the team to a project, or change their role there (its admins, and team admins)", 404, 409),
		func(ctx context.Context, in *struct {
			Path
			Body MemberRequest
		}) (*Members, error) {
			role := project.Role(in.Body.Role)
			if role == "" {
				role = project.Member
			}
			if err := a.Projects.SetMember(ctx, in.ID, in.Body.Email, role); err != nil {
				return nil, err
			}
			return list(ctx, in.ID)
		})
	signin.Act(a.API, rest.NewOp("remove-project-member", "DELETE "+path, tag,
		"Remove a member from a project, or leave it", 404, 409), "The member is removed.",
		func(ctx context.Context, in *struct {
			Path
			Email string `query:"email" required:"true" maxLength:"320" doc:"The member's email address."`
		}) error {
			return a.Projects.RemoveMember(ctx, in.ID, in.Email)
		})
}

func (a Area) memory(path, tag string) {
	rest.Handle(a.API, rest.NewOp("get-project-memory", "GET "+path, tag, "Get what all tasks of a project are told", 404),
		func(ctx context.Context, in *Path) (*project.Memory, error) {
			m, err := a.Projects.Memory(ctx, in.ID)
			return &m, err
		})
	rest.Handle(
		a.API,
		rest.NewOp("replace-project-memory", "PUT "+path, tag, "Replace what all tasks of a project are told", 404),
		func(ctx context.Context, in *struct {
			Path
			Body MemoryRequest
		}) (*project.Memory, error) {
			m, err := a.Projects.SetMemory(ctx, in.ID, project.Memory{Facts: in.Body.Facts})
			return &m, err
		},
	)
}

// MemoryRequest is the body of PUT /api/v1/projects/{project_id}/memory.
type MemoryRequest struct {
	Facts []string `json:"facts" maxItems:"100" doc:"What people say about the project; 20,000 characters together."`
}

func (a Area) issues(ctx context.Context, in *struct {
	Path
	Limit  int    `query:"limit" minimum:"1" maximum:"200" default:"50" doc:"How many to return."`
	Cursor string `query:"cursor" format:"uuid" doc:"next_cursor of the page before."`
}) (*Issues, error) {
	p, err := a.Projects.Find(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	found, total, err := a.Tasks.FindIssues(ctx, task.IssueFilter{ProjectID: p.ID, After: in.Cursor, Limit: in.Limit + 1})
	if err != nil {
		return nil, err
	}
	out := &Issues{Total: total}
	if len(found) > in.Limit {
		found, out.HasMore, out.NextCursor = found[:in.Limit], true, found[in.Limit-1].ID
	}
	out.Issues = found
	return out, nil
}
