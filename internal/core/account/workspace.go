package account

import (
	"context"
	"time"

	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/ids"
)

// Workspace is a team as one of its members sees it; the platform calls it so.
type Workspace struct {
	ID          string
	Name        string
	Plan        Plan
	Role        Role // the caller's
	Owner       bool // the team is the caller's
	OwnerEmail  string
	MemberCount int
	CreatedAt   time.Time
	Active      bool // the caller acts in it now
	Default     bool // the caller acts in it when they name none
}

// maxOwned is how many teams one person may own.
const maxOwned = 100

// FindWorkspaces are the caller's teams, the default one first.
func (a *Accounts) FindWorkspaces(ctx context.Context) ([]Workspace, error) {
	c, err := From(ctx)
	if err != nil {
		return nil, err
	}
	// The order is the one in which callerQuery picks a team.
	rows, err := a.db.Query(ctx, `SELECT t.id, t.name, t.plan, m.role, t.owner_id = m.user_id AND m.role = ?, o.email, t.created_at,
		(SELECT count(*) FROM member n WHERE n.team_id = t.id)
		FROM member m JOIN team t ON t.id = m.team_id JOIN user_account o ON o.id = t.owner_id WHERE m.user_id = ? ORDER BY m.created_at, m.team_id`, Admin, c.UserID)
	n := 0
	return db.Collect(rows, err, func(r db.Row) (w Workspace, err error) {
		var created db.Time
		err = r.Scan(&w.ID, &w.Name, &w.Plan, &w.Role, &w.Owner, &w.OwnerEmail, &created, &w.MemberCount)
		w.CreatedAt, w.Active, w.Default = created.Time, w.ID == c.TeamID, n == 0
		n++
		return w, err
	})
}

// CreateTeam makes a team that the caller owns, on the plan of the one they act in, whose
// default members join it. The name has 1 to 128 characters.
func (a *Accounts) CreateTeam(ctx context.Context, name string) (id string, err error) {
	c, err := From(ctx)
	if err != nil {
		return "", err
	}
	if err := checkTeamName(name); err != nil || name == "" {
		return "", errs.Field("name", "name must have 1 to %d characters of text.", maxTeamName).Because(err)
	}
	id = ids.New()
	now := db.At(a.Now())
	return id, a.db.Tx(ctx, func(tx *db.Tx) error {
		var owned int
		if err := tx.QueryRow(ctx, `SELECT count(*) FROM team WHERE owner_id = ?`, c.UserID).Scan(&owned); err != nil {
			return err
		}
		if owned >= maxOwned {
			return errs.New(errs.Invalid, "too_many_teams", "You own %d teams; nobody may own more.", maxOwned)
		}
		if _, err := tx.Exec(ctx, `INSERT INTO team (id, name, plan, owner_id, created_at, updated_at) VALUES (?, ?, ?, ?, ?, ?)`, id, name, c.Plan, c.UserID, now, now); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, `INSERT INTO member (team_id, user_id, role, created_at) VALUES (?, ?, ?, ?)`, id, c.UserID, Admin, now); err != nil {
			return err
		}
		defaults, err := findDefaults(ctx, tx, c.TeamID)
		if err != nil {
			return err
		}
		for _, m := range defaults {
			if m.Email == c.Email {
				continue
			}
			if _, err := a.addMember(ctx, tx, id, m.Email, m.Role); err != nil {
				return err
			}
		}
		return nil
	})
}

// DeleteTeam deletes a team with everything in it: only its owner may, once nobody else
// is in it, and as long as they have another. It fails with Forbidden for a team that the
// caller is not in, whether it exists or not.
func (a *Accounts) DeleteTeam(ctx context.Context, teamID string) error {
	c, err := From(ctx)
	if err != nil {
		return err
	}
	if c, err = a.InTeam(ctx, c, teamID); errs.Is(err, errs.Forbidden) {
		return errs.New(errs.Forbidden, "not_in_team", "team_id does not name a team of yours.").At("team_id")
	} else if err != nil {
		return err
	}
	return a.db.Tx(ctx, func(tx *db.Tx) error {
		if err := lockTeam(ctx, tx, c.TeamID); err != nil {
			return err
		}
		me, err := findMember(ctx, tx, c.TeamID, c.Email)
		if err != nil {
			return err
		}
		if !me.owner {
			return errs.New(errs.Forbidden, "team_owner_required", "Only the owner of the team can delete it.")
		}
		var members int
		if err := tx.QueryRow(ctx, `SELECT count(*) FROM member WHERE team_id = ?`, c.TeamID).Scan(&members); err != nil {
			return err
		}
		if members > 1 {
			return errs.New(errs.Invalid, "team_has_members", "There are other members in the team: remove them first.").At("team_id")
		}
		if err := checkOtherTeam(ctx, tx, c); err != nil {
			return err
		}
		_, err = tx.Exec(ctx, `DELETE FROM team WHERE id = ?`, c.TeamID)
		return err
	})
}

// DefaultMember is somebody who joins each team that is made from the caller's.
type DefaultMember struct {
	Email string
	Role  Role
}

// FindDefaultMembers are the default members of the caller's team, in their order. Only
// admins may see them.
func (a *Accounts) FindDefaultMembers(ctx context.Context) ([]DefaultMember, error) {
	c, err := TeamAdmin(ctx)
	if err != nil {
		return nil, err
	}
	return findDefaults(ctx, a.db, c.TeamID)
}

func findDefaults(ctx context.Context, q db.Querier, teamID string) ([]DefaultMember, error) {
	rows, err := q.Query(ctx, `SELECT email, role FROM default_member WHERE team_id = ? ORDER BY place`, teamID)
	return db.Collect(rows, err, func(r db.Row) (m DefaultMember, err error) { return m, r.Scan(&m.Email, &m.Role) })
}

// SetDefaultMembers replaces the default members of the caller's team; of several with
// one address the first stays. Teams that are there already stay as they are. Only admins
// may. It fails with Invalid for a bad address or role, and for more than a team made
// from this one could take besides its owner.
func (a *Accounts) SetDefaultMembers(ctx context.Context, members []DefaultMember) error {
	var kept []DefaultMember
	seen := map[string]bool{}
	for _, m := range members {
		email, err := checkMember(m.Email, m.Role)
		if err != nil {
			return err
		}
		if !seen[email] {
			kept = append(kept, DefaultMember{email, m.Role})
		}
		seen[email] = true
	}
	return a.manage(ctx, func(tx *db.Tx, c Caller) error {
		if most := c.Plan.MaxMembers() - 1; len(kept) > most {
			return errs.Field("members", "The team's plan allows %d default members.", most)
		}
		if _, err := tx.Exec(ctx, `DELETE FROM default_member WHERE team_id = ?`, c.TeamID); err != nil {
			return err
		}
		for i, m := range kept {
			if _, err := tx.Exec(ctx, `INSERT INTO default_member (team_id, place, email, role) VALUES (?, ?, ?, ?)`, c.TeamID, i, m.Email, m.Role); err != nil {
				return err
			}
		}
		return nil
	})
}

// RemoveDefaultMember takes one address off the default members of the caller's team, or
// with an empty one all. Only admins may. It fails with NotFound when it is not on the
// list.
func (a *Accounts) RemoveDefaultMember(ctx context.Context, email string) (err error) {
	if email == "" {
		return a.SetDefaultMembers(ctx, nil)
	}
	if email, err = ParseEmail(email); err != nil {
		return err
	}
	return a.manage(ctx, func(tx *db.Tx, c Caller) error {
		n, err := tx.Exec(ctx, `DELETE FROM default_member WHERE team_id = ? AND email = ?`, c.TeamID, email)
		if err == nil && n == 0 {
			err = errs.Missing("default_member")
		}
		return err
	})
}
