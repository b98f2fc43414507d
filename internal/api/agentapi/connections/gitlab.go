package connections

import (
	"context"
	"time"

	"github.com/vedette-sec/vedette/internal/api/agentapi/signin"
	"github.com/vedette-sec/vedette/internal/api/rest"
	"github.com/vedette-sec/vedette/internal/core/review"
)

// LabToken is the body of POST /api/v1/gitlab/connections.
type LabToken struct {
	URL      string   `json:"url,omitempty" maxLength:"500" default:"https://gitlab.com" doc:"The address of the GitLab."`
	Token    string   `json:"token" minLength:"1" maxLength:"500" doc:"An access token with the scope api, of an account that may push to the projects."`
	Projects []string `json:"projects" minItems:"1" maxItems:"50" doc:"Paths of projects, such as group/shop."`
	Secret   string   `json:"webhook_secret,omitempty" maxLength:"100" doc:"A signing token that GitLab has made for the webhooks, in the place of a secret of ours."`
}

// LabChange is the body of PATCH /api/v1/gitlab/connections/{id}.
type LabChange struct {
	Token    string   `json:"token,omitempty" maxLength:"500" doc:"Replaces the token; it must be of the same account."`
	Projects []string `json:"projects,omitempty" maxItems:"50" doc:"All projects from now on. Those that are missing go, with their options and reviews."`
	Hook     bool     `json:"new_webhook_secret,omitempty" doc:"Make another webhook_secret."`
	Secret   string   `json:"webhook_secret,omitempty" maxLength:"100" doc:"A signing token that GitLab has made, in the place of the secret that is there."`
}

// Lab is an account at a GitLab that the team has connected.
type Lab struct {
	ID        string     `json:"id"`
	URL       string     `json:"url" doc:"The address of the GitLab."`
	Username  string     `json:"username" doc:"Whose token it is; they write the comments."`
	Projects  int        `json:"total_projects" doc:"Projects that are connected."`
	HookPath  string     `json:"webhook_path" doc:"Where the projects' webhooks go at this server."`
	Hook      string     `json:"webhook_secret,omitempty" doc:"The signing token of the webhooks, or, at a GitLab without those, their secret token; shown once."`
	Error     string     `json:"error,omitempty" doc:"Of the last call to GitLab, if it failed."`
	CheckedAt *time.Time `json:"checked_at" doc:"When GitLab answered last."`
	CreatedAt time.Time  `json:"created_at"`
}

// LabList is the team's connections.
type LabList struct {
	Connections []Lab `json:"connections" doc:"In the order in which they were made."`
	Total       int   `json:"total"`
}

// Project is a project and how it is reviewed.
type Project struct {
	ID           string                  `json:"id"`
	ConnectionID string                  `json:"connection_id" doc:"The connection that reaches it."`
	Path         string                  `json:"project" doc:"Its path, such as group/shop."`
	Private      bool                    `json:"is_private" doc:"Not everybody sees it at GitLab."`
	Effective    map[string]review.Value `json:"effective_config" doc:"Every option by name."`
}

// ProjectList is the team's projects.
type ProjectList struct {
	Projects []Project `json:"projects" doc:"By path."`
	Total    int       `json:"total"`
}

// ProjectPatch is the body of PATCH /api/v1/gitlab/projects/{id}.
type ProjectPatch struct {
	review.Config

	Reset []string `json:"reset_fields,omitempty" maxItems:"100" doc:"Options that go back to the team's default, or else to that of this server."`
}

// LabReview is a review, and of which merge request.
type LabReview struct {
	Review

	Project string `json:"project" doc:"Path of the project."`
	Merge   int    `json:"merge_request" doc:"The merge request's number in the project."`
}

// LabReviewList is a page of reviews.
type LabReviewList struct {
	Reviews []LabReview `json:"reviews" doc:"The newest first."`
	HasMore bool        `json:"has_more"`
}

func lab(c review.Connection) Lab {
	return Lab{c.ID, c.URL, c.Username, c.Projects, "/hooks/gitlab/" + c.ID, c.Hook, c.Error, rest.OrNull(c.CheckedAt), c.CreatedAt}
}

func project(r review.Repository) Project {
	return Project{r.ID, r.Connection, r.FullName, r.Private, r.Values()}
}

// LabPath names a connection.
type LabPath struct {
	ID string `path:"gitlab_connection_id" doc:"The connection's id, as the list has it."`
}

func (a Area) gitlab() {
	const tag, path = "GitLab", gitlab + "/connections"
	add := rest.NewOp("connect-gitlab", "POST "+path, tag, "Connect projects at a GitLab by an access token (team admins only)", 409, 424)
	add.Description = "Afterwards add a webhook to each project, or to their group: to webhook_path at this server, with webhook_secret as its " +
		"signing token (or secret token, where GitLab has none), for merge request events and comments."
	rest.Handle(a.API, add, func(ctx context.Context, in *struct{ Body LabToken }) (*Lab, error) {
		c, err := a.Reviews.Add(ctx, review.NewConnection{URL: in.Body.URL, Token: in.Body.Token, Projects: in.Body.Projects,
			Secret: in.Body.Secret})
		return new(lab(c)), err
	})
	rest.Handle(a.API, rest.NewOp("list-gitlab-connections", "GET "+path, tag, "List your team's connections to GitLab"),
		func(ctx context.Context, _ *struct{}) (*LabList, error) {
			found, err := a.Reviews.Connections(ctx)
			return &LabList{rest.Each(found, lab), len(found)}, err
		})
	rest.Handle(a.API, rest.NewOp("update-gitlab-connection", "PATCH "+path+"/{gitlab_connection_id}", tag,
		"Change the token, the projects or the secret of a connection (team admins only)", 404, 409, 424),
		func(ctx context.Context, in *struct {
			LabPath
			Body LabChange
		}) (*Lab, error) {
			c, err := a.Reviews.Change(ctx, in.ID, review.NewConnection{Token: in.Body.Token, Projects: in.Body.Projects,
				Hook: in.Body.Hook, Secret: in.Body.Secret})
			return new(lab(c)), err
		})
	signin.Act(a.API, rest.NewOp("disconnect-gitlab", "DELETE "+path+"/{gitlab_connection_id}", tag,
		"Disconnect an account, with its projects and reviews (team admins only); revoke its token at GitLab", 404),
		"The account is disconnected.", func(ctx context.Context, in *LabPath) error { return a.Reviews.Remove(ctx, in.ID) })
}

// ProjectPath names a project.
type ProjectPath struct {
	ID string `path:"gitlab_project_id" doc:"The project's id, as the list has it."`
}

func (a Area) projects() {
	const tag, path = "GitLab", gitlab + "/projects"
	rest.Handle(a.API, rest.NewOp("list-gitlab-projects", "GET "+path, tag,
		"List the projects that your team has connected"),
		func(ctx context.Context, _ *struct{}) (*ProjectList, error) {
			found, err := a.Reviews.Repositories(ctx, review.GitLab)
			return &ProjectList{rest.Each(found, project), len(found)}, err
		})
	rest.Handle(a.API, rest.NewOp("get-gitlab-project", "GET "+path+"/{gitlab_project_id}", tag,
		"Get how a project is reviewed", 404),
		func(ctx context.Context, in *ProjectPath) (*Project, error) {
			r, err := a.Reviews.Repository(ctx, review.GitLab, in.ID)
			return new(project(r)), err
		})
	rest.Handle(a.API, rest.NewOp("update-gitlab-project", "PATCH "+path+"/{gitlab_project_id}", tag,
		"Change how a project is reviewed (team admins only)", 404), func(ctx context.Context, in *struct {
		ProjectPath
		Body ProjectPatch
	}) (*Project, error) {
		r, err := a.Reviews.Configure(ctx, review.GitLab, in.ID, "", in.Body.Config, in.Body.Reset)
		return new(project(a.warned(ctx, r, in.Body.Config, err))), err
	})
	rest.Handle(a.API, rest.NewOp("list-gitlab-reviews", "GET "+gitlab+"/reviews", tag,
		"List the reviews of your team's projects"),
		func(ctx context.Context, in *latest) (*LabReviewList, error) {
			found, more, err := a.Reviews.Latest(ctx, review.GitLab, in.window())
			return &LabReviewList{rest.Each(found, func(x review.Listed) LabReview {
				return LabReview{oneReview(x.Review), x.FullName, x.Pull}
			}), more}, err
		})
}
