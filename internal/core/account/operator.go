package account

import (
	"context"
	"slices"

	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/errs"
)

// OwnerTitle is the word for an admin whom the team belongs to. It is a title and not a
// role: what its holder may do, they may as an admin.
const OwnerTitle = "owner"

const membershipColumns = `SELECT u.id, u.email, t.id, t.name, m.role, m.created_at
	FROM member m JOIN user_account u ON u.id = m.user_id JOIN team t ON t.id = m.team_id`

// FindUsers are all users, once for each team they are in, by address; of one team where
// a name or an id is given. It asks for no Caller: it is for who holds the database.
func (a *Accounts) FindUsers(ctx context.Context, team string) ([]User, error) {
	var w db.Where
	if team != "" {
		w.And("(t.name = ? OR t.id = ?)", team, team)
	}
	rows, err := a.db.Query(ctx, membershipColumns+w.String()+` ORDER BY u.email, m.created_at, t.id`, w.Args...)
	return db.Collect(rows, err, func(r db.Row) (u User, err error) {
		var joined db.Time
		err = r.Scan(&u.ID, &u.Email, &u.TeamID, &u.Team, &u.Role, &joined)
		u.CreatedAt = joined.Time
		return u, err
	})
}

// AssignRole gives a user another role, or the owner's title, in the team of a name or an
// id; an empty team is the only one they are in. Like FindUsers it asks for no Caller. It
// fails with NotFound for who is in no such team, with Invalid where the team is not
// clear, and with Forbidden for the last admin.
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
		return User{}, errs.Field("team", "%s is in %d teams: name the team, by its id where names are alike.", email, len(of))
	}
	u := of[0]
	u.Role = Role(role)
	return u, a.db.Tx(ctx, func(tx *db.Tx) error {
		if err := lockTeam(ctx, tx, u.TeamID); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, `UPDATE member SET role = ? WHERE team_id = ? AND user_id = ?`, u.Role, u.TeamID, u.ID); err != nil {
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
