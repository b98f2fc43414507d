package account

import (
	"context"
	"time"
	"unicode/utf8"

	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/errs"
)

// Team is the group that owns tasks, findings and settings.
type Team struct {
	ID          string    `json:"id"`
	Name        string    `json:"name"`
	Plan        Plan      `json:"plan"`
	OwnerEmail  string    `json:"owner_email"`
	MemberCount int       `json:"member_count"`
	WebhookURL  string    `json:"webhook_url"`
	CreatedAt   time.Time `json:"created_at"`
	UpdatedAt   time.Time `json:"updated_at"`

	// DefaultCap is the spending cap of members without one of their own; nil: none.
	DefaultCap *float64 `json:"default_spending_cap_usd" doc:"Of members without one of their own, in US dollars; null: none."`
}

// TeamUpdate is what was sent of a team: nil means "leave it".
type TeamUpdate struct {
	Name       *string
	WebhookURL *string // empty clears; the API has checked it
}

const maxTeamName = 128

func checkTeamName(name string) error {
	if utf8.RuneCountInString(name) > maxTeamName || db.Clean(name) != name {
		return errs.Field("name", "name must have 1 to %d characters of text.", maxTeamName)
	}
	return nil
}

// FindTeam is the caller's team.
func (a *Accounts) FindTeam(ctx context.Context) (Team, error) {
	c, err := From(ctx)
	if err != nil {
		return Team{}, err
	}
	return a.teamByID(ctx, a.db, c.TeamID)
}

func (a *Accounts) teamByID(ctx context.Context, q db.Querier, id string) (t Team, err error) {
	var created, updated db.Time
	var cents *int64
	err = q.QueryRow(ctx, `SELECT t.id, t.name, t.plan, t.webhook_url, t.created_at, t.updated_at, u.email, t.default_spending_cap_cents,
		(SELECT count(*) FROM member m WHERE m.team_id = t.id)
		FROM team t JOIN user_account u ON u.id = t.owner_id WHERE t.id = ?`, id).
		Scan(&t.ID, &t.Name, &t.Plan, &t.WebhookURL, &created, &updated, &t.OwnerEmail, &cents, &t.MemberCount)
	if db.IsNoRows(err) {
		return t, errs.Missing("team")
	}
	t.CreatedAt, t.UpdatedAt = created.Time, updated.Time
	if cents != nil {
		t.DefaultCap = new(float64(*cents) / 100)
	}
	return t, err
}

// UpdateTeam changes the caller's team; only its admins may.
func (a *Accounts) UpdateTeam(ctx context.Context, up TeamUpdate) (Team, error) {
	c, err := TeamAdmin(ctx)
	if err != nil {
		return Team{}, err
	}
	if up.Name != nil {
		if *up.Name == "" {
			return Team{}, errs.Field("name", "name must have 1 to %d characters of text.", maxTeamName)
		}
		if err := checkTeamName(*up.Name); err != nil {
			return Team{}, err
		}
	}
	var t Team
	err = a.db.Tx(ctx, func(tx *db.Tx) error {
		if _, err := tx.Exec(ctx, `UPDATE team SET name = coalesce(?, name), webhook_url = coalesce(?, webhook_url), updated_at = ? WHERE id = ?`,
			up.Name, up.WebhookURL, db.At(a.Now()), c.TeamID); err != nil {
			return err
		}
		t, err = a.teamByID(ctx, tx, c.TeamID)
		return err
	})
	return t, err
}

// WebhookURL is where a team wants its completion artifacts; empty: nowhere.
func (a *Accounts) WebhookURL(ctx context.Context, q db.Querier, teamID string) (url string, err error) {
	err = q.QueryRow(ctx, `SELECT webhook_url FROM team WHERE id = ?`, teamID).Scan(&url)
	return url, err
}

// SetCap sets a member's spending cap in US cents, or removes it with nil; only an
// admin of the team may. A cap of 0 blocks.
func (a *Accounts) SetCap(ctx context.Context, email string, cents *int64) error {
	c, err := TeamAdmin(ctx)
	if err != nil {
		return err
	}
	if email, err = ParseEmail(email); err != nil {
		return err
	}
	n, err := a.db.Exec(ctx, `UPDATE user_account SET spending_cap_cents = ? WHERE email = ? AND id IN (SELECT user_id FROM member WHERE team_id = ?)`,
		cents, email, c.TeamID)
	if err == nil && n == 0 {
		err = errs.Missing("member")
	}
	return err
}
