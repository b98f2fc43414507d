package account

import (
	"context"
	"slices"
	"time"

	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/errs"
)

// TeamMember is somebody in a team, or somebody who was invited and has no account yet.
type TeamMember struct {
	Email      string
	Role       Role
	Owner      bool // the team is theirs: nobody changes or removes them
	Pending    bool // invited: they are in the team as soon as they have an account
	InvitedAt  *time.Time
	AcceptedAt *time.Time
	LastSignIn *time.Time
}

// maxMembers bounds a team, so that its list needs no pages.
const maxMembers = 1000

// maxFreeMembers is the one published limit of a plan.
const maxFreeMembers = 3

// MaxMembers is how many members and invitations a team of this plan may have.
func (p Plan) MaxMembers() int {
	if p == Free {
		return maxFreeMembers
	}
	return maxMembers
}

var (
	errLastAdmin = errs.New(errs.Forbidden, "last_admin", "A team needs an admin: make somebody else one first.")
	errOwner     = errs.New(errs.Forbidden, "owner_is_fixed", "The owner of the team cannot be changed or removed.").At("email")
)

// FindMembers are the members of the caller's team, first joined first, and then those
// who are invited. A guest may not see them.
func (a *Accounts) FindMembers(ctx context.Context) ([]TeamMember, error) {
	c, err := Insider(ctx)
	if err != nil {
		return nil, err
	}
	rows, err := a.db.Query(ctx, `SELECT u.email, m.role, t.owner_id = m.user_id AND m.role = ?, m.invited_at, m.created_at, u.last_sign_in_at
		FROM member m JOIN user_account u ON u.id = m.user_id JOIN team t ON t.id = m.team_id WHERE m.team_id = ? ORDER BY m.created_at, u.email`, Admin, c.TeamID)
	members, err := db.Collect(rows, err, func(r db.Row) (m TeamMember, err error) {
		var invited, accepted, signedIn db.Time
		err = r.Scan(&m.Email, &m.Role, &m.Owner, &invited, &accepted, &signedIn)
		m.InvitedAt, m.AcceptedAt, m.LastSignIn = invited.Ptr(), accepted.Ptr(), signedIn.Ptr()
		return m, err
	})
	if err != nil {
		return nil, err
	}
	rows, err = a.db.Query(ctx, `SELECT email, role, created_at FROM invitation WHERE team_id = ? ORDER BY created_at, email`, c.TeamID)
	invited, err := db.Collect(rows, err, func(r db.Row) (TeamMember, error) {
		m := TeamMember{Pending: true}
		var at db.Time
		err := r.Scan(&m.Email, &m.Role, &at)
		m.InvitedAt = at.Ptr()
		return m, err
	})
	return append(members, invited...), err
}

// AddMember brings somebody into the caller's team: at once who has an account, others
// when they get one, which pending reports. Only admins may. It fails with Invalid when
// they are a member already, or the plan allows no more.
func (a *Accounts) AddMember(ctx context.Context, email string, role Role) (pending bool, err error) {
	if email, err = checkMember(email, role); err != nil {
		return false, err
	}
	err = a.manage(ctx, func(tx *db.Tx, c Caller) error {
		pending, err = a.addMember(ctx, tx, c.TeamID, email, role)
		if err != nil {
			return err
		}
		return checkSize(ctx, tx, c)
	})
	return pending, err
}

// addMember puts somebody into a team or, when they have no account, among the invited,
// where a second invitation replaces the first.
func (a *Accounts) addMember(ctx context.Context, tx *db.Tx, teamID, email string, role Role) (pending bool, err error) {
	now := db.At(a.Now())
	var userID string
	err = tx.QueryRow(ctx, `SELECT id FROM user_account WHERE email = ?`, email).Scan(&userID)
	if db.IsNoRows(err) {
		_, err = tx.Exec(ctx, `INSERT INTO invitation (team_id, email, role, created_at) VALUES (?, ?, ?, ?)
			ON CONFLICT (team_id, email) DO UPDATE SET role = excluded.role, created_at = excluded.created_at`, teamID, email, role, now)
		return true, err
	}
	if err != nil {
		return false, err
	}
	n, err := tx.Exec(ctx, `INSERT INTO member (team_id, user_id, role, invited_at, created_at) VALUES (?, ?, ?, ?, ?) ON CONFLICT (team_id, user_id) DO NOTHING`,
		teamID, userID, role, now, now)
	if err == nil && n == 0 {
		err = errs.New(errs.Invalid, "member_exists", "They are a member of the team already.").At("email")
	}
	if err != nil {
		return false, err
	}
	_, err = tx.Exec(ctx, `DELETE FROM invitation WHERE team_id = ? AND email = ?`, teamID, email)
	return false, err
}

func checkSize(ctx context.Context, tx *db.Tx, c Caller) error {
	var n int
	err := tx.QueryRow(ctx, `SELECT (SELECT count(*) FROM member WHERE team_id = ?) + (SELECT count(*) FROM invitation WHERE team_id = ?)`, c.TeamID, c.TeamID).Scan(&n)
	if err == nil && n > c.Plan.MaxMembers() {
		err = errs.New(errs.Invalid, "team_full", "The team's plan allows %d members, with those invited.", c.Plan.MaxMembers())
	}
	return err
}

// acceptInvitations makes a new user a member wherever they were invited. It is behind
// the team they came with, which stays the one they act in when they name none.
func acceptInvitations(ctx context.Context, tx *db.Tx, u User) error {
	if _, err := tx.Exec(ctx, `INSERT INTO member (team_id, user_id, role, invited_at, created_at)
		SELECT team_id, ?, role, created_at, ? FROM invitation WHERE email = ? AND team_id <> ?`,
		u.ID, db.At(u.CreatedAt.Add(time.Microsecond)), u.Email, u.TeamID); err != nil {
		return err
	}
	_, err := tx.Exec(ctx, `DELETE FROM invitation WHERE email = ?`, u.Email)
	return err
}

// SetRole gives somebody in the caller's team, or somebody invited, another role. Only
// admins may. It fails with Forbidden for the owner and for the last admin, and with
// NotFound for who is neither.
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
		if _, err := tx.Exec(ctx, `UPDATE member SET role = ? WHERE team_id = ? AND user_id = ?`, role, c.TeamID, who.userID); err != nil {
			return err
		}
		return checkAdmins(ctx, tx, c.TeamID)
	})
}

// RemoveMember takes somebody out of the caller's team, or their invitation back; from
// then on no node lets them in. Admins may, and everybody may leave. What they made
// stays. It fails as SetRole does, and with Forbidden for who would have no team left.
func (a *Accounts) RemoveMember(ctx context.Context, email string) error {
	email, err := ParseEmail(email)
	if err != nil {
		return err
	}
	c, err := From(ctx)
	if err != nil {
		return err
	}
	if email == c.Email && c.Role != Admin {
		return a.db.Tx(ctx, func(tx *db.Tx) error {
			if err := lockTeam(ctx, tx, c.TeamID); err != nil {
				return err
			}
			return removeMember(ctx, tx, c, email)
		})
	}
	return a.manage(ctx, func(tx *db.Tx, c Caller) error { return removeMember(ctx, tx, c, email) })
}

func removeMember(ctx context.Context, tx *db.Tx, c Caller, email string) error {
	who, err := findMember(ctx, tx, c.TeamID, email)
	if err != nil {
		return err
	}
	if who.pending {
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
	if _, err := tx.Exec(ctx, `DELETE FROM member WHERE team_id = ? AND user_id = ?`, c.TeamID, who.userID); err != nil {
		return err
	}
	return checkAdmins(ctx, tx, c.TeamID)
}

// manage runs fn in a transaction, if the caller is an admin of their team, and holds the
// team against other changes of its members meanwhile.
func (a *Accounts) manage(ctx context.Context, fn func(tx *db.Tx, c Caller) error) error {
	c, err := TeamAdmin(ctx)
	if err != nil {
		return err
	}
	return a.db.Tx(ctx, func(tx *db.Tx) error {
		if err := lockTeam(ctx, tx, c.TeamID); err != nil {
			return err
		}
		return fn(tx, c)
	})
}

func lockTeam(ctx context.Context, tx *db.Tx, teamID string) error {
	var id string
	err := tx.QueryRow(ctx, `SELECT id FROM team WHERE id = ?`+tx.Speaks().ForUpdate(), teamID).Scan(&id)
	if db.IsNoRows(err) {
		return errs.Missing("team")
	}
	return err
}

// somebody is a member of a team, or one invited.
type somebody struct {
	userID         string
	owner, pending bool
}

func findMember(ctx context.Context, tx *db.Tx, teamID, email string) (s somebody, err error) {
	err = tx.QueryRow(ctx, `SELECT m.user_id, t.owner_id = m.user_id AND m.role = ? FROM member m JOIN user_account u ON u.id = m.user_id
		JOIN team t ON t.id = m.team_id WHERE m.team_id = ? AND u.email = ?`, Admin, teamID, email).Scan(&s.userID, &s.owner)
	if !db.IsNoRows(err) {
		return s, err
	}
	var n int
	if err := tx.QueryRow(ctx, `SELECT count(*) FROM invitation WHERE team_id = ? AND email = ?`, teamID, email).Scan(&n); err != nil {
		return s, err
	}
	if s.pending = n > 0; !s.pending {
		return s, errs.Missing("member")
	}
	return s, nil
}

// checkAdmins fails when a team has no admin any more, and hands it to its first admin
// when its owner is none: a team that was made for a plain member names them until then.
func checkAdmins(ctx context.Context, tx *db.Tx, teamID string) error {
	var n int
	if err := tx.QueryRow(ctx, `SELECT count(*) FROM member WHERE team_id = ? AND role = ?`, teamID, Admin).Scan(&n); err != nil {
		return err
	}
	if n == 0 {
		return errLastAdmin
	}
	_, err := tx.Exec(ctx, `UPDATE team SET owner_id = (SELECT user_id FROM member WHERE team_id = team.id AND role = ? ORDER BY created_at, user_id LIMIT 1)
		WHERE id = ? AND owner_id NOT IN (SELECT user_id FROM member WHERE team_id = team.id AND role = ?)`, Admin, teamID, Admin)
	return err
}

// checkOtherTeam refuses to leave somebody without a team: they could not come back in.
func checkOtherTeam(ctx context.Context, tx *db.Tx, c Caller) error {
	var n int
	err := tx.QueryRow(ctx, `SELECT count(*) FROM member WHERE user_id = ? AND team_id <> ?`, c.UserID, c.TeamID).Scan(&n)
	if err == nil && n == 0 {
		err = errs.New(errs.Forbidden, "last_team", "You would have no team left.")
	}
	return err
}

// checkMember checks who is to be a member, and lowers their address.
func checkMember(email string, role Role) (string, error) {
	email, err := ParseEmail(email)
	if err == nil && !slices.Contains(Roles(), role) {
		err = errs.Field("role", "role must be ADMIN, MEMBER, VIEWER or GUEST.")
	}
	return email, err
}
