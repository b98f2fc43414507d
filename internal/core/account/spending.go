package account

import (
	"context"

	"github.com/vedette-sec/vedette/internal/infra/db"
)

// SpendingCap is what a member may spend in a team, in US cents: their own cap, or else
// the team's default; nil: there is none.
func (a *Accounts) SpendingCap(ctx context.Context, q db.Querier, teamID, userID string) (cents *int64, err error) {
	err = q.QueryRow(ctx, `SELECT coalesce(u.spending_cap_cents, t.default_spending_cap_cents) FROM user_account u, team t WHERE u.id = ? AND t.id = ?`,
		userID, teamID).Scan(&cents)
	return cents, err
}

// Spent keeps what a user has spent in all, in US cents.
func (a *Accounts) Spent(ctx context.Context, tx *db.Tx, userID string, cents int64) error {
	_, err := tx.Exec(ctx, `UPDATE user_account SET spent_cents = ? WHERE id = ?`, cents, userID)
	return err
}

// SetDefaultCap sets the spending cap, in US cents, of the members of the caller's team
// that have none of their own, or removes it with nil; only an admin of the team may. A
// cap of 0 blocks. With all set, the members' own caps are removed.
func (a *Accounts) SetDefaultCap(ctx context.Context, cents *int64, all bool) error {
	return a.manage(ctx, func(tx *db.Tx, c Caller) error {
		if _, err := tx.Exec(ctx, `UPDATE team SET default_spending_cap_cents = ?, updated_at = ? WHERE id = ?`, cents, db.At(a.Now()), c.TeamID); err != nil || !all {
			return err
		}
		_, err := tx.Exec(ctx, `UPDATE user_account SET spending_cap_cents = NULL WHERE id IN (SELECT user_id FROM member WHERE team_id = ?)`, c.TeamID)
		return err
	})
}
