package account

import (
	"context"
	"strings"
	"time"

	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/ids"
)

// User is a person, or a program that has an account of its own.
type User struct {
	ID        string    `json:"id"`
	Email     string    `json:"email"`
	TeamID    string    `json:"team_id"`
	Team      string    `json:"team"`
	Role      Role      `json:"role"`
	CreatedAt time.Time `json:"created_at"`
}

// NewUser is what a user is made from.
type NewUser struct {
	Email    string
	Password string // empty: no login by password
	Team     string // joins the team of this name, made when there is none; empty: a team of their own
	Admin    bool   // admin of the team, and of the server
	CapCents *int64 // spending cap in US cents; nil: none
}

// CreateUser makes a user and their membership. It fails with Conflict when the address
// has an account.
func (a *Accounts) CreateUser(ctx context.Context, n NewUser) (User, error) {
	return a.createUser(ctx, n, func(*db.Tx) error { return nil })
}

// createUser makes a user in a transaction that begins with first; its error undoes all.
func (a *Accounts) createUser(ctx context.Context, n NewUser, first func(*db.Tx) error) (User, error) {
	email, err := ParseEmail(n.Email)
	if err != nil {
		return User{}, err
	}
	if err := checkTeamName(n.Team); err != nil {
		return User{}, err
	}
	hash := ""
	if n.Password != "" {
		if hash, err = a.hashPassword(ctx, n.Password); err != nil {
			return User{}, err
		}
	}
	u := User{ID: ids.New(), Email: email, Team: n.Team, Role: Member, CreatedAt: db.At(a.Now()).Time}
	if n.Admin {
		u.Role = Admin
	}
	err = a.db.Tx(ctx, func(tx *db.Tx) error {
		if err := first(tx); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, `INSERT INTO user_account (id, email, password_hash, system_admin, spending_cap_cents, created_at) VALUES (?, ?, ?, ?, ?, ?)`,
			u.ID, u.Email, hash, n.Admin, n.CapCents, db.At(u.CreatedAt)); err != nil {
			return err
		}
		if err := joinTeam(ctx, tx, &u); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, `INSERT INTO member (team_id, user_id, role, created_at) VALUES (?, ?, ?, ?)`, u.TeamID, u.ID, u.Role, db.At(u.CreatedAt)); err != nil {
			return err
		}
		return acceptInvitations(ctx, tx, u)
	})
	if db.IsDuplicate(err) {
		return User{}, errs.New(errs.Conflict, "user_exists", "A user with this email exists.").At("email")
	}
	return u, err
}

// joinTeam sets the user's team: the one they named, or a new one they own.
func joinTeam(ctx context.Context, tx *db.Tx, u *User) error {
	if u.Team != "" {
		err := tx.QueryRow(ctx, `SELECT id FROM team WHERE name = ? ORDER BY created_at LIMIT 1`, u.Team).Scan(&u.TeamID)
		if err == nil || !db.IsNoRows(err) {
			return err
		}
	} else {
		u.Team, _, _ = strings.Cut(u.Email, "@")
	}
	u.TeamID = ids.New()
	_, err := tx.Exec(ctx, `INSERT INTO team (id, name, plan, owner_id, created_at, updated_at) VALUES (?, ?, ?, ?, ?, ?)`,
		u.TeamID, u.Team, Enterprise, u.ID, db.At(u.CreatedAt), db.At(u.CreatedAt))
	return err
}

// HasUsers reports whether anybody has an account yet.
func (a *Accounts) HasUsers(ctx context.Context) (bool, error) {
	var n int
	err := a.db.QueryRow(ctx, `SELECT count(*) FROM (SELECT 1 FROM user_account LIMIT 1) AS any_user`).Scan(&n)
	return n > 0, err
}

// callerQuery reads a Caller and when their API key was last used; a condition that picks
// the user follows. The team is the one asked for (?), or the one joined first.
const callerQuery = `SELECT u.id, u.email, u.system_admin, m.team_id, m.role, t.plan, k.last_used_at
	FROM user_account u JOIN member m ON m.user_id = u.id JOIN team t ON t.id = m.team_id LEFT JOIN api_key k ON k.user_id = u.id
	WHERE (? = '' OR m.team_id = ?) AND `

func (a *Accounts) caller(ctx context.Context, teamID, cond string, arg any) (c Caller, keyUsed db.Time, err error) {
	err = a.db.QueryOften(ctx, callerQuery+cond+` ORDER BY m.created_at, m.team_id LIMIT 1`, teamID, teamID, arg).
		Scan(&c.UserID, &c.Email, &c.SystemAdmin, &c.TeamID, &c.Role, &c.Plan, &keyUsed)
	return c, keyUsed, err
}

// InTeam moves a caller into the team that X-Team-Id names. It fails with Forbidden
// when the caller is not in it, whether it exists or not.
func (a *Accounts) InTeam(ctx context.Context, c Caller, teamID string) (Caller, error) {
	if teamID == c.TeamID {
		return c, nil
	}
	other, _, err := a.caller(ctx, teamID, "u.id = ?", c.UserID)
	if teamID == "" || db.IsNoRows(err) {
		return c, errs.New(errs.Forbidden, "not_in_team", "X-Team-Id does not name a team of yours.").At("X-Team-Id")
	}
	return other, err
}

// SetupToken makes the one-time token of the setup link and voids an earlier one. It is
// empty when there are users.
func (a *Accounts) SetupToken(ctx context.Context) (string, error) {
	has, err := a.HasUsers(ctx)
	if err != nil || has {
		return "", err
	}
	token := ids.Random(40)
	_, err = a.db.Exec(ctx, `INSERT INTO server_secret (name, value) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value`,
		setupSecret, []byte(ids.Hash(a.pepper, token)))
	return token, err
}

const setupSecret = "setup_token_hash"

// Setup makes the first user, an admin, for whoever holds the setup link. The token is
// used up in the transaction that makes the user, so that it makes one.
func (a *Accounts) Setup(ctx context.Context, token, email, password string) (User, error) {
	if password == "" {
		return User{}, errs.Field("password", "password is required.")
	}
	return a.createUser(ctx, NewUser{Email: email, Password: password, Admin: true}, func(tx *db.Tx) error {
		n, err := tx.Exec(ctx, `DELETE FROM server_secret WHERE name = ? AND value = ? AND NOT EXISTS (SELECT 1 FROM user_account)`,
			setupSecret, []byte(ids.Hash(a.pepper, token)))
		if err == nil && n == 0 {
			err = errs.New(errs.Forbidden, "setup_link_invalid", "The setup link is not valid, or was used.").At("token")
		}
		return err
	})
}
