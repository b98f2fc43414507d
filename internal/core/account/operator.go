package account

import (
	"context"
	"slices"

	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/errs"
)

// OwnerTitle is the title of an admin who owns the team. It is no role: it gives no further rights.
const OwnerTitle = "owner"

// FindUsers are all users, once for each of their teams, by address; only those of one team, if its name or id
// is given. It checks no Caller: the operator's command line uses it.
func (a *Accounts) FindUsers(ctx context.Context, team string) ([]User, error) {
	var w db.Where
	if team != "" {
		w.And("(t.name = ? OR t.id = ?)", team, team)
	}
	scan := func(r db.Row) (u User, err error) {
		err = r.Scan(&u.ID, &u.Email, &u.TeamID, &u.Team, &u.Role, db.Into(&u.CreatedAt))
		return u, err
	}
	return db.Select(ctx, a.db, scan, `SELECT u.id, u.email, t.id, t.name, m.role, m.created_at
		FROM member m JOIN user_account u ON u.id = m.user_id JOIN team t ON t.id = m.team_id`+
		w.String()+` ORDER BY u.email, m.created_at, t.id`, w.Args...)
}

// AssignRole gives a user another role, or the owner's title, in a team given by name or id; empty: their only
// team. Like FindUsers it checks no Caller. It fails with NotFound for a user who is in no such team, with Invalid
// where the team is ambiguous, and with Forbidden for the last admin.
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
	of := slices.DeleteFunc(all, func(u User) bool { return u.Email != email })
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
