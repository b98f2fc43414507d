package account

import (
	"context"
	"strings"

	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/errs"
)

// SetDisabled keeps a user from signing in and refuses their keys and tokens on every node, with the next request, or
// lets them in again. Their sessions end for good; their keys work again afterwards. It checks no Caller: operators
// use it.
func (a *Accounts) SetDisabled(ctx context.Context, email string, disabled bool) error {
	email, err := ParseEmail(email)
	if err != nil {
		return err
	}
	var at any
	if disabled {
		at = db.At(a.Now())
	}
	return a.db.Tx(ctx, func(tx *db.Tx) error {
		id, err := lockUser(ctx, tx, email)
		if err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, `UPDATE user_account SET disabled_at = ? WHERE id = ?`, at, id); err != nil || !disabled {
			return err
		}
		return endSessions(ctx, tx, id, "")
	})
}

// CheckNotOwn refuses the caller's own address: operators neither disable nor delete themselves by the API.
func CheckNotOwn(c Caller, email string) error {
	if strings.EqualFold(email, c.Email) {
		return errs.New(errs.Conflict, "own_account", "This is your own account: another operator can do this.").At("email")
	}
	return nil
}

// DeleteUser removes a user for good: they leave their teams, and their keys, sessions, secrets and tools are deleted.
// Their tasks, scans and templates stay in the teams, under the name deleted-ID. It fails with Conflict, and names the
// teams, when a team would have no admin, or nobody at all; those without anybody else are deleted withTeams, with
// everything in them. It checks no Caller: operators use it.
func (a *Accounts) DeleteUser(ctx context.Context, email string, withTeams bool) error {
	email, err := ParseEmail(email)
	if err != nil {
		return err
	}
	return a.db.Tx(ctx, func(tx *db.Tx) error {
		id, err := lockUser(ctx, tx, email)
		if err != nil {
			return err
		}
		if err := leaveTeams(ctx, tx, id, withTeams); err != nil {
			return err
		}
		for _, table := range tablesOfUser {
			if _, err := tx.Exec(ctx, `DELETE FROM `+table+` WHERE user_id = ?`, id); err != nil {
				return err
			}
		}
		for _, table := range []string{"invitation", "default_member"} {
			if _, err := tx.Exec(ctx, `DELETE FROM `+table+` WHERE email = ?`, email); err != nil {
				return err
			}
		}
		// This name is no address: nobody can sign up with it or be found by it.
		_, err = tx.Exec(ctx, `UPDATE user_account SET email = ?, password_hash = '', system_admin = FALSE,
			disabled_at = coalesce(disabled_at, ?) WHERE id = ?`, "deleted-"+id, db.At(a.Now()), id)
		return err
	})
}

// tablesOfUser have what a deleted user takes along, by user_id.
var tablesOfUser = []string{
	"user_session", "password_reset", "login_ticket", "second_factor", "security_key", "security_key_challenge",
	"recovery_code", "user_identity", "api_key", "secret", "model_key", "mcp_server", "http_tool", "program_tool",
	"toolkit", "task_schedule", "ssh_key", "knowledge_source",
}

// ownTeam is one of a user's teams.
type ownTeam struct {
	id, name string
	role     Role
	others   int // further members
	admins   int // further admins
}

// leaveTeams removes a user from all their teams; see DeleteUser.
func leaveTeams(ctx context.Context, tx *db.Tx, userID string, withTeams bool) error {
	mine, err := db.Values[string](ctx, tx, `SELECT team_id FROM member WHERE user_id = ? ORDER BY team_id`, userID)
	if err != nil {
		return err
	}
	var teams []ownTeam
	var alone, orphaned []string
	for _, id := range mine {
		if err := lockTeam(ctx, tx, id); err != nil {
			return err
		}
		t := ownTeam{id: id}
		err := tx.QueryRow(ctx, `SELECT t.name, m.role,
			(SELECT count(*) FROM member o WHERE o.team_id = t.id AND o.user_id <> m.user_id),
			(SELECT count(*) FROM member o WHERE o.team_id = t.id AND o.user_id <> m.user_id AND o.role = ?)
			FROM team t JOIN member m ON m.team_id = t.id WHERE t.id = ? AND m.user_id = ?`, Admin, id, userID).
			Scan(&t.name, &t.role, &t.others, &t.admins)
		if err != nil {
			return err
		}
		switch {
		case t.others == 0:
			alone = append(alone, t.name)
		case t.role == Admin && t.admins == 0:
			orphaned = append(orphaned, t.name)
		}
		teams = append(teams, t)
	}
	if len(orphaned) > 0 {
		return errs.New(errs.Conflict, "only_admin", "They are the only admin of %s: make another member an admin first.",
			names(orphaned))
	}
	if len(alone) > 0 && !withTeams {
		return errs.New(errs.Conflict, "only_member",
			"Nobody else is in %s: give with_teams (--with-teams) to delete what they have alone.", names(alone))
	}
	for _, t := range teams {
		if err := leaveTeam(ctx, tx, t, userID); err != nil {
			return err
		}
	}
	return nil
}

func leaveTeam(ctx context.Context, tx *db.Tx, t ownTeam, userID string) error {
	if t.others == 0 {
		_, err := tx.Exec(ctx, `DELETE FROM team WHERE id = ?`, t.id)
		return err
	}
	if err := leave(ctx, tx, t.id, userID); err != nil {
		return err
	}
	if t.role != Admin {
		return nil
	}
	return checkAdmins(ctx, tx, t.id)
}

const namesShown = 10

// names are names of teams in a message.
func names(of []string) string {
	if len(of) > namesShown {
		of = append(of[:namesShown:namesShown], "…")
	}
	return strings.Join(of, ", ")
}
