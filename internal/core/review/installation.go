package review

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"time"

	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/ids"
	"github.com/vedette-sec/vedette/internal/notify/forge"
	"github.com/vedette-sec/vedette/internal/notify/github"
)

const installColumns = `id, team_id, installation_id, account_login, account_type, status, total_repos, error, checked_at, created_at
	FROM github_installation`

func scanInstall(r db.Row) (i Installation, err error) {
	return i, r.Scan(&i.ID, &i.TeamID, &i.InstallationID, &i.Account, &i.AccountType, &i.Status, &i.TotalRepos, &i.Error,
		db.Into(&i.CheckedAt), db.Into(&i.CreatedAt))
}

// Installations are the team's, in the order in which they were connected.
func (rs *Reviews) Installations(ctx context.Context) ([]Installation, error) {
	c, err := rs.reader(ctx, GitHub)
	if err != nil {
		return nil, err
	}
	return db.Select(ctx, rs.db, scanInstall, `SELECT `+installColumns+` WHERE team_id = ? ORDER BY created_at, id`, c.TeamID)
}

// AttemptFor is how long a person may take to install the App.
const AttemptFor = 30 * time.Minute

func hashed(state string) string {
	sum := sha256.Sum256([]byte(state))
	return hex.EncodeToString(sum[:])
}

// Connect begins a connection: where to send the browser, and the state that it must come back with. The browser keeps
// the state too: whoever sends somebody a link of theirs would get that person's installation otherwise.
func (rs *Reviews) Connect(ctx context.Context) (link, state string, err error) {
	c, err := rs.admin(ctx, GitHub)
	if err != nil {
		return "", "", err
	}
	if !rs.App.WithPeople() {
		return "", "", errs.New(errs.Conflict, "github_client_not_configured",
			"The operator has configured no client of the GitHub App (github_client_id): only an operator can claim installations.")
	}
	state = ids.Random(43)
	if link, err = rs.App.InstallURL(ctx, state); err != nil {
		return "", "", failed(err)
	}
	return link, state, rs.db.Tx(ctx, func(tx *db.Tx) error {
		if _, err := tx.Exec(ctx, `DELETE FROM github_attempt WHERE team_id = ? AND (user_id = ? OR expires_at < ?)`, c.TeamID, c.UserID,
			db.At(rs.now())); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, `INSERT INTO github_attempt (state_hash, team_id, user_id, expires_at) VALUES (?, ?, ?, ?)`, hashed(state),
			c.TeamID, c.UserID, db.At(rs.now().Add(AttemptFor)))
		return err
	})
}

// Finish ends a connection that a browser comes back from: with the code that proves whose the installation is, and
// the state that the browser has kept, unless the person who began it calls. A state is good for one attempt.
func (rs *Reviews) Finish(ctx context.Context, state, kept, code string, installation int64) (
	i Installation, err error,
) {
	if rs.App == nil {
		return i, ErrNotConfigured
	}
	caller, err := account.From(ctx)
	if err != nil && subtle.ConstantTimeCompare([]byte(state), []byte(kept)) != 1 {
		return i, errStateUnknown
	}
	teamID, err := rs.takeAttempt(ctx, state, caller.UserID)
	if err != nil {
		return i, err
	}
	owns, err := rs.App.Owns(ctx, code, installation)
	if err != nil {
		return i, failed(err)
	}
	if !owns {
		return i, errNotYours
	}
	return rs.connect(ctx, teamID, installation)
}

// takeAttempt removes an attempt, and gives its team; userID is empty for a browser that has kept the state.
func (rs *Reviews) takeAttempt(ctx context.Context, state, userID string) (teamID string, err error) {
	return teamID, rs.db.Tx(ctx, func(tx *db.Tx) error {
		var expires time.Time
		err := tx.QueryRow(ctx, `DELETE FROM github_attempt WHERE state_hash = ? AND (? = '' OR user_id = ?)
			RETURNING team_id, expires_at`, hashed(state), userID, userID).Scan(&teamID, db.Into(&expires))
		if db.IsNoRows(err) || err == nil && expires.Before(rs.now()) {
			return errStateUnknown
		}
		return err
	})
}

var errStateUnknown = errs.New(errs.Forbidden, "github_state_unknown",
	"This connection was not begun here in this browser, or too long ago. Begin again.")

var errNotYours = errs.New(errs.Forbidden, "github_installation_not_yours",
	"Nothing shows that this installation is yours. Connect it with POST /api/v1/github/installations/connect, or ask an operator.")

// Claim connects an installation to the caller's team: for an operator of the server, who has the App's key. Of the
// team's own it reads the repositories again.
func (rs *Reviews) Claim(ctx context.Context, installation int64) (Installation, error) {
	c, err := rs.admin(ctx, GitHub)
	if err != nil {
		return Installation{}, err
	}
	own, err := db.Value[bool](ctx, rs.db, `SELECT EXISTS (SELECT 1 FROM github_installation WHERE installation_id = ? AND team_id = ?)`,
		installation, c.TeamID)
	if err != nil {
		return Installation{}, err
	}
	if _, err := account.Operator(ctx); err != nil && !own {
		return Installation{}, errNotYours
	}
	return rs.connect(ctx, c.TeamID, installation)
}

func (rs *Reviews) connect(ctx context.Context, teamID string, installation int64) (i Installation, err error) {
	remote, err := rs.App.Installation(ctx, installation)
	if forge.Gone(err) {
		return i, errs.Missing("github_installation")
	}
	if err != nil {
		return i, failed(err)
	}
	repos, total, err := rs.App.Repositories(ctx, installation)
	if err != nil {
		return i, failed(err)
	}
	status := Active
	if remote.SuspendedAt != nil {
		status = Suspended
	}
	now := db.At(rs.now())
	return i, rs.db.Tx(ctx, func(tx *db.Tx) error {
		i, err = scanInstall(tx.QueryRow(ctx, `INSERT INTO github_installation (id, team_id, installation_id, account_login, account_type,
			status, total_repos, error, checked_at, created_at) VALUES (?, ?, ?, ?, ?, ?, ?, '', ?, ?)
			ON CONFLICT (installation_id) DO UPDATE SET account_login = excluded.account_login,
				account_type = excluded.account_type,
			status = excluded.status, total_repos = excluded.total_repos, error = '', checked_at = excluded.checked_at
			WHERE github_installation.team_id = excluded.team_id
			RETURNING id, team_id, installation_id, account_login, account_type, status, total_repos, error, checked_at, created_at`,
			ids.New(), teamID, installation, db.Clean(remote.Account.Login), db.Clean(remote.Account.Type), status, total, now,
			now))
		if db.IsNoRows(err) {
			return errs.New(errs.Conflict, "github_installation_taken", "Another team has connected this installation.")
		}
		if err != nil {
			return err
		}
		if err := rs.keepRepos(ctx, tx, i, repos); err != nil || len(repos) != total || total > maxListed {
			return err
		}
		return dropRepos(ctx, tx, i, repos)
	})
}

// dropRepos removes the repositories that an installation has no longer, as GitHub's event about them does.
func dropRepos(ctx context.Context, tx *db.Tx, i Installation, repos []github.Repository) error {
	has := make(map[int64]bool, len(repos))
	for _, r := range repos {
		has[r.ID] = true
	}
	known, err := db.Values[int64](ctx, tx, `SELECT repo_id FROM review_repo WHERE install = ?`, i.ID)
	if err != nil {
		return err
	}
	for _, id := range known {
		if has[id] {
			continue
		}
		if _, err := tx.Exec(ctx, `DELETE FROM review_repo WHERE install = ? AND repo_id = ?`, i.ID, id); err != nil {
			return err
		}
	}
	return nil
}

// keepRepos adds repositories of an installation, or gives them their names.
func (rs *Reviews) keepRepos(ctx context.Context, tx *db.Tx, i Installation, repos []github.Repository) error {
	for _, r := range repos[:min(len(repos), maxListed)] {
		if r.ID == 0 || r.FullName == "" || len(r.FullName) > 300 {
			continue
		}
		if _, err := tx.Exec(ctx, `INSERT INTO review_repo (id, team_id, forge, install, repo_id, full_name, is_private, config)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (install, repo_id) DO UPDATE SET full_name = excluded.full_name,
			is_private = excluded.is_private`, ids.New(), i.TeamID, GitHub, i.ID, r.ID, db.Clean(r.FullName), r.Private, db.Doc(Config{})); err != nil {
			return err
		}
	}
	return nil
}

// Disconnect removes an installation from the team, with its repositories, their configurations and reviews. At GitHub
// the App stays installed.
func (rs *Reviews) Disconnect(ctx context.Context, id string) error {
	c, err := rs.admin(ctx, GitHub)
	if err != nil {
		return err
	}
	return db.ExecOr(ctx, rs.db, errs.Missing("github_installation"), `DELETE FROM github_installation WHERE id = ? AND team_id = ?`,
		db.Clean(id), c.TeamID)
}

// note keeps how the last call for a repository went, where it is connected.
func (rs *Reviews) note(ctx context.Context, r Repository, cause error) error {
	text := ""
	if cause != nil {
		text = errs.Clip(db.Clean(errs.From(failed(cause)).Message), 500)
	}
	table, id := "github_installation", r.Install
	if r.Forge == GitLab {
		table, id = "gitlab_connection", r.Connection
	}
	_, err := rs.db.Exec(context.WithoutCancel(ctx), `UPDATE `+table+` SET error = ?,
		checked_at = CASE WHEN ? = '' THEN ? ELSE checked_at END WHERE id = ?`, text, text, db.At(rs.now()), id)
	return err
}
