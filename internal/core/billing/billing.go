// Package billing has the credits of teams: operators grant them, calls of the server's models use them, and statements
// say for what. A credit is a US dollar. No money is moved here, and no card is known.
//
// A team without a grant is not bounded by credits. From its first grant on, a call of the server's models is made only
// while the unused part of the grants that have not expired covers it and all calls under way. What a call has cost is
// taken from the grants in the order in which they expire, in the transaction that settles the call (core/model).
package billing

import (
	"context"
	"math"
	"time"
	"unicode/utf8"

	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/core/membership"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/ids"
)

// MicrosPerCredit are the units in which credits are counted.
const MicrosPerCredit = 1_000_000

// Micros are credits in millionths, rounded. What is no number, or too large, is above what can be granted.
func Micros(credits float64) int64 {
	if !(credits <= MaxCredits) { // written this way, NaN is too large
		return MaxCredits*MicrosPerCredit + 1
	}
	return int64(math.Round(credits * MicrosPerCredit))
}

// Credits is the service.
type Credits struct {
	db  *db.DB
	now func() time.Time
}

// New makes the service. now is time.Now outside of tests.
func New(d *db.DB, now func() time.Time) *Credits { return &Credits{d, now} }

// Grant is what an operator granted.
type Grant struct {
	ID        string
	TeamID    string
	Micros    int64
	Used      int64
	Note      string
	GrantedBy string // an address; empty: the operator's command line
	CreatedAt time.Time
	ExpiresAt *time.Time
	RevokedAt *time.Time
}

// left is what can still be used at a time.
func (g Grant) left(at time.Time) int64 {
	if g.RevokedAt != nil || g.ExpiresAt != nil && !g.ExpiresAt.After(at) {
		return 0
	}
	return g.Micros - g.Used
}

const grantColumns = `id, team_id, micros, used, note, granted_by, created_at, expires_at, revoked_at`

func scanGrant(r db.Row) (g Grant, err error) {
	return g, r.Scan(&g.ID, &g.TeamID, &g.Micros, &g.Used, &g.Note, &g.GrantedBy, db.Into(&g.CreatedAt),
		db.Into(&g.ExpiresAt),
		db.Into(&g.RevokedAt))
}

// NewGrant describes a grant.
type NewGrant struct {
	Team      string // its id, or its name where no other team has it
	Micros    int64
	Note      string
	By        string
	ExpiresAt *time.Time // nil: never
}

// Bounds of grants.
const (
	MaxCredits = 1_000_000_000
	MaxGrants  = 1000 // of a team
	MaxNote    = 200  // characters
)

// Grant gives a team credits. It checks no Caller: operators use it.
func (s *Credits) Grant(ctx context.Context, n NewGrant) (g Grant, err error) {
	now := db.At(s.now())
	switch {
	case n.Micros < 1 || n.Micros > MaxCredits*MicrosPerCredit:
		return g, errs.Field("credits", "credits must be above 0 and at most %d.", MaxCredits)
	case utf8.RuneCountInString(n.Note) > MaxNote || db.Clean(n.Note) != n.Note:
		return g, errs.Field("note", "note must be text of at most %d characters.", MaxNote)
	case n.ExpiresAt != nil && !n.ExpiresAt.After(now.Time):
		return g, errs.Field("expires_at", "expires_at must be in the future.")
	}
	team, err := membership.Named(ctx, s.db, n.Team)
	if err != nil {
		return g, err
	}
	g = Grant{ID: ids.New(), TeamID: team, Micros: n.Micros, Note: n.Note, GrantedBy: n.By, CreatedAt: now.Time}
	var expires any
	if n.ExpiresAt != nil {
		at := db.At(*n.ExpiresAt)
		g.ExpiresAt, expires = &at.Time, at
	}
	return g, s.db.Tx(ctx, func(tx *db.Tx) error {
		if _, err := db.Value[string](ctx, tx, `SELECT id FROM team WHERE id = ?`+tx.Dialect().ForUpdate(), team); err != nil {
			return db.OrMissing(err, "team")
		}
		count, err := db.Value[int](ctx, tx, `SELECT count(*) FROM credit_grant WHERE team_id = ?`, team)
		if err != nil {
			return err
		}
		if count >= MaxGrants {
			return errs.New(errs.Conflict, "too_many_grants", "The team has %d grants, the most there can be.", MaxGrants)
		}
		_, err = tx.Exec(ctx, `INSERT INTO credit_grant (id, team_id, micros, note, granted_by, created_at, expires_at)
			VALUES (?, ?, ?, ?, ?, ?, ?)`, g.ID, team, g.Micros, g.Note, g.GrantedBy, now, expires)
		return err
	})
}

// Revoke takes back what is unused of a grant; what was used stays. It checks no Caller: operators use it. A grant that
// was revoked stays as it is.
func (s *Credits) Revoke(ctx context.Context, id string) (g Grant, err error) {
	if _, err := s.db.Exec(ctx, `UPDATE credit_grant SET revoked_at = ? WHERE id = ? AND revoked_at IS NULL`, db.At(s.now()),
		db.Clean(id)); err != nil {
		return g, err
	}
	g, err = scanGrant(s.db.QueryRow(ctx, `SELECT `+grantColumns+` FROM credit_grant WHERE id = ?`, db.Clean(id)))
	return g, db.OrMissing(err, "grant")
}

// Of are the grants of a team that an operator names, the newest first. It checks no Caller.
func (s *Credits) Of(ctx context.Context, team string) ([]Grant, error) {
	id, err := membership.Named(ctx, s.db, team)
	if err != nil {
		return nil, err
	}
	return s.grants(ctx, s.db, id)
}

func (s *Credits) grants(ctx context.Context, q db.Querier, teamID string) ([]Grant, error) {
	return db.Select(ctx, q, scanGrant, `SELECT `+grantColumns+` FROM credit_grant WHERE team_id = ?
		ORDER BY created_at DESC, id DESC`, teamID)
}

// payer is the caller, if they may see what the team pays: its admin, or who is alone in it.
func (s *Credits) payer(ctx context.Context) (account.Caller, error) {
	c, err := account.From(ctx)
	if err != nil || c.Role == account.Admin {
		return c, err
	}
	others, err := db.Value[int](ctx, s.db, `SELECT count(*) FROM member WHERE team_id = ? AND user_id <> ?`, c.TeamID, c.UserID)
	if err == nil && others > 0 {
		_, err = account.TeamAdmin(ctx)
	}
	return c, err
}

// Grants are those of the caller's team, the newest first. Its admins may see them, and who is alone in it.
func (s *Credits) Grants(ctx context.Context) ([]Grant, error) {
	c, err := s.payer(ctx)
	if err != nil {
		return nil, err
	}
	return s.grants(ctx, s.db, c.TeamID)
}

// Balance sums up the grants of a team, in millionths of a credit.
type Balance struct {
	Grants    int   // their number, those that were revoked too
	Issued    int64 // all that was granted, without what was revoked unused
	Used      int64
	Available int64      // neither used nor expired, and not reserved for calls under way
	ExpiresAt *time.Time // when the next part of it expires; nil: nothing does
	Expired   bool       // there were credits, and all of what is unused has expired
}

// Balance is that of the caller's team.
func (s *Credits) Balance(ctx context.Context) (b Balance, err error) {
	c, err := s.payer(ctx)
	if err != nil {
		return b, err
	}
	return b, s.db.Snapshot(ctx, func(q db.Querier) error {
		grants, err := s.grants(ctx, q, c.TeamID)
		if err != nil {
			return err
		}
		reserved, err := db.Value[int64](ctx, q, `SELECT coalesce((SELECT reserved - spent FROM spending WHERE kind = 'team' AND id = ?), 0)`,
			c.TeamID)
		b = sum(grants, reserved, s.now())
		return err
	})
}

func sum(grants []Grant, reserved int64, now time.Time) (b Balance) {
	b.Grants = len(grants)
	lapsed := false
	for _, g := range grants {
		b.Used += g.Used
		if g.RevokedAt != nil {
			b.Issued += g.Used
			continue
		}
		b.Issued += g.Micros
		left := g.left(now)
		b.Available += left
		lapsed = lapsed || left == 0 && g.Used < g.Micros
		if left > 0 && g.ExpiresAt != nil && (b.ExpiresAt == nil || g.ExpiresAt.Before(*b.ExpiresAt)) {
			b.ExpiresAt = g.ExpiresAt
		}
	}
	b.Expired = lapsed && b.Available == 0
	b.Available = max(0, b.Available-reserved)
	return b
}

// CodeExhausted refuses a call that the credits of a team do not cover.
const CodeExhausted = "credits_exhausted"

// Check fails with Forbidden when the credits of a team do not cover what is reserved for calls of the server's models
// (micros, with the call that is asked for). Who calls it holds the lock of the team's spending.
func Check(ctx context.Context, tx *db.Tx, teamID string, micros int64, at time.Time) error {
	var grants int
	var left int64
	if err := tx.QueryRow(ctx, `SELECT count(*), CAST(coalesce(sum(CASE WHEN revoked_at IS NULL AND (expires_at IS NULL OR expires_at > ?)
		THEN micros - used ELSE 0 END), 0) AS BIGINT) FROM credit_grant WHERE team_id = ?`, db.At(at), teamID).
		Scan(&grants, &left); err != nil {
		return err
	}
	if grants > 0 && micros > left || grants > 0 && left == 0 {
		return errs.New(errs.Forbidden, CodeExhausted, "The credits of the team do not cover this call of the server's model.")
	}
	return nil
}

// Spend takes what a call has cost from the grants of a team, those that expire first. What no grant covers, because it
// expired or was revoked during the call, is nobody's. Who calls it holds the lock of the team's spending.
func Spend(ctx context.Context, tx *db.Tx, teamID string, micros int64, at time.Time) error {
	if micros <= 0 {
		return nil
	}
	grants, err := db.Select(ctx, tx, scanGrant, `SELECT `+grantColumns+` FROM credit_grant WHERE team_id = ? AND used < micros
		AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > ?)
		ORDER BY expires_at IS NULL, expires_at, created_at, id`+tx.Dialect().ForUpdate(), teamID, db.At(at))
	for _, g := range grants {
		part := min(micros, g.Micros-g.Used)
		if _, err := tx.Exec(ctx, `UPDATE credit_grant SET used = used + ? WHERE id = ?`, part, g.ID); err != nil {
			return err
		}
		if micros -= part; micros == 0 {
			break
		}
	}
	return err
}
