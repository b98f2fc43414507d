package review

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/ids"
	"github.com/vedette-sec/vedette/internal/notify/forge"
	"github.com/vedette-sec/vedette/internal/notify/github"
)

// MaxHook bounds the body of a webhook, in bytes.
const MaxHook = github.MaxHook

// Taken is what became of a webhook.
type Taken int

// What may become of one.
const (
	Unknown   Taken = iota // this server takes none
	Unsigned               // the signature is missing or wrong
	Malformed              // it is none of the forge's
	Ignored                // it says nothing that matters here
	Accepted
)

// deliveryFor is how long the ids of webhooks are kept. A commit is reviewed once, whatever comes again later.
const deliveryFor = 30 * 24 * time.Hour

// Receive takes a webhook of the App. One that was taken before changes nothing.
func (rs *Reviews) Receive(ctx context.Context, header http.Header, body []byte) (taken Taken, err error) {
	if rs.App == nil {
		return Unknown, nil
	}
	if !rs.App.Signed(header, body) {
		return Unsigned, nil
	}
	e, ok := github.ReadEvent(header, body)
	if !ok {
		return Malformed, nil
	}
	err = rs.db.Tx(ctx, func(tx *db.Tx) error {
		now := rs.now()
		if _, err := tx.Exec(ctx, `DELETE FROM github_delivery WHERE at < ?`, db.At(now.Add(-deliveryFor))); err != nil {
			return err
		}
		n, err := tx.Exec(ctx, `INSERT INTO github_delivery (id, at) VALUES (?, ?) ON CONFLICT (id) DO NOTHING`, db.Clean(e.Delivery),
			db.At(now))
		if err != nil || n == 0 {
			taken = Ignored
			return err
		}
		taken, err = rs.apply(ctx, tx, e)
		return err
	})
	return taken, err
}

// apply does what an event asks for.
func (rs *Reviews) apply(ctx context.Context, tx *db.Tx, e github.Event) (Taken, error) {
	if e.Name == "ping" {
		return Accepted, nil
	}
	i, err := scanInstall(tx.QueryRow(ctx, `SELECT `+installColumns+` WHERE installation_id = ?`, e.Installation.ID))
	if db.IsNoRows(err) {
		return Ignored, nil // nobody has connected it
	}
	if err != nil {
		return Ignored, err
	}
	switch e.Name {
	case "installation":
		return rs.installed(ctx, tx, i, e)
	case "installation_repositories":
		return rs.listed(ctx, tx, i, e)
	case "pull_request":
		if i.Status == Active && slices.Contains([]string{"opened", "synchronize", "reopened", "ready_for_review"},
			e.Action) {
			return rs.pulled(ctx, tx, i, e)
		}
	case "issue_comment":
		if i.Status == Active && e.Action == "created" && e.Issue.PullRequest != nil && e.Sender.Type != "Bot" {
			return rs.commented(ctx, tx, i, e)
		}
	}
	return Ignored, nil
}

func (rs *Reviews) installed(ctx context.Context, tx *db.Tx, i Installation, e github.Event) (Taken, error) {
	status := map[string]string{"deleted": Revoked, "suspend": Suspended, "unsuspend": Active}[e.Action]
	if status == "" {
		return Ignored, nil
	}
	rs.App.Forget(i.InstallationID)
	_, err := tx.Exec(ctx, `UPDATE github_installation SET status = ? WHERE id = ?`, status, i.ID)
	return Accepted, err
}

// listed keeps which repositories an installation has.
func (rs *Reviews) listed(ctx context.Context, tx *db.Tx, i Installation, e github.Event) (Taken, error) {
	if err := rs.keepRepos(ctx, tx, i, e.Added); err != nil {
		return Ignored, err
	}
	for _, r := range e.Removed {
		if _, err := tx.Exec(ctx, `DELETE FROM review_repo WHERE install = ? AND repo_id = ?`, i.ID, r.ID); err != nil {
			return Ignored, err
		}
	}
	_, err := tx.Exec(ctx, `UPDATE github_installation SET total_repos = (SELECT count(*) FROM review_repo WHERE install = ?) WHERE id = ?`,
		i.ID, i.ID)
	return Accepted, err
}

// repoOf is the repository of an event, by the name that it has there.
func (rs *Reviews) repoOf(ctx context.Context, tx *db.Tx, i Installation, e github.Event) (r Repository, err error) {
	if err := rs.keepRepos(ctx, tx, i, []github.Repository{e.Repository}); err != nil {
		return r, err
	}
	return scanRepo(tx.QueryRow(ctx, `SELECT `+repoColumns+` WHERE r.install = ? AND r.repo_id = ?`, i.ID, e.Repository.ID))
}

func (rs *Reviews) pulled(ctx context.Context, tx *db.Tx, i Installation, e github.Event) (Taken, error) {
	r, err := rs.repoOf(ctx, tx, i, e)
	if db.IsNoRows(err) || err == nil && !r.Effective().automatic(e.PullRequest.Change()) {
		return Ignored, nil
	}
	if err != nil {
		return Ignored, err
	}
	begun, err := rs.begin(ctx, tx, r, e.PullRequest.Change(), e.Action)
	if err != nil || !begun {
		return Ignored, err
	}
	return Accepted, nil
}

// command is the cause of reviews that somebody asked for.
const command = "command"

// begin has the head of a change reviewed; one that was reviewed, again on command only.
func (rs *Reviews) begin(ctx context.Context, tx *db.Tx, r Repository, p forge.Change, cause string) (bool, error) {
	if p.Number < 1 || p.Head == "" || len(p.Head) > 64 {
		return false, nil
	}
	var id string
	err := tx.QueryRow(ctx, `INSERT INTO review_run (id, team_id, forge, repo, pull, head, cause, status, error, conclusion, posting,
		check_id, findings, commented, files, created_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, '', '', ?, 0, ?, ?, 0, ?)
		ON CONFLICT (repo, pull, head) DO UPDATE SET status = excluded.status, cause = excluded.cause, error = '',
			finished_at = NULL, opinion = NULL
		WHERE excluded.cause = ? AND review_run.finished_at IS NOT NULL RETURNING id`, ids.New(), r.TeamID, r.Forge, r.ID, p.Number,
		db.Clean(p.Head), cause, Queued, false, db.Doc([]struct{}{}), db.Doc([]string{}), db.At(rs.now()),
		command).Scan(&id)
	if db.IsNoRows(err) {
		return false, nil // it is under way, or was reviewed
	}
	if err != nil {
		return false, err
	}
	_, err = rs.queue.Insert(ctx, tx, r.TeamID, RunArgs{id})
	return err == nil, err
}

// The commands in comments.
const (
	sayReview = "review"
	sayHelp   = "help"
	sayLook   = "look" // in no comment: of jobs
)

// commandIn is the command that a comment begins with; empty: none.
func commandIn(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	words := strings.Fields(line)
	if len(words) == 2 && strings.EqualFold(words[0], "/vedette") {
		if word := strings.ToLower(words[1]); word == sayReview || word == sayHelp {
			return word
		}
	}
	return ""
}

func (rs *Reviews) commented(ctx context.Context, tx *db.Tx, i Installation, e github.Event) (Taken, error) {
	word := commandIn(e.Comment.Body)
	if word == "" || e.Issue.Number < 1 || e.Sender.Login == "" || len(e.Sender.Login) > 100 {
		return Ignored, nil
	}
	r, err := rs.repoOf(ctx, tx, i, e)
	if db.IsNoRows(err) {
		return Ignored, nil
	}
	if err == nil {
		_, err = rs.queue.Insert(ctx, tx, r.TeamID,
			ObeyArgs{Repo: r.ID, Pull: e.Issue.Number, Comment: e.Comment.ID, Login: db.Clean(e.Sender.Login), Command: word})
	}
	return Accepted, err
}
