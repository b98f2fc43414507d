// Package connections serves the documented operations about Slack and GitHub. This server has neither: each operation
// refuses by name, so that a caller can tell that from a wrong path.
package connections

import (
	"context"
	"net/http"
	"strings"

	"github.com/vedette-sec/vedette/internal/api/agentapi/signin"
	"github.com/vedette-sec/vedette/internal/api/rest"
	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/infra/errs"
)

var (
	errNoSlack = errs.New(errs.Conflict, "slack_not_configured",
		"This server does not connect to Slack. Use a webhook or an alerting configuration to be told there.")
	errNoGitHub = errs.New(errs.Conflict, "github_not_configured",
		"This server has no GitHub App: it does not review pull requests. Tickets in GitHub work with a reporting configuration.")
)

// Setup is the body of POST /api/v1/slack/oauth/claim.
type Setup struct {
	Token string `json:"setup_token" minLength:"1" maxLength:"2000" doc:"What Slack's page gave."`
}

// Installation is the body of POST /api/v1/github/installations/claim.
type Installation struct {
	ID int64 `json:"installation_id" minimum:"1" doc:"The number of the App's installation."`
}

// PathInstructions are instructions for the files below a path.
type PathInstructions struct {
	Path         string `json:"path" maxLength:"500" doc:"A pattern of paths."`
	Instructions string `json:"instructions" maxLength:"10000" doc:"What a review of these files must heed."`
}

// Review is the body of PATCH /api/v1/github/repos/{id}.
type Review struct {
	FullName        string             `json:"repo_full_name" minLength:"1" maxLength:"300" doc:"Owner and name."`
	Auto            bool               `json:"auto_review,omitempty" doc:"Review each pull request."`
	AuthorInclude   []string           `json:"author_include,omitempty" maxItems:"100" doc:"Only theirs."`
	AuthorExclude   []string           `json:"author_exclude,omitempty" maxItems:"100" doc:"Not theirs."`
	BranchInclude   []string           `json:"branch_include,omitempty" maxItems:"100" doc:"Only into these branches."`
	BranchExclude   []string           `json:"branch_exclude,omitempty" maxItems:"100" doc:"Not into these branches."`
	KeywordInclude  []string           `json:"keyword_include,omitempty" maxItems:"100" doc:"Only with one of these words."`
	KeywordExclude  []string           `json:"keyword_exclude,omitempty" maxItems:"100" doc:"Not with one of these words."`
	LabelInclude    []string           `json:"label_include,omitempty" maxItems:"100" doc:"Only with one of these labels."`
	LabelExclude    []string           `json:"label_exclude,omitempty" maxItems:"100" doc:"Not with one of these labels."`
	Instructions    string             `json:"custom_instructions,omitempty" maxLength:"10000" doc:"What a review must heed."`
	Exclude         []string           `json:"exclude_patterns,omitempty" maxItems:"100" doc:"Files that are not reviewed."`
	PathInstruction []PathInstructions `json:"path_instructions,omitempty" maxItems:"100" doc:"Instructions for some files."`
	MaxComments     int                `json:"max_inline_comments,omitempty" minimum:"0" maximum:"1000" doc:"Comments on lines at most."`
	Summary         bool               `json:"high_level_summary,omitempty" doc:"Write a summary."`
	Suggest         bool               `json:"suggested_changes_enabled,omitempty" doc:"Suggest changes."`
	Stream          bool               `json:"streaming_enabled,omitempty" doc:"Show the review while it is written."`
	DeployWait      int                `json:"deploy_wait_timeout,omitempty" minimum:"0" maximum:"86400" doc:"Seconds to wait for a deployment."`
	Reset           []string           `json:"reset_fields,omitempty" maxItems:"100" doc:"Fields that go back to their defaults."`
	Draft           string             `json:"draft_policy,omitempty" maxLength:"50" doc:"What happens to drafts."`
	Focus           string             `json:"focus,omitempty" maxLength:"1000" doc:"What a review looks at."`
	Tone            string             `json:"tone,omitempty" maxLength:"1000" doc:"How a review is written."`
	Severity        string             `json:"severity_threshold,omitempty" maxLength:"50" doc:"The least severity of a comment."`
	Output          string             `json:"review_output_mode,omitempty" maxLength:"50" doc:"Where a review is written."`
}

// Area is the area.
type Area struct{ *rest.API }

// Repository names a repository's configuration.
type Repository struct {
	ID string `path:"id" doc:"The repository's id."`
}

type (
	claim   struct{ Body Setup }
	install struct{ Body Installation }
	review  struct {
		Repository
		Body Review
	}
)

const (
	slack  = "/api/v1/slack/oauth"
	github = "/api/v1/github"
)

// Register adds the operations.
func (a Area) Register() {
	const noSlack, noGitHub = "Slack is not connected to this server", "This server has no GitHub App"
	refuse[struct{}](a, "get-slack-status", "GET "+slack+"/status", "Slack", noSlack, errNoSlack)
	refuse[struct{}](a, "finish-slack", "GET "+slack+"/callback", "Slack", noSlack, errNoSlack)
	refuse[claim](a, "claim-slack", "POST "+slack+"/claim", "Slack", noSlack, errNoSlack)
	refuse[struct{}](a, "finish-github", "GET "+github+"/oauth/callback", "GitHub", noGitHub, errNoGitHub)
	refuse[install](a, "claim-github", "POST "+github+"/installations/claim", "GitHub", noGitHub, errNoGitHub)
	refuse[Repository](a, "get-github-repository", "GET "+github+"/repos/{id}", "GitHub", noGitHub, errNoGitHub)
	refuse[review](a, "update-github-repository", "PATCH "+github+"/repos/{id}", "GitHub", noGitHub, errNoGitHub)
	refuse[struct{}](a, "get-github-reviews", "GET "+github+"/review-metadata", "GitHub", noGitHub, errNoGitHub)
}

// refuse adds an operation that answers 409 to everybody who may call it.
func refuse[I any](a Area, id, path, tag, summary string, why error) {
	errors := []int{409}
	if strings.Contains(path, "{id}") {
		errors = append(errors, 404) // every operation with an id answers so to one that is none
	}
	op := rest.NewOp(id, path, tag, summary, errors...)
	op.Description = "It answers 409 with the code " + errs.From(why).Code + "."
	signin.Act(a.API, op, "", func(ctx context.Context, _ *I) error {
		if op.Method != http.MethodGet {
			if _, err := account.Writer(ctx); err != nil {
				return err
			}
		}
		return why
	})
}
