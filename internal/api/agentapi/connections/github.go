package connections

import (
	"cmp"
	"context"
	"net/http"
	"reflect"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humachi"
	"github.com/vedette-sec/vedette/internal/api/agentapi/signin"
	"github.com/vedette-sec/vedette/internal/api/rest"
	"github.com/vedette-sec/vedette/internal/core/review"
	"github.com/vedette-sec/vedette/internal/core/review/rule"
	"github.com/vedette-sec/vedette/internal/infra/page"
)

// Claim is the body of POST /api/v1/github/installations/claim.
type Claim struct {
	ID int64 `json:"installation_id" minimum:"1" doc:"GitHub's number of the App's installation."`
}

// Installation is an installation of the App that the team has connected.
type Installation struct {
	ID             string     `json:"id"`
	InstallationID int64      `json:"installation_id" doc:"GitHub's number."`
	Account        string     `json:"account_login" doc:"Whose repositories they are."`
	AccountType    string     `json:"account_type" doc:"User or Organization."`
	Status         string     `json:"status" enum:"active,suspended,revoked_external" doc:"revoked_external: the App was uninstalled at GitHub."`
	TotalRepos     int        `json:"total_repos" doc:"Repositories that the installation gives."`
	Error          string     `json:"error,omitempty" doc:"Of the last call to GitHub, if it failed."`
	CheckedAt      *time.Time `json:"checked_at" doc:"When GitHub answered last."`
	CreatedAt      time.Time  `json:"created_at"`
}

// InstallationList is the team's installations.
type InstallationList struct {
	Installations []Installation `json:"installations" doc:"In the order in which they were connected."`
	Total         int            `json:"total"`
}

// Connection is a connection that has begun.
type Connection struct {
	URL       string    `json:"install_url" doc:"Open it in a browser, and install the App."`
	State     string    `json:"state" doc:"What GitHub sends the browser back with."`
	ExpiresAt time.Time `json:"expires_at" doc:"Finish it before."`
}

// Repository is a repository and how it is reviewed.
type Repository struct {
	ID             string                  `json:"id"`
	InstallationID int64                   `json:"installation_id" doc:"GitHub's number of its installation."`
	FullName       string                  `json:"repo_full_name" doc:"Owner and name."`
	Private        bool                    `json:"is_private" doc:"Not everybody sees it at GitHub."`
	Auto           bool                    `json:"auto_review_enabled" doc:"As effective_config has it."`
	Exclude        []string                `json:"exclude_patterns" doc:"As effective_config has it."`
	Instructions   string                  `json:"custom_instructions" doc:"As effective_config has it."`
	Draft          string                  `json:"draft_policy" doc:"As effective_config has it."`
	Effective      map[string]review.Value `json:"effective_config" doc:"Every option by name."`
}

// RepositoryList is the team's repositories.
type RepositoryList struct {
	Repositories []Repository `json:"repositories" doc:"By name, at most 2000."`
	Total        int          `json:"total"`
}

// RepositoryPatch is the body of PATCH /api/v1/github/repos/{id}.
type RepositoryPatch struct {
	review.Config

	FullName string   `json:"repo_full_name" minLength:"1" maxLength:"300" doc:"Owner and name of this repository."`
	Reset    []string `json:"reset_fields,omitempty" maxItems:"100" doc:"Options that go back to the team's default, or else to that of this server."`
}

// Metadata is what is known of the reviews of a pull request.
type Metadata struct {
	RepositoryID string   `json:"repo_id" doc:"The repository's id, as the list has it."`
	FullName     string   `json:"repo_full_name" doc:"Owner and name."`
	Pull         int      `json:"pr_number" doc:"The pull request's number."`
	Reviews      []Review `json:"reviews" doc:"The newest first, at most 100."`
	Total        int      `json:"total"`
}

// ListedReview is a review, and of which pull request.
type ListedReview struct {
	Review

	FullName string `json:"repo_full_name" doc:"Owner and name of the repository."`
	Pull     int    `json:"pr_number" doc:"The pull request's number."`
}

// ReviewList is a page of reviews.
type ReviewList struct {
	Reviews []ListedReview `json:"reviews" doc:"The newest first."`
	HasMore bool           `json:"has_more"`
}

// Review is a review of a commit.
type Review struct {
	ID         string         `json:"id"`
	Head       string         `json:"head_sha" doc:"The commit."`
	Cause      string         `json:"cause" doc:"command, or what happened: opened, synchronize, reopened, ready_for_review."`
	Status     string         `json:"status" enum:"queued,running,completed,superseded,failed" doc:"superseded: the pull request has come to another commit, or is closed."`
	Error      string         `json:"error,omitempty" doc:"Why it failed."`
	Conclusion string         `json:"conclusion,omitempty" doc:"Of the check run: success (nothing found), neutral or failure (check_gate)."`
	Findings   []rule.Finding `json:"findings" doc:"By severity."`
	Comments   int            `json:"inline_comments" doc:"Comments on lines."`
	Files      int            `json:"files_reviewed" doc:"Files that were read."`
	CreatedAt  time.Time      `json:"created_at"`
	FinishedAt *time.Time     `json:"finished_at" doc:"null: it has not ended."`
}

func installation(i review.Installation) Installation {
	return Installation{i.ID, i.InstallationID, i.Account, i.AccountType, i.Status, i.TotalRepos, i.Error,
		rest.OrNull(i.CheckedAt), i.CreatedAt}
}

func repository(r review.Repository) Repository {
	e := r.Effective()
	return Repository{r.ID, r.InstallationID, r.FullName, r.Private, *e.AutoReview, *e.Exclude, *e.Instructions,
		*e.Draft, r.Values()}
}

func oneReview(v review.Review) Review {
	for i := range v.Findings { // those of earlier versions do not say who
		v.Findings[i].FoundBy = cmp.Or(v.Findings[i].FoundBy, rule.ByRules)
	}
	return Review{v.ID, v.Head, v.Cause, v.Status, v.Error, v.Conclusion, rest.OrEmpty(v.Findings), len(v.Commented),
		v.Files, v.CreatedAt,
		rest.OrNull(v.FinishedAt)}
}

func (a Area) installations() {
	const tag, path = "GitHub", github + "/installations"
	begin := rest.NewOp("connect-github", "POST "+path+"/connect", tag, "Begin to connect an installation of the GitHub App (team admins only)", 409, 424)
	begin.Description = "Open install_url in the browser that has the cookie of this answer, within 30 minutes. Without a browser, send what GitHub " +
		"sends back to GET /api/v1/github/oauth/callback with your API key."
	type begun struct {
		SetCookie string `header:"Set-Cookie" doc:"The state, which GET /api/v1/github/oauth/callback asks for."`
		Body      Connection
	}
	rest.Register(a.API, begin, func(ctx context.Context, _ *struct{}) (*begun, error) {
		link, state, err := a.Reviews.Connect(ctx)
		if err != nil {
			return nil, err
		}
		return &begun{a.Cookie(rest.GitHubCookie, state, review.AttemptFor), Connection{link, state,
			time.Now().UTC().Add(review.AttemptFor)}}, nil
	})

	finish := rest.NewOp("finish-github", "GET "+github+"/oauth/callback", tag, "Finish connecting an installation of the GitHub App", 403, 404, 409, 424)
	finish.Auth = rest.Optional
	finish.Description = "GitHub sends browsers here. The state must be the one in the browser's cookie, unless the person who began calls with an " +
		"API key; code must prove that they can see the installation. It answers with the installation. A browser, which accepts text/html, " +
		"is sent on to the console with 303, also after a failure."
	finish.Responses = sentOn("GitHub")
	type finished struct {
		Status   int
		Location string `header:"Location" doc:"Where a browser is sent on to."`
		Body     Installation
	}
	rest.Register(a.API, finish, func(ctx context.Context, in *callback) (*finished, error) {
		i, err := a.Reviews.Finish(ctx, in.State, in.kept(a.API), in.Code, in.ID)
		if to := sendOn(in.r, githubPage, i.ID, err); to != "" {
			return &finished{http.StatusSeeOther, to, installation(i)}, nil
		}
		if err != nil {
			return nil, err
		}
		return &finished{Status: http.StatusOK, Body: installation(i)}, nil
	})

	claim := rest.NewOp("claim-github", "POST "+path+"/claim", tag, "Connect an installation of the GitHub App by its number", 403, 404, 409, 424)
	claim.Description = "For operators, who have the App's key. Of your team's own it reads the repositories again (team admins)."
	rest.Handle(a.API, claim, func(ctx context.Context, in *struct{ Body Claim }) (*Installation, error) {
		i, err := a.Reviews.Claim(ctx, in.Body.ID)
		return new(installation(i)), err
	})
	rest.Handle(a.API, rest.NewOp("list-github-installations", "GET "+path, tag, "List the installations that your team has connected", 409),
		func(ctx context.Context, _ *struct{}) (*InstallationList, error) {
			found, err := a.Reviews.Installations(ctx)
			return &InstallationList{rest.Each(found, installation), len(found)}, err
		})
	signin.Act(a.API, rest.NewOp("disconnect-github", "DELETE "+path+"/{github_installation_id}", tag,
		"Disconnect an installation, with its repositories and reviews (team admins only); the App stays installed at GitHub", 404, 409),
		"The installation is disconnected.", func(ctx context.Context, in *struct {
			ID string `path:"github_installation_id" doc:"The id of the connected installation, not GitHub's number."`
		}) error {
			return a.Reviews.Disconnect(ctx, in.ID)
		})
}

// githubPage is where people see what is connected.
const githubPage = "/settings/github"

// callback is what a browser comes back with.
type callback struct {
	Code  string `query:"code" maxLength:"1000" doc:"GitHub's proof of who they are."`
	ID    int64  `query:"installation_id" minimum:"1" doc:"GitHub's number of the installation."`
	State string `query:"state" maxLength:"200" doc:"As POST /api/v1/github/installations/connect gave it."`
	Setup string `query:"setup_action" maxLength:"50" doc:"install or update; it has no effect."`
	r     *http.Request
}

// Resolve implements huma.Resolver.
func (c *callback) Resolve(ctx huma.Context) []error {
	c.r, _ = humachi.Unwrap(ctx)
	return nil
}

func (c *callback) kept(api *rest.API) string {
	if c.r == nil {
		return ""
	}
	return api.Kept(c.r, rest.GitHubCookie)
}

// Path names a repository.
type Path struct {
	ID string `path:"id" doc:"The repository's id, as the list has it."`
}

func (a Area) repositories() {
	const tag, path = "GitHub", github + "/repos"
	rest.Handle(a.API, rest.NewOp("list-github-repositories", "GET "+path, tag, "List the repositories of your team's installations", 409),
		func(ctx context.Context, _ *struct{}) (*RepositoryList, error) {
			found, err := a.Reviews.Repositories(ctx, review.GitHub)
			return &RepositoryList{rest.Each(found, repository), len(found)}, err
		})
	rest.Handle(a.API, rest.NewOp("get-github-repository", "GET "+path+"/{id}", tag, "Get how a repository is reviewed",
		404, 409),
		func(ctx context.Context, in *Path) (*Repository, error) {
			r, err := a.Reviews.Repository(ctx, review.GitHub, in.ID)
			return new(repository(r)), err
		})
	rest.Handle(a.API, rest.NewOp("update-github-repository", "PATCH "+path+"/{id}", tag,
		"Change how a repository is reviewed (team admins only)", 404, 409), func(ctx context.Context, in *struct {
		Path
		Body RepositoryPatch
	}) (*Repository, error) {
		r, err := a.Reviews.Configure(ctx, review.GitHub, in.ID, in.Body.FullName, in.Body.Config, in.Body.Reset)
		return new(repository(a.warned(ctx, r, in.Body.Config, err))), err
	})
	rest.Handle(a.API, rest.NewOp("get-github-reviews", "GET "+github+"/review-metadata", tag,
		"List the reviews of a pull request", 404, 409),
		func(ctx context.Context, in *struct {
			FullName string `query:"repo_full_name" required:"true" minLength:"1" maxLength:"300" doc:"Owner and name of the repository."`
			Pull     int    `query:"pr_number" required:"true" minimum:"1" doc:"The pull request's number."`
		}) (*Metadata, error) {
			r, found, err := a.Reviews.History(ctx, review.GitHub, in.FullName, in.Pull)
			return &Metadata{r.ID, r.FullName, in.Pull, rest.Each(found, oneReview), len(found)}, err
		})
}

// warned is a repository whose options were changed; the answer says which of them have no effect.
func (a Area) warned(ctx context.Context, r review.Repository, c review.Config, err error) review.Repository {
	if err != nil {
		return r
	}
	for _, name := range a.Reviews.Unused(ctx, r, c) {
		rest.Warnf(ctx, "%s is kept, and no review heeds it: no language model reads changes, and nobody watches.", name)
	}
	return r
}

// latest asks for a page of the reviews of all repositories.
type latest struct {
	Limit  int `query:"limit" minimum:"1" maximum:"100" default:"50" doc:"How many to return."`
	Offset int `query:"offset" minimum:"0" maximum:"100000" doc:"How many to skip."`
}

func (l latest) window() page.Window { return page.Window{Offset: l.Offset, Limit: l.Limit} }

func (a Area) reviews() {
	rest.Handle(a.API, rest.NewOp("list-github-reviews", "GET "+github+"/reviews", "GitHub",
		"List the reviews of all repositories of your team", 409),
		func(ctx context.Context, in *latest) (*ReviewList, error) {
			found, more, err := a.Reviews.Latest(ctx, review.GitHub, in.window())
			return &ReviewList{rest.Each(found, func(x review.Listed) ListedReview {
				return ListedReview{oneReview(x.Review), x.FullName, x.Pull}
			}), more}, err
		})
}

// Words name and describe the area's types in the contract.
func Words() rest.Vocabulary {
	return rest.Vocabulary{
		Names: map[reflect.Type]string{
			reflect.TypeFor[Setup]():                   "SlackSetup",
			reflect.TypeFor[Bot]():                     "SlackBot",
			reflect.TypeFor[Workspace]():               "SlackWorkspace",
			reflect.TypeFor[Authorization]():           "SlackAuthorization",
			reflect.TypeFor[Claim]():                   "GitHubClaim",
			reflect.TypeFor[Installation]():            "GitHubInstallation",
			reflect.TypeFor[InstallationList]():        "GitHubInstallationList",
			reflect.TypeFor[Connection]():              "GitHubConnection",
			reflect.TypeFor[Repository]():              "GitHubRepository",
			reflect.TypeFor[RepositoryList]():          "GitHubRepositoryList",
			reflect.TypeFor[RepositoryPatch]():         "GitHubRepositoryPatch",
			reflect.TypeFor[Metadata]():                "GitHubReviewMetadata",
			reflect.TypeFor[Review]():                  "GitHubReview",
			reflect.TypeFor[ListedReview]():            "GitHubListedReview",
			reflect.TypeFor[ReviewList]():              "GitHubReviewList",
			reflect.TypeFor[review.Value]():            "GitHubOption",
			reflect.TypeFor[review.PathInstructions](): "GitHubPathInstructions",
			reflect.TypeFor[rule.Finding]():            "GitHubFinding",
			reflect.TypeFor[Defaults]():                "ReviewDefaults",
			reflect.TypeFor[DefaultsPatch]():           "ReviewDefaultsPatch",
			reflect.TypeFor[LabToken]():                "GitLabToken",
			reflect.TypeFor[LabChange]():               "GitLabConnectionPatch",
			reflect.TypeFor[Lab]():                     "GitLabConnection",
			reflect.TypeFor[LabList]():                 "GitLabConnectionList",
			reflect.TypeFor[Project]():                 "GitLabProject",
			reflect.TypeFor[ProjectList]():             "GitLabProjectList",
			reflect.TypeFor[ProjectPatch]():            "GitLabProjectPatch",
			reflect.TypeFor[LabReview]():               "GitLabReview",
			reflect.TypeFor[LabReviewList]():           "GitLabReviewList",
		},
		Words: map[string]string{},
	}
}
