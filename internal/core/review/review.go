// Package review reviews pull requests at GitHub and merge requests at GitLab (package forge has what both are). A team
// connects installations of the operator's GitHub App, or accounts at a GitLab by their tokens; webhooks say what
// happens there; a job reviews each commit that a change comes to.
//
// A review reads the files that the change touches and applies the rules (package rule) to the lines that it adds
// (package diff); where the team has a language model, that reads the change, too (package opinion),
// and where gitleaks and semgrep are installed, they look at its files (package program). It writes one summary, which
// later reviews of the change replace, comments on lines, and a check. What is written has a mark with the id of what
// it belongs to: a job that was killed finds what it wrote and goes on. There is one row, and so one job, for each
// commit; a line that has a comment gets no second one by later reviews.
package review

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/core/model"
	"github.com/vedette-sec/vedette/internal/core/review/opinion"
	"github.com/vedette-sec/vedette/internal/core/review/program"
	"github.com/vedette-sec/vedette/internal/core/review/rule"
	"github.com/vedette-sec/vedette/internal/core/secret"
	"github.com/vedette-sec/vedette/internal/infra/apiclient"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/page"
	"github.com/vedette-sec/vedette/internal/infra/queue"
	"github.com/vedette-sec/vedette/internal/infra/seal"
	"github.com/vedette-sec/vedette/internal/notify/github"
	"github.com/vedette-sec/vedette/internal/notify/gitlab"
)

// The states of an installation.
const (
	Active    = "active"
	Suspended = "suspended"
	Revoked   = "revoked_external"
)

// Installation is an installation that the team has connected.
type Installation struct {
	ID             string
	TeamID         string
	InstallationID int64
	Account        string
	AccountType    string
	Status         string
	TotalRepos     int
	Error          string
	CheckedAt      time.Time
	CreatedAt      time.Time
}

// Forge is where a repository is.
type Forge string

// The forges.
const (
	GitHub Forge = "github"
	GitLab Forge = "gitlab"
)

// Repository is a repository of an installation at GitHub, or a project of a connection to GitLab.
type Repository struct {
	ID             string
	TeamID         string
	Forge          Forge
	Install        string // at GitHub
	InstallationID int64
	Connection     string // to GitLab
	FullName       string
	Private        bool
	Config         Config
	Team           Config // the team's defaults
	repoID         int64
	status         string // of the installation
}

// The states of a review.
const (
	Queued     = "queued"
	Running    = "running"
	Completed  = "completed"
	Superseded = "superseded" // the pull request has come to another commit, or is closed
	Failed     = "failed"
)

// Review is a review of a commit.
type Review struct {
	ID         string
	TeamID     string
	Repo       string
	Pull       int
	Head       string
	Cause      string
	Status     string
	Error      string
	Conclusion string
	Findings   []rule.Finding
	Commented  []string
	Files      int
	CreatedAt  time.Time
	FinishedAt time.Time

	posting bool
	check   int64
	opinion *opinion.Answer // nil: no model was asked yet
}

// Reviews is the service.
type Reviews struct {
	db    *db.DB
	queue *queue.Queue
	Deps
	now func() time.Time
}

// Deps are what the service speaks with forges and models by.
type Deps struct {
	App *github.App    // nil: the operator has configured none
	Lab *gitlab.Client // nil: no GitLab can be connected
	Box *seal.Box      // seals tokens of GitLab

	Models  *model.Models   // may read changes; nil: none does
	Secrets *secret.Secrets // of teams, which no model is shown

	Programs *program.Runner // look at changes where they are installed; nil: none does
}

// New makes the service.
func New(d *db.DB, q *queue.Queue, deps Deps) *Reviews {
	return &Reviews{d, q, deps, time.Now}
}

// ErrNotConfigured is the refusal of a server without an App.
var ErrNotConfigured = errs.New(errs.Conflict, "github_not_configured",
	"This server has no GitHub App: it does not review pull requests, and GitHub is not connected. Its operator can configure one (github_app_id).")

// admin is the caller, if they may change what the team has connected.
func (rs *Reviews) admin(ctx context.Context, at Forge) (account.Caller, error) {
	if _, err := account.Writer(ctx); err != nil {
		return account.Caller{}, err
	}
	if _, err := rs.reader(ctx, at); err != nil {
		return account.Caller{}, err
	}
	return account.TeamAdmin(ctx)
}

func (rs *Reviews) reader(ctx context.Context, at Forge) (account.Caller, error) {
	c, err := account.From(ctx)
	if err == nil && at == GitHub && rs.App == nil {
		err = ErrNotConfigured
	}
	return c, err
}

// failed makes an error for people of a failure at GitHub.
func failed(err error) error {
	if f, ok := errors.AsType[*apiclient.Error](err); ok {
		return errs.New(errs.FailedDependency, strings.ToLower(f.Service)+"_failed", "%s.", f.Error())
	}
	return err
}

const repoColumns = `r.id, r.team_id, r.forge, coalesce(r.install, ''), coalesce(i.installation_id, 0), coalesce(r.connection, ''), r.repo_id,
	r.full_name, r.is_private, r.config, d.config, coalesce(i.status, 'active')
	FROM review_repo r LEFT JOIN github_installation i ON i.id = r.install
	LEFT JOIN review_defaults d ON d.team_id = r.team_id`

func scanRepo(r db.Row) (x Repository, err error) {
	return x, r.Scan(&x.ID, &x.TeamID, &x.Forge, &x.Install, &x.InstallationID, &x.Connection, &x.repoID, &x.FullName,
		&x.Private,
		db.Into(&x.Config), db.Into(&x.Team), &x.status)
}

const maxListed = 2000

// missing is the error about a repository that is not the team's.
func (f Forge) missing() error {
	if f == GitLab {
		return errs.Missing("gitlab_project")
	}
	return errs.Missing("github_repository")
}

// Repositories are the team's at a forge, by name.
func (rs *Reviews) Repositories(ctx context.Context, at Forge) ([]Repository, error) {
	c, err := rs.reader(ctx, at)
	if err != nil {
		return nil, err
	}
	return db.Select(ctx, rs.db, scanRepo, `SELECT `+repoColumns+` WHERE r.team_id = ? AND r.forge = ? ORDER BY r.full_name, r.id LIMIT ?`, c.TeamID, at, maxListed)
}

// Repository is one of them.
func (rs *Reviews) Repository(ctx context.Context, at Forge, id string) (r Repository, err error) {
	c, err := rs.reader(ctx, at)
	if err != nil {
		return r, err
	}
	r, err = scanRepo(rs.db.QueryRow(ctx, `SELECT `+repoColumns+` WHERE r.id = ? AND r.team_id = ? AND r.forge = ?`, db.Clean(id), c.TeamID, at))
	if db.IsNoRows(err) {
		err = at.missing()
	}
	return r, err
}

const reviewColumns = `id, team_id, repo, pull, head, cause, status, error, conclusion, posting, check_id, findings, commented, files,
	created_at, finished_at, opinion`

// scanReview reads the columns, and those after them into more.
func scanReview(r db.Row, more ...any) (v Review, err error) {
	return v, r.Scan(append([]any{&v.ID, &v.TeamID, &v.Repo, &v.Pull, &v.Head, &v.Cause, &v.Status, &v.Error,
		&v.Conclusion,
		&v.posting, &v.check, db.Into(&v.Findings), db.Into(&v.Commented), &v.Files, db.Into(&v.CreatedAt),
		db.Into(&v.FinishedAt), db.Into(&v.opinion)}, more...)...)
}

func scanOne(r db.Row) (Review, error) { return scanReview(r) }

// History are the reviews of a change, the newest first, at most 100.
func (rs *Reviews) History(ctx context.Context, at Forge, fullName string, pull int) (Repository, []Review, error) {
	c, err := rs.reader(ctx, at)
	if err != nil {
		return Repository{}, nil, err
	}
	r, err := scanRepo(rs.db.QueryRow(ctx, `SELECT `+repoColumns+` WHERE r.team_id = ? AND r.forge = ? AND r.full_name = ?
		ORDER BY r.id DESC LIMIT 1`, c.TeamID, at, db.Clean(fullName)))
	if db.IsNoRows(err) {
		return r, nil, at.missing()
	}
	if err != nil {
		return r, nil, err
	}
	found, err := db.Select(ctx, rs.db, scanOne, `SELECT `+reviewColumns+` FROM review_run WHERE repo = ? AND pull = ?
		ORDER BY id DESC LIMIT 100`, r.ID, pull)
	return r, found, err
}

// Listed is a review, and the name of its repository.
type Listed struct {
	Review

	FullName string
}

// Latest are the reviews of all repositories of the team at a forge, the newest first, and whether there are more.
func (rs *Reviews) Latest(ctx context.Context, at Forge, w page.Window) (found []Listed, more bool, err error) {
	c, err := rs.reader(ctx, at)
	if err != nil {
		return nil, false, err
	}
	found, err = db.Select(ctx, rs.db, func(r db.Row) (x Listed, err error) {
		x.Review, err = scanReview(r, &x.FullName)
		return x, err
	}, `SELECT `+reviewColumns+`, (SELECT r.full_name FROM review_repo r WHERE r.id = review_run.repo) FROM review_run
		WHERE team_id = ? AND forge = ? ORDER BY id DESC LIMIT ? OFFSET ?`, c.TeamID, at, w.Limit+1, w.Offset)
	more = len(found) > w.Limit
	return found[:min(len(found), w.Limit)], more, err
}
