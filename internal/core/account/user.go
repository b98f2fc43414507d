package account

import (
	"cmp"
	"context"
	"strings"
	"time"

	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/ids"
	"github.com/vedette-sec/vedette/internal/infra/queue"
)

// User is a person, or a program with its own account.
type User struct {
	ID        string    `json:"id"`
	Email     string    `json:"email"`
	TeamID    string    `json:"team_id"`
	Team      string    `json:"team"`
	Role      Role      `json:"role"`
	CreatedAt time.Time `json:"created_at"`
	Service   bool      `json:"service"` // a program: API keys only, no sign-in
}

// NewUser describes a user to create.
type NewUser struct {
	Email    string
	Password string // empty: no login by password
	Team     string // joins the team of this name, which is created if missing; empty: a team of their own
	Admin    bool   // an operator of the server, and admin of the team; who makes a new team is its admin anyway
	Service  bool   // a program: it has no password and never signs in, an operator makes its API keys
	CapCents *int64 // the operator's spending cap, for all teams, in US cents; nil: none
}

// CreateUser creates a user and their membership. It fails with Conflict when the address has an account.
func (a *Accounts) CreateUser(ctx context.Context, n NewUser) (User, error) {
	return a.createUser(ctx, n, func(*db.Tx) error { return nil })
}

// createUser creates a user in a transaction that begins with first.
func (a *Accounts) createUser(ctx context.Context, n NewUser, first func(*db.Tx) error) (User, error) {
	email, err := ParseEmail(n.Email)
	if err != nil {
		return User{}, err
	}
	if err := checkTeamName(n.Team, true); err != nil {
		return User{}, err
	}
	if n.Service && n.Password != "" {
		return User{}, errs.Field("password", "A service user has no password: it uses API keys.")
	}
	hash := ""
	if n.Password != "" {
		if hash, err = a.hashPassword(ctx, "password", n.Password, email); err != nil {
			return User{}, err
		}
	}
	u := User{ID: ids.New(), Email: email, Team: n.Team, Role: Member, Service: n.Service, CreatedAt: db.At(a.Now()).Time}
	if n.Admin {
		u.Role = Admin
	}
	err = a.db.Tx(ctx, func(tx *db.Tx) error {
		if err := first(tx); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, `INSERT INTO user_account (id, email, password_hash, system_admin, spending_cap_cents,
			created_at, service) VALUES (?, ?, ?, ?, ?, ?, ?)`, u.ID, u.Email, hash, n.Admin, n.CapCents, db.At(u.CreatedAt),
			n.Service)
		if err != nil {
			return err
		}
		if err := a.joinTeam(ctx, tx, &u); err != nil {
			return err
		}
		_, err = tx.Exec(ctx, `DELETE FROM invitation WHERE team_id = ? AND email = ?`, u.TeamID, u.Email) // they are in it
		return err
	})
	if db.IsDuplicate(err) {
		return User{}, errs.New(errs.Conflict, "user_exists", "A user with this email exists.").At("email")
	}
	return u, err
}

// joinTeam makes the user a member of the team they named, or the admin of a new one that they own.
func (a *Accounts) joinTeam(ctx context.Context, tx *db.Tx, u *User) (err error) {
	if u.Team != "" {
		u.TeamID, err = db.Value[string](ctx, tx, `SELECT id FROM team WHERE name = ? ORDER BY created_at LIMIT 1`, u.Team)
		if err != nil && !db.IsNoRows(err) {
			return err
		}
	}
	if u.TeamID == "" {
		first, _, _ := strings.Cut(u.Email, "@")
		u.TeamID, u.Team, u.Role = ids.New(), cmp.Or(u.Team, first), Admin
		return createTeam(ctx, tx, Team{ID: u.TeamID, Name: u.Team, Plan: a.DefaultPlan, CreatedAt: u.CreatedAt}, u.ID,
			u.Role)
	}
	return insertMember(ctx, tx, u.TeamID, u.ID, u.Role, u.CreatedAt)
}

func insertMember(ctx context.Context, tx *db.Tx, teamID, userID string, role Role, at time.Time) error {
	_, err := tx.Exec(ctx, `INSERT INTO member (team_id, user_id, role, created_at) VALUES (?, ?, ?, ?)`,
		teamID, userID, role, db.At(at))
	if err != nil {
		return err
	}
	return comeBack(ctx, tx, teamID, userID)
}

func createTeam(ctx context.Context, tx *db.Tx, t Team, ownerID string, role Role) error {
	now := db.At(t.CreatedAt)
	_, err := tx.Exec(ctx, `INSERT INTO team (id, name, plan, owner_id, created_at, updated_at) VALUES (?, ?, ?, ?, ?, ?)`,
		t.ID, t.Name, t.Plan, ownerID, now, now)
	if err != nil {
		return err
	}
	if err := queue.SetShare(ctx, tx, t.ID, t.Plan.weight()); err != nil {
		return err
	}
	return insertMember(ctx, tx, t.ID, ownerID, role, t.CreatedAt)
}

// HasUsers reports whether there is any account.
func (a *Accounts) HasUsers(ctx context.Context) (bool, error) {
	n, err := count(ctx, a.db, `(SELECT 1 FROM user_account LIMIT 1) AS any_user`)
	return n > 0, err
}

// The parts of the queries that read a Caller, who is no disabled user. The team is the one joined first.
var callerColumns = `u.id, u.email, u.system_admin, m.team_id, m.role, t.plan, ` + mustEnrol

const (
	callerTeams = `JOIN member m ON m.user_id = u.id AND u.disabled_at IS NULL JOIN team t ON t.id = m.team_id`
	callerOrder = `ORDER BY m.created_at, m.team_id LIMIT 1`
)

// columns are where callerColumns are scanned into.
func (c *Caller) columns() []any {
	return []any{&c.UserID, &c.Email, &c.SystemAdmin, &c.TeamID, &c.Role, &c.Plan, &c.MustEnrol}
}

// caller is the one user for whom cond holds.
func (a *Accounts) caller(ctx context.Context, cond string, args ...any) (c Caller, err error) {
	err = a.db.QueryOften(ctx, `SELECT `+callerColumns+` FROM user_account u `+callerTeams+` WHERE `+cond+` `+callerOrder,
		args...).Scan(c.columns()...)
	return c, err
}

// InTeam is the caller in the team that X-Team-Id names. A team that they are not in is Forbidden, whether it
// exists or not.
func (a *Accounts) InTeam(ctx context.Context, c Caller, teamID string) (Caller, error) {
	if teamID == c.TeamID {
		return c, nil
	}
	other, err := a.caller(ctx, "u.id = ? AND m.team_id = ?", c.UserID, teamID)
	if teamID == "" || db.IsNoRows(err) {
		return c, errs.New(errs.Forbidden, "not_in_team", "X-Team-Id does not name a team of yours.").At("X-Team-Id")
	}
	if err != nil {
		return c, err
	}
	// The rest says how they authenticated: another team does not change it.
	c.TeamID, c.Role, c.Plan, c.MustEnrol = other.TeamID, other.Role, other.Plan, other.MustEnrol
	return c, nil
}

// SetupToken makes the one-time token of the setup link and revokes an earlier one. It is empty when setup is
// closed.
func (a *Accounts) SetupToken(ctx context.Context) (string, error) {
	closed, err := a.SetupClosed(ctx)
	if err != nil || closed {
		return "", err
	}
	token := ids.Random(setupTokenLength)
	_, err = a.db.Exec(ctx, `INSERT INTO server_secret (name, value) VALUES (?, ?)
		ON CONFLICT (name) DO UPDATE SET value = excluded.value`, setupSecret, []byte(ids.Hash(a.pepper, token)))
	return token, err
}

const setupSecret = "setup_token_hash"

var errSetupLink = errs.New(errs.Forbidden, "setup_link_invalid",
	"The setup link is not valid, or was used.").At("token")

const setupTokenLength = 40

// SetupClosed reports whether no setup link works: there is a user, or passwords are off and the operator makes users
// at the command line. It asks the database until the first
// user was seen, and never after.
func (a *Accounts) SetupClosed(ctx context.Context) (bool, error) {
	if a.setUp.Load() || a.OIDCOnly {
		return true, nil
	}
	has, err := a.HasUsers(ctx)
	if has {
		a.setUp.Store(true)
	}
	return has, err
}

// checkSetup refuses a wrong setup token before anything costly is done for it.
func (a *Accounts) checkSetup(ctx context.Context, token, peer string) error {
	if closed, err := a.SetupClosed(ctx); closed || err != nil {
		return cmp.Or(err, error(errSetupLink))
	}
	if err := a.guesses.Check(peer, "", a.Now()); err != nil {
		return err
	}
	n := 0
	if len(token) == setupTokenLength {
		var err error
		n, err = count(ctx, a.db, `server_secret WHERE name = ? AND value = ?`, setupSecret,
			[]byte(ids.Hash(a.pepper, token)))
		if err != nil {
			return err
		}
	}
	if n == 0 {
		a.guesses.Wrong(peer, "", a.Now())
		return errSetupLink
	}
	return nil
}

// Setup creates the first user, an admin, with the token of the setup link, which is used up in the same
// transaction. from is the client's address. Wrong tokens from the same network are RateLimited for a while.
func (a *Accounts) Setup(ctx context.Context, token, email, password, from string) (User, error) {
	if err := a.checkSetup(ctx, token, Peer(from)); err != nil {
		return User{}, err
	}
	if password == "" {
		return User{}, errs.Field("password", "password is required.")
	}
	return a.createUser(ctx, NewUser{Email: email, Password: password, Admin: true}, func(tx *db.Tx) error {
		return db.ExecOr(ctx, tx, errSetupLink, `DELETE FROM server_secret WHERE name = ? AND value = ?
			AND NOT EXISTS (SELECT 1 FROM user_account)`, setupSecret, []byte(ids.Hash(a.pepper, token)))
	})
}
