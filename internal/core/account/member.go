package account

import (
	"context"
	"slices"
	"time"

	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/ids"
)

// TeamMember is a member of a team, or a person who was invited and has not accepted.
type TeamMember struct {
	Email      string
	Role       Role
	Owner      bool // owns the team, and cannot be changed or removed
	Service    bool // a program, which never signs in
	Pending    bool // invited: joins when they accept
	InvitedAt  *time.Time
	AcceptedAt *time.Time
	LastSignIn *time.Time // only of those who sign in to this team, as callerOrder picks it
}

// MaxMembers is how many members and invitations a team of this plan may have. Lists of members have no pages.
func (p Plan) MaxMembers() int {
	if p == Free {
		return 3
	}
	return 1000
}

var (
	errLastAdmin = errs.New(errs.Forbidden, "last_admin", "A team needs an admin: make another member an admin first.")
	errOwner     = errs.New(errs.Forbidden, "owner_is_fixed",
		"The owner of the team cannot be changed or removed.").At("email")
)

// FindMembers are the members of the caller's team in the order of joining, and then the invited. A guest may
// not see them.
func (a *Accounts) FindMembers(ctx context.Context) ([]TeamMember, error) {
	c, err := Insider(ctx)
	if err != nil {
		return nil, err
	}
	scan := func(r db.Row) (m TeamMember, err error) {
		return m, r.Scan(&m.Email, &m.Role, &m.Owner, db.Into(&m.InvitedAt), db.Into(&m.AcceptedAt), &m.Service,
			db.Into(&m.LastSignIn))
	}
	members, err := db.Select(ctx, a.db, scan, `SELECT u.email, m.role, t.owner_id = m.user_id AND m.role = ?,
		m.invited_at, m.created_at, u.service, CASE WHEN NOT EXISTS (SELECT 1 FROM member o WHERE o.user_id = m.user_id
			AND (o.created_at < m.created_at OR o.created_at = m.created_at AND o.team_id < m.team_id))
			THEN u.last_sign_in_at END
		FROM member m JOIN user_account u ON u.id = m.user_id JOIN team t ON t.id = m.team_id
		WHERE m.team_id = ? ORDER BY m.created_at, u.email`, Admin, c.TeamID)
	if err != nil {
		return nil, err
	}
	scanInvited := func(r db.Row) (m TeamMember, err error) {
		m.Pending = true
		return m, r.Scan(&m.Email, &m.Role, db.Into(&m.InvitedAt))
	}
	invited, err := db.Select(ctx, a.db, scanInvited,
		`SELECT email, role, created_at FROM invitation WHERE team_id = ? ORDER BY created_at, email`, c.TeamID)
	return append(members, invited...), err
}

// Invite invites a person to the caller's team, replacing an earlier invitation; more joins the transaction. They are a
// member when they accept. Only admins may. Nothing tells whether the address has an account. Invalid for a member.
func (a *Accounts) Invite(ctx context.Context, email string, role Role, more ...func(*db.Tx, string) error) error {
	email, err := checkMember(email, role)
	if err != nil {
		return err
	}
	return a.manage(ctx, func(tx *db.Tx, c Caller) error {
		members, err := count(ctx, tx, `member m JOIN user_account u ON u.id = m.user_id WHERE m.team_id = ? AND u.email = ?`,
			c.TeamID, email)
		if err != nil {
			return err
		}
		if members > 0 {
			return errs.New(errs.Invalid, "member_exists", "They are a member of the team already.").At("email")
		}
		if err := a.invite(ctx, tx, c, email, role); err != nil {
			return err
		}
		for _, do := range more {
			if err := do(tx, email); err != nil {
				return err
			}
		}
		return checkSize(ctx, tx, c)
	})
}

// invite invites a person to the team of c, in whose name a mail tells them.
func (a *Accounts) invite(ctx context.Context, tx *db.Tx, c Caller, email string, role Role) error {
	a.mailInvitation(tx, c, email)
	_, err := tx.Exec(ctx, `INSERT INTO invitation (id, team_id, email, role, invited_by, created_at) VALUES (?, ?, ?, ?, ?, ?)
		ON CONFLICT (team_id, email) DO UPDATE SET role = excluded.role, created_at = excluded.created_at`,
		ids.New(), c.TeamID, email, role, c.Email, db.At(a.Now()))
	return err
}

func checkSize(ctx context.Context, tx *db.Tx, c Caller) error {
	var n, most int
	err := tx.QueryRow(ctx, `SELECT (SELECT count(*) FROM member WHERE team_id = ?)
		+ (SELECT count(*) FROM invitation WHERE team_id = ?), coalesce((SELECT max_members FROM team WHERE id = ?), ?)`,
		c.TeamID, c.TeamID, c.TeamID, c.Plan.MaxMembers()).Scan(&n, &most)
	if err == nil && n > most {
		err = errs.New(errs.Invalid, "team_full", "The team's plan allows %d members, with those invited.", most)
	}
	return err
}

// SetRole changes the role of a member or invited person. Only admins may. It fails with Forbidden for the
// owner and the last admin.
func (a *Accounts) SetRole(ctx context.Context, email string, role Role) error {
	email, err := checkMember(email, role)
	if err != nil {
		return err
	}
	return a.manage(ctx, func(tx *db.Tx, c Caller) error {
		who, err := findMember(ctx, tx, c.TeamID, email)
		if err != nil {
			return err
		}
		if who.pending {
			_, err := tx.Exec(ctx, `UPDATE invitation SET role = ? WHERE team_id = ? AND email = ?`, role, c.TeamID, email)
			return err
		}
		if who.owner {
			return errOwner
		}
		_, err = tx.Exec(ctx, `UPDATE member SET role = ? WHERE team_id = ? AND user_id = ?`, role, c.TeamID, who.userID)
		if err != nil {
			return err
		}
		return checkAdmins(ctx, tx, c.TeamID)
	})
}

// RemoveMember removes a member or withdraws an invitation, on every node at once. Admins may, and everybody
// may leave. It fails as SetRole does, and for a caller who would have no team left.
func (a *Accounts) RemoveMember(ctx context.Context, email string) error {
	email, err := ParseEmail(email)
	if err != nil {
		return err
	}
	c, err := From(ctx)
	if err != nil {
		return err
	}
	remove := func(tx *db.Tx, c Caller) error { return removeMember(ctx, tx, c, email) }
	if email == c.Email {
		return a.inLockedTeam(ctx, c, remove)
	}
	return a.manage(ctx, remove)
}

func removeMember(ctx context.Context, tx *db.Tx, c Caller, email string) error {
	who, err := findMember(ctx, tx, c.TeamID, email)
	switch {
	case err != nil:
		return err
	case who.pending:
		_, err := tx.Exec(ctx, `DELETE FROM invitation WHERE team_id = ? AND email = ?`, c.TeamID, email)
		return err
	}
	if who.owner {
		return errOwner
	}
	if who.userID == c.UserID {
		if err := checkOtherTeam(ctx, tx, c); err != nil {
			return err
		}
	}
	if err := leave(ctx, tx, c.TeamID, who.userID); err != nil {
		return err
	}
	return checkAdmins(ctx, tx, c.TeamID)
}

// leave ends a membership. What they may spend in the team and have spent is kept: work of theirs may still run there,
// and they may come back.
func leave(ctx context.Context, tx *db.Tx, teamID, userID string) error {
	_, err := tx.Exec(ctx, `INSERT INTO former_member (team_id, user_id, spending_cap_cents, spent_cents)
		SELECT team_id, user_id, spending_cap_cents, spent_cents FROM member WHERE team_id = ? AND user_id = ?`, teamID, userID)
	if err == nil {
		_, err = tx.Exec(ctx, `DELETE FROM member WHERE team_id = ? AND user_id = ?`, teamID, userID)
	}
	return err
}

// comeBack gives a new member what they may spend and have spent as a former one.
func comeBack(ctx context.Context, tx *db.Tx, teamID, userID string) error {
	_, err := tx.Exec(ctx, `UPDATE member SET (spending_cap_cents, spent_cents) =
		(SELECT coalesce(member.spending_cap_cents, f.spending_cap_cents), f.spent_cents FROM former_member f
			WHERE f.team_id = ? AND f.user_id = ?)
		WHERE team_id = ? AND user_id = ? AND EXISTS (SELECT 1 FROM former_member f WHERE f.team_id = ? AND f.user_id = ?)`,
		teamID, userID, teamID, userID, teamID, userID)
	if err == nil {
		_, err = tx.Exec(ctx, `DELETE FROM former_member WHERE team_id = ? AND user_id = ?`, teamID, userID)
	}
	return err
}

// manage is inLockedTeam for an admin of the team.
func (a *Accounts) manage(ctx context.Context, fn func(tx *db.Tx, c Caller) error) error {
	c, err := TeamAdmin(ctx)
	if err != nil {
		return err
	}
	return a.inLockedTeam(ctx, c, fn)
}

// inLockedTeam runs fn in a transaction that keeps the members of the caller's team from changing.
func (a *Accounts) inLockedTeam(ctx context.Context, c Caller, fn func(tx *db.Tx, c Caller) error) error {
	return a.db.Tx(ctx, func(tx *db.Tx) error {
		if err := lockTeam(ctx, tx, c.TeamID); err != nil {
			return err
		}
		return fn(tx, c)
	})
}

func lockTeam(ctx context.Context, tx *db.Tx, teamID string) error {
	_, err := db.Value[string](ctx, tx, `SELECT id FROM team WHERE id = ?`+tx.Dialect().ForUpdate(), teamID)
	return db.OrMissing(err, "team")
}

type person struct {
	userID string
	owner  bool
	// pending is set for an invited person, who has no userID.
	pending bool
}

func findMember(ctx context.Context, tx *db.Tx, teamID, email string) (p person, err error) {
	err = tx.QueryRow(ctx, `SELECT m.user_id, t.owner_id = m.user_id AND m.role = ? FROM member m
		JOIN user_account u ON u.id = m.user_id JOIN team t ON t.id = m.team_id WHERE m.team_id = ? AND u.email = ?`,
		Admin, teamID, email).Scan(&p.userID, &p.owner)
	if !db.IsNoRows(err) {
		return p, err
	}
	n, err := count(ctx, tx, `invitation WHERE team_id = ? AND email = ?`, teamID, email)
	if p.pending = n > 0; err == nil && n == 0 {
		err = errs.Missing("member")
	}
	return p, err
}

func count(ctx context.Context, q db.Querier, rows string, args ...any) (int, error) {
	return db.Value[int](ctx, q, `SELECT count(*) FROM `+rows, args...)
}

// checkAdmins fails when a team has no admin. A team whose owner is not an admin gets its first admin as
// owner.
func checkAdmins(ctx context.Context, tx *db.Tx, teamID string) error {
	n, err := count(ctx, tx, `member WHERE team_id = ? AND role = ?`, teamID, Admin)
	if err != nil {
		return err
	}
	if n == 0 {
		return errLastAdmin
	}
	_, err = tx.Exec(ctx, `UPDATE team SET owner_id =
		(SELECT user_id FROM member WHERE team_id = team.id AND role = ? ORDER BY created_at, user_id LIMIT 1)
		WHERE id = ? AND owner_id NOT IN (SELECT user_id FROM member WHERE team_id = team.id AND role = ?)`, Admin, teamID,
		Admin)
	return err
}

// checkOtherTeam fails when the caller has no other team: without any they could not sign in.
func checkOtherTeam(ctx context.Context, tx *db.Tx, c Caller) error {
	n, err := count(ctx, tx, `member WHERE user_id = ? AND team_id <> ?`, c.UserID, c.TeamID)
	if err == nil && n == 0 {
		err = errs.New(errs.Forbidden, "last_team", "You would have no team left.")
	}
	return err
}

func checkMember(email string, role Role) (string, error) {
	email, err := ParseEmail(email)
	if err == nil && !slices.Contains(Roles(), role) {
		err = errs.Field("role", "role must be ADMIN, MEMBER, VIEWER or GUEST.")
	}
	return email, err
}

// OwnerTitle is the title of an admin who owns the team. It is no role: it gives no further rights.
const OwnerTitle = "owner"

// FindUsers are all users, by address, once for each of their teams, or those of a team given by name or id.
// It checks no Caller: the operator's command line uses it.
func (a *Accounts) FindUsers(ctx context.Context, team string) ([]User, error) {
	var w db.Where
	if team != "" {
		w.And("(t.name = ? OR t.id = ?)", team, team)
	}
	scan := func(r db.Row) (u User, err error) {
		return u, r.Scan(&u.ID, &u.Email, &u.TeamID, &u.Team, &u.Role, db.Into(&u.CreatedAt), &u.Service)
	}
	return db.Select(ctx, a.db, scan, `SELECT u.id, u.email, t.id, t.name, m.role, m.created_at, u.service
		FROM member m JOIN user_account u ON u.id = m.user_id JOIN team t ON t.id = m.team_id`+
		w.String()+` ORDER BY u.email, m.created_at, t.id`, w.Args...)
}

// AssignRole gives a user another role, or the owner's title, in a team given by name or id, which they join if they
// are not in it; empty: their only team. Like FindUsers it checks no Caller. It fails with Forbidden for the last
// admin.
func (a *Accounts) AssignRole(ctx context.Context, email, team, role string) (User, error) {
	owner := role == OwnerTitle
	if owner {
		role = string(Admin)
	}
	if !slices.Contains(Roles(), Role(role)) {
		return User{}, errs.Field("role", "role must be owner, admin, member, viewer or guest.")
	}
	email, err := ParseEmail(email)
	if err != nil {
		return User{}, err
	}
	all, err := a.FindUsers(ctx, team)
	if err != nil {
		return User{}, err
	}
	of := slices.DeleteFunc(slices.Clone(all), func(u User) bool { return u.Email != email })
	if len(of) == 0 && len(all) > 0 && team != "" {
		u, err := a.join(ctx, email, all, Role(role))
		if err != nil {
			return User{}, err
		}
		of = []User{u}
	}
	switch {
	case len(of) == 0:
		return User{}, errs.Missing("member")
	case len(of) > 1:
		return User{}, errs.Field("team",
			"%s is in %d teams: name the team, by its id where names are alike.", email, len(of))
	}
	u := of[0]
	u.Role = Role(role)
	return u, a.db.Tx(ctx, func(tx *db.Tx) error {
		if err := lockTeam(ctx, tx, u.TeamID); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, `UPDATE member SET role = ? WHERE team_id = ? AND user_id = ?`, u.Role, u.TeamID, u.ID)
		if err != nil {
			return err
		}
		if owner {
			if _, err := tx.Exec(ctx, `UPDATE team SET owner_id = ? WHERE id = ?`, u.ID, u.TeamID); err != nil {
				return err
			}
		}
		return checkAdmins(ctx, tx, u.TeamID)
	})
}
