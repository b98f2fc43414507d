// Package review reviews pull requests at GitHub. A team connects installations of the operator's GitHub App; GitHub's
// webhooks say what happens there; a job reviews each commit that a pull request comes to.
//
// A review reads the files that the pull request changes and applies the rules (package rule) to the lines that it adds
// (package diff). It writes one summary, which later reviews of the pull request replace, comments on lines, and a
// check run. What is written has a mark with the id of what it belongs to: a job that was killed finds what it wrote
// and goes on. There is one row, and so one job, for each commit; a line that has a comment gets no second one by
// later reviews.
package review

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/core/review/rule"
	"github.com/vedette-sec/vedette/internal/infra/apiclient"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/page"
	"github.com/vedette-sec/vedette/internal/infra/queue"
	"github.com/vedette-sec/vedette/internal/notify/github"
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

// Repository is a repository of an installation.
type Repository struct {
	ID             string
	TeamID         string
	Install        string
	InstallationID int64
	FullName       string
	Private        bool
	Config         Config
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
}

// Reviews is the service.
type Reviews struct {
	db    *db.DB
	queue *queue.Queue
	app   *github.App // nil: the operator has configured none
	now   func() time.Time
}

// New makes the service; app is nil where the operator has configured none.
func New(d *db.DB, q *queue.Queue, app *github.App) *Reviews {
	return &Reviews{d, q, app, time.Now}
}

// ErrNotConfigured is the refusal of a server without an App.
var ErrNotConfigured = errs.New(errs.Conflict, "github_not_configured",
	"This server has no GitHub App: it does not review pull requests, and GitHub is not connected. Its operator can configure one (github_app_id).")

// admin is the caller, if they may change what the team has connected.
func (rs *Reviews) admin(ctx context.Context) (account.Caller, error) {
	if _, err := account.Writer(ctx); err != nil {
		return account.Caller{}, err
	}
	if rs.app == nil {
		return account.Caller{}, ErrNotConfigured
	}
	return account.TeamAdmin(ctx)
}

func (rs *Reviews) reader(ctx context.Context) (account.Caller, error) {
	c, err := account.From(ctx)
	if err == nil && rs.app == nil {
		err = ErrNotConfigured
	}
	return c, err
}

// failed makes an error for people of a failure at GitHub.
func failed(err error) error {
	if f, ok := errors.AsType[*apiclient.Error](err); ok {
		return errs.New(errs.FailedDependency, "github_failed", "%s.", f.Error())
	}
	return err
}

// isGone reports whether GitHub says that there is no such thing, or not for us.
func isGone(err error) bool {
	f, ok := errors.AsType[*apiclient.Error](err)
	return ok && (f.Status == http.StatusNotFound || f.Status == http.StatusGone)
}

const repoColumns = `r.id, r.team_id, r.install, i.installation_id, r.full_name, r.is_private, r.config, i.status
	FROM github_repo r JOIN github_installation i ON i.id = r.install`

func scanRepo(r db.Row) (x Repository, err error) {
	return x, r.Scan(&x.ID, &x.TeamID, &x.Install, &x.InstallationID, &x.FullName, &x.Private,
		db.Into(&x.Config), &x.status)
}

const maxListed = 2000

// Repositories are the team's, by name.
func (rs *Reviews) Repositories(ctx context.Context) ([]Repository, error) {
	c, err := rs.reader(ctx)
	if err != nil {
		return nil, err
	}
	return db.Select(ctx, rs.db, scanRepo, `SELECT `+repoColumns+` WHERE r.team_id = ? ORDER BY r.full_name LIMIT ?`, c.TeamID, maxListed)
}

// Repository is one of them.
func (rs *Reviews) Repository(ctx context.Context, id string) (r Repository, err error) {
	c, err := rs.reader(ctx)
	if err != nil {
		return r, err
	}
	r, err = scanRepo(rs.db.QueryRow(ctx, `SELECT `+repoColumns+` WHERE r.id = ? AND r.team_id = ?`, db.Clean(id), c.TeamID))
	if db.IsNoRows(err) {
		err = errs.Missing("github_repository")
	}
	return r, err
}

const reviewColumns = `id, team_id, repo, pull, head, cause, status, error, conclusion, posting, check_id, findings, commented, files,
	created_at, finished_at`

// scanReview reads the columns, and those after them into more.
func scanReview(r db.Row, more ...any) (v Review, err error) {
	return v, r.Scan(append([]any{&v.ID, &v.TeamID, &v.Repo, &v.Pull, &v.Head, &v.Cause, &v.Status, &v.Error,
		&v.Conclusion,
		&v.posting, &v.check, db.Into(&v.Findings), db.Into(&v.Commented), &v.Files, db.Into(&v.CreatedAt),
		db.Into(&v.FinishedAt)}, more...)...)
}

func scanOne(r db.Row) (Review, error) { return scanReview(r) }

// History are the reviews of a pull request, the newest first, at most 100.
func (rs *Reviews) History(ctx context.Context, fullName string, pull int) (Repository, []Review, error) {
	c, err := rs.reader(ctx)
	if err != nil {
		return Repository{}, nil, err
	}
	r, err := scanRepo(rs.db.QueryRow(ctx, `SELECT `+repoColumns+` WHERE r.team_id = ? AND r.full_name = ?
		ORDER BY r.id DESC LIMIT 1`, c.TeamID, db.Clean(fullName)))
	if db.IsNoRows(err) {
		return r, nil, errs.Missing("github_repository")
	}
	if err != nil {
		return r, nil, err
	}
	found, err := db.Select(ctx, rs.db, scanOne, `SELECT `+reviewColumns+` FROM github_review WHERE repo = ? AND pull = ?
		ORDER BY id DESC LIMIT 100`, r.ID, pull)
	return r, found, err
}

// Listed is a review, and the name of its repository.
type Listed struct {
	Review

	FullName string
}

// Latest are the reviews of all repositories of the team, the newest first, and whether there are more.
func (rs *Reviews) Latest(ctx context.Context, w page.Window) (found []Listed, more bool, err error) {
	c, err := rs.reader(ctx)
	if err != nil {
		return nil, false, err
	}
	found, err = db.Select(ctx, rs.db, func(r db.Row) (x Listed, err error) {
		x.Review, err = scanReview(r, &x.FullName)
		return x, err
	}, `SELECT `+reviewColumns+`, (SELECT r.full_name FROM github_repo r WHERE r.id = github_review.repo) FROM github_review
		WHERE team_id = ? ORDER BY id DESC LIMIT ? OFFSET ?`, c.TeamID, w.Limit+1, w.Offset)
	more = len(found) > w.Limit
	return found[:min(len(found), w.Limit)], more, err
}
