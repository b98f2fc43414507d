package review

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/ids"
	"github.com/vedette-sec/vedette/internal/infra/netguard"
	"github.com/vedette-sec/vedette/internal/notify/forge"
	"github.com/vedette-sec/vedette/internal/notify/gitlab"
)

// Connection is an account at a GitLab that the team has connected by a token of it.
type Connection struct {
	ID        string
	TeamID    string
	URL       string
	UserID    int64
	Username  string
	Projects  int
	Error     string
	CheckedAt time.Time
	CreatedAt time.Time
	Hook      string // what GitLab must send; shown once

	token, hook []byte // sealed
}

// NewConnection is what connects one. Of a change, "" and nil leave what is there.
type NewConnection struct {
	URL      string // gitlab.DefaultURL when empty
	Token    string
	Projects []string // paths, such as group/shop
	Hook     bool     // of a change: make another secret of the webhook
	Secret   string   // a signing token that GitLab has made, in the place of a secret of ours
}

const maxConnections = 20 // of a team

const connectionColumns = `id, team_id, url, user_id, username, token, hook, error, checked_at, created_at,
	(SELECT count(*) FROM review_repo r WHERE r.connection = gitlab_connection.id) FROM gitlab_connection`

func scanConnection(r db.Row) (c Connection, err error) {
	return c, r.Scan(&c.ID, &c.TeamID, &c.URL, &c.UserID, &c.Username, &c.token, &c.hook, &c.Error, db.Into(&c.CheckedAt),
		db.Into(&c.CreatedAt), &c.Projects)
}

// The contexts bind sealed values to their row.
func tokenContext(id string) string { return "gitlab-token/" + id }
func hookContext(id string) string  { return "gitlab-hook/" + id }

// Connections are the team's, in the order in which they were made.
func (rs *Reviews) Connections(ctx context.Context) ([]Connection, error) {
	c, err := rs.reader(ctx, GitLab)
	if err != nil {
		return nil, err
	}
	return db.Select(ctx, rs.db, scanConnection, `SELECT `+connectionColumns+` WHERE team_id = ? ORDER BY created_at, id`, c.TeamID)
}

// Add connects an account with projects of its. FailedDependency: GitLab does not answer, or refuses the token.
func (rs *Reviews) Add(ctx context.Context, n NewConnection) (made Connection, err error) {
	c, err := rs.admin(ctx, GitLab)
	if err != nil {
		return made, err
	}
	if n.URL == "" {
		n.URL = gitlab.DefaultURL
	}
	n.URL = strings.TrimRight(n.URL, "/")
	if !netguard.IsWebURL(n.URL) || strings.ContainsAny(n.URL, "?#@") {
		return made, errs.Field("url", "url must be the address of a GitLab, such as %s.", gitlab.DefaultURL)
	}
	if err := n.checkSecret(); err != nil {
		return made, err
	}
	id := ids.New()
	user, projects, err := rs.ask(ctx, n.URL, n.Token, n.Projects)
	if err != nil {
		return made, err
	}
	token, err := rs.Box.Seal([]byte(n.Token), tokenContext(id))
	if err != nil {
		return made, err
	}
	hook, sealed, err := rs.newHook(id, n.Secret)
	if err != nil {
		return made, err
	}
	now := db.At(rs.now())
	err = rs.db.Tx(ctx, func(tx *db.Tx) error {
		count, err := db.Value[int](ctx, tx, `SELECT count(*) FROM gitlab_connection WHERE team_id = ?`, c.TeamID)
		if err != nil {
			return err
		}
		if count >= maxConnections {
			return errs.New(errs.Conflict, "too_many_connections", "The team has %d connections; delete one first.", count)
		}
		if _, err := tx.Exec(ctx, `INSERT INTO gitlab_connection (id, team_id, url, user_id, username, token, hook, error, checked_at,
			created_at) VALUES (?, ?, ?, ?, ?, ?, ?, '', ?, ?)`, id, c.TeamID, n.URL, user.ID, db.Clean(user.Username), token, sealed, now,
			now); err != nil {
			return err
		}
		if err := keepProjects(ctx, tx, c.TeamID, id, projects); err != nil {
			return err
		}
		made, err = scanConnection(tx.QueryRow(ctx, `SELECT `+connectionColumns+` WHERE id = ?`, id))
		made.Hook = hook
		return err
	})
	if db.IsDuplicate(err) {
		return Connection{}, errs.New(errs.Conflict, "gitlab_account_connected", "The account %s at %s is connected already: change that connection.",
			db.Clean(errs.Clip(user.Username, 100)), n.URL)
	}
	return made, err
}

// Change changes the token, the projects or the secret of the webhook of a connection. A project that is named no
// longer goes, with its options and reviews.
func (rs *Reviews) Change(ctx context.Context, id string, n NewConnection) (changed Connection, err error) {
	c, err := rs.admin(ctx, GitLab)
	if err != nil {
		return changed, err
	}
	found, err := rs.connection(ctx, id, c.TeamID)
	if err == nil {
		err = n.checkSecret()
	}
	if err != nil {
		return changed, err
	}
	token := n.Token
	if token == "" {
		plain, err := rs.Box.Open(found.token, tokenContext(found.ID))
		if err != nil {
			return changed, errs.New(errs.Conflict, "gitlab_token_unreadable",
				"The token that is stored cannot be read any more, as after a change of the server's key: send token.").At("token")
		}
		token = string(plain)
	}
	user, projects, err := rs.ask(ctx, found.URL, token, n.Projects)
	if err != nil {
		return changed, err
	}
	if user.ID != found.UserID {
		return changed, errs.Field("token", "token is of the account %s, and this connection is of %s: make another connection.",
			db.Clean(errs.Clip(user.Username, 100)), found.Username)
	}
	sealed, err := rs.Box.Seal([]byte(token), tokenContext(found.ID))
	if err != nil {
		return changed, err
	}
	hook, sealedHook := "", found.hook
	if n.Hook || n.Secret != "" {
		if hook, sealedHook, err = rs.newHook(found.ID, n.Secret); err != nil {
			return changed, err
		}
	}
	err = rs.db.Tx(ctx, func(tx *db.Tx) error {
		if err := db.ExecOr(ctx, tx, errs.Missing("gitlab_connection"), `UPDATE gitlab_connection SET token = ?, hook = ?, error = '',
			checked_at = ? WHERE id = ? AND team_id = ?`, sealed, sealedHook, db.At(rs.now()), found.ID, c.TeamID); err != nil {
			return err
		}
		if len(n.Projects) > 0 {
			if err := dropProjects(ctx, tx, found.ID, projects); err != nil {
				return err
			}
		}
		if err := keepProjects(ctx, tx, c.TeamID, found.ID, projects); err != nil {
			return err
		}
		changed, err = scanConnection(tx.QueryRow(ctx, `SELECT `+connectionColumns+` WHERE id = ?`, found.ID))
		changed.Hook = hook
		return err
	})
	return changed, err
}

// Remove disconnects an account, with its projects, their options and reviews.
func (rs *Reviews) Remove(ctx context.Context, id string) error {
	c, err := rs.admin(ctx, GitLab)
	if err != nil {
		return err
	}
	return db.ExecOr(ctx, rs.db, errs.Missing("gitlab_connection"), `DELETE FROM gitlab_connection WHERE id = ? AND team_id = ?`,
		db.Clean(id), c.TeamID)
}

func (rs *Reviews) connection(ctx context.Context, id, teamID string) (Connection, error) {
	found, err := scanConnection(rs.db.QueryRow(ctx, `SELECT `+connectionColumns+` WHERE id = ? AND team_id = ?`, db.Clean(id), teamID))
	if db.IsNoRows(err) {
		err = errs.Missing("gitlab_connection")
	}
	return found, err
}

// newHook is a secret for webhooks, and what is stored of it; given is one that its owner has, and need not be shown.
func (rs *Reviews) newHook(id, given string) (plain string, sealed []byte, err error) {
	if given == "" {
		plain = gitlab.NewSecret()
	}
	sealed, err = rs.Box.Seal([]byte(cmp.Or(given, plain)), hookContext(id))
	return plain, sealed, err
}

// checkSecret refuses what GitLab signs nothing with.
func (n NewConnection) checkSecret() error {
	if n.Secret != "" && !gitlab.IsSigningToken(n.Secret) {
		return errs.Field("webhook_secret", "webhook_secret must be a signing token that GitLab has made: whsec_ and the base64 of 32 bytes.")
	}
	return nil
}

// ask is whose a token is, and the projects that it reaches.
func (rs *Reviews) ask(ctx context.Context, address, token string, paths []string) (
	u gitlab.User, projects []gitlab.Project, err error,
) {
	at := rs.Lab.Account(address, token, 0)
	if u, err = at.Who(ctx); err != nil {
		return u, nil, failed(err)
	}
	for _, path := range paths {
		p, err := at.Project(ctx, strings.Trim(path, "/"))
		switch {
		case forge.Gone(err):
			return u, nil, errs.Field("projects", "projects holds %q, which the account does not see.", errs.Clip(path, 100))
		case err != nil:
			return u, nil, failed(err)
		}
		projects = append(projects, p)
	}
	return u, projects, nil
}

func keepProjects(ctx context.Context, tx *db.Tx, teamID, connection string, projects []gitlab.Project) error {
	for _, p := range projects {
		if _, err := tx.Exec(ctx, `INSERT INTO review_repo (id, team_id, forge, connection, repo_id, full_name, is_private, config)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (connection, repo_id) DO UPDATE SET full_name = excluded.full_name,
			is_private = excluded.is_private`, ids.New(), teamID, GitLab, connection, p.ID, db.Clean(errs.Clip(p.Path, 300)),
			p.Visibility != "public", db.Doc(Config{})); err != nil {
			return err
		}
	}
	return nil
}

func dropProjects(ctx context.Context, tx *db.Tx, connection string, kept []gitlab.Project) error {
	known, err := db.Values[int64](ctx, tx, `SELECT repo_id FROM review_repo WHERE connection = ?`, connection)
	if err != nil {
		return err
	}
	for _, id := range known {
		if slices.ContainsFunc(kept, func(p gitlab.Project) bool { return p.ID == id }) {
			continue
		}
		if _, err := tx.Exec(ctx, `DELETE FROM review_repo WHERE connection = ? AND repo_id = ?`, connection, id); err != nil {
			return err
		}
	}
	return nil
}

// accountOf is the account of a connection, with its token.
func (rs *Reviews) accountOf(ctx context.Context, connection string) (a gitlab.Account, err error) {
	c, err := scanConnection(rs.db.QueryRow(ctx, `SELECT `+connectionColumns+` WHERE id = ?`, connection))
	if err != nil {
		return a, err
	}
	token, err := rs.Box.Open(c.token, tokenContext(c.ID))
	return rs.Lab.Account(c.URL, string(token), c.UserID), err
}

// ReceiveGitLab takes a webhook of a connection. A connection that does not exist and a wrong secret are one answer.
func (rs *Reviews) ReceiveGitLab(ctx context.Context, id string, header http.Header, body []byte) (Taken, error) {
	c, err := scanConnection(rs.db.QueryRow(ctx, `SELECT `+connectionColumns+` WHERE id = ?`, db.Clean(id)))
	if db.IsNoRows(err) {
		return Unsigned, nil
	}
	if err != nil {
		return Ignored, err
	}
	secret, err := rs.Box.Open(c.hook, hookContext(c.ID))
	if err != nil {
		return Ignored, err
	}
	if !gitlab.Proven(header, body, string(secret), rs.now()) {
		return Unsigned, nil
	}
	e, ok := gitlab.ReadEvent(header, body)
	if !ok {
		return Malformed, nil
	}
	args := ObeyArgs{Pull: e.Object.IID, Command: sayLook, Cause: e.Cause()}
	if e.IsNote() {
		args = ObeyArgs{Pull: e.Merge.IID, Comment: e.Object.ID, Login: strconv.FormatInt(e.User.ID, 10),
			Command: commandIn(e.Object.Note)}
	}
	if args.Pull < 1 || args.Command == "" || args.Command == sayLook && args.Cause == "" {
		return Ignored, nil
	}
	taken := Ignored
	err = rs.db.Tx(ctx, func(tx *db.Tx) error {
		args.Repo, err = db.Value[string](ctx, tx, `SELECT id FROM review_repo WHERE connection = ? AND repo_id = ?`, c.ID, e.Project.ID)
		if db.IsNoRows(err) {
			return nil // a project that is not connected
		}
		if err != nil {
			return err
		}
		if e.IsNote() {
			if first, err := rs.firstTime(ctx, tx, c.ID, e.Object.ID); err != nil || !first {
				return err
			}
		}
		taken = Accepted
		_, err = rs.queue.Insert(ctx, tx, c.TeamID, args)
		return err
	})
	return taken, err
}

// firstTime reports whether a comment was not taken before.
func (rs *Reviews) firstTime(ctx context.Context, tx *db.Tx, connection string, note int64) (bool, error) {
	now := rs.now()
	if _, err := tx.Exec(ctx, `DELETE FROM gitlab_note WHERE at < ?`, db.At(now.Add(-deliveryFor))); err != nil {
		return false, err
	}
	n, err := tx.Exec(ctx, `INSERT INTO gitlab_note (connection, note, at) VALUES (?, ?, ?) ON CONFLICT (connection, note) DO NOTHING`,
		connection, note, db.At(now))
	return n > 0, err
}
