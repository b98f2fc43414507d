package project

import (
	"context"
	"time"

	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/errs"
)

// Role is what a member is in a project.
type Role string

// The roles. An admin adds and removes members.
const (
	Admin  Role = "admin"
	Member Role = "member"
)

// Person is a member of a project.
type Person struct {
	Email     string    `json:"email" doc:"Email address."`
	Role      Role      `json:"role" enum:"admin,member" doc:"admin: may add and remove members."`
	Owner     bool      `json:"is_owner" doc:"Whether they own the project."`
	CreatedAt time.Time `json:"created_at" doc:"When they were added."`
}

func addMember(ctx context.Context, tx *db.Tx, p Project, userID string, role Role, at time.Time) error {
	_, err := tx.Exec(ctx, `INSERT INTO project_member (project_id, team_id, user_id, role, created_at) VALUES (?, ?, ?, ?, ?)
		ON CONFLICT (project_id, user_id) DO UPDATE SET role = excluded.role`, p.ID, p.TeamID, userID, role, db.At(at))
	return err
}

// Members lists the members of a project that the caller sees, the first first.
func (ps *Projects) Members(ctx context.Context, id string) ([]Person, error) {
	c, err := account.Insider(ctx)
	if err != nil {
		return nil, err
	}
	p, err := ps.find(ctx, ps.db, c, id)
	if err != nil {
		return nil, err
	}
	return db.Select(ctx, ps.db, func(r db.Row) (m Person, err error) {
		return m, r.Scan(&m.Email, &m.Role, &m.Owner, db.Into(&m.CreatedAt))
	}, `SELECT u.email, m.role, m.user_id = ?, m.created_at FROM project_member m JOIN user_account u ON u.id = m.user_id
		WHERE m.project_id = ? ORDER BY m.created_at, u.email`, p.OwnerID, p.ID)
}

// change runs fn for those who may change the members of a project: its admins and its owner, and admins of the team.
func (ps *Projects) change(
	ctx context.Context, id, email string, fn func(tx *db.Tx, c account.Caller, p Project, userID string) error,
) error {
	c, err := account.Writer(ctx)
	if err != nil {
		return err
	}
	if email, err = account.ParseEmail(email); err != nil {
		return errs.From(err).At("email")
	}
	return ps.db.Tx(ctx, func(tx *db.Tx) error {
		p, err := ps.find(ctx, tx, c, id)
		if err != nil {
			return err
		}
		admin, err := db.Value[int](ctx, tx, `SELECT count(*) FROM project_member WHERE project_id = ? AND user_id = ? AND role = ?`,
			p.ID, c.UserID, Admin)
		if err != nil {
			return err
		}
		if admin == 0 && c.Role != account.Admin && email != c.Email {
			return errs.New(errs.Forbidden, "project_admin_required", "Only an admin of the project or of the team can do this.")
		}
		who, err := db.Value[string](ctx, tx, `SELECT u.id FROM user_account u JOIN member m ON m.user_id = u.id
			WHERE m.team_id = ? AND u.email = ?`, p.TeamID, email)
		if db.IsNoRows(err) {
			return errs.Missing("member")
		}
		if err != nil {
			return err
		}
		return fn(tx, c, p, who)
	})
}

// SetMember adds a member of the team to a project, or gives one another role.
func (ps *Projects) SetMember(ctx context.Context, id, email string, role Role) error {
	return ps.change(ctx, id, email, func(tx *db.Tx, c account.Caller, p Project, userID string) error {
		switch {
		case role != Admin && role != Member:
			return errs.Field("role", "role must be admin or member.")
		case p.Type == Personal:
			return errs.New(errs.Conflict, "project_is_personal", "A personal project has no other members.")
		case userID == p.OwnerID && role != Admin:
			return errs.New(errs.Conflict, "project_owner", "The owner of a project is its admin.").At("role")
		}
		if userID == c.UserID && c.Role != account.Admin { // nobody makes themselves a member or an admin
			own, err := db.Value[int](ctx, tx, `SELECT count(*) FROM project_member WHERE project_id = ? AND user_id = ? AND role = ?`,
				p.ID, userID, Admin)
			if err != nil {
				return err
			}
			if own == 0 {
				return errs.New(errs.Forbidden, "project_admin_required", "Only an admin of the project or of the team can do this.")
			}
		}
		return addMember(ctx, tx, p, userID, role, ps.now())
	})
}

// RemoveMember removes a member from a project; everybody may remove themselves. The owner stays.
func (ps *Projects) RemoveMember(ctx context.Context, id, email string) error {
	return ps.change(ctx, id, email, func(tx *db.Tx, _ account.Caller, p Project, userID string) error {
		if userID == p.OwnerID {
			return errs.New(errs.Conflict, "project_owner", "The owner of a project stays its member.").At("email")
		}
		return db.ExecOr(ctx, tx, errs.Missing("member"), `DELETE FROM project_member WHERE project_id = ? AND user_id = ?`, p.ID, userID)
	})
}
