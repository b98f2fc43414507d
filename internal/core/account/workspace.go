package account

import (
	"context"
	"time"

	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/ids"
)

// Workspace is a team as one of its members sees it.
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
	Default     bool // the caller acts in it without X-Team-Id
}

const maxOwned = 100 // teams of one person

// FindWorkspaces are the caller's teams, the default one first.
func (a *Accounts) FindWorkspaces(ctx context.Context) ([]Workspace, error) {
	c, err := From(ctx)
	if err != nil {
		return nil, err
	}
	scan := func(r db.Row) (w Workspace, err error) {
		err = r.Scan(&w.ID, &w.Name, &w.Plan, &w.Role, &w.Owner, &w.OwnerEmail, db.Into(&w.CreatedAt), &w.MemberCount)
		w.Active = w.ID == c.TeamID
		return w, err
	}
	// The order is the one in which callerOrder picks a team.
	found, err := db.Select(ctx, a.db, scan, `SELECT t.id, t.name, t.plan, m.role, t.owner_id = m.user_id AND m.role = ?,
		o.email, t.created_at, (SELECT count(*) FROM member n WHERE n.team_id = t.id)
		FROM member m JOIN team t ON t.id = m.team_id JOIN user_account o ON o.id = t.owner_id
		WHERE m.user_id = ? ORDER BY m.created_at, m.team_id`, Admin, c.UserID)
	if len(found) > 0 {
		found[0].Default = true
	}
	return found, err
}

// CreateTeam creates a team that the caller owns, with the plan of their present one, and invites its default
// members. It fails with Forbidden where only operators create teams.
func (a *Accounts) CreateTeam(ctx context.Context, name string) (id string, err error) {
	c, err := From(ctx)
	if err != nil {
		return "", err
	}
	if a.TeamsByOperators && !c.SystemAdmin {
		return "", errs.New(errs.Forbidden, "teams_by_operators", "On this server only operators make teams.")
	}
	if err := checkTeamName(name, false); err != nil {
		return "", err
	}
	id = ids.New()
	return id, a.db.Tx(ctx, func(tx *db.Tx) error {
		// Of several teams at once the next waits here.
		_, err := db.Value[string](ctx, tx, `SELECT id FROM user_account WHERE id = ?`+tx.Dialect().ForUpdate(), c.UserID)
		if err != nil {
			return err
		}
		owned, err := count(ctx, tx, `team WHERE owner_id = ?`, c.UserID)
		if err != nil {
			return err
		}
		if owned >= maxOwned {
			return errs.New(errs.Invalid, "too_many_teams", "You own %d teams, the most a person may own.", maxOwned)
		}
		if err := createTeam(ctx, tx, Team{ID: id, Name: name, Plan: c.Plan, CreatedAt: a.Now()}, c.UserID,
			Admin); err != nil {
			return err
		}
		defaults, err := findDefaults(ctx, tx, c.TeamID)
		if err != nil {
			return err
		}
		inviter := Caller{TeamID: id, Email: c.Email}
		for _, m := range defaults {
			if m.Email == c.Email {
				continue
			}
			if err := a.invite(ctx, tx, inviter, m.Email, m.Role); err != nil {
				return err
			}
		}
		return nil
	})
}

// DeleteTeam deletes a team with everything in it. Only its owner may, when it has no other members and they
// have another team. A team that the caller is not in is Forbidden, whether it exists or not.
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
	return a.inLockedTeam(ctx, c, func(tx *db.Tx, c Caller) error {
		me, err := findMember(ctx, tx, c.TeamID, c.Email)
		if err != nil {
			return err
		}
		if !me.owner {
			return errs.New(errs.Forbidden, "team_owner_required", "Only the owner of the team can delete it.")
		}
		members, err := count(ctx, tx, `member WHERE team_id = ?`, c.TeamID)
		if err != nil {
			return err
		}
		if members > 1 {
			return errs.New(errs.Invalid, "team_has_members",
				"There are other members in the team: remove them first.").At("team_id")
		}
		if err := checkOtherTeam(ctx, tx, c); err != nil {
			return err
		}
		_, err = tx.Exec(ctx, `DELETE FROM team WHERE id = ?`, c.TeamID)
		return err
	})
}

// DefaultMember is a person who is invited to each team that is created from the caller's.
type DefaultMember struct {
	Email string
	Role  Role
}

// FindDefaultMembers are the default members of the caller's team, in their order. Only admins may see them.
func (a *Accounts) FindDefaultMembers(ctx context.Context) ([]DefaultMember, error) {
	c, err := TeamAdmin(ctx)
	if err != nil {
		return nil, err
	}
	return findDefaults(ctx, a.db, c.TeamID)
}

func findDefaults(ctx context.Context, q db.Querier, teamID string) ([]DefaultMember, error) {
	scan := func(r db.Row) (m DefaultMember, err error) { return m, r.Scan(&m.Email, &m.Role) }
	return db.Select(ctx, q, scan, `SELECT email, role FROM default_member WHERE team_id = ? ORDER BY place`, teamID)
}

// SetDefaultMembers replaces the default members of the caller's team; of several with one address the first
// stays. Only admins may. It fails with Invalid for more than fit into a new team.
func (a *Accounts) SetDefaultMembers(ctx context.Context, members []DefaultMember) error {
	var unique []DefaultMember
	seen := map[string]bool{}
	for _, m := range members {
		email, err := checkMember(m.Email, m.Role)
		if err != nil {
			return err
		}
		if !seen[email] {
			unique = append(unique, DefaultMember{email, m.Role})
		}
		seen[email] = true
	}
	return a.manage(ctx, func(tx *db.Tx, c Caller) error {
		if most := c.Plan.MaxMembers() - 1; len(unique) > most {
			return errs.Field("members", "The team's plan allows %d default members.", most)
		}
		if _, err := tx.Exec(ctx, `DELETE FROM default_member WHERE team_id = ?`, c.TeamID); err != nil {
			return err
		}
		for i, m := range unique {
			_, err := tx.Exec(ctx, `INSERT INTO default_member (team_id, place, email, role) VALUES (?, ?, ?, ?)`,
				c.TeamID, i, m.Email, m.Role)
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// RemoveDefaultMember removes one of the default members, or (address empty) all. Only admins may.
func (a *Accounts) RemoveDefaultMember(ctx context.Context, email string) (err error) {
	if email == "" {
		return a.SetDefaultMembers(ctx, nil)
	}
	if email, err = ParseEmail(email); err != nil {
		return err
	}
	return a.manage(ctx, func(tx *db.Tx, c Caller) error {
		return db.ExecOr(ctx, tx, errs.Missing("default_member"),
			`DELETE FROM default_member WHERE team_id = ? AND email = ?`, c.TeamID, email)
	})
}
