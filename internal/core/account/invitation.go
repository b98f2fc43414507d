package account

import (
	"context"
	"time"

	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/errs"
)

// Invitation is a team that has invited the caller.
type Invitation struct {
	TeamID    string
	Team      string // its name
	Role      Role   // which they would have
	CreatedAt time.Time
}

const invitationsShown = 100 // of one person; any number of teams may invite them

// FindInvitations are the invitations of the caller, the newest first; at most 100.
func (a *Accounts) FindInvitations(ctx context.Context) ([]Invitation, error) {
	c, err := From(ctx)
	if err != nil {
		return nil, err
	}
	scan := func(r db.Row) (i Invitation, err error) {
		return i, r.Scan(&i.TeamID, &i.Team, &i.Role, db.Into(&i.CreatedAt))
	}
	return db.Select(ctx, a.db, scan, `SELECT t.id, t.name, i.role, i.created_at FROM invitation i
		JOIN team t ON t.id = i.team_id WHERE i.email = ? ORDER BY i.created_at DESC, t.id LIMIT ?`, c.Email, invitationsShown)
}

// AcceptInvitation makes the caller a member of a team that has invited them, with the role of the invitation. It
// fails with NotFound without one, whether the team exists or not.
func (a *Accounts) AcceptInvitation(ctx context.Context, teamID string) error {
	c, err := From(ctx)
	if err != nil {
		return err
	}
	return a.db.Tx(ctx, func(tx *db.Tx) error {
		if err := lockTeam(ctx, tx, teamID); errs.Is(err, errs.NotFound) {
			return errs.Missing("invitation")
		} else if err != nil {
			return err
		}
		_, err := tx.Exec(ctx, `INSERT INTO member (team_id, user_id, role, invited_at, created_at, invited_by, restricted,
			billable, spending_cap_cents) SELECT team_id, ?, role, created_at, ?, invited_by, restricted, billable,
			spending_cap_cents FROM invitation WHERE team_id = ? AND email = ?
			ON CONFLICT (team_id, user_id) DO NOTHING`, c.UserID, db.At(a.Now()), teamID, c.Email)
		if err != nil {
			return err
		}
		if err := comeBack(ctx, tx, teamID, c.UserID); err != nil {
			return err
		}
		return deleteInvitation(ctx, tx, teamID, c.Email)
	})
}

// DeclineInvitation removes an invitation of the caller. The team may send another.
func (a *Accounts) DeclineInvitation(ctx context.Context, teamID string) error {
	c, err := From(ctx)
	if err != nil {
		return err
	}
	return deleteInvitation(ctx, a.db, teamID, c.Email)
}

func deleteInvitation(ctx context.Context, q db.Querier, teamID, email string) error {
	return db.ExecOr(ctx, q, errs.Missing("invitation"),
		`DELETE FROM invitation WHERE team_id = ? AND email = ?`, teamID, email)
}

// join makes a user a member of the one team whose members are given, at an operator's word.
func (a *Accounts) join(ctx context.Context, email string, members []User, role Role) (User, error) {
	u := User{Email: email, TeamID: members[0].TeamID, Team: members[0].Team, Role: role, CreatedAt: members[0].CreatedAt}
	for _, m := range members {
		if m.TeamID != u.TeamID {
			return u, errs.Field("team", "There is more than one team of this name: give the team's id.")
		}
	}
	return u, a.db.Tx(ctx, func(tx *db.Tx) error {
		if err := lockTeam(ctx, tx, u.TeamID); err != nil {
			return err
		}
		var err error
		if u.ID, err = lockUser(ctx, tx, email); err != nil {
			return err
		}
		if err := insertMember(ctx, tx, u.TeamID, u.ID, role, a.Now()); err != nil {
			return err
		}
		_, err = tx.Exec(ctx, `DELETE FROM invitation WHERE team_id = ? AND email = ?`, u.TeamID, email)
		return err
	})
}
