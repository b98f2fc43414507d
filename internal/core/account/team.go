package account

import (
	"context"
	"net/url"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/queue"
)

// Team is a group of users that owns tasks, findings and settings.
type Team struct {
	ID          string    `json:"id"`
	Name        string    `json:"name"`
	Plan        Plan      `json:"plan"`
	OwnerEmail  string    `json:"owner_email"`
	MemberCount int       `json:"member_count"`
	WebhookURL  string    `json:"webhook_url"`
	SecretName  string    `json:"webhook_secret_name" doc:"The owner's secret that deliveries carry as a bearer token; empty: none."`
	CreatedAt   time.Time `json:"created_at"`
	UpdatedAt   time.Time `json:"updated_at"`

	SecondFactor bool `json:"require_second_factor" doc:"Whether members without a second factor may only set one up."`

	// DefaultCap is the spending cap of members without one of their own; nil: none.
	DefaultCap *float64 `json:"default_spending_cap_usd" doc:"Of members without one of their own, in US dollars; null: none."`
}

// TeamUpdate changes a team; nil leaves a field as it is.
type TeamUpdate struct {
	Name       *string
	WebhookURL *string // empty clears; the API has checked it
	// SecondFactor is whether members need a second factor; the API refuses those without one, API keys of theirs too.
	SecondFactor *bool
	SecretName   *string // of the owner's secret for the webhook; empty clears; the API has checked it
}

// checkTeamName checks a name of 1 to 128 characters, or none where that is allowed.
func checkTeamName(name string, optional bool) error {
	const most = 128
	if name == "" && !optional || utf8.RuneCountInString(name) > most || db.Clean(name) != name {
		return errs.Field("name", "name must have 1 to %d characters of text.", most)
	}
	return nil
}

// FindTeam is the caller's team. A guest sees only the host of its webhook: the rest of the URL may be a secret.
func (a *Accounts) FindTeam(ctx context.Context) (Team, error) {
	c, err := From(ctx)
	if err != nil {
		return Team{}, err
	}
	t, err := a.teamByID(ctx, a.db, c.TeamID)
	if u, bad := url.Parse(t.WebhookURL); c.Role == Guest && t.WebhookURL != "" {
		t.WebhookURL = "…"
		if bad == nil {
			t.WebhookURL = u.Scheme + "://" + u.Host + "/…"
		}
	}
	return t, err
}

func (a *Accounts) teamByID(ctx context.Context, q db.Querier, id string) (t Team, err error) {
	var cents *int64
	err = q.QueryRow(ctx, `SELECT t.id, t.name, t.plan, t.webhook_url, t.webhook_secret_name, t.created_at, t.updated_at, u.email,
		t.default_spending_cap_cents, t.require_second_factor, (SELECT count(*) FROM member m WHERE m.team_id = t.id)
		FROM team t JOIN user_account u ON u.id = t.owner_id WHERE t.id = ?`, id).Scan(&t.ID, &t.Name, &t.Plan,
		&t.WebhookURL, &t.SecretName, db.Into(&t.CreatedAt), db.Into(&t.UpdatedAt), &t.OwnerEmail, &cents, &t.SecondFactor,
		&t.MemberCount)
	if cents != nil {
		t.DefaultCap = new(float64(*cents) / 100)
	}
	return t, db.OrMissing(err, "team")
}

// UpdateTeam changes the caller's team; only its admins may.
func (a *Accounts) UpdateTeam(ctx context.Context, up TeamUpdate) (Team, error) {
	c, err := TeamAdmin(ctx)
	if err != nil {
		return Team{}, err
	}
	if up.Name != nil {
		if err := checkTeamName(*up.Name, false); err != nil {
			return Team{}, err
		}
	}
	var t Team
	err = a.db.Tx(ctx, func(tx *db.Tx) error {
		if err := checkOwnFactor(ctx, tx, c, up.SecondFactor); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, `UPDATE team SET name = coalesce(?, name), webhook_url = coalesce(?, webhook_url),
			webhook_secret_name = coalesce(?, webhook_secret_name),
			require_second_factor = coalesce(?, require_second_factor), updated_at = ? WHERE id = ?`, up.Name, up.WebhookURL,
			up.SecretName, up.SecondFactor, db.At(a.Now()), c.TeamID); err != nil {
			return err
		}
		t, err = a.teamByID(ctx, tx, c.TeamID)
		return err
	})
	return t, err
}

// Webhook is where a team's completion artifacts are sent (empty: nowhere), and the name of the owner's secret that
// goes with them (empty: none).
func (a *Accounts) Webhook(ctx context.Context, q db.Querier, teamID string) (url, secretName string, err error) {
	err = q.QueryRow(ctx, `SELECT webhook_url, webhook_secret_name FROM team WHERE id = ?`, teamID).Scan(&url, &secretName)
	return url, secretName, err
}

// SetPlan changes the plan of a team given by name or id. It checks no Caller: the operator's command line uses it.
func (a *Accounts) SetPlan(ctx context.Context, team string, plan Plan) (t Team, err error) {
	if !slices.Contains(Plans(), plan) {
		return t, errs.Field("plan", "plan must be FREE, PRO or ENT.")
	}
	return t, a.db.Tx(ctx, func(tx *db.Tx) error {
		found, err := db.Values[string](ctx, tx, `SELECT id FROM team WHERE name = ? OR id = ? ORDER BY id LIMIT 2`, team, team)
		switch {
		case err != nil:
			return err
		case len(found) == 0:
			return errs.Missing("team").At("team")
		case len(found) > 1:
			return errs.Field("team", "There is more than one team of this name: give the team's id.")
		}
		_, err = tx.Exec(ctx, `UPDATE team SET plan = ?, updated_at = ? WHERE id = ?`, plan, db.At(a.Now()), found[0])
		if err != nil {
			return err
		}
		if err := queue.SetShare(ctx, tx, found[0], plan.weight()); err != nil {
			return err
		}
		t, err = a.teamByID(ctx, tx, found[0])
		return err
	})
}

// CappedMember is a member with their spending cap.
type CappedMember struct {
	ID        string
	Email     string
	Role      Role
	InvitedAt time.Time // when they joined, if nobody invited them
	JoinedAt  time.Time
	Cap       *int64 // US cents: their own, or else the team's default; nil: none
	Spent     int64  // US cents
}

// SetCap sets what a member may spend in the caller's team, in US cents, or removes it with nil. Only admins may. A cap
// of 0 blocks. What the member spends in other teams, and the operator's cap, are not changed.
func (a *Accounts) SetCap(ctx context.Context, email string, cents *int64) (m CappedMember, err error) {
	c, err := TeamAdmin(ctx)
	if err != nil {
		return m, err
	}
	if email, err = ParseEmail(email); err != nil {
		return m, err
	}
	return m, a.db.Tx(ctx, func(tx *db.Tx) error {
		if err := db.ExecOr(ctx, tx, errs.Missing("member"), `UPDATE member SET spending_cap_cents = ?
			WHERE team_id = ? AND user_id = (SELECT id FROM user_account WHERE email = ?)`, cents, c.TeamID, email); err != nil {
			return err
		}
		return tx.QueryRow(ctx, `SELECT u.id, u.email, m.role, coalesce(m.invited_at, m.created_at), m.created_at,
			coalesce(m.spending_cap_cents, t.default_spending_cap_cents), m.spent_cents
			FROM user_account u JOIN member m ON m.user_id = u.id JOIN team t ON t.id = m.team_id
			WHERE u.email = ? AND t.id = ?`, email, c.TeamID).
			Scan(&m.ID, &m.Email, &m.Role, db.Into(&m.InvitedAt), db.Into(&m.JoinedAt), &m.Cap, &m.Spent)
	})
}

// Caps are what a user may spend, in US cents; nil: no cap.
type Caps struct {
	Team     *int64 // in one team: their own cap, or else the team's default
	Operator *int64 // in all teams together
}

// SpendingCaps are the caps of a user who spends in a team. A former member has the one that they had.
func (a *Accounts) SpendingCaps(ctx context.Context, q db.Querier, teamID, userID string) (c Caps, err error) {
	err = q.QueryRow(ctx, `SELECT coalesce(m.spending_cap_cents, f.spending_cap_cents, t.default_spending_cap_cents),
		u.spending_cap_cents FROM user_account u JOIN team t ON t.id = ?
		LEFT JOIN member m ON m.team_id = t.id AND m.user_id = u.id
		LEFT JOIN former_member f ON f.team_id = t.id AND f.user_id = u.id WHERE u.id = ?`, teamID, userID).Scan(&c.Team, &c.Operator)
	return c, err
}

// Spent stores what a user has spent in a team and in all teams, in US cents.
func (a *Accounts) Spent(ctx context.Context, tx *db.Tx, teamID, userID string, inTeam, inAll int64) error {
	for _, table := range []string{"member", "former_member"} {
		_, err := tx.Exec(ctx, `UPDATE `+table+` SET spent_cents = ? WHERE team_id = ? AND user_id = ?`, inTeam, teamID, userID)
		if err != nil {
			return err
		}
	}
	_, err := tx.Exec(ctx, `UPDATE user_account SET spent_cents = ? WHERE id = ?`, inAll, userID)
	return err
}

// SetOperatorCap sets what a user may spend in all teams together, in US cents, or removes it with nil. Only the
// operator's command line may call it: it checks no Caller. A cap of 0 blocks.
func (a *Accounts) SetOperatorCap(ctx context.Context, email string, cents *int64) error {
	email, err := ParseEmail(email)
	if err != nil {
		return err
	}
	return db.ExecOr(ctx, a.db, errs.Missing("user"),
		`UPDATE user_account SET spending_cap_cents = ? WHERE email = ?`, cents, email)
}

// SetDefaultCap sets the spending cap, in US cents, of members without their own, or removes it with nil. Only
// admins may. A cap of 0 blocks. With all set, the members' own caps are removed.
func (a *Accounts) SetDefaultCap(ctx context.Context, cents *int64, all bool) error {
	return a.manage(ctx, func(tx *db.Tx, c Caller) error {
		_, err := tx.Exec(ctx, `UPDATE team SET default_spending_cap_cents = ?, updated_at = ? WHERE id = ?`,
			cents, db.At(a.Now()), c.TeamID)
		if err != nil || !all {
			return err
		}
		for _, table := range []string{"member", "former_member"} {
			if _, err := tx.Exec(ctx, `UPDATE `+table+` SET spending_cap_cents = NULL WHERE team_id = ?`, c.TeamID); err != nil {
				return err
			}
		}
		return nil
	})
}
